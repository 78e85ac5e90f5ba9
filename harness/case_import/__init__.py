"""Case folders made from tables: CSV, TSV, JSON, Parquet and saved `datasets` folders."""
