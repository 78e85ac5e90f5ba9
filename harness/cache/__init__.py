"""The store: every exchange that was ever paid for, and what was made of it."""
