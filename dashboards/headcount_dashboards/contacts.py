"""Whom Grafana tells: the contact point, its channels, and the text of the messages."""

from __future__ import annotations

from importlib.resources import files

from headcount_dashboards.panels import Json
from headcount_dashboards.settings import GrafanaSettings, variable_of

NAME = "headcount"
TEMPLATE_NAME = "headcount"
_TITLE = '{{ template "headcount.title" . }}'
_TEXT = '{{ template "headcount.text" . }}'


def receiver_of(settings: GrafanaSettings) -> str | None:
    """Return the name of the contact point that rules notify; None leaves them to Grafana's own policies."""
    return settings.receiver or (NAME if settings.channels else None)


def message_template() -> str:
    """Return the notification template: no `$` in it, which file provisioning would take for a variable."""
    return files(__package__).joinpath("message.tmpl").read_text(encoding="utf-8")


def contact_points(settings: GrafanaSettings, *, secrets: bool) -> list[Json]:
    """Return one integration for each channel that is set; without `secrets` the variables stand in their place."""

    def secret(name: str) -> str:
        value = getattr(settings, name)
        return value.get_secret_value() if secrets else "${" + variable_of(name) + "}"

    found: list[tuple[str, Json]] = []
    if settings.receiver:
        return []
    if settings.slack_url is not None:
        found.append(("slack", {"url": secret("slack_url"), "title": _TITLE, "text": _TEXT}))
    if settings.discord_url is not None:
        found.append(("discord", {"url": secret("discord_url"), "title": _TITLE, "message": _TEXT}))
    if settings.teams_url is not None:
        found.append(("teams", {"url": secret("teams_url"), "title": _TITLE, "message": _TEXT}))
    if settings.telegram_token is not None:
        found.append(
            (
                "telegram",
                {
                    "bottoken": secret("telegram_token"),
                    "chatid": settings.telegram_chat,
                    "message": f"{_TITLE}\n{_TEXT}",
                },
            )
        )
    if settings.webhook_url is not None:
        found.append(("webhook", {"url": secret("webhook_url"), "httpMethod": "POST"}))
    if settings.email:
        found.append(("email", {"addresses": settings.email, "subject": _TITLE, "message": _TEXT}))
    return [
        {
            "uid": f"hc-contact-{kind}",
            "name": NAME,
            "type": kind,
            "settings": channel,
            "disableResolveMessage": False,
        }
        for kind, channel in found
    ]


SECRET_SETTINGS = ("url", "bottoken")
"""Settings of channels that Grafana never gives back."""
