"""The benchmark report: figures computed from the table of results, and Jinja templates that render them."""
