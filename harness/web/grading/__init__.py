"""`harness grade`: sheets for raters, for their consensus, and what the lead of a grading sees."""
