"""Every service that apprise speaks to, over HTTPS and by its vendor's contract: sizes, mentions, errors, waiting."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headcount_alerts.channels import Parcel
from headcount_alerts.channels.anything import AppriseChannel
from headcount_alerts.channels.slack import SlackWebhook
from headcount_alerts.errors import ChannelError
from headcount_alerts.incident import Member
from headcount_alerts.text import Texts

from .peers import Asked, Peer, Said, said_json
from .test_text import CONDITIONS, HOSTILE, check, incident, message
from .vendors import VENDORS, Vendor, json_of, texts_of, the_internet

TEXTS = Texts()
Contracts = dict[str, Callable[[Asked], Said]]


@pytest.fixture(scope="module")
def internet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Peer, Contracts]]:
    with (
        pytest.MonkeyPatch.context() as patch,
        the_internet(tmp_path_factory.mktemp("certificates"), patch) as found,
    ):
        yield found


def parcel(what: str = "notified", text: str | None = None, runs: int = 1) -> Parcel:
    found = incident(CONDITIONS["class-done_but_not_forwarded"])
    if text is not None:
        found.owner = found.session = text
    for number in range(runs):
        facts = dict(next(iter(found.members.values())).facts)
        if text is not None:
            hostile = ("agent", "service", "owner", "description", "result_location")
            facts |= {**dict.fromkeys(hostile, text), "in_flight": [text] * 40}
        run = f"{text or 'review-17'}{'' if text is None else number}"
        wrong = (CONDITIONS["class-done_but_not_forwarded"],)
        found.members["s1", run] = Member("s1", run, wrong, facts=facts)
    if text is not None:
        del found.members["s1", "review-17"]
    found.is_open = what != "closed"
    return Parcel(f"{found.id}-1-x", message(found, what))


def by_name(vendor: Vendor) -> str:
    return vendor.name


@pytest.mark.parametrize("vendor", VENDORS, ids=by_name)
@pytest.mark.parametrize("what", ["notified", "reminded", "escalated", "closed"])
def test_every_step_is_taken_as_the_vendor_documents(
    internet: tuple[Peer, Contracts], vendor: Vendor, what: str
) -> None:
    server, _ = internet
    before = len(server.asked)
    AppriseChannel(vendor.url, TEXTS).send(parcel(what))
    (asked,) = server.asked[before:]
    if (vendor.name, what) != ("pagerduty", "closed"):
        assert "review-17" in " ".join(texts_of(json_of(asked)))


@pytest.mark.parametrize("vendor", VENDORS, ids=by_name)
def test_what_a_channel_shows_is_as_it_was_agreed(internet: tuple[Peer, Contracts], vendor: Vendor) -> None:
    server, _ = internet
    before = len(server.asked)
    for what in ("notified", "reminded", "closed"):
        AppriseChannel(vendor.url, TEXTS).send(parcel(what))
    shown = [
        text for asked in server.asked[before:] for text in texts_of(json_of(asked)) if "review-17" in text
    ]
    check(f"channel-{vendor.name}.txt", "\n===\n".join(shown).replace("\r\n", "\n") + "\n")


@pytest.mark.parametrize("vendor", VENDORS, ids=by_name)
def test_the_longest_and_most_hostile_message_is_one_that_is_taken_and_calls_nobody(
    internet: tuple[Peer, Contracts], vendor: Vendor
) -> None:
    server, _ = internet
    before = len(server.asked)
    for text in (HOSTILE * 3, "長い" * 400, "&" * 500, "*_~`|>#" * 60):
        AppriseChannel(vendor.url, TEXTS).send(parcel(text=text, runs=30))
    assert len(server.asked) == before + 4
    for asked in server.asked[before:]:
        said = "\n".join(texts_of(json_of(asked)))
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0e-\x1f]", said)
        assert "evil.example" not in said
        for loud in vendor.loud:
            assert loud not in said, loud


@pytest.mark.parametrize("vendor", VENDORS, ids=by_name)
def test_who_asks_to_wait_is_asked_once_and_waited_for(
    internet: tuple[Peer, Contracts], vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, contracts = internet
    monkeypatch.setitem(contracts, vendor.host, lambda asked: vendor.limited)
    before = len(server.asked)
    with pytest.raises(ChannelError, match="429") as caught:
        AppriseChannel(vendor.url, TEXTS).send(parcel())
    assert len(server.asked) == before + 1
    assert (caught.value.retryable, caught.value.retry_after_s) == (True, 7.0)


@pytest.mark.parametrize("vendor", VENDORS, ids=by_name)
@pytest.mark.parametrize(
    ("status", "retryable"), [(400, False), (403, False), (404, False), (500, True), (503, True)]
)
def test_what_can_never_succeed_is_given_up_at_once_and_the_rest_is_tried_again(
    internet: tuple[Peer, Contracts],
    vendor: Vendor,
    status: int,
    retryable: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, contracts = internet
    answer = said_json({"error": "no"}, status)
    monkeypatch.setitem(contracts, vendor.host, lambda asked: answer)
    with pytest.raises(ChannelError, match=str(status)) as caught:
        AppriseChannel(vendor.url, TEXTS).send(parcel())
    assert caught.value.retryable is retryable


def test_a_peer_whose_certificate_nobody_signed_is_not_spoken_to(
    internet: tuple[Peer, Contracts], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = internet
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    before = len(server.asked)
    with pytest.raises(ChannelError) as caught:
        AppriseChannel(VENDORS[0].url, TEXTS).send(parcel())
    assert caught.value.retryable
    assert len(server.asked) == before


def test_all_messages_of_an_incident_are_one_at_pagerduty_which_its_end_resolves(
    internet: tuple[Peer, Contracts],
) -> None:
    server, _ = internet
    before = len(server.asked)
    channel = AppriseChannel("pagerduty://integrationkey@apikey", TEXTS)
    for what in ("notified", "reminded", "escalated", "closed"):
        channel.send(parcel(what))
    events: list[dict[str, Any]] = [asked.json for asked in server.asked[before:]]
    assert [event["event_action"] for event in events] == ["trigger", "trigger", "trigger", "resolve"]
    assert {event["dedup_key"] for event in events} == {"headcount-0a1b2c3d4e5f"}
    assert events[0]["payload"]["severity"] == "critical"


def test_a_dedup_key_of_the_users_own_is_kept(internet: tuple[Peer, Contracts]) -> None:
    server, _ = internet
    AppriseChannel("pagerduty://integrationkey@apikey?action=map&dedup=mine", TEXTS).send(parcel())
    assert server.asked[-1].json["dedup_key"] == "mine"


def test_slacks_incoming_webhook_takes_the_longest_and_most_hostile_message(
    internet: tuple[Peer, Contracts],
) -> None:
    server, _ = internet
    before = len(server.asked)
    channel = SlackWebhook("https://hooks.slack.com/services/T0/B0/secret", TEXTS)
    for what in ("notified", "closed"):
        channel.send(parcel(what, HOSTILE * 3, runs=30))
    said = "\n".join(text for asked in server.asked[before:] for text in texts_of(json_of(asked)))
    for loud in ("<!", "<@", "<http", "@everyone", "@here"):
        assert loud not in said
    with pytest.raises(ChannelError, match="no_service") as gone:
        SlackWebhook("https://hooks.slack.com/services/other", TEXTS).send(parcel())
    assert not gone.value.retryable
