"""Lets `python -m harness` do what `harness` does."""

from __future__ import annotations

from harness.cli.main import main

if __name__ == "__main__":
    main()
