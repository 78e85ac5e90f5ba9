"""Is one better than the other? Paired comparisons of rows of scores on the cases that all of them have."""
