"""Images and clips of cases on pages: served only while their bytes are those that were asked about."""
