"""
ChokaQ: background jobs on Azure Functions, kept in SQL.
"""

__version__ = "0.1.0"
