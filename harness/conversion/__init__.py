"""DICOM and NIfTI files become pictures and clips by a recorded recipe; nothing of their tags goes along."""
