"""Integrations: agents of frameworks are scored live by one object that is handed to the framework.

Each module imports its framework. What an agent gives is read as it is, by the readers of `referee.formats`.
"""
