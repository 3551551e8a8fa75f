"""Which names of models mean the same family and generation."""

from __future__ import annotations

import pytest

from headcount_collector.judge.models import is_other_model


@pytest.mark.parametrize(
    ("asked", "resolved"),
    [
        ("claude-opus-4-1", "claude-opus-4-1-20250805"),
        ("opus", "claude-opus-4-1"),
        ("anthropic/claude-sonnet-4", "claude-sonnet-4@20250514"),
        ("gpt-5", "openai/gpt-5-2025-08-07"),
        ("Gemini-2.5-Pro", "gemini-2.5-pro-preview"),
        ("haiku", "claude-haiku-4-5"),
        ("gpt-4o", "gpt-4o-latest"),
    ],
)
def test_provider_date_and_missing_words_make_no_other_model(asked: str, resolved: str) -> None:
    assert not is_other_model(asked, resolved)


@pytest.mark.parametrize(
    ("asked", "resolved"),
    [
        ("claude-opus-4-1", "claude-sonnet-4-1"),
        ("claude-opus-4-1", "claude-opus-4-5"),
        ("gpt-5", "gpt-4o"),
        ("gpt-5-mini", "gpt-5-nano"),
        ("opus", "claude-haiku-4-5"),
        ("gemini-2.5-pro", "gemini-2.0-flash"),
    ],
)
def test_another_family_or_generation_is_another_model(asked: str, resolved: str) -> None:
    assert is_other_model(asked, resolved)
