"""`headcount demo`, as a newcomer runs it."""

from __future__ import annotations

from tests.e2e.processes import headcount


def test_the_demo_tells_every_incident_apart() -> None:
    result = headcount("demo")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "every incident was told apart" in result.stdout
    for said in (
        "zero-tools: zero progress",
        "mute-teammate is now ■ done, not delivered",
        "second-of-three: premature owner final",
        "lost-delivery is now ✓ recovered",
        "slow-and-well is now ✓ completed",
    ):
        assert said in result.stdout
