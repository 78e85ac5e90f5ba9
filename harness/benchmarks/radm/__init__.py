"""RadM-Bench: ranked differential diagnoses of radiology cases, in two languages."""
