"""Pools: what shares one rate limit, and who may send next."""
