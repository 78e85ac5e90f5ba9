"""Wire formats: one file each, and `catalogue/`, one file a provider."""
