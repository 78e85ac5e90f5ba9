"""Measures what the engine costs on this machine, beside a bare client in the same run: `python -m perf`."""
