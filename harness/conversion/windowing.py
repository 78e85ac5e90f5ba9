"""Which window the pictures of a stack are seen through: fixed for a clip, each picture's own for images."""

from __future__ import annotations

from typing import Final

from harness.conversion.grey import measured
from harness.conversion.pictures import Picture, Stack, View, Window, fault
from harness.conversion.recipe import WindowWish

_BLACK: Final = "all values that count are one, or there are none: the picture is black"
Measures = dict[bool, Window]
"""Windows measured over a stack: True, from end to end; False, by percentiles. Kept for all its outputs."""


class Windowing:
    """The window of each picture of a stack, and what is to be told of it.

    One window holds for a whole clip, so that one value is one grey from the first picture to the last: that
    of its middle picture where the pictures' own differ. An image has its own.
    """

    def __init__(self, stack: Stack, wish: WindowWish, measures: Measures, *, fixed: bool) -> None:
        self._stack = stack
        self._measures = measures
        self._wish = wish
        self._fixed = fixed
        self._view: View | None = None
        self._others = 0
        self._notes: list[str] = []

    def view(self, picture: Picture) -> View:
        """Return the window of a grey picture. Raises ConversionError where it has none and needs one."""
        match self._wish.kind:
            case "given":
                return Window(self._wish.centre, self._wish.width, self._stack.function)
            case "full" | "percentile":
                return self._measured(full=self._wish.kind == "full")
            case _:
                return self._own(picture)

    def notes(self) -> tuple[str, ...]:
        """Return what is to be told once all pictures are through."""
        if self._others:
            told = f"the window of the middle picture holds for all; {self._others} have another of their own"
            return (*self._notes, told)
        return tuple(self._notes)

    def _own(self, picture: Picture) -> View:
        if self._fixed and self._view is None:
            (middle,) = self._stack.pictures([len(self._stack.frames) // 2])
            self._view = self._of(middle)
        own = picture.views[self._wish.index] if self._wish.index < len(picture.views) else None
        if self._view is not None and self._fixed:
            self._others += own is not None and own != self._view
            return self._view
        return self._of(picture)

    def _of(self, picture: Picture) -> View:
        if self._wish.index < len(picture.views):
            return picture.views[self._wish.index]
        if self._wish.kind == "tag":
            several = f"{len(picture.views)} windows (tag:0 ...)" if picture.views else "no window"
            raise fault(
                self._stack.sources[0],
                f"it has {several} of its own, --window {self._wish.text()} names none; give CENTRE/WIDTH, "
                "full or percentile",
            )
        told = "the file names no window; its percentiles 0.5 and 99.5 are taken, --window sets another"
        if told not in self._notes:
            self._notes.append(told)
        return self._measured(full=False)

    def _measured(self, *, full: bool) -> Window:
        """Return the window of all pictures of the stack, measured once."""
        if full not in self._measures:
            count = len(self._stack.frames)
            found = measured(self._stack.pictures(range(count)), count, full=full)
            self._measures[full] = found or Window(0.0, 0.0, "LINEAR_EXACT", "nothing")
        window = self._measures[full]
        if window.width == 0 and _BLACK not in self._notes:
            self._notes.append(_BLACK)
        return window
