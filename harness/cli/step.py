"""`harness step KIND RUN --model M`: later model calls over the answers of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.benchmarks.registry import STEPS
from harness.cache.runs import LATEST
from harness.cli.options import config_option, json_option, store_option
from harness.cli.run import ASKING_OPTIONS, read_params
from harness.cli.session_options import comma_list, session_options

if TYPE_CHECKING:
    from harness.run_options import SessionOptions

HELP = {
    "evaluate": "Let a scorer at an endpoint, as MedLayEval, score the lay texts of RUN, one call a text.",
    "grade": "Let a model give each diagnosis of the answers of RUN its tier, one call an answer.",
    "judge": "Let a model judge the answers of RUN, one call an answer.",
    "normalise": "Let a model restate the clinical reports of RUN in one style, one call a report.",
    "translate": "Let a model translate the Chinese histories of RUN into English, one call a case.",
    "verify": "Let a vision model score the lay texts of RUN by a rubric of five criteria, one call a text.",
}
"""Kind of step -> what it does."""

_OPTIONS = (
    click.argument("run", default=LATEST),
    click.option(
        "--model",
        metavar="NAME",
        help="Who is asked. Needed, as no model that the papers name can be asked any more.",
    ),
    click.option(
        "--data",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIR",
        help="Where the case files are, if a step that shows media does not find these.",
    ),
    click.option("--of", "models", metavar="A,B", help="Only the answers of these models."),
    click.option("--conditions", metavar="A,B", help="Only the answers in these conditions."),
    click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N cases."),
    click.option("--cases", metavar="ID,ID", help="Only these cases."),
    *ASKING_OPTIONS,
    session_options,
    click.option("--name", metavar="NAME", help="A name for what the step asks."),
    config_option,
    store_option,
    json_option,
)


@click.group("step", epilog="Example: harness step judge latest --model gemini-3-flash --dry-run")
def command() -> None:
    """Ask a model about the answers of a run.

    What a step asks is kept, resumed, limited and scored like a run of its own: `harness resume`, `status`,
    `score`, `explain` and `export` take its name. The answers that it follows are not touched.
    """


def _made(kind: str) -> click.Command:
    def step(
        run: str, session: SessionOptions, config_path: Path | None, store: str | None, **given: Any
    ) -> int:
        from harness.cli.step_command import start_step

        wanted = {
            **given,
            "models": comma_list(given["models"]),
            "conditions": comma_list(given["conditions"]),
            "cases": comma_list(given["cases"]),
            "data": None if given["data"] is None else str(given["data"].resolve()),
            "params": read_params(given["params"]),
            "prompt": None if given["prompt"] is None else str(given["prompt"].resolve()),
        }
        return start_step(kind, run, session, config_path, store, wanted)

    decorated: Any = step
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    about = f"For runs of: {', '.join(STEPS[kind])}. RUN is a name, the start of a digest, or latest."
    example = f"Example: harness step {kind} latest --model gemini-3-flash --max-cost 5"
    made = click.command(kind, help=f"{HELP[kind]}\n\n{about}", epilog=example)(decorated)
    assert isinstance(made, click.Command)
    return made


for _kind in STEPS:
    command.add_command(_made(_kind))
