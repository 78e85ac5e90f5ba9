"""Task definitions: one package a benchmark."""
