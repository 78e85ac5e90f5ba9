"""Everything that needs only a store: replay, scores, records, export."""
