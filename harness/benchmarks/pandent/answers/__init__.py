"""One sentence about one finding, read strictly: yes or no, teeth, or why it cannot be read."""
