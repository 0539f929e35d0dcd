"""Tables: reading them from files and frames as typed columns, and writing them."""
