"""The store: client, lock, migrations and the schema that everything derives from."""

from headcount_collector.store.client import Store
from headcount_collector.store.content import CONTENT_ATTRIBUTES
from headcount_collector.store.errors import SchemaTooNew, StoreError, StoreLocked
from headcount_collector.store.migrate import migrate

__all__ = ["CONTENT_ATTRIBUTES", "SchemaTooNew", "Store", "StoreError", "StoreLocked", "migrate"]
