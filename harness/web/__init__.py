"""Pages for people on this machine: answers looked at one by one (`viewing`), and graded (`grading`)."""
