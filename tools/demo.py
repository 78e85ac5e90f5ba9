"""What `make demo` shows: every benchmark asked of simulated models, and scored offline from what is stored.

    cd FOLDER && python .../tools/demo.py      # FOLDER holds the demo's own store, and harness.toml

Of the many tables of `harness score` a few are printed here. Asked again, nothing is sent again.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

WIDTH = 80
READING = "as answered"
"""The reading that is shown: an unusable answer counts as the worst value."""
CLIPS = "text_volume_fps2"


@dataclass(frozen=True, slots=True)
class Scene:
    """One benchmark: what is asked, the step that follows if any, and the tables that are shown of it."""

    title: str
    told: str
    asked: tuple[str, ...]
    tables: tuple[str, ...]
    step: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = field(default=())


SCENES = (
    Scene(
        "triage: to which treatments a patient is referred",
        """24 synthetic patients, complaint and panoramic radiograph. sim/steady answers cleanly, sim/messy
        spoils its JSON, and sim/flaky fails in many ways: what fails is asked again, what stays
        unusable counts as the worst value. Raters and baselines are scored by the same code.
        maF1, miF1: macro and micro F1 of the 22 fine labels, or of 8 coarse ones; EMR: all labels
        right; over, under: too many, too few.""",
        ("--benchmark", "triage", "--models", "sim/steady,sim/messy,sim/flaky"),
        ("both",),
    ),
    Scene(
        "pandent: clinical reports, and one finding at a time",
        """The first 12 of 24 drawn radiographs: a report of each, and which teeth show caries. A fixed text
        beats all three models, which look at nothing: so read the baselines first. R-L: ROUGE-L;
        B: BLEU; MET: METEOR, in two versions; exact match: the very teeth; if pos: where there
        are any.""",
        ("--benchmark", "pandent", "--models", "sim/steady,sim/messy,sim/eager", "--conditions",
         "report,attribute:caries", "--limit", "12"),
        ("report", "attribute:caries"),
    ),
    Scene(
        "medlay: a marked region, explained to a patient",
        """The first 12 of 24 drawn images: A shows the image, B the image and an expert's caption, C the
        caption alone. sim/reader takes text alone, so A and B are not applicable to it. R-L:
        ROUGE-L; FK: grade of school that the text asks for, and how much less that is than the
        caption's; ablation: what changes from one condition to another.""",
        ("--benchmark", "medlay", "--models", "sim/steady,sim/messy,sim/reader", "--conditions", "A,B,C",
         "--limit", "12"),
        ("A", "C", "ablation"),
    ),
    Scene(
        "radm: five ranked diagnoses, in English or Chinese",
        """20 synthetic cases: the history alone, with key images, with clips at 2 frames a second (9 cases
        have clips). Each diagnosis gets a tier from 0 to 3, by people or, as here, by a model: a
        SIMULATED one, and NOT by people. score: 0 to 3, by tier and rank; top-k: any tier but 0
        within the first k; impr, same, decl: cases that score higher, the same, lower with images
        than without.""",
        ("--benchmark", "radm", "--models", "sim/steady,sim/messy,sim/reader", "--conditions",
         f"text,text_images,{CLIPS}"),
        ("text", "text_images", CLIPS, "text_to_text_images"),
        ("grade", "--model", "sim/careful"),
        (CLIPS,),
    ),
)  # fmt: skip


def play(scene: Scene, number: int) -> None:
    """Ask, grade and score one benchmark, and print what a newcomer should see of it."""
    head = f"{number} of {len(SCENES)}  {scene.title}"
    say(f"{'=' * WIDTH}\n{head}\n{'=' * WIDTH}\n{_filled(scene.told)}\n")
    name = harness("run", *scene.asked).split()[2]
    if scene.step:
        kind, *options = scene.step
        harness("step", kind, name, *options)
    paragraphs = harness("score", name).split("\n\n")
    say("\n" + "\n\n".join(_shown(paragraphs, scene)) + "\n")
    if scene.outcomes:
        say("\n".join(_clips(name)) + "\n")


def harness(*arguments: str) -> str:
    """Run a command of the harness, show it, and return what it prints. Ends the demo where it fails."""
    say(_folded(["$", "harness", *arguments]))
    program = Path(sys.executable).parent / "harness"
    command = [str(program)] if program.exists() else [sys.executable, "-m", "harness"]
    done = subprocess.run([*command, *arguments], capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        sys.stderr.write(done.stderr)
        sys.exit(done.returncode)
    return done.stdout


def say(text: str) -> None:
    """Print a text at once: what follows it takes a few seconds."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _shown(paragraphs: Sequence[str], scene: Scene) -> Iterator[str]:
    yield paragraphs[0]
    for text in paragraphs[1:]:
        condition, _, rest = text.partition(": ")
        is_table = condition in scene.tables and rest.startswith(READING)
        if is_table or (condition in scene.outcomes and rest.startswith("outcomes")):
            yield text
    yield from re.findall(r"^grades: given by .*(?:\n  .*)*", paragraphs[-1], re.MULTILINE)


def _clips(name: str) -> Iterator[str]:
    """Say as what each model got the clips, by the records."""
    counts: Counter[tuple[str, str]] = Counter()
    for line in harness("export", name).splitlines():
        record = json.loads(line)
        if record["condition"] == CLIPS:
            for shown in record["media"]:
                way = "frame" if shown["recipe"].startswith("frame:") else "whole clip"
                counts[record["model"], way] += 1
    yield f"What the records say that the models were shown in {CLIPS}:"
    for (model, way), count in sorted(counts.items(), reverse=True):
        yield f"  {model}: {count} {way}{'s' if count > 1 else ''}"


def _filled(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), WIDTH)


def _folded(words: Sequence[str]) -> str:
    wrap = textwrap.TextWrapper(
        WIDTH - 2, subsequent_indent="    ", break_on_hyphens=False, break_long_words=False
    )
    return " \\\n".join(wrap.wrap(" ".join(words)))


def main() -> None:
    """Play all scenes."""
    for number, scene in enumerate(SCENES, start=1):
        play(scene, number)
    say("=" * WIDTH)
    ending = f"""All of it is made up and says nothing about any real model. The answers lie in
        {Path.cwd().name}/.harness; from there, `harness score NAME` prints every table,
        `harness report NAME --out report` makes a page with figures, `harness compare NAME` says who is
        better, and `harness explain NAME --case ID --model M` shows each exchange about one case. `harness
        view` shows all of it in a browser, and `harness grade radm --task tiers --raters A,B` lets people
        grade it there. The command is .venv/bin/harness."""
    say(_filled(ending))


if __name__ == "__main__":
    main()
