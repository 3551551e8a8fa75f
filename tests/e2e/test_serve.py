"""`headcount serve` as a process: what it prints, how it ends, and what it says when it cannot begin."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path

import pytest

from tests.e2e.processes import PATIENCE_S, headcount, serving


def test_it_prints_addresses_store_and_the_next_step(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as served:
        for line in (
            f"OTLP/HTTP  {served.url}/v1/traces",
            f"hooks      {served.url}/hooks/claude-code",
            f"API        {served.url}/api/v1/runs",
            f"store      {tmp_path / 'data'} (embedded)",
            "access     this machine only",
            f"next: headcount runs --url {served.url}",
        ):
            assert line in served.printed
        assert "no run yet" in headcount("runs", "--url", served.url).stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well(number: signal.Signals, tmp_path: Path) -> None:
    with serving(tmp_path / "data") as served:
        served.process.send_signal(number)
        assert served.process.wait(PATIENCE_S) == 0
    assert (
        "stopped; everything that was acknowledged is in the store" in (tmp_path / "data.stderr").read_text()
    )


def test_a_second_process_on_the_same_data_is_told_where_the_first_serves(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as served:
        second = headcount("serve", "--http", "127.0.0.1:0", "--data", str(tmp_path / "data"))
        assert second.returncode == 1
        assert f"in use by process {served.process.pid}" in second.stderr
        assert f"--url {served.url}" in second.stderr


def test_an_address_in_use_is_named_with_the_way_out(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = headcount("serve", "--http", address, "--data", str(tmp_path))
    assert result.returncode == 1
    assert f"headcount: {address} is in use" in result.stderr
    assert "--http 127.0.0.1:0" in result.stderr


def test_an_address_that_others_reach_needs_a_token(tmp_path: Path) -> None:
    result = headcount("serve", "--http", "0.0.0.0:0", "--data", str(tmp_path))
    assert result.returncode == 1
    assert "set HEADCOUNT_TOKEN" in result.stderr


def test_commands_send_the_token(tmp_path: Path) -> None:
    token = {"HEADCOUNT_TOKEN": "a token of some length"}
    with serving(tmp_path / "data", variables=token) as served:
        assert "bearer token" in served.printed
        assert headcount("runs", "--url", served.url).returncode == 1
        result = headcount("runs", "--url", served.url, "--json", **token)
        assert json.loads(result.stdout)["runs"] == []
