"""The pages, each a function from a query to what it says."""
