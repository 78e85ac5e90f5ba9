"""What the four papers printed of models' scores: `printed.py` reads it from the files beside it."""

from harness.report.published.printed import LeftOut, PublishedValue, conditions, left_out, published

__all__ = ["LeftOut", "PublishedValue", "conditions", "left_out", "published"]
