"""Names, neighbours and spans that others make, against the real engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headcount_collector.derive.loader import RunKey
from headcount_collector.judge.facts import Failure, OwnerFinal, Successor
from headcount_collector.store import Store, migrate

from .evidence_log import Log, at, seconds, span


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = Store.open(tmp_path_factory.mktemp("facts"))
    migrate(opened, retention_days=20000)
    yield opened
    opened.close()


@pytest.fixture
def log(store: Store) -> Log:
    return Log(store)


def dispatch(run: str, time: float, **more: object) -> dict[str, object]:
    return {"event": "dispatch", "run": run, "time": time, "agent": "worker", **more}


def tool(run: str, time: float, **more: object) -> dict[str, object]:
    return {"event": "tool_call", "run": run, "time": time, "phase": "ended", "tool": "Read", **more}


# --- names -------------------------------------------------------------------------------------------------------


def test_what_is_said_under_an_alias_is_said_of_the_run(log: Log) -> None:
    log.arrive(5, tool("agent-7", 4), {"event": "idle", "run": "task-4", "time": 5})
    assert log.facts("agent-7").dispatch is None
    log.arrive(
        9, dispatch("r1", 0, alias=["task-4"]), {"event": "start", "run": "task-4", "alias": ["agent-7"]}
    )
    facts = log.facts("agent-7")
    assert (facts.run, facts.names) == ("r1", ("r1", "agent-7", "task-4"))
    assert facts.turns[0].tools == (at(4),)
    assert len(facts.idles) == len(facts.starts) == 1
    assert log.loader.resolve([RunKey(log.session, "task-4"), RunKey(log.session, "nobody")]) == {
        RunKey(log.session, "task-4"): RunKey(log.session, "r1"),
        RunKey(log.session, "nobody"): RunKey(log.session, "nobody"),
    }


def test_a_name_that_claims_the_dispatched_id_is_a_name_of_it(log: Log) -> None:
    log.arrive(
        9, dispatch("r1", 0), {"event": "start", "run": "agent-7", "alias": ["r1"]}, tool("agent-7", 8)
    )
    assert log.facts("r1").turns[0].tools == (at(8),)


def test_a_call_that_begins_under_one_name_and_ends_under_another_is_one_call(log: Log) -> None:
    log.arrive(
        9,
        dispatch("r1", 0, alias=["a1"]),
        tool("r1", 1, call="c1") | {"phase": "pending"},
        tool("a1", 2, call="c1"),
    )
    facts = log.facts()
    assert (facts.open_tools, facts.tool_calls) == ((), 1)


def test_two_dispatches_are_two_runs_whatever_their_aliases(log: Log) -> None:
    log.arrive(
        100,
        dispatch("A", 0, alias=["n1"]),
        dispatch("B", 50, alias=["n1", "A"]),
        tool("n1", 10),
        tool("n1", 60),
        {"event": "idle", "run": "n1", "time": 70},
        tool("A", 80),
        tool("n1", 61, call="c") | {"phase": "pending"},
    )
    facts = log.loader.load([RunKey(log.session, "A"), RunKey(log.session, "B")])
    one, two = facts[RunKey(log.session, "A")], facts[RunKey(log.session, "B")]
    assert [seconds(moment) for moment in one.turns[0].tools] == [10, 80]
    assert [seconds(moment) for moment in two.turns[0].tools] == [60]
    assert (len(one.idles), len(two.idles)) == (0, 1)
    assert (one.open_tools, [seconds(o.at) for o in two.open_tools]) == ((), [61])
    assert one.collisions == two.collisions == ((at(50), "A"), (at(50), "n1"))


def test_a_name_that_the_first_has_done_with_is_no_collision(log: Log) -> None:
    log.arrive(
        100,
        dispatch("A", 0, child="k"),
        {"event": "child_done", "run": "A", "time": 40, "outcome": "ok"},
        dispatch("B", 50, child="k"),
    )
    assert log.facts("A").collisions == log.facts("B").collisions == ()


def test_names_count_within_their_session(store: Store) -> None:
    one, two = Log(store), Log(store)
    one.arrive(9, dispatch("r1", 0, alias=["a1"]))
    two.arrive(9, dispatch("r1", 0), tool("a1", 3))
    assert one.facts().turns == two.facts().turns == ()
    assert two.facts("a1").turns[0].tools == (at(3),)


def test_a_span_that_names_no_session_belongs_to_the_only_run_of_its_id(store: Store) -> None:
    one, two = Log(store), Log(store)
    only, common = f"only-{one.session}", f"common-{one.session}"
    one.arrive(9, dispatch(only, 0), dispatch(common, 0))
    two.arrive(9, dispatch(common, 0))
    for run in (only, common):
        one.arrive_spans(9, span("GET", 3, 3, {"subagent.run.id": run}))
    assert one.facts(only).heard_at == at(3)
    assert one.facts(common).heard_at is None
    touched = one.loader.changed(at(9) - 1, at(9))
    assert {RunKey(one.session, only), RunKey("", common)} <= touched.runs
    assert one.loader.resolve([RunKey("", only)]) == {RunKey("", only): RunKey(one.session, only)}


def test_ids_that_are_empty_or_endless_name_nothing(log: Log) -> None:
    endless = "x" * 513
    start = {"subagent.event": "start", "session.id": log.session}
    log.arrive_spans(
        9,
        span("a", 1, 1, start | {"subagent.run.id": ""}),
        span("b", 1, 1, start | {"subagent.run.id": endless}),
    )
    assert log.loader.load([RunKey(log.session, endless), RunKey(log.session, "")]) == {}


# --- spans that others make --------------------------------------------------------------------------------------


def test_stamped_genai_spans_count_by_what_they_are(log: Log) -> None:
    stamp = {"subagent.run.id": "r1", "session.id": log.session}
    chat = stamp | {"gen_ai.operation.name": "chat"}
    generate = stamp | {"gen_ai.operation.name": "generate_content"}
    execute = stamp | {"gen_ai.operation.name": "execute_tool"}
    first = {"gen_ai.response.time_to_first_chunk": 2.5, "gen_ai.usage.output_tokens": 40}
    log.arrive(1, dispatch("r1", 0))
    log.arrive_spans(
        60,
        span("chat m", 10, 20, chat | first | {"gen_ai.response.model": "m-1"}),
        span("chat m", 30, 35, generate | {"gen_ai.usage.output_tokens": 2}),
        span("execute_tool x", 36, 40, execute | {"gen_ai.tool.name": "x"}),
        span("execute_tool y", 41, 42, execute | {"gen_ai.tool.name": "y", "error.type": "Boom"}),
        span("GET", 50, 55, stamp),
    )
    facts = log.facts()
    (turn,) = facts.turns
    assert (turn.tokens, turn.tools) == ((at(12.5),), (at(40),))
    assert turn.outputs == ((at(20), 40), (at(35), 42))
    assert facts.failures == (Failure(at(42), "y", "Boom"),)
    assert (facts.resolved_models, facts.last_activity_at, facts.output_tokens) == (("m-1",), at(55), 42)


def test_an_agent_span_is_start_and_end_only_if_it_is_the_runs_own(log: Log) -> None:
    order = {"subagent.event": "dispatch", "session.id": log.session}
    invoke = {"gen_ai.operation.name": "invoke_agent", "session.id": log.session}
    log.arrive_spans(
        9,
        span("subagent.dispatch", 0, 0, order | {"subagent.run.id": "own"}, span_id=b"dispatch"),
        span("subagent.dispatch", 0, 0, order | {"subagent.run.id": "nested"}, span_id=b"another1"),
        span("invoke_agent w", 1, 8, invoke | {"subagent.run.id": "own"}, parent=b"dispatch"),
        span("invoke_agent w", 1, 8, invoke | {"subagent.run.id": "nested"}, parent=b"theirown"),
    )
    facts = log.facts("own")
    assert ([seconds(s.at) for s in facts.starts], [seconds(e.at) for e in facts.ends]) == ([1], [8])
    facts = log.facts("nested")
    assert (facts.starts, facts.ends, seconds(facts.last_activity_at)) == ((), (), 8)


def test_claude_codes_spans_are_found_by_agent_id_and_an_error_that_a_hook_knows_wins(log: Log) -> None:
    child = {"session.id": log.session, "agent_id": "a7"}
    bash = child | {"tool_name": "Bash"}
    log.arrive(1, dispatch("toolu_1", 0, alias=["a7"]))
    log.arrive_spans(
        30,
        span("claude_code.llm_request", 10, 12, child | {"ttft_ms": "500", "output_tokens": 42}),
        span("claude_code.llm_request", 20, 22, child | {"output_tokens": 8}),
        span("claude_code.tool", 13, 14, bash | {"tool_use_id": "t1"}),
        span("claude_code.tool", 15, 16, bash | {"tool_use_id": "t2"}),
        span("claude_code.llm_request", 25, 26, {"session.id": log.session, "output_tokens": 1000}),
    )
    log.arrive(31, tool("a7", 16.001, call="t2", error="exit 1"), tool("a7", 14.001, call="t1"))
    facts = log.facts("a7")
    (turn,) = facts.turns
    assert (turn.tokens, turn.outputs) == ((at(10.5),), ((at(12), 42), (at(22), 50)))
    assert [seconds(moment) for moment in turn.tools] == [14, 14.001]
    assert [(seconds(f.at), f.tool) for f in facts.failures] == [(16.001, "Read")]
    assert facts.tool_calls == 2


def test_spans_that_a_collector_wrote_count_without_a_time_of_arrival_and_with_invalid_text(log: Log) -> None:
    log.store.command(
        "INSERT INTO otel_traces (Timestamp, SpanId, SpanName, ServiceName, SpanAttributes) SELECT"
        " fromUnixTimestamp64Nano({at:Int64}), 'aa', 'x', 'svc', map('subagent.event', 'tool_call',"
        " 'subagent.phase', 'pending', 'subagent.run.id', 'r1', 'session.id', {session:String},"
        " 'gen_ai.tool.name', concat('tool', unhex('FFFE')))",
        {"at": at(3), "session": log.session},
    )
    (tool,) = log.facts().open_tools
    assert tool.tool.startswith("tool")


# --- neighbours --------------------------------------------------------------------------------------------------


def test_progress_of_all_below_is_told_and_circles_end(log: Log) -> None:
    log.arrive(
        100,
        dispatch("top", 0, child="k0", parent="leaf"),
        dispatch("mid", 1, owner="k0", child="k1"),
        dispatch("leaf", 2, owner="elsewhere", parent="mid"),
        tool("leaf", 40),
        tool("mid", 50),
        {"event": "child_done", "run": "leaf", "time": 60, "outcome": "ok"},
        {"event": "completion_forwarded", "run": "leaf", "time": 61, "forwarded": True},
    )
    found = log.loader.load([RunKey(log.session, "top")])
    near = found[RunKey(log.session, "top")].neighbours
    assert [seconds(moment) for moment in near.progress] == [40, 50]
    assert [child.run for child in near.children] == ["mid"]
    near = log.facts("mid").neighbours
    assert [(c.run, seconds(c.closed_at), seconds(c.settled_at)) for c in near.children] == [("leaf", 60, 61)]
    assert (near.owner.heirs, RunKey(log.session, "mid") in found) == (("",), True)


def test_below_a_child_session_that_is_gone_all_are_told(log: Log) -> None:
    log.arrive(
        100,
        dispatch("top", 0, child="k0"),
        dispatch("low", 1, owner="k0"),
        dispatch("other", 1, child="k9"),
        {"event": "child_gone", "run": None, "time": 90, "child": "k0"},
    )
    assert log.facts("low").neighbours.gone == log.facts("top").neighbours.gone == (at(90),)
    assert log.facts("other").neighbours.gone == ()
    runs = log.loader.changed(at(100) - 1, at(100)).runs
    assert {key.run for key in runs if key.session == log.session} == {"top", "low", "other"}


def test_later_runs_for_the_same_are_successors(log: Log) -> None:
    log.arrive(
        100,
        dispatch("a", 0, child="k", prompt_digest="p", owner="o"),
        dispatch("same-child", 1, child="k", owner="o"),
        dispatch("same-prompt", 2, prompt_digest="p", owner="o"),
        dispatch("other-owner", 3, prompt_digest="p"),
        dispatch("named", 4, supersedes=["a"]),
        {"event": "completion_forwarded", "run": "named", "time": 50, "forwarded": True},
    )
    found = log.loader.load([RunKey(log.session, "a")])
    facts = found[RunKey(log.session, "a")]
    assert facts.neighbours.successors == (
        Successor("same-child", at(1), False),
        Successor("same-prompt", at(2), False),
        Successor("named", at(4), True, at(50)),
    )
    assert {key.run for key in found} >= {"a", "same-child", "same-prompt", "named"}
    twins = {twin.run: (twin.same_prompt, twin.on_purpose) for twin in facts.neighbours.twins}
    assert twins == {"same-prompt": (True, False), "other-owner": (True, False)}


def test_an_owner_is_what_it_did_in_its_session(log: Log) -> None:
    other = log.session + "-else"
    log.arrive(
        100,
        dispatch("r1", 0, owner="lead"),
        dispatch("r2", 5),
        {"event": "owner_turn", "owner": "lead", "time": 10, "phase": "pending"},
        {"event": "owner_turn", "owner": "lead", "time": 20, "phase": "ended", "dur_s": 10},
        {"event": "owner_turn", "owner": "lead", "time": 30, "phase": "pending"},
        {"event": "owner_turn", "time": 40, "phase": "pending"},
        {"event": "owner_turn", "owner": "lead", "time": 41, "phase": "pending", "session": other},
        {"event": "owner_final", "owner": "lead", "time": 50, "owed": ["r1"], "final": True},
        {"event": "owner_gone", "owner": "lead", "time": 60, "reason": "crash"},
        {"event": "completion_consumed", "run": "r1", "time": 55},
    )
    owner = log.facts("r1").neighbours.owner
    assert [(seconds(opened), seconds(closed)) for opened, closed in owner.turns] == [(10, 20), (30, None)]
    assert owner.finals == (OwnerFinal(at(50), ("r1",), True),)
    assert owner.gone == ((at(60), "crash"),)
    assert [seconds(moment) for moment in owner.shown] == [0, 10, 20, 30, 50, 55]
    assert (owner.consumes_since, owner.heirs) == (at(10), ("",))
    root = log.facts("r2").neighbours.owner
    assert ([seconds(opened) for opened, _ in root.turns], root.gone) == ([40], ())
    assert log.loader.changed(at(100) - 1, at(100)).owners >= {(log.session, "lead"), (log.session, "")}


def test_an_owner_that_is_a_run_shows_itself_by_its_requests(log: Log) -> None:
    log.arrive(
        100,
        dispatch("top", 0, child="k0", owner="lead"),
        dispatch("low", 20, owner="k0"),
        {"event": "model_request", "run": "top", "time": 15, "phase": "ended", "dur_s": 5},
        {"event": "model_request", "run": "top", "time": 30, "phase": "pending"},
        {"event": "child_done", "run": "top", "time": 90, "outcome": "ok"},
    )
    owner = log.facts("low").neighbours.owner
    assert [seconds(moment) for moment in owner.requests] == [10, 30]
    assert (owner.consumes_since, owner.heirs, seconds(owner.ended_at)) == (at(10), ("lead", ""), 90)


def test_whom_a_wait_names_is_loaded_too_and_whom_that_one_waits_for(log: Log) -> None:
    wait = {"event": "wait", "time": 9, "phase": "pending", "reason": "child"}
    log.arrive(
        10,
        dispatch("a", 0),
        dispatch("b", 0, child="kb"),
        dispatch("c", 0, alias=["cc"]),
        wait | {"run": "a", "waker": "kb"},
        wait | {"run": "b", "waker": "cc"},
    )
    assert {key.run for key in log.loader.load([RunKey(log.session, "a")])} == {"a", "b", "c"}


def test_it_is_known_when_a_child_of_the_kind_was_first_heard(log: Log) -> None:
    agent, loader = f"kind-{log.session}", log.loader
    a, b = RunKey(log.session, "a"), RunKey(log.session, "b")
    log.arrive(9, dispatch("a", 0, agent=agent), dispatch("b", 0, agent=agent))
    assert loader.load([a])[a].neighbours.kind_heard_at is None
    log.arrive(20, tool("b", 12))
    loader.load([b])
    assert loader.load([a])[a].neighbours.kind_heard_at == at(12)
    assert log.facts("a").neighbours.kind_heard_at == at(12)


def test_a_commit_touches_a_run_with_all_its_names(log: Log) -> None:
    log.arrive(5, tool("a7", 4))
    assert log.loader.changed(at(5) - 1, at(5)).runs >= {RunKey(log.session, "a7")}
    log.arrive(6, dispatch("r1", 0, alias=["a7"]))
    touched = log.loader.changed(at(6) - 1, at(6)).runs
    assert touched >= {RunKey(log.session, "a7"), RunKey(log.session, "r1")}
    assert not log.loader.changed(at(6), at(7) - 1).runs
