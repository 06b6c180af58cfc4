"""The store: SQLite or PostgreSQL, through SQLAlchemy. Knows no runner."""
