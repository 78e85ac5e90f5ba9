"""`harness doctor`: a few tiny calls that tell whether models can be asked, before many are paid for."""
