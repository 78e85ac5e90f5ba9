"""The PanDent benchmark: clinical reports and questions about single findings of a panoramic radiograph."""
