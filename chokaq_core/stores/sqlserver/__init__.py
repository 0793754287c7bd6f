"""
The production store: SQL Server and Azure SQL, over pyodbc and Microsoft's ODBC driver.
"""

from chokaq_core.stores.sqlserver.store import SqlServerStore

__all__ = ["SqlServerStore"]
