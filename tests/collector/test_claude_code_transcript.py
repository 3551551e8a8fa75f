"""Sessions read from transcripts alone: judged as their hooks are, leniently, the same each time; answers recovered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headcount_collector.cli.recover import NothingToRecover, stranded
from headcount_collector.evidence import export_request, records_from_hook
from headcount_collector.evidence.claude_code_transcript import final_answer, records_from_transcript
from headcount_collector.evidence.record import Record
from headcount_collector.judge.policy import Policy
from headcount_collector.judge.verdict import Verdict
from headcount_collector.store.client import Store
from headcount_collector.store.migrate import migrate
from headcount_collector.watch.tick import Tick

from .transcripts import CAPTURES, lay_out

SECOND = 1_000_000_000
ENDLESS_DAYS = 100 * 365
DATABASES = count(1)
ANSWER = "CHILD RESULT: the answer is 42."


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store.open(tmp_path_factory.mktemp("store"))
    yield store
    store.close()


def judged(engine: Store, records: list[Record], after_s: float = 0) -> dict[str, Verdict]:
    store = engine.with_database(f"transcripts_{next(DATABASES)}")
    migrate(store, retention_days=ENDLESS_DAYS)
    moment = max(record.at_ns for record in records) + int(after_s * SECOND)
    store.commit([export_request(records).SerializeToString()], moment)
    verdicts = Tick(store, Policy.from_mapping({})).evaluate(moment, moment).verdicts
    store.command(f"DROP DATABASE `{store.database}`")
    store.close()
    return {run: verdict for (_, run), verdict in verdicts.items() if verdict.dispatched}


def hooked(case: str) -> list[Record]:
    lines = map(json.loads, (CAPTURES / case / "hooks.jsonl").read_text().splitlines())
    return [
        record for line in lines for record in records_from_hook(line["body"], line["received_unix_nano"])
    ]


@pytest.mark.parametrize("case", ["plain", "background"])
@pytest.mark.parametrize("with_hooks", [False, True])
def test_a_session_read_from_its_files_is_judged_as_by_its_hooks_and_doubles_nothing(
    engine: Store, tmp_path: Path, case: str, with_hooks: bool
) -> None:
    read = records_from_transcript(lay_out(case, tmp_path))
    (verdict,) = judged(engine, read + (hooked(case) if with_hooks else [])).values()
    assert (verdict.status, verdict.outcome, verdict.tool_calls) == ("completed", "ok", 2)
    assert verdict.output_tokens == 126
    assert not verdict.signals


def test_the_mute_teammate_is_found_in_the_files_and_its_answer_recovered(
    engine: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "projects" / "-home-dev"
    project.mkdir(parents=True)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    (verdict,) = judged(engine, records_from_transcript(lay_out("teammate-mute", project)), 60).values()
    assert (verdict.status, verdict.mode) == ("done_but_not_forwarded", "teammate")
    document = {"run": verdict.run, "session": verdict.session, "names": verdict.names}
    assert stranded(document)[1] == ANSWER


def line(kind: str, second: float, **more: Any) -> str:
    whole, part = divmod(second, 1)
    return json.dumps(
        {"type": kind, "timestamp": f"2026-11-30T12:00:{int(whole):02}.{int(part * 1000):03}Z", **more}
    )


def said(second: float, text: str, message: str = "m", stop: str = "end_turn") -> str:
    content = [{"type": "text", "text": text}]
    about = {"id": message, "stop_reason": stop, "usage": {"output_tokens": 7}, "content": content}
    return line("assistant", second, message=about)


def called(second: float, call: str, name: str, **arguments: Any) -> str:
    content = [{"type": "tool_use", "id": call, "name": name, "input": arguments}]
    return line(
        "assistant", second, message={"id": f"m-{call}", "stop_reason": "tool_use", "content": content}
    )


def answered(second: float, call: str, **response: Any) -> str:
    content = [{"type": "tool_result", "tool_use_id": call, "content": "…"}]
    return line("user", second, message={"content": content}, toolUseResult=response)


def asked(second: float, text: str, **more: Any) -> str:
    return line("user", second, message={"content": text}, **more)


NOTICE = (
    "<task-notification>\n<task-id>a1</task-id>\n<tool-use-id>t1</tool-use-id>\n<status>completed</status>\n"
    '<summary>Agent "find" finished</summary>\n<result>found it</result>\n</task-notification>'
)


def session(folder: Path, owner: list[str], child: list[str]) -> Path:
    main = folder / "s1.jsonl"
    main.write_text("\n".join(owner) + "\n")
    agents = folder / "s1" / "subagents"
    agents.mkdir(parents=True, exist_ok=True)
    (agents / "agent-a1.jsonl").write_text("\n".join(child) + "\n")
    (agents / "agent-a1.meta.json").write_text(json.dumps({"agentType": "finder", "toolUseId": "t1"}))
    return main


LAUNCHED = [
    asked(0, "go"),
    called(1, "t1", "Agent", description="find", prompt="find it", run_in_background=True),
    answered(2, "t1", status="async_launched", agentId="a1"),
]
FOUND = [
    asked(1.5, "find it"),
    called(3, "b1", "Bash"),
    answered(4, "b1", stdout=""),
    said(5, "found it", "c2"),
]


@pytest.mark.parametrize(
    "delivery",
    [
        [
            line("queue-operation", 6, operation="enqueue", content=NOTICE),
            asked(7, NOTICE, origin={"kind": "task-notification"}),
        ],
        [
            line(
                "attachment",
                7,
                attachment={"type": "queued_command", "commandMode": "task-notification", "prompt": NOTICE},
            )
        ],
    ],
    ids=["as a prompt", "in the middle of a turn"],
)
def test_both_forms_of_a_notice_deliver(engine: Store, tmp_path: Path, delivery: list[str]) -> None:
    main = session(tmp_path, [*LAUNCHED, *delivery, said(8, "done", "m9")], FOUND)
    (verdict,) = judged(engine, records_from_transcript(main), 3600).values()
    assert verdict.status == "completed"


def test_a_notice_that_was_queued_and_taken_out_is_lost(engine: Store, tmp_path: Path) -> None:
    lost = [
        line("queue-operation", 6, operation="enqueue", content=NOTICE),
        line("queue-operation", 7, operation="remove"),
    ]
    main = session(tmp_path, [*LAUNCHED, said(2.5, "waiting", "m2"), *lost], FOUND)
    (verdict,) = judged(engine, records_from_transcript(main), 60).values()
    assert verdict.status == "done_but_not_forwarded"


def test_a_text_that_quotes_a_notice_delivers_nothing(engine: Store, tmp_path: Path) -> None:
    main = session(
        tmp_path, [*LAUNCHED, asked(7, f"what does this mean? {NOTICE}"), said(8, "hm", "m9")], FOUND
    )
    (verdict,) = judged(engine, records_from_transcript(main), 60).values()
    assert verdict.status == "done_but_not_forwarded"


def test_a_resume_is_a_run_of_its_own(engine: Store, tmp_path: Path) -> None:
    delivered = asked(7, NOTICE, origin={"kind": "task-notification"})
    again = [
        asked(20, "and the other one?"),
        called(21, "b2", "Bash"),
        answered(22, "b2"),
        said(23, "that too", "c9"),
    ]
    main = session(tmp_path, [*LAUNCHED, delivered, said(8, "ok", "m9")], FOUND + again)
    verdicts = judged(engine, records_from_transcript(main), 60)
    assert {run: v.status for run, v in verdicts.items()} == {
        "t1": "completed",
        "a1#2": "done_but_not_forwarded",
    }
    assert verdicts["t1"].tool_calls == verdicts["a1#2"].tool_calls == 1


def test_the_same_files_give_the_same_events(tmp_path: Path) -> None:
    main = lay_out("background", tmp_path)
    first, second = (export_request(records_from_transcript(main)).SerializeToString() for _ in range(2))
    assert first == second


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_torn_foreign_and_shuffled_lines_never_raise(tmp_path: Path, data: st.DataObject) -> None:
    good = [*LAUNCHED, asked(7, NOTICE), said(8, "done")]
    junk = st.one_of(
        st.text(max_size=20),
        st.recursive(
            st.none() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(
                        ["type", "message", "content", "attachment", "timestamp", "id", "name", "x"]
                    ),
                    inner,
                    max_size=4,
                )
            ),
            max_leaves=8,
        ).map(json.dumps),
    )
    owner = data.draw(st.permutations(good + data.draw(st.lists(junk, max_size=4))))
    child = data.draw(st.permutations(FOUND + data.draw(st.lists(junk, max_size=4))))
    main = session(
        tmp_path, [entry.replace("\n", " ") for entry in owner], [entry.replace("\n", " ") for entry in child]
    )
    records_from_transcript(main)
    final_answer(tmp_path / "s1" / "subagents" / "agent-a1.jsonl")


def test_the_final_answer_is_the_last_text_and_all_of_it(tmp_path: Path) -> None:
    file = tmp_path / "agent-a1.jsonl"
    file.write_text("\n".join([*FOUND, said(6, "part one", "c3"), said(6, "part two", "c3"), "{torn"]))
    assert final_answer(file) == "part one\npart two"


def test_what_lies_elsewhere_or_nowhere_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    with pytest.raises(NothingToRecover, match="s3://bucket/x"):
        stranded({"run": "r", "result_location": "s3://bucket/x"})
    with pytest.raises(NothingToRecover, match="is this the machine"):
        stranded({"run": "r", "result_location": f"file://{tmp_path}/gone.jsonl"})


def test_a_run_without_a_location_is_found_by_the_name_of_its_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    project = tmp_path / "projects" / "-home-dev"
    project.mkdir(parents=True)
    session(project, LAUNCHED, FOUND)
    path, text = stranded({"run": "t1", "session": "s1", "names": ["t1", "a1"], "child_sessions": []})
    assert (path.name, text) == ("agent-a1.jsonl", "found it")
