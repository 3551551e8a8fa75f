"""The API against its own description: requests that it allows and requests that it does not, made by schemathesis."""

from __future__ import annotations

import subprocess
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from headcount_collector.evidence.record import Record, export_request
from tests.collector.running import Running, eventually, running_collector

CONFIG = Path(__file__).parent / "schemathesis.toml"
TOKEN = "a-token-of-some-length"
VERSION = "4.32.5"
CACHE = Path(tempfile.gettempdir())  # now: an open store has a temporary folder of its own
LONGEST_S = 300


@pytest.fixture(scope="module")
def schemathesis() -> Path:
    """Install it below the temporary folder, once, apart from what is tested: it wants other versions of some parts."""
    folder = CACHE / f"headcount-schemathesis-{VERSION}"
    done = folder / "installed"
    if not done.exists():
        venv.create(folder, with_pip=True, clear=True)
        install = [
            str(folder / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            f"schemathesis=={VERSION}",
        ]
        try:
            said = subprocess.run(install, capture_output=True, text=True, timeout=LONGEST_S, check=False)
        except subprocess.TimeoutExpired:
            pytest.skip("pip did not answer")
        if said.returncode:
            pytest.skip(f"pip has not got schemathesis: {said.stderr.strip()[-200:]}")
        done.touch()
    return folder / "bin" / "schemathesis"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_collector(tmp_path_factory.mktemp("data"), token=TOKEN, log_level="error") as found:
        records = [
            Record("dispatch", time.time_ns(), run=run, session="s", attributes={}, service="tests")
            for run in ("r1", "r2")
        ]
        body = export_request(records).SerializeToString()
        answer = found.post("/v1/traces", body, "application/x-protobuf", Authorization=f"Bearer {TOKEN}")
        assert answer.status == 200
        assert eventually(lambda: len(found.collector.verdicts.named("r2", "s")) == 1)
        yield found


def test_every_answer_is_one_that_is_described(running: Running, schemathesis: Path, tmp_path: Path) -> None:
    said = subprocess.run(
        [
            *(str(schemathesis), "--config-file", str(CONFIG), "run"),
            *(f"{running.url}/api/v1/openapi.json", "--header", f"Authorization: Bearer {TOKEN}"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    assert said.returncode == 0, said.stdout + said.stderr
    assert running.collector.watch.health["failures"] == 0


def test_problems_and_the_token_are_described(running: Running) -> None:
    document = running.get("/api/v1/openapi.json", Authorization=f"Bearer {TOKEN}").json
    assert document["security"] == [{"token": []}]
    assert document["paths"]["/healthz"]["get"]["security"] == []
    show = document["paths"]["/api/v1/runs/{run}"]["get"]["responses"]
    assert sorted(show) == ["200", "300", "401", "403", "404", "422", "429", "503"]
    for status in set(show) - {"200"}:
        assert list(show[status]["content"]) == ["application/problem+json"]
    assert "400" in document["paths"]["/api/v1/rejudge"]["post"]["responses"]
    assert "HTTPValidationError" not in document["components"]["schemas"]
