"""Words that the PTB tokenizer knows by name: abbreviations that keep their full stop, words that it parts.

Observed on the tokenizer behind pycocoevalcap 1.2. All strings of up to five letters were tried, and the
words of WordNet 3.0 and of its glosses, of which none of more than five letters keeps its full stop; `messrs`
was tried by itself, as the plural of `mr`. Longer abbreviations are not known here. As endings of files, all
strings of up to three letters and digits, all of four letters, and WordNet's longer words were tried.
"""

from __future__ import annotations

from typing import Final

TITLES: Final = (
    "adj adm adv alex assoc asst atty attys ave brig capt cf cie cmdr col comdr cpl dept det dr drs"
    " elec ens ft gen gov govs hon insp invt jos lieut lt maj messrs mlle mme mr mrs ms msgr mt natl"
    " pfc ph pres prof profs pvt rep reps rev sen sens sfc sgt spc st ste supt supts treas vs wm"
)
"""Keep their full stop wherever it stands."""

CLOSING: Final = (
    "al ala apr ariz assn aug bhd bldg blvd bros calif co colo conn corp cos ct dak dec esq"
    " est etc ext feb fla fri ga inc ind intl jan jr jul jun kan kans ky ltd mar md mich minn mo mon"
    " mont neb nev nov oct okla penn plc rd rt sep sept seq sq sr sys tel tenn thu thurs tue tues univ"
    " va vt wed wis wisc wyo"
)
"""Keep it too, and before a single letter at once (etc.a), where others make one token of both."""

CASED_TITLES: Final = "mfg mtg"
CASED_CLOSING: Final = "ppte pptes ppty pptys pte ptes pty ptys"
"""Titles and closing ones that keep it in small letters or with a capital, and lose it in capitals: PTY."""

CAPITALISED: Final = "ark az del ill la mass miss ore pa tex wash"
"""Keep it when they begin with a capital, and then as the closing ones."""

NUMBERED: Final = "art ca fig figs no nos op pp prop"
"""Keep it before a number: no. 5."""

SENTENCE_STARTERS: Final = (
    "A About According Additionally After An As At But Earlier He Her Here However If In It Last Many"
    r" More Mr\. Ms\. Now Once One Other Our She Since So Some Such That The Their Then There These They"
    " This We What When While Yet You"
)
"""Before one of these, or markup, and only there, a single letter loses its full stop: type B. The crown."""

PARTED: Final = {"can": "not", "gon": "na", "wan": "na", "got": "ta", "gim": "me", "lem": "me"}
"""Words that are two tokens: cannot, gonna."""

FILE_ENDINGS: Final = (
    "bat bmp c cgi class cpp dll doc docx exe gif gz h htm html jar java jpeg jpg mov mp3 pdf php pl"
    " png ppt ps py sql tar txt wav x xml zip"
)
