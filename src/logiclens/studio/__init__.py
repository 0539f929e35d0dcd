"""The studio: a local web page that learns rules from a table, shows them, edits them and exports them.

`logiclens studio` starts it. A `Work` folder holds one table with everything made of it, a worker process learns, and
`server` answers the browser. Nothing here is loaded by the rest of the product.
"""
