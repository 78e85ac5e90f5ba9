"""Simulated models behind a real loopback HTTP server, for demonstrations and tests without a key."""
