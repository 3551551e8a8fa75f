"""Tells the owner's harness of its own undelivered work. A nudge is activity: only a result that moves counts."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence

from headcount_alerts.channels.channel import Parcel
from headcount_alerts.channels.http import post_json
from headcount_alerts.errors import ChannelError
from headcount_alerts.text import Texts

HEADER = "headcount-recovery"
"""Marks a nudge in its envelope, so that no prompt rule takes it for an echo of the task."""


class NudgeChannel:
    """POSTs the nudge, or gives it to a command on standard input; at most so often for one incident."""

    updates = False

    def __init__(
        self,
        texts: Texts,
        *,
        url: str | None = None,
        command: Sequence[str] = (),
        at_most: int = 2,
        timeout_s: float = 10.0,
        told: Callable[[Parcel], None] | None = None,
    ) -> None:
        self._told = told
        self._texts = texts
        self._url = url
        self._command = tuple(command)
        self._at_most = at_most
        self._timeout_s = timeout_s

    def send(self, parcel: Parcel) -> str:
        """Nudge, unless the incident is closed or was nudged often enough; the reference counts."""
        document = parcel.document
        sent = int(parcel.reference or 0)
        if document["state"] == "closed" or document["kind"] != "owner" or sent >= self._at_most:
            return parcel.reference
        text = self._texts.nudge(document | {"nudges": sent + 1})
        if self._url is not None:
            body = {
                "kind": HEADER,
                "incident": document["incident"],
                "number": sent + 1,
                "session": document["session"],
                "owner": document["owner"],
                "runs": [run["run"] for run in document["runs"]],
                "text": text,
                "repeat": parcel.repeat,
            }
            headers = {"Headcount-Kind": HEADER, "Idempotency-Key": parcel.id}
            post_json(self._url, body, self._timeout_s, headers)
        else:
            self._run(document, text)
        if self._told is not None:
            self._told(parcel)
        return str(sent + 1)

    def _run(self, document: dict[str, object], text: str) -> None:
        """Run the command as it is, without a shell: telemetry reaches it on standard input only."""
        envelope = json.dumps(
            {"kind": HEADER, "session": document["session"], "owner": document["owner"], "text": text}
        )
        try:
            done = subprocess.run(
                self._command,
                input=envelope.encode(),
                capture_output=True,
                timeout=self._timeout_s,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ChannelError(f"nudge command {self._command[0]}: {error}") from None
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip()[-300:]
            raise ChannelError(f"nudge command {self._command[0]} ended with {done.returncode}: {said}")
