"""Everything that differs between databases: one module a database, behind one interface."""

from harness.cache.dialects.base import Access, Fault, StoreDialect
from harness.cache.dialects.sqlite import APPLICATION_ID, PRIVATE_MODE, SqliteDialect

__all__ = ["APPLICATION_ID", "PRIVATE_MODE", "Access", "Fault", "SqliteDialect", "StoreDialect"]
