"""What leaves the process of prompts, results and tool arguments: digests and sizes, content only when asked."""

from __future__ import annotations

import unicodedata
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headcount
from headcount import digest, testing

SECRET = "The Secret Plan"


def everything_told(*, capture: bool) -> str:
    with testing.record(capture_content=capture) as recorder:
        run = headcount.dispatch("reviewer", prompt=SECRET, description=SECRET)
        with headcount.child(run) as ctx:
            with ctx.tool("Read", arguments=SECRET) as tool:
                tool.result(SECRET)
            ctx.result(SECRET)
        run.received(result=SECRET)
        run.forwarded(result=SECRET)
        with pytest.raises(ValueError, match="Plan"), headcount.child(run) as ctx, ctx.tool("Read"):
            raise ValueError(SECRET)
    return " ".join(event.span.to_json() for event in recorder.events)


def test_no_content_leaves_unless_it_is_asked_for() -> None:
    assert SECRET not in everything_told(capture=False)


def test_content_goes_where_the_genai_conventions_have_it() -> None:
    told = everything_told(capture=True)
    for attribute in (
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
        "subagent.description",
    ):
        assert f'"{attribute}"' in told
    assert SECRET in told


@pytest.mark.parametrize(
    ("value", "on"),
    [
        ("true", True),
        ("SPAN_ONLY", True),
        ("span_and_event", True),
        ("EVENT_ONLY", False),
        ("false", False),
        ("", False),
    ],
)
def test_the_switch_is_read_as_the_genai_instrumentations_read_it(
    monkeypatch: pytest.MonkeyPatch, value: str, on: bool
) -> None:
    from headcount.settings import capture_from_environment

    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", value)
    assert capture_from_environment() is on


@given(st.text())
def test_equal_texts_have_equal_digests_however_they_are_spaced_or_cased(text: str) -> None:
    spaced = "  \n" + text.replace(" ", " \t ") + "\r\n"
    assert digest.digest(spaced) == digest.digest(text)
    assert digest.digest(unicodedata.normalize("NFC", text)) == digest.digest(text)


def test_the_digest_is_the_documented_one() -> None:
    assert digest.normalise("  \uff32eview\tTHE  \ufb01le ") == "review the file"
    assert digest.digest("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_a_result_is_digested_as_it_is() -> None:
    assert digest.measure("A  b") == (4, sha256(b"A  b").hexdigest())
    assert digest.measure(b"A  b") == digest.measure("A  b") != digest.measure("a b")


def test_a_huge_text_has_a_size_and_no_digest() -> None:
    size, fingerprint = digest.measure("é" * (digest.DIGEST_LIMIT + 1))
    assert size == 2 * (digest.DIGEST_LIMIT + 1)
    assert fingerprint is None


@pytest.mark.parametrize(
    ("result", "size"), [("é", 2), (b"abc", 3), (None, 0), (17, 17), (True, None), ({"a": 1}, None)]
)
def test_sizes_are_bytes_and_unknown_where_nobody_agreed_on_one(result: object, size: int | None) -> None:
    assert digest.measure(result)[0] == size
