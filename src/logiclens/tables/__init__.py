"""Tables: read from files and frames, with typed columns, and written."""
