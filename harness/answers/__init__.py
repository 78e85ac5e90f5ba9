"""From a model's text to a value that fits the schema, without changing a character."""
