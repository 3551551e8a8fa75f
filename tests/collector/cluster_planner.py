"""Plans statements as a server of a cluster would: `python -m tests.collector.cluster_planner < STATEMENTS`.

Reads a pickled list of (sql, parameters); prints as JSON how many were planned, and [sql, why] of those that cannot be. The schema is that
of a cluster of two shards, but for what wants a coordination service (`ON CLUSTER`, replication); nobody listens where
the shards are said to be, so that a plan that is fine may end with a connection refused.
"""

from __future__ import annotations

import json
import pickle
import re
import sys
import tempfile

import clickhouse_connect
from clickhouse_connect.driver.exceptions import ClickHouseError

from headcount_collector.store.engine import OF_A_SERVER
from headcount_collector.store.migrate import statements
from tests.collector.clickhouse_endpoint import CLUSTER, unreplicated

_NOBODY = "9"  # the port of `discard`, which loopback has nowhere
_REFUSED = re.compile(r"Code: (?:210|279)\.")
_NO_TABLE_OF_OURS = re.compile(r"\bsystem\.|\btheirs\.")


def _client(folder: str) -> clickhouse_connect.driver.client.Client:
    shard = f"remote_servers.{CLUSTER}.shard"
    options = {
        f"{shard}{number}.replica.{name}": value
        for number in range(2)
        for name, value in (("host", "127.0.0.1"), ("port", _NOBODY))
    }
    client = clickhouse_connect.get_client(
        interface="chdb", path=folder, chdb_options=options, settings=dict(OF_A_SERVER)
    )
    client.command("CREATE DATABASE headcount")
    client.database = "headcount"
    for sql in statements(CLUSTER):
        client.command(unreplicated(sql))
    return client


def _selects(sql: str) -> str | None:
    """Return what a statement reads; None if it reads nothing, or not only from our tables."""
    text = "\n".join(line for line in sql.splitlines() if not line.lstrip().startswith("--"))
    found = re.match(r"\s*(?:INSERT\b.*?)?(?=\b(?:WITH|SELECT)\b)", text, re.DOTALL)
    return None if found is None or _NO_TABLE_OF_OURS.search(text) else text[found.end() :]


def main() -> None:
    """Plan what standard input holds."""
    with tempfile.TemporaryDirectory() as folder:
        client = _client(folder)
        planned, refused = 0, []
        for sql, parameters in pickle.load(sys.stdin.buffer):
            if (select := _selects(sql)) is None:
                continue
            planned += 1
            try:
                client.query(f"EXPLAIN PLAN {select}", parameters=parameters)
            except ClickHouseError as error:
                if not _REFUSED.search(str(error)):
                    refused.append([sql, str(error)])
        json.dump({"planned": planned, "refused": refused}, sys.stdout)
        client.close()


if __name__ == "__main__":
    main()
