"""The same case in several conditions: which units of a row belong together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray


def paired_rows(
    cases: NDArray[np.int64], repeats: NDArray[np.int32], members: NDArray[np.int32], wanted: Sequence[int]
) -> tuple[NDArray[np.intp], int]:
    """Return the rows of the units that have a partner in each of the wanted conditions, and who has not.

    `cases`, `repeats` and `members` (the condition) have one number a unit, and no two units are alike in all
    three. The rows have the shape (wanted, pairs), in the order of cases and repeats; the number counts
    cases, with their repeat, that are in some of the wanted conditions only.
    """
    keys = cases * (int(repeats.max(initial=0)) + 1) + repeats
    places = [np.flatnonzero(members == member) for member in wanted]
    shared = reduce(np.intersect1d, [keys[rows] for rows in places])
    paired = []
    for rows in places:
        order = rows[np.argsort(keys[rows])]
        paired.append(order[np.isin(keys[order], shared, assume_unique=True)])
    seen = np.unique(np.concatenate([keys[rows] for rows in places]))
    return np.stack(paired), len(seen) - len(shared)
