"""The step of joining two stores that is about gradings: perhaps further on there than here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import select, update

from harness.cache.exchange_rows import packed_json, unpacked_object
from harness.cache.merge_report import MergeReport
from harness.cache.merge_steps import Target, Values, free_name
from harness.cache.tables import GRADING, AnyRow
from harness.canonical import JSON, digest
from harness.errors import StoreError

_COURSE: Final = ("rounds", "opened")
"""What of a state tells how far a grading has come; its links and its port are each store's own."""


async def add_gradings(
    target: Target, rows: Sequence[AnyRow], runs: Mapping[int, int], report: MergeReport
) -> None:
    """Take over gradings that ours lacks, with their links: who moves a store goes on with the same ones.

    One of the same run and settings is the same grading, whatever it is called: our links stay, and the
    rounds of whichever has come further stand. Raters who came or left in either did so in both. Who came
    back here after they left there stays, unless rounds of there stand, which may have ended without them.
    One that was withdrawn is another one than one that goes on. Another one of a name that is taken here gets
    a new name.
    """
    ours = (await target.connection.execute(select(GRADING))).all()
    known = {(row.run_id, _content(row)): row for row in ours}
    names = {row.name for row in ours}
    first, new = await target.next_id(GRADING), list[Values]()
    for row in rows:
        run = runs[row.run_id]
        mine = known.get((run, _content(row)))
        if mine is not None:
            await _take_course(target, mine, row, report)
            continue
        name = free_name(row.name, names)
        if name != row.name:
            report.gradings_renamed[row.name] = name
        names.add(name)
        new.append({**row._mapping, "id": first + len(new), "run_id": run, "name": name})
    await target.add(GRADING, new)
    report.gradings_new += len(new)


async def _take_course(target: Target, mine: AnyRow, theirs: AnyRow, report: MergeReport) -> None:
    ours, other = _read(mine, mine.state), _read(theirs, theirs.state)
    back = {} if _course(other) > _course(ours) else _back(ours)
    changed = {**ours, **_raters(ours, other, back)}
    if _course(other) > _course(ours):
        changed |= {name: other.get(name) for name in _COURSE}
        changed |= _rejoined(changed, _names(ours) - _names(other))
    elif _course(ours) > _course(other):
        changed |= _rejoined(changed, _names(other) - _names(ours))
    if changed == ours:
        return
    report.gradings_updated += 1
    if _form(other) > _form(ours):
        changed["version"] = other["version"]
    if not target.dry:
        new = packed_json(changed)
        await target.connection.execute(update(GRADING).where(GRADING.c.id == mine.id).values(state=new))


def _raters(ours: Mapping[str, Any], other: Mapping[str, Any], back: Mapping[str, int]) -> dict[str, JSON]:
    """Return what of our state is otherwise with the raters who came or left there: nothing, if none did.

    `back`: who came back here, and when: that they had left before is no news.
    """
    if not other.get("joined") and not other.get("retired"):
        return {}
    known = {one["name"]: one for one in ours.get("joined", ())}
    further = [
        one for one in other.get("joined", ())
        if one["name"] not in known or _alone(one) > _alone(known[one["name"]])
    ]  # fmt: skip
    joined = list((known | {one["name"]: one for one in further}).values())
    here = {one["name"] for one in ours.get("retired", ())}
    retired = [
        *ours.get("retired", ()),
        *(
            one
            for one in other.get("retired", ())
            if one["name"] not in here and one["at_us"] > back.get(one["name"], -1)
        ),
    ]
    return {"joined": joined, "retired": retired, "seats": _seats(ours, other, retired)}


def _back(state: Mapping[str, Any]) -> dict[str, int]:
    return {one["name"]: one["at_us"] for one in state.get("returned", ())}


def _rejoined(state: Mapping[str, Any], names: Collection[str]) -> dict[str, JSON]:
    """Return who joined, if anybody did, of a state of two stores; `names`: of that whose rounds stand not.

    Who was to calibrate with all there, while the round ended here without them, grades its sheets alone, as
    those do who come after it.
    """
    latest = (state.get("rounds") or [{}])[-1]
    found: list[JSON] = []
    for one in state.get("joined", ()):
        missed = one["name"] in names and (one.get("opened") or {}).get("by") == "with all"
        if missed and latest.get("ended_at_us") is not None:
            own = {"items": latest["items"], "begun_at_us": one["at_us"], "ended_at_us": None, "pairs": []}
            found.append({**one, "rounds": [*one["rounds"], own], "opened": None})
        else:
            found.append(one)
    return {"joined": found} if found else {}


def _names(state: Mapping[str, Any]) -> set[str]:
    return {one["name"] for one in state.get("joined", ())}


def _form(state: Mapping[str, Any]) -> int:
    return int(state.get("version", 0))


def _seats(ours: Mapping[str, Any], other: Mapping[str, Any], retired: Sequence[Any]) -> list[JSON]:
    """Return our seats, with those there of raters (and a consensus) whom we lack, without who retired."""
    gone = {("rater", one["name"]) for one in retired}
    found: dict[tuple[str, str], Any] = {}
    for one in (*ours["seats"], *other["seats"]):
        found.setdefault((one["role"], one["name"]), one)
    kept = [one for place, one in found.items() if place not in gone]
    roles = ("rater", "consensus", "lead")
    return sorted(kept, key=lambda one: roles.index(one["role"]))


def _course(state: Mapping[str, Any]) -> tuple[bool, int, bool]:
    """Return what orders states by how far they have come."""
    rounds = state.get("rounds") or []
    ended = bool(rounds) and rounds[-1].get("ended_at_us") is not None
    return state.get("opened") is not None, len(rounds), ended


def _alone(joined: Mapping[str, Any]) -> tuple[bool, int, bool]:
    """Return what orders how far somebody has come who joined; who calibrates with all has passed nothing."""
    passed, count, ended = _course(joined)
    return passed and (count > 0 or joined["opened"].get("by") != "with all"), count, ended


def _content(row: AnyRow) -> str:
    # What is compared are the settings, not their compressed bytes: other versions may compress otherwise.
    return digest([_read(row, row.settings), _read(row, row.state).get("withdrawn_at_us")])


def _read(row: AnyRow, data: bytes) -> dict[str, JSON]:
    found = unpacked_object(data)
    if found is None:
        raise StoreError(
            f"grading {row.name!r} is damaged; look at both stores with `harness store verify`, or "
            "merge a backup"
        )
    return found
