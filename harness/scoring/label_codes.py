"""Sets of labels as one whole number a unit: bit i is label i. Counting them costs a fraction of flags."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Flags: TypeAlias = NDArray[np.bool_]
Codes: TypeAlias = NDArray[np.uint32]
Counts: TypeAlias = NDArray[np.int64]

MOST_LABELS: Final = 32

_BYTE_BITS: Final = np.array([[byte >> bit & 1 for bit in range(8)] for byte in range(256)], dtype=np.float64)


def pack_labels(flags: Flags) -> Codes:
    """Return (..., labels) flags as (...) codes. Raises ValueError for more than 32 labels."""
    labels = flags.shape[-1]
    if labels > MOST_LABELS:
        raise ValueError(f"{labels} labels do not fit into {MOST_LABELS} bits")
    padded = np.zeros((*flags.shape[:-1], MOST_LABELS), dtype=np.bool_)
    padded[..., :labels] = flags
    return pack_padded(padded)


def pack_padded(flags: Flags) -> Codes:
    """Return (..., 32) flags, in one piece of memory, as (...) codes."""
    packed = np.packbits(flags.reshape(-1), bitorder="little")
    return packed.view("<u4").astype(np.uint32, copy=False).reshape(flags.shape[:-1])


def label_counts(codes: Codes, labels: int) -> Counts:
    """Return in how many of (..., units) each label stands, shape (..., labels)."""
    rows = codes.reshape(math.prod(codes.shape[:-1]), codes.shape[-1])
    found = []
    for shift in range(0, labels, 8):
        # Exact: whole numbers far below 2**53, whatever the order in which they are added.
        counts = histograms(rows >> np.uint32(shift) & np.uint32(0xFF), 256) @ _BYTE_BITS
        found.append(counts.astype(np.int64))
    return np.concatenate(found, axis=-1)[:, :labels].reshape(*codes.shape[:-1], labels)


def histograms(values: NDArray[np.integer], size: int) -> Counts:
    """Return how often each of 0 to size - 1 stands in every row of (rows, units), shape (rows, size)."""
    offsets = np.arange(len(values), dtype=np.int64)[:, None] * size
    return np.bincount((values + offsets).reshape(-1), minlength=len(values) * size).reshape(-1, size)


def any_of(codes: Codes, groups: Sequence[Sequence[int]]) -> Codes:
    """Return coarser labels: label i is there where any label at the places of group i is."""
    found = np.zeros_like(codes)
    for place, group in enumerate(groups):
        mask = np.uint32(sum(1 << label for label in group))
        found |= ((codes & mask) != 0).astype(np.uint32) << np.uint32(place)
    return found
