"""What a simulated model is asked: a chat request, read.

A simulated model knows no benchmark. It goes by the schema that it is told (the adapter sends it in the
field `simulator` whenever one is wanted) and by marks in the text, in any case of letters. The first that
fits counts. A video counts as part of what is asked, and is not looked at either.

With a schema
- verdicts of a judge: all properties of the schema are objects with `score` and `reason`. More dimensions
  fail the more labels are listed. A list is headed by a line with the word `label`, a colon, and one of
  `missing`, `missed`, `omitted`, `left out`, `expert chose`; for the other list one of `extra`, `added`,
  `superfluous`, `surplus`, `program chose`, `model chose`. After the colon, in its line, stand a JSON list
  or names joined by `;`; or one name a line follows, up to a blank line or the next that ends in a colon.
  The last such heading counts; `none`, `nothing`, `no labels`, `n/a`, `[]` and nothing at all are no label.
  `neglect`, `omission`, `misinterpretation`, `protocol` and `hallucination` in the name of a dimension say
  how much each list weighs.
- ranked diagnoses, five as a rule: the only property is a list of texts with `diagnos` in its name and a
  least length; see `diagnosing`. Their tiers: the only property is a list of objects with `tier` and
  `reason`; see `tier_grading`.
- scores of lay texts, of a verifier and of an evaluator: see `lay_scoring`.
- any other value of a schema. The patient's words are the text after the last `complaint...:`, to a blank
  line.

Without a schema
- a clinical report restated: a quotation as `prompts/quoted-text-v1.txt` makes it (two lines `=== X ===`
  that are equal), and around it `report` and a word that begins with `restat`, `rewrit`, `rephras`, `reword`,
  `normalis` or `normaliz`. Before it a translation, see `translating`. A text with a quotation is none of
  the following.
- a lay text in three numbered parts: see `lay_texts`.
- one sentence about one finding: `one ... sentence` or `single ... sentence` (at most 40 letters, blanks,
  commas and hyphens between, and no `per`, `for`, `each`, `a` after it), and the sentence that denies the
  finding: the first that opens with `No`, `None`, `Neither`, `There is no` or `There are no` (capital first
  letter), in quotes ("", single, curly, backticks), else bare, ended by a full stop, right after a colon or
  `exactly`. It wants teeth where the text has `FDI`, `which teeth` (two words may stand between) or `tooth
  numbers` and the denial is not about generalized bone loss, a sinus, a joint or a whole jaw; else yes or
  no. The finding is read from the denial alone, and so is the sentence that affirms it, unless yes or no is
  wanted and another sentence is quoted, which then is that. Best: "No FINDING is (are) evident ... ." or
  "No tooth is (has, shows) ... .".
- a clinical report: an image, `report`, and one of `panoramic`, `OPG`, `orthopantomogram`.
- a word to repeat, colours of a picture: see `instructions`, which comes before all these.
- else two sentences about the words of the text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

ATTEMPT_HEADER = "X-Harness-Attempt"
REPEAT_HEADER = "X-Harness-Repeat"
PURPOSE_HEADER = "X-Harness-Purpose"

SMALL_PICTURE = 4096
"""Characters of a data URL that is kept with its question; larger ones would fill the memory of a sweep."""

_COMPLAINT = re.compile(r"complaint[^\n:]*:[ \t]*\n?(?P<words>.+?)(?:\n\s*\n|\Z)", re.IGNORECASE | re.DOTALL)


class BadQuestionError(ValueError):
    """A request that is no chat request; the message says why."""


@dataclass(frozen=True, slots=True)
class Question:
    """A chat request. `content` is the digest of all that is asked, media included.

    `images` and `videos` are their numbers, `text` holds every text part, `schema` the JSON Schema of the
    answer where one is wanted, `picture` the data URL of the last image if it is small, `view` the digest of
    the images alone: empty without an image and where a schema is wanted, as nothing is drawn by it there.
    """

    model: str
    content: str
    text: str
    images: int
    schema: Mapping[str, Any] | None
    seed: int
    attempt: int
    repeat: int
    purpose: str
    max_tokens: int | None
    structured: bool
    stream: bool
    picture: str | None = None
    view: str = ""
    videos: int = 0

    @property
    def case(self) -> tuple[object, ...]:
        """What a model's opinion depends on: not the attempt."""
        return (self.seed, self.model, self.content, self.repeat)

    @property
    def identity(self) -> tuple[object, ...]:
        """What the form of an answer depends on."""
        return (*self.case, self.attempt, self.purpose)

    @property
    def complaint(self) -> str | None:
        """What the text quotes as the patient's complaint, where it quotes one."""
        found = _COMPLAINT.findall(self.text)
        return found[-1].strip() if found else None


def read_question(body: object, headers: Mapping[str, str]) -> Question:
    """Return the question that a body and its headers ask. Raises BadQuestionError."""
    if not isinstance(body, dict):
        raise BadQuestionError("the body is no JSON object")
    model, messages = body.get("model"), body.get("messages")
    if not isinstance(model, str) or not isinstance(messages, list) or not messages:
        raise BadQuestionError("'model' and 'messages' are required")
    extra = body.get("simulator") or {}
    if not isinstance(extra, dict):
        raise BadQuestionError("'simulator' must be an object")
    texts: list[str] = []
    images = videos = 0
    picture: str | None = None
    schema = extra.get("schema") if isinstance(extra.get("schema"), dict) else None
    content, view = hashlib.sha256(), hashlib.sha256()
    for kind, value in _parts(messages):
        prefix, data = f"{kind}:{len(value)}:".encode(), value.encode("utf-8", "surrogatepass")
        content.update(prefix)
        content.update(data)
        if kind == "image":
            images += 1
            picture = value if len(value) <= SMALL_PICTURE else None
            if schema is None:
                view.update(prefix)
                view.update(data)
        elif kind == "video":
            videos += 1
        elif kind == "text":
            texts.append(value)
    return Question(
        model=model,
        content=content.hexdigest(),
        text="\n".join(texts),
        images=images,
        schema=schema,
        seed=_number(extra.get("seed"), 0),
        attempt=_number(headers.get(ATTEMPT_HEADER), 1),
        repeat=_number(headers.get(REPEAT_HEADER), 1),
        purpose=str(headers.get(PURPOSE_HEADER) or "answer"),
        max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
        structured="response_format" in body,
        stream=body.get("stream") is True,
        picture=picture,
        view=view.hexdigest() if images and schema is None else "",
        videos=videos,
    )


def _parts(messages: list[object]) -> Iterator[tuple[str, str]]:
    for message in messages:
        if not isinstance(message, dict):
            raise BadQuestionError("a message is no object")
        yield "role", str(message.get("role"))
        content = message.get("content")
        if isinstance(content, str):
            yield "text", content
            continue
        for part in content if isinstance(content, list) else []:
            match part:
                case {"type": "text", "text": str(text)}:
                    yield "text", text
                case {"type": "image_url", "image_url": {"url": str(url)}}:
                    yield "image", url
                case {"type": "video_url", "video_url": {"url": str(url)}}:
                    yield "video", url
                case _:
                    raise BadQuestionError("a content part is no text, image_url or video_url")


def _number(value: object, default: int) -> int:
    try:
        return int(str(value))
    except ValueError:
        return default
