"""Hands one hook call of an agent harness to the collector: run by the harness as a command, standard library only.

    python -I -S forward_hook.py http://127.0.0.1:4318/hooks/claude-code < body.json

Ends with 0 and prints nothing whatever happens, in milliseconds: a copy of the process sends, and gives up after two
seconds. HEADCOUNT_TOKEN, or the file that HEADCOUNT_TOKEN_FILE names, gives a bearer token.
"""

import os
import sys

TIMEOUT_S = 2.0


def send(url: str, body: bytes) -> None:
    """Post a body. Raises OSError and what else a broken address brings."""
    from http.client import HTTPConnection, HTTPSConnection

    scheme, _, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    kind = HTTPSConnection if scheme == "https" else HTTPConnection
    headers = {"Content-Type": "application/json"}
    token = os.environ.get("HEADCOUNT_TOKEN") or _token_in(os.environ.get("HEADCOUNT_TOKEN_FILE"))
    if token:
        headers["Authorization"] = f"Bearer {token}"
    connection = kind(place, timeout=TIMEOUT_S)
    try:
        connection.request("POST", f"{slash}{path}", body, headers)
        connection.getresponse().read()
    finally:
        connection.close()


def _token_in(path: str | None) -> str | None:
    if not path:
        return None
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def become_another_process() -> bool:
    """Go on in a process that the harness does not wait for; return False in the one it waits for."""
    if not hasattr(os, "fork"):
        return True
    if os.fork():
        return False
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    return True


def main() -> None:
    """Read, go to the background, send."""
    try:
        body = sys.stdin.buffer.read()
        if become_another_process():
            send(sys.argv[1], body)
    finally:
        # Whatever it was: exit 2 would block the agent, and a traceback would be shown to it.
        os._exit(0)


if __name__ == "__main__":
    main()
