"""Ask many multimodal models the same cases, keep every raw answer, score offline."""

__version__ = "0.1.0"
