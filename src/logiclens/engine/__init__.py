"""Tables that are too large to read: counted where they are, by DuckDB, Spark or a database."""
