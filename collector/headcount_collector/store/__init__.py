"""The store: client, lock, migrations and the schema that everything derives from."""

from headcount_collector.store.client import Store
from headcount_collector.store.errors import SchemaTooNew, StoreError, StoreLocked
from headcount_collector.store.migrate import migrate

__all__ = ["SchemaTooNew", "Store", "StoreError", "StoreLocked", "migrate"]
