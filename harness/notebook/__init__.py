"""Stored runs as Arrow tables, for notebooks."""
