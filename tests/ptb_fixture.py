# ruff: noqa: RUF001
"""What Java's tokenizer made of texts of ours, kept for machines without Java.

`python tests/ptb_fixture.py --write` asks Java anew, after a change of the texts.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from pathlib import Path

from coco_reference import java_tokens
from report_texts import plain_report, wild_report

PLACE = Path(__file__).parent / "fixtures" / "ptb_tokens.json"
REPORTS = 600

EDGES = [
    *(
        "Jan.-5 Jan.-15 etc.-x (Rt.-1/2) Wash.-w/o Ph.D.-R. no",
        "type A. Mr. X and L. Ms. Y and B. Mrs. Z",
        "T344-L'3, L'3-b, a-d'34, O'3-x",
        "see \xa0www.clinic.org and \u3000b.com",
    ),
    *(
        "",
        " ",
        "tooth",
        ".",
        "?! ... -- ;",
        "TOOTH #18 IS ABSENT.",
        "no caries\u2028no calculus\rnone\x0b\x0cend\u2029.",
    ),
    *(
        "#18, #28, #38 and #48.",
        "teeth 46,47,48",
        "18/28/38/48",
        "11 12 13 14",
        "47 48 123 4567",
        "#36-#38",
        "36-38",
    ),
    *(
        "3.5 mm",
        "3.5mm",
        "3mm.",
        "1.5-2.5 cm",
        "7 1/2 mm",
        "1/2/2020",
        "2020-01-02T10:11:12Z",
        ".5 +5 -5 ±5 5% 5°C",
    ),
    *(
        "(approx.) [a] {b} <c>",
        "**bold** ***both*** __x__ `y` ```",
        "#### Heading",
        "| a | b |",
        "|---|:---:|",
        "- [x] a",
    ),
    *(
        "can't won't isn't it's I'd they'll we've",
        "cannot Cannot gonna",
        "it’s don’t the patient’s teeth’",
        "O'Brien d'Arc",
    ),
    *(
        "5 o'clock",
        "'90s '18 'em 'tis",
        "rock 'n' roll",
        "5'6\"",
        "'single' “double” „low“ «guil» ‹x›",
        "``a''",
    ),
    *(
        "e.g. i.e. etc. et al. vs. Dr. Mr. St. Inc.",
        "No. 5",
        "no. five",
        "see Fig. 3.",
        "pp. 5-6",
        "10 a.m. U.S. Ph.D.",
    ),
    *(
        "Class I. The crown",
        "type B. Bone",
        "Class II. A tooth",
        "I. <br> x",
        "tooth.The end",
        "caries.18",
        "mm., cm.; x.: y",
    ),
    *(
        "a@b.com, x",
        "see https://a.b/c?d=1.",
        "www.a-b.org/cd",
        "img.0001.jpg",
        "scan18.pdf.",
        "@clinic #caries #18",
    ),
    *(
        "left-sided T1/T2 and/or x-ray/CT",
        "C3/C4-L5",
        "w/o s/p h/o",
        "A&B AT&T H&E R&D",
        "&lt;b&gt; &amp; &nbsp; &quot;",
    ),
    *(
        '<br/> <p class="a b"> </p> a < b > c',
        ":-) ;) :D <3 (xx)",
        "... .... ..... ......",
        "a -- b --- c ----- d",
    ),
    *(
        "$3.50 €20 £30 ¥40 US$5 5¢",
        "½ ¼ ⅓ ⅔ 1½",
        "10⁻³ H₂O cm³",
        "a\xadb soft\xadhyphen",
        "\xa0a\u3000b\u202fc\u200bd",
    ),
    *(
        "α-angle Δ5 µm Ångström naïve",
        "牙齿缺失，未见异常。（左侧）",
        "第18颗牙",
        "🦷 tooth 👨‍👩‍👧",
        "a\x00b\x1fc",
        "ΑΣ ΟΔΟΣ İ",
    ),
    *(
        "1.5T. The scan",
        "pro- and anti-.",
        "T3-L'3 a-d'ab",
        "lesion,-i.e. x",
        "5 o'clock., x",
        "a. b. c.",
        "U.S.-based non-U.S.",
        "mm² × 2 ≥ 3 ~ 4 → 5",
    ),
]

DIFFERING = [
    "^_^ -_- (^_^) (~.x)",
    "o'O",
    "MTG. PTe. mfG.",
    "Bancorp.",
    "a.com/b}c",
]
"""What Java cuts otherwise than we do, on purpose: exact patterns would be longer than these are worth."""


def digest(tokens: list[str]) -> str:
    """Return the beginning of the SHA-256 of tokens, one a line."""
    return hashlib.sha256("\n".join(tokens).encode()).hexdigest()[:12]


def reports() -> list[str]:
    """Return the reports whose tokens are kept as digests."""
    return [text for seed in range(REPORTS // 2) for text in (plain_report(seed), wild_report(seed))]


def main() -> None:
    """Write what Java says now."""
    with tempfile.TemporaryDirectory() as folder:
        edges, digests = java_tokens(EDGES, Path(folder)), java_tokens(reports(), Path(folder))
        differing = java_tokens(DIFFERING, Path(folder))
    kept = {
        "tool": "pycocoevalcap 1.2, PTBTokenizer (Stanford CoreNLP 3.4.1), every text on its own",
        "edges": [[text, tokens] for text, tokens in zip(EDGES, edges, strict=True)],
        "differing": [[text, tokens] for text, tokens in zip(DIFFERING, differing, strict=True)],
        "reports": [digest(tokens) for tokens in digests],
    }
    PLACE.write_text(json.dumps(kept, ensure_ascii=True, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        raise SystemExit("python tests/ptb_fixture.py --write")
    main()
