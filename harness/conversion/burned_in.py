"""Warnings of what a picture may show of a patient: text that is part of its pixels."""

from __future__ import annotations

from typing import Final

from pydicom import Dataset

from harness.conversion.dicom_tags import word

_MODALITIES: Final = {
    "US": "ultrasound", "IVUS": "ultrasound", "XA": "angiography", "RF": "fluoroscopy", "ES": "endoscopy",
    "OT": "other", "XC": "photography", "SC": "secondary capture", "GM": "microscopy", "DOC": "document",
    "ECG": "waveform", "BI": "biomagnetic", "OP": "ophthalmology", "OPT": "ophthalmology", "DX": "radiograph",
    "CR": "radiograph", "PX": "panoramic radiograph", "IO": "intra-oral radiograph", "MG": "mammography",
}  # fmt: skip
_SELDOM: Final = {"DX", "CR", "PX", "IO", "MG"}
"""Their pictures come without text from the device: told only where they are digitised or captured."""
_CAPTURES: Final = (
    "1.2.840.10008.5.1.4.1.1.7", "1.2.840.10008.5.1.4.1.1.7.1", "1.2.840.10008.5.1.4.1.1.7.2",
    "1.2.840.10008.5.1.4.1.1.7.3", "1.2.840.10008.5.1.4.1.1.7.4",
)  # fmt: skip
"""Secondary Capture, of one frame and of several."""
_LOOK: Final = "look at the output, and blacken names and dates before it is sent to anybody"
PROJECTIONS: Final = (*_MODALITIES,)
"""Modalities whose files are pictures by themselves, and no slices of a volume."""


def burned_in_text(dataset: Dataset) -> str | None:
    """Return why a picture may hold text of its own, None where nothing speaks for it.

    By tags only: BurnedInAnnotation, and, where it is absent, the kind of device or capture.
    """
    told = word(dataset, "BurnedInAnnotation", ("YES", "NO"))
    if told == "YES":
        return f"its tags say that text is burned into the picture; {_LOOK}"
    if told == "NO":
        return None
    modality = word(dataset, "Modality", tuple(_MODALITIES))
    if word(dataset, "SOPClassUID", _CAPTURES):
        return f"it is a secondary capture, which may show a name, and no tag says that none is; {_LOOK}"
    if modality and modality not in _SELDOM:
        return (
            f"pictures of its kind ({_MODALITIES[modality]}) often have a name or a hospital burned in, and "
            f"no tag says that this one has not; {_LOOK}"
        )
    return None
