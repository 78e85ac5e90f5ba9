"""Human grades as files: read and checked before anything is kept, written so that they can be read again."""
