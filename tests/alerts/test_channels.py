"""Channels against real peers, or against servers that keep to the documented contract."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from aiosmtpd.controller import Controller

from headcount_alerts.channels import Parcel
from headcount_alerts.channels.alertmanager import AlertmanagerChannel
from headcount_alerts.channels.anything import AppriseChannel
from headcount_alerts.channels.http import retry_after_s
from headcount_alerts.channels.nudge import NudgeChannel
from headcount_alerts.channels.slack import SlackBot, SlackWebhook, pressed
from headcount_alerts.channels.webhook import BadSignature, WebhookChannel, verify
from headcount_alerts.errors import AlertsConfigError, ChannelError
from headcount_alerts.text import Texts

from .peers import Asked, Said, SlackApi, peer, said_json
from .test_text import CONDITIONS, HOSTILE, incident, message

TEXTS = Texts()


def parcel(what: str = "notified", number: int = 1, reference: str = "", **more: Any) -> Parcel:
    found = incident(CONDITIONS["class-done_but_not_forwarded"])
    found.is_open = what != "closed"
    return Parcel(f"{found.id}-{number}-x", message(found, what), reference, **more)


def test_a_webhook_is_signed_and_its_signature_can_be_checked() -> None:
    with peer() as server:
        channel = WebhookChannel(
            server.url + "/hook", secret="s3cret", headers={"X-Team": "a"}, clock=lambda: 1000.0
        )
        channel.send(parcel(repeat=True))
        (asked,) = server.asked
    assert asked.path == "/hook"
    assert asked.json["version"] == 1
    assert asked.json["repeat"] is True
    assert asked.headers["idempotency-key"] == "0a1b2c3d4e5f-1-x"
    assert asked.headers["x-team"] == "a"
    verify("s3cret", asked.headers, asked.body, now_s=1200.0)


@pytest.mark.parametrize(
    ("change", "now_s"),
    [("body", 1000.0), ("time", 1000.0), ("id", 1000.0), ("none", 1301.0), ("secret", 1000.0)],
)
def test_a_forged_changed_or_replayed_webhook_is_refused(change: str, now_s: float) -> None:
    with peer() as server:
        WebhookChannel(server.url, secret="s3cret", clock=lambda: 1000.0).send(parcel())
        (asked,) = server.asked
    headers, body, secret = dict(asked.headers), asked.body, "s3cret"
    if change == "body":
        body += b" "
    elif change == "time":
        headers["headcount-timestamp"] = "1001"
    elif change == "id":
        headers["headcount-id"] = "other"
    elif change == "secret":
        secret = "other"
    with pytest.raises(BadSignature):
        verify(secret, headers, body, now_s)


@pytest.mark.parametrize(
    ("status", "headers", "retryable", "after"),
    [
        (429, {"Retry-After": "7"}, True, 7.0),
        (503, {}, True, None),
        (400, {}, False, None),
        (404, {}, False, None),
        (302, {"Location": "http://elsewhere.example/"}, False, None),
    ],
)
def test_an_answer_says_whether_to_come_again_and_when(
    status: int, headers: dict[str, str], retryable: bool, after: float | None
) -> None:
    answer = Said(status, b"why", headers)
    with peer(lambda asked: answer) as server, pytest.raises(ChannelError, match=str(status)) as caught:
        WebhookChannel(server.url + "/secret-path").send(parcel())
    assert (caught.value.retryable, caught.value.retry_after_s) == (retryable, after)
    assert "secret-path" not in str(caught.value)


def test_a_peer_that_is_not_there_is_tried_again() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(ChannelError) as caught:
            WebhookChannel(f"http://127.0.0.1:{taken.getsockname()[1]}/").send(parcel())
    assert caught.value.retryable


def test_retry_after_may_be_a_date() -> None:
    assert retry_after_s("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert retry_after_s("soon") is None


def test_a_slack_bot_writes_one_message_edits_it_and_says_steps_in_its_thread() -> None:
    api = SlackApi()
    with peer(api) as server:
        bot = SlackBot("xoxb-1", "C1", TEXTS, api=server.url + "/api/", button=True)
        reference = bot.send(parcel())
        bot.send(parcel("updated", 2, reference))
        bot.send(parcel("reminded", 3, reference))
        bot.send(parcel("closed", 4, reference))
    (first, reminder, closing) = api.messages.values()
    assert "thread_ts" not in first
    assert first["text"].startswith("CLOSED")
    assert [block["type"] for block in first["blocks"]] == ["section", "section"]
    assert reminder["thread_ts"] == closing["thread_ts"] == reference.split(":")[1]
    assert reminder["text"].startswith("REMINDER PAGE")
    assert (reminder["reply_broadcast"], closing["reply_broadcast"]) == (True, False)


def test_a_slack_message_that_somebody_deleted_is_written_anew() -> None:
    api = SlackApi()
    with peer(api) as server:
        bot = SlackBot("xoxb-1", "C1", TEXTS, api=server.url + "/api/")
        reference = bot.send(parcel())
        first = api.messages.pop(reference.split(":")[1])
        api.messages["0.1"] = {}
        again = bot.send(parcel("reminded", 2, reference))
    assert again != reference
    assert api.messages[again.split(":")[1]]["blocks"] != first["blocks"]


def test_an_open_incident_in_slack_has_a_button_and_its_press_says_who() -> None:
    api = SlackApi()
    with peer(api) as server:
        SlackBot("xoxb-1", "C1", TEXTS, api=server.url + "/api/", button=True).send(parcel())
    (first,) = api.messages.values()
    (button,) = first["blocks"][-1]["elements"]
    press = {"type": "block_actions", "user": {"id": "U1", "username": "anna"}, "actions": [button]}
    assert pressed(json.dumps(press)) == ("0a1b2c3d4e5f", "anna")
    assert pressed("{}") is None
    assert pressed("no json") is None


def test_slack_names_what_it_refuses_and_asks_to_wait_where_it_is_limited() -> None:
    api = SlackApi()
    with peer(api) as server:
        api.limited = 1
        bot = SlackBot("xoxb-1", "C1", TEXTS, api=server.url + "/api/")
        with pytest.raises(ChannelError, match="ratelimited") as limited:
            bot.send(parcel())
        assert (limited.value.retryable, limited.value.retry_after_s) == (True, 30.0)
        with pytest.raises(ChannelError, match="invalid_auth") as refused:
            SlackBot("xoxb-2", "C1", TEXTS, api=server.url + "/api/").send(parcel())
        assert not refused.value.retryable
        with pytest.raises(ChannelError, match="channel_not_found"):
            SlackBot("xoxb-1", "C2", TEXTS, api=server.url + "/api/").send(parcel())
    with pytest.raises(ChannelError) as away:
        bot.send(parcel())
    assert away.value.retryable


def test_a_slack_webhook_posts_every_step() -> None:
    answers = [Said(200, b"ok"), Said(429, b"", {"Retry-After": "3"}), Said(404, b"no_service")]
    with peer(lambda asked: answers.pop(0)) as server:
        channel = SlackWebhook(server.url + "/services/T0/B0/x", TEXTS)
        channel.send(parcel())
        with pytest.raises(ChannelError) as limited:
            channel.send(parcel())
        with pytest.raises(ChannelError, match="no_service") as gone:
            channel.send(parcel())
    assert server.asked[0].json["text"].startswith("PAGE: reviewer review-17")
    assert limited.value.retry_after_s == 3.0
    assert not gone.value.retryable


def test_a_nudge_is_sent_so_often_and_never_for_what_is_closed() -> None:
    with peer() as server:
        channel = NudgeChannel(TEXTS, url=server.url, at_most=2)
        reference = ""
        for what in ("notified", "reminded", "escalated", "closed"):
            reference = channel.send(parcel(what, reference=reference))
    assert [asked.json["number"] for asked in server.asked] == [1, 2]
    assert server.asked[0].json["kind"] == server.asked[0].headers["headcount-kind"] == "headcount-recovery"
    assert server.asked[0].json["owner"] == "lead"


def test_a_nudge_can_be_a_command_that_gets_no_telemetry_as_argument(tmp_path: Path) -> None:
    script = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read())"
    target = tmp_path / "nudged"
    NudgeChannel(TEXTS, command=(sys.executable, "-c", script, str(target))).send(parcel())
    assert json.loads(target.read_text())["text"].startswith("HEADCOUNT RECOVERY")
    with pytest.raises(ChannelError, match="ended with 3: no"):
        NudgeChannel(
            TEXTS, command=(sys.executable, "-c", "import sys; sys.exit(print('no', file=sys.stderr) or 3)")
        ).send(parcel())


class _Mailbox:
    def __init__(self) -> None:
        self.mails: list[Any] = []

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # aiosmtpd's name
        self.mails.append(message_from_bytes(envelope.content, policy=policy.default))
        return "250 OK"


def mailed(sent: Parcel) -> Any:
    """Send a parcel by mail through a real SMTP server, and return what arrived."""
    box = _Mailbox()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    controller = Controller(box, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        url = f"mailto://127.0.0.1:{port}?from=headcount@example.com&to=oncall@example.com&mode=insecure"
        AppriseChannel(url, TEXTS).send(sent)
    finally:
        controller.stop()
    (mail,) = box.mails
    return mail


def test_mail_goes_through_a_real_smtp_server() -> None:
    mail = mailed(parcel())
    assert mail["To"] == "oncall@example.com"
    assert str(mail["Subject"]).startswith("PAGE: reviewer review-17 is done")
    assert "headcount recover review-17" in mail.get_body(("html",)).get_content()


def test_nothing_from_telemetry_gets_into_the_head_of_a_mail() -> None:
    mail = mailed(hostile())
    assert mail.get_all("To") == ["oncall@example.com"]
    assert "Bcc" not in mail
    said = mail.get_body(("html",)).get_content()
    assert "<script" not in said
    assert "<img" not in said


def hostile() -> Parcel:
    text = f"{HOSTILE} <img src=x>\r\nBcc: all@example.com"
    found = incident(CONDITIONS["class-done_but_not_forwarded"], agent=text, description=text)
    found.session = found.owner = text
    return Parcel("h-1-x", message(found))


_SERVICES = [
    (
        "ntfy",
        "ntfy://{host}/headcount",
        "/",
        lambda a: a.json["topic"] == "headcount" and "review-17" in a.json["message"],
    ),
    (
        "mattermost",
        "mmost://{host}/hooktoken123",
        "/hooks/hooktoken123",
        lambda a: "review-17" in a.json["text"],
    ),
    ("json", "json://{host}/x", "/x", lambda a: "review-17" in a.json["message"]),
]


@pytest.mark.parametrize(("name", "url", "path", "holds"), _SERVICES, ids=[s[0] for s in _SERVICES])
def test_apprise_reaches_services_that_one_can_host(name: str, url: str, path: str, holds: Any) -> None:
    with peer(lambda asked: said_json({})) as server:
        AppriseChannel(url.format(host=server.url.removeprefix("http://")), TEXTS).send(parcel())
        (asked,) = server.asked
    assert asked.path == path
    assert holds(asked)


def test_a_service_that_does_not_answer_is_waited_for_as_long_as_was_said() -> None:
    release = threading.Event()

    def silent(asked: Asked) -> Said:
        release.wait(60)
        return Said()

    with peer(silent) as server:
        channel = AppriseChannel(f"json://{server.url.removeprefix('http://')}/", TEXTS, timeout_s=0.2)
        with pytest.raises(ChannelError) as caught:
            channel.send(parcel())
        release.set()
    assert caught.value.retryable


def test_apprise_says_why_a_message_did_not_go() -> None:
    with peer(lambda asked: Said(500, b"broken")) as server:
        channel = AppriseChannel(f"json://{server.url.removeprefix('http://')}/", TEXTS)
        with pytest.raises(ChannelError, match="500") as caught:
            channel.send(parcel())
    assert caught.value.retryable


@pytest.mark.parametrize(
    "url",
    [
        "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js",
        "tgram://123456789:abcdefg_hijklmnop/12315544/",
        "workflows://host/0123456789abcdef/sig0123456789/",
        "gchat://workspace/key/token",
        "pagerduty://integrationkey@apikey",
        "mmosts://chat.example/token",
        "mailtos://user:pass@example.com",
    ],
)
def test_the_urls_in_the_documentation_are_understood(url: str) -> None:
    AppriseChannel(url, TEXTS)


def test_a_url_that_apprise_does_not_know_is_refused_without_showing_its_secrets() -> None:
    with pytest.raises(AlertsConfigError, match="begins with pigeon://") as caught:
        AppriseChannel("pigeon://user:secret@loft", TEXTS)
    assert "secret" not in str(caught.value)


ALERTMANAGER = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")


@pytest.fixture
def alertmanager(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    """Run a real Alertmanager whose own webhook receiver is a peer of ours."""
    if ALERTMANAGER is None:
        pytest.skip("no Alertmanager here: apt-get install prometheus-alertmanager")
    with peer() as receiver, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        config = tmp_path / "alertmanager.yml"
        config.write_text(
            "route: {receiver: hook, group_by: ['...'], group_wait: 0s, group_interval: 1s, repeat_interval: 1h}\n"
            f"receivers: [{{name: hook, webhook_configs: [{{url: '{receiver.url}/am', send_resolved: true}}]}}]\n"
        )
        command = [
            ALERTMANAGER,
            f"--config.file={config}",
            f"--storage.path={tmp_path}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--cluster.listen-address=",
        ]
        with (
            (tmp_path / "log").open("wb") as log,
            subprocess.Popen(command, stderr=log, stdout=log) as process,
        ):
            try:
                _until_ready(f"http://127.0.0.1:{port}/-/ready", process)
                yield f"http://127.0.0.1:{port}", receiver
            finally:
                process.terminate()


def _until_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    pause, ends = threading.Event(), time.monotonic() + 60
    while time.monotonic() < ends:
        assert process.poll() is None, "Alertmanager ended"
        with contextlib.suppress(OSError), urlopen(url, timeout=5):
            return
        pause.wait(0.1)
    raise AssertionError("Alertmanager does not get ready")


def test_a_real_alertmanager_fires_and_resolves_an_incident(alertmanager: tuple[str, Any]) -> None:
    url, receiver = alertmanager
    channel = AlertmanagerChannel(url, TEXTS, labels={"team": "agents"})
    channel.send(parcel())
    with urlopen(f"{url}/api/v2/alerts", timeout=10) as answer:
        (alert,) = json.load(answer)
    assert alert["labels"]["incident"] == "0a1b2c3d4e5f"
    assert alert["labels"]["team"] == "agents"
    assert "do not dispatch it again" in alert["annotations"]["summary"].lower()
    firing = receiver.wait_for(1)[0].json
    assert (firing["status"], firing["alerts"][0]["labels"]["owner"]) == ("firing", "lead")
    channel.send(parcel("closed"))
    resolved = receiver.wait_for(2)[1].json
    assert resolved["status"] == "resolved"


def test_a_real_alertmanager_is_given_nothing_that_a_chat_would_act_on(alertmanager: tuple[str, Any]) -> None:
    url, receiver = alertmanager
    AlertmanagerChannel(url, TEXTS).send(hostile())
    alert = receiver.wait_for(1)[0].json["alerts"][0]
    for said in (*alert["labels"].values(), *alert["annotations"].values()):
        for loud in ("@everyone", "<!", "<@", "<at>", "http://evil", "https://evil"):
            assert loud not in said


def test_a_severity_that_rises_resolves_the_alert_of_the_former_one() -> None:
    with peer() as server:
        channel = AlertmanagerChannel(server.url, TEXTS, clock=lambda: 1000.0)
        assert channel.send(parcel("updated", reference="warn")) == "page"
    found = [(a["labels"]["severity"], a["endsAt"]) for a in server.asked[0].json]
    assert found == [("page", "1970-01-01T00:21:40.000+00:00"), ("warn", "1970-01-01T00:16:40.000+00:00")]


def test_an_alertmanager_that_is_refused_says_what_it_said() -> None:
    answer = said_json({"code": 400, "message": "bad"}, 400)
    with peer(lambda asked: answer) as server, pytest.raises(ChannelError, match="400") as caught:
        AlertmanagerChannel(server.url, TEXTS).send(parcel())
    assert not caught.value.retryable
