"""Grades by people: given at the desk of a grading, or as files that are checked before anything is kept."""
