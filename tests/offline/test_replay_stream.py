"""Units replayed one after the other: who stops halfway leaves nothing to the garbage collector."""

from __future__ import annotations

import ast
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from grading_examples import SmallTask, graded_run, wanted, with_small_task

import harness
from harness.grading.opening import make_grading

task = pytest.fixture(autouse=True)(with_small_task)
CODE = Path(harness.__file__).parent


async def test_a_read_that_fails_halfway_has_ended_when_the_error_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = []

    def broken(*_given: Any) -> None:
        raise ZeroDivisionError

    async with graded_run(tmp_path) as built:
        plain = built.store.linked_units

        async def noted(*given: Any, **options: Any) -> AsyncGenerator[Any, None]:
            try:
                async for one in plain(*given, **options):
                    yield one
            finally:
                ended.append(True)

        monkeypatch.setattr(built.store, "linked_units", noted)
        monkeypatch.setattr(SmallTask, "sheet", broken)
        with pytest.raises(ZeroDivisionError) as raised:
            await make_grading(built.store, built.run, wanted())
        assert ended == [True], raised


def test_nobody_reads_units_who_does_not_end_the_read() -> None:
    """`aclosing` holds every call: else a read that is left halfway goes on until it is collected."""
    calls, held = [], []
    for path in CODE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            if _name(node) == "replay_units":
                calls.append((path.name, node.lineno))
            if _name(node) == "aclosing":
                held += [(path.name, one.lineno) for one in node.args if _name(one) == "replay_units"]
    assert len(calls) >= 9 and sorted(calls) == sorted(held)


def _name(node: ast.AST) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
