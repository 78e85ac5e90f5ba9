"""Every error that the program raises on purpose.

HarnessError
├── ConfigError            a setting, option or name the user wrote is wrong            (exit 2)
│   ├── UnknownNameError   a benchmark, condition, model, run ... that does not exist   (exit 2)
│   ├── GradeRefusedError  what a seat of a grading is refused; nothing was kept        (exit 2)
│   └── MissingKeyError    an API key that is needed is not in the environment          (exit 2)
├── ImportFileError        a file cannot be imported; names the row                     (exit 2)
├── CaseFileError          a case file cannot be used; names the line                   (exit 2)
├── ConversionError        a DICOM or NIfTI file cannot be converted; the others go on  (exit 3)
├── SpoolError             a temporary file cannot be kept, for want of room say        (exit 1)
├── StoreError             the store cannot be used                                     (exit 1)
│   ├── StoreMemoryError   no memory for this entry: others may fit                     (exit 1)
│   ├── NotAStoreError     the file is no store                                         (exit 2)
│   ├── StoreVersionError  written by a newer version                                   (exit 2)
│   └── RunNameTakenError  the name belongs to a different run                          (exit 2)
├── MediaError             one image or clip cannot be used: becomes `case_error`
│   ├── MediaReadError     it cannot be read now: asked again, becomes `provider_error`
│   │   └── MediaChangedError  it is another file than the one that was planned
│   └── MediaLimitError    fine, but beyond one model's limits: becomes `not_applicable`
├── UnsupportedInputError  an adapter cannot express a part: becomes `not_applicable`
├── MetricUnavailableError a metric cannot be computed here: becomes null with this reason
├── BudgetReachedError     `--max-cost` allows no further request                       (exit 4)
└── PoolClosedError        a pool takes no further requests in this session

Messages say what happened, to which thing, and what to do; lower case, no full stop.
"""

from __future__ import annotations

from pathlib import Path

from harness.exit_codes import BUDGET, FAILED, INCOMPLETE, USAGE


class HarnessError(Exception):
    """Base of all errors raised on purpose; `exit_code` is what the command line ends with."""

    exit_code: int = FAILED


class ConfigError(HarnessError):
    """A setting, option or name that the user wrote is wrong."""

    exit_code = USAGE


class UnknownNameError(ConfigError):
    """A name that does not exist; the message lists the known ones or the nearest."""


class GradeRefusedError(ConfigError):
    """What a seat of a grading is refused: a grade, a sheet. Names nothing that a rater may not know."""


class MissingKeyError(ConfigError):
    """An API key that is needed is not in the environment."""


class CaseFileError(HarnessError):
    """A case file cannot be used; the message names the file, the line and the mend."""

    exit_code = USAGE


class ImportFileError(HarnessError):
    """A file of answers, grades or cases cannot be imported; the message names file, row and mend."""

    exit_code = USAGE


class ConversionError(HarnessError):
    """A DICOM or NIfTI file cannot be converted; the message names the file, and nothing of its tags."""

    exit_code = INCOMPLETE


class SpoolError(HarnessError):
    """A temporary file does not take what a command works on; the message names its folder."""


class StoreError(HarnessError):
    """The store cannot be read or written."""


class StoreMemoryError(StoreError):
    """This machine has no memory to write one entry; others may fit."""


class NotAStoreError(StoreError):
    """The file at the store's place is no store of ours."""

    exit_code = USAGE


class StoreVersionError(StoreError):
    """The store was written by a newer version of the program, or by one too old to be read as it is."""

    exit_code = USAGE


class RunNameTakenError(StoreError):
    """A run name is already held by a run that wants something else."""

    exit_code = USAGE


class MediaError(HarnessError):
    """A medium cannot be used by any model."""


class MediaReadError(MediaError):
    """A medium cannot be read now: it is gone or has changed since it was looked at, or the machine is short.

    Within a run that says nothing about the case, which another model may have been asked already.
    """


class MediaChangedError(MediaReadError):
    """The bytes at `path` are not those that were planned to be sent: nothing was sent."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.path = path


class MediaLimitError(MediaError):
    """A medium is sound but beyond a limit of one model; `limit` names the setting, as `image.max_bytes`."""

    def __init__(self, message: str, *, limit: str = "") -> None:
        super().__init__(message)
        self.limit = limit


class UnsupportedInputError(HarnessError):
    """A request holds what a format or a model cannot take; `limit` names the setting that says so."""

    def __init__(self, message: str, *, limit: str = "") -> None:
        super().__init__(message)
        self.limit = limit


class MetricUnavailableError(HarnessError):
    """A metric cannot be computed on this machine; the message is the reason that stands beside its null."""


class BudgetReachedError(HarnessError):
    """The session's `--max-cost` allows no further request."""

    exit_code = BUDGET


class PoolClosedError(HarnessError):
    """A pool takes no further requests in this session; `until_s`: seconds from now, where known."""

    def __init__(self, message: str, *, until_s: float | None = None) -> None:
        super().__init__(message)
        self.until_s = until_s
