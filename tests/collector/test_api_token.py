"""A collector that others can reach: only who has the token is served."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collector.running import running_collector

TOKEN = "a token of some length"


def test_with_a_token_only_who_has_it_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADCOUNT_TOKEN", TOKEN)
    # Not bound there: only the settings say so, which must do with the token.
    with running_collector(tmp_path, http="0.0.0.0:0") as running:
        for path in ("/api/v1/runs", "/metrics", "/", "/nowhere"):
            answer = running.get(path)
            assert answer.status == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            assert "Authorization: Bearer TOKEN" in answer.json["detail"]
        assert running.post("/hooks/claude-code", b"{}").status == 401
        assert running.post("/v1/traces", b"{}").status == 401
        assert running.get("/api/v1/runs", Authorization="Bearer wrong").status == 401
        assert running.get("/api/v1/runs", Authorization="Bearer \xe9\xff").status == 401
        assert running.get("/api/v1/runs", Authorization=f"Bearer {TOKEN}").status == 200
        assert running.get("/api/v1/runs", Authorization=f"Bearer {TOKEN}", Host="head.example").status == 200
        assert running.get("/healthz").status == 200
