"""Reports: tables, figures and pages for people, made of stored scores."""
