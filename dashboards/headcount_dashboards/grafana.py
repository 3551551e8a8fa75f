"""The one way to a Grafana: opens it, checks that it can take what we have, and turns its refusals into our errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self
from urllib.parse import urlsplit

from grafana_client.api import GrafanaApi
from grafana_client.client import GrafanaClientError, GrafanaException, GrafanaUnauthorizedError
from niquests.exceptions import RequestException

from headcount_dashboards.errors import GrafanaError, NotOurs
from headcount_dashboards.panels import PLUGIN, Json
from headcount_dashboards.settings import NOTIFIER, PREFIX, GrafanaSettings

OLDEST = (9, 1)
"""Provisioning of rules by API, and every panel that is used."""
OLDEST_NOTIFYING = (11, 1)
"""Receivers named by a rule, and rules that keep their last state through an outage of the database."""
_TIMEOUT_S = 30.0


class Grafana:
    """A Grafana that was checked: version, token, plugin. Methods return Grafana's JSON; None where there is none."""

    def __init__(self, settings: GrafanaSettings) -> None:
        parts = urlsplit(settings.url)
        self.url = settings.url
        self.api = GrafanaApi(
            auth=None if settings.token is None else settings.token.get_secret_value(),
            host=parts.hostname or "localhost",
            port=parts.port,
            url_path_prefix=parts.path.strip("/") + "/" if parts.path.strip("/") else "",
            protocol=parts.scheme,
            timeout=_TIMEOUT_S,
        )
        try:
            self.version = self._check(settings)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.api.client.s.close()

    def call(
        self, method: str, path: str, body: Any = None, *, keep_editable: bool = False, doing: str = ""
    ) -> Any:
        """Call `/api` + `path`. Raises GrafanaError with what was being done, Grafana's words and the way out."""
        headers = {"X-Disable-Provenance": "true"} if keep_editable else None
        with self._told(doing or f"{method} {path}"):
            return getattr(self.api.client, method)(path, json=body, headers=headers)

    def find(self, path: str, doing: str = "") -> Any | None:
        """Get `/api` + `path`, or None where it is not found."""
        with self._told(doing or f"reading {path}"):
            try:
                return self.api.client.GET(path)
            except GrafanaClientError as error:
                if error.status_code == 404:
                    return None
                raise

    def _check(self, settings: GrafanaSettings) -> tuple[int, int]:
        with self._told("asking for its health"):
            health = self.api.client.GET("/health")
        found = (
            re.match(r"(\d+)\.(\d+)", str(health.get("version", ""))) if isinstance(health, dict) else None
        )
        if self.api.client.auth is None:
            raise GrafanaError(
                f"no token for {self.url}: make a service account with the role Admin and set {PREFIX}TOKEN"
            )
        with self._told("checking the token"):
            self.api.client.GET("/org")
        if found is None:
            # Grafana may hide its version from those who are not signed in; then its settings have it.
            with self._told("reading its version"):
                shown = self.api.client.GET("/frontend/settings")
            found = re.match(r"(\d+)\.(\d+)", str(shown.get("buildInfo", {}).get("version", "")))
        if found is None:
            raise GrafanaError(f"{self.url} answers, but does not tell its version: is it a Grafana?")
        version = int(found[1]), int(found[2])
        self._check_version(version, settings)
        self._check_plugin()
        return version

    def _check_version(self, version: tuple[int, int], settings: GrafanaSettings) -> None:
        is_ = f"{self.url} is Grafana {version[0]}.{version[1]}"
        if version < OLDEST:
            raise GrafanaError(f"{is_}; {OLDEST[0]}.{OLDEST[1]} or newer is needed: upgrade it")
        if settings.notifies and version < OLDEST_NOTIFYING:
            raise GrafanaError(
                f"{is_}; {OLDEST_NOTIFYING[0]}.{OLDEST_NOTIFYING[1]} or newer is needed for {NOTIFIER}=grafana: "
                f"upgrade it, or let headcount notify"
            )

    def _check_plugin(self) -> None:
        if self.find(f"/plugins/{PLUGIN}/settings", "looking for the ClickHouse plugin") is None:
            raise GrafanaError(
                f"{self.url} lacks the plugin {PLUGIN}: run `grafana cli plugins install {PLUGIN}` there and restart it, "
                f"or start its container with GF_INSTALL_PLUGINS={PLUGIN}"
            )

    @contextmanager
    def _told(self, doing: str) -> Iterator[None]:
        try:
            yield
        except GrafanaUnauthorizedError:
            raise GrafanaError(
                f"{self.url} does not know this token ({doing}): check {PREFIX}TOKEN; a token belongs to one "
                "organisation and can expire"
            ) from None
        except GrafanaClientError as error:
            raise _refusal(self.url, doing, error) from None
        except GrafanaException as error:
            raise GrafanaError(f"{self.url} failed ({doing}): {error.message}") from None
        except RequestException as error:
            raise GrafanaError(
                f"{self.url} cannot be reached ({doing}): {type(error).__name__}; check {PREFIX}URL, and that Grafana runs"
            ) from None
        except ValueError:
            raise GrafanaError(f"{self.url} answers, but not in JSON ({doing}): is it a Grafana?") from None


def _refusal(url: str, doing: str, error: GrafanaClientError) -> GrafanaError:
    said = error.response.get("message", "") if isinstance(error.response, dict) else str(error.response)
    status = error.response.get("status", "") if isinstance(error.response, dict) else ""
    if error.status_code == 403:
        return GrafanaError(f"{url} forbids {doing}: {said}; give the service account the role Admin")
    if error.status_code in (409, 412):
        why = f" ({status})" if status else ""
        return NotOurs(
            f"{url} refuses {doing}: {said}{why}; somebody changed it meanwhile, or it belongs to a file: look at it, "
            "then run this again"
        )
    return GrafanaError(f"{url} refuses {doing}: {said or error.message}")


def known(answer: Any) -> Json:
    """Return an answer that must be an object."""
    if not isinstance(answer, dict):
        raise GrafanaError(f"Grafana answered {type(answer).__name__} where an object was expected")
    return answer
