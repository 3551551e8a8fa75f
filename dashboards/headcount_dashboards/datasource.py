"""The data source: where Grafana finds headcount's database."""

from __future__ import annotations

from headcount_dashboards.panels import PLUGIN, Json
from headcount_dashboards.settings import GrafanaSettings, variable_of

NAME = "headcount"


def datasource(settings: GrafanaSettings, *, secrets: bool) -> Json:
    """Return the data source as the API takes it; without `secrets` the password's variable stands in its place."""
    made: Json = {
        "uid": settings.datasource_uid,
        "name": NAME,
        "type": PLUGIN,
        "access": "proxy",
        "url": "",
        "jsonData": {
            "host": settings.clickhouse_host,
            "port": settings.clickhouse_port,
            "protocol": settings.clickhouse_protocol,
            "path": settings.clickhouse_path,
            "secure": settings.clickhouse_secure,
            "username": settings.clickhouse_user,
            "defaultDatabase": settings.clickhouse_database,
            "dialTimeout": "10",
            "queryTimeout": "60",
            "traces": {
                "defaultDatabase": settings.clickhouse_database,
                "defaultTable": "otel_traces",
                "otelEnabled": True,
                "otelVersion": "latest",
            },
        },
    }
    if settings.clickhouse_password is not None:
        password = settings.clickhouse_password.get_secret_value()
        made["secureJsonData"] = {
            "password": password if secrets else "${" + variable_of("clickhouse_password") + "}"
        }
    return made
