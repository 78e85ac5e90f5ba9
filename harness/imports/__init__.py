"""Answers that were paid for elsewhere: other tools' result files, read and scored as our own."""
