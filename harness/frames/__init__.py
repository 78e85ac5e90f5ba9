"""Frames of clips: which are shown, how they are made, and where they are kept once made."""
