"""`harness view`: runs, models, units and every exchange of them, as pages."""
