"""Metrics that know nothing of benchmarks, models or stores."""
