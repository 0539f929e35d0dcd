"""Tables that are too large to load: DuckDB, Spark or a database counts them where they are."""
