"""The eight imaging modalities of MedLayXPlain, by the names that its case files use (paper, section 4.1)."""

from __future__ import annotations

from typing import Final

MODALITIES: Final = (
    "Pathology", "MRI", "CT", "X-Ray", "PET", "Dermoscopy", "Endoscopy", "Ultrasound",
)  # fmt: skip
"""Most frequent ones first. Their order numbers them in what the scores keep of a unit: append only."""
