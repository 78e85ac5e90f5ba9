"""Exit codes of the command line; README tells users what each means."""

from __future__ import annotations

from typing import Final

OK: Final = 0
FAILED: Final = 1
"""The store or the program failed."""
USAGE: Final = 2
"""What the user wrote cannot be done."""
INCOMPLETE: Final = 3
"""Some units have no answer."""
BUDGET: Final = 4
"""`--max-cost` allows nothing more."""
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
"""The reader of our output has gone."""
