"""How many syllables an English word has, by rules of our own: no dictionary is needed.

Groups of vowels are counted, once `qu` and the `y` of `layer` are consonants, the `i` of `-tion` and `-cial`
is gone, vowels of two syllables are parted (`my-ocardial`, `oste-oid`, `a-orta`) and silent letters are left
out (`e` in `bone`, `bones`, `boned`, `boneless`). Medical words are in view. A short list holds common words
that rules do not reach. docs/metrics.md says how often it is right.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

_MOST_REMEMBERED: Final = 65_536

_BY_SYLLABLES: Final = {
    1: "aches priest there's where's",
    2: "business every evening herpes nares soldier soldiers someone guinea wednesday naked wicked jagged "
    "ragged rugged naive sacred chocolate ordeal cafe acne elsewhere whereas framework pipeline pipelines "
    "guideline guidelines wavelength",
    3: "ascites systole everyday everywhere pancreas recipe recipes sesame syncope everyone everything",
    4: "diabetes anemone catastrophe apostrophe european",
}
_EXCEPTIONS: Final = {word: count for count, words in _BY_SYLLABLES.items() for word in words.split()}

_SOFT_I: Final = re.compile(
    r"(?<=[cstgx])i(?=o(?:n|us))|(?<=[cst])i(?=a(?:[ln]|s?$))|(?<=n)i(?=on)|(?<=ll)i(?=on)"
    r"|(?<=r)i(?=ages?$)|(?<=[ct])(?<!^sc)i(?=en[ct])|(?<=sh)i(?=on)|(?<=[nv])i(?=ors?$)"
)
"""An `i` that only softens what stands before it: `lesion`, `special`, `dementia`, `million`, `patient`."""

_PARTED: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"i(?=[aou]|i)",
        r"i(?=en[tc]|et(?:y|ies|al|s?$)|ers?$|est$)|^di(?=et)",
        r"(?<!p)(?<!l)(?<!j)(?<!^g)e(?=o)|^ge(?=o(?!rg))(?!on)|e(?=on(?!s?$))|e(?=i$)",
        r"e(?=u[ms]$|ic$|it[yi])",
        r"(?<=[aeiouy][nghtdl])e(?=al(?:ly)?$)|(?<=[aeiouy][a-z][nghtdl])e(?=al(?:ly)?$)",
        r"(?<=[aeiouy][a-z])e(?=a[es]?$)|(?<=[aeiouy][a-z][a-z])e(?=a[es]?$)",
        r"(?<=cr)e(?=at(?!ure))|(?<=th)e(?=at[er])|(?<=r)e(?=al(?:it|i[sz]))|^ide(?=a)",
        r"(?<=[nr]m|us|ll|in|uc|hl)(?:l?)e(?=a[rtb])|(?<=^m)e(?=at(?:us|al))|rrhe(?=a)",
        r"^re(?=a(?:bs|cc|ct|dj|dm|ff|pp|rr|ss|tt)|e(?:l[a-z]{2}|m|n|st|v|x)|i(?:m|n[fstv])|u(?:s[ea]|n|p))",
        r"^pre(?=[eiu]|a(?!c))|^de(?=act|i[no])",
        r"^co(?=ag|arc|e[xf]|in[cf]|o[pr])|^bio(?=a)|^no(?=n)(?=x)",
        r"a(?=o)",
        r"(?<!^r)o(?=e(?:nt|so|nc|pi|t|m))|o(?=a(?:rth|nt))|o(?=i(?:ntest|mm|nf|sch))",
        r"(?<!g)u(?=a(?!de))|(?<!l)u(?=o)|u(?=ou)",
        r"(?<!g)u(?=i(?:t[iy]|ds?$|n|cid))|u(?=ity)|u(?=e(?:nc|nt|nz|ls?$|t$))",
        r"[aeiouy](?=ing(?:s|ly)?$)",
        r"(?<=[^aeiou])y(?=[aou]|e(?!s?$|d$))",
    )
)
"""After what they match, another syllable begins though a vowel follows."""

_SILENT: Final = re.compile(
    r"(?<=[^aeiouy])(?<![^aeiouyl]l)(?<![bcdgpt]r)e(?:$|(?=(?:ment|ly|ful|less|ness)(?:s|es|ly)?$))"
    r"|(?<=[^aeiouyszxcg])(?<![^aeiouyl]l)(?<![bcdgpt]r)(?<![sc]h)e(?=s$)"
    r"|(?<=[^aeiouytd])(?<![^aeiouylr]l)(?<![dt]r)e(?=d$)"
    r"|(?<=[^r]g)ue(?=[sd]?$)"
    r"|(?<=^som|^lif|^hom|^bas|^tim|^sid|^lik|^saf|^bon|^wid|^car|^fir|^nos)e"
    r"(?=[bcdfghjklmnpqstvwz][a-z]{2}|ty)(?!ment|ful|less|ness)|(?<=^for)e(?=[acghlmnpstw][a-z]{2})(?!st)"
    r"|(?<=^ther|^wher|^hous|^whol|^smok|^whit|^larg)e(?=[bfghklmpstw][a-z])(?!less|st)|(?<=ic)a(?=lly$)"
)
_KEPT_E: Final = re.compile(r"(?:^c|el|pl|cl)ements?$")
_GROUP: Final = re.compile("[aeiouy]+")
_VOWELLESS: Final = re.compile(r"(?<=[aeiouy])[^aeiouy]{0,3}(?:sm|thm)s?$|^rhythm")
"""`-sm` and `-thm` are a syllable without a vowel: `spasm`, `rhythm`."""

_CONTRACTED: Final = re.compile(r"(?<=[ds])n't$")
_POSSESSIVE: Final = re.compile(r"'s?$")


@lru_cache(maxsize=_MOST_REMEMBERED)
def syllables(word: str) -> int:
    """Return the number of syllables of one word without hyphens, in any case, at least 1.

    Accents do not count, nor what is no letter. A word without a vowel has one.
    """
    plain = unicodedata.normalize("NFKD", word).lower().replace("\u2019", "'")
    plain = "".join(sign for sign in plain if "a" <= sign <= "z" or sign == "'")
    if plain in _EXCEPTIONS:
        return _EXCEPTIONS[plain]
    added = 1 if _CONTRACTED.search(plain) else 0
    plain = plain.removesuffix("n't") if plain.endswith("n't") else plain
    if _POSSESSIVE.search(plain):
        plain = _POSSESSIVE.sub("", plain)
        added += 1 if re.search(r"(?:s|x|z|ch|sh|[cg]e|se|ze)$", plain) else 0
    plain = plain.replace("'", "")
    return max(1, _count(plain)) + added


def _count(word: str) -> int:
    if word in _EXCEPTIONS:
        return _EXCEPTIONS[word]
    vowelless = 1 if _VOWELLESS.search(word) else 0
    word = word.replace("qu", "kw")
    word = re.sub(r"^y(?=[aeiou])|(?<=[aeiouw])y(?=[aeiou])", "j", word)
    word = _SOFT_I.sub("j", word)
    parted = {match.end() for pattern in _PARTED for match in pattern.finditer(word)}
    silent = set() if _KEPT_E.search(word) else {match.start() for match in _SILENT.finditer(word)}
    marked = "".join(
        ("|" if place in parted else "") + ("." if place in silent else letter)
        for place, letter in enumerate(word)
    )
    return len(_GROUP.findall(marked.replace(".u", ".").replace(".e", "."))) + vowelless
