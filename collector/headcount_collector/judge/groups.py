"""Groups: how many results an owner is still owed in one session, foreground calls apart (domain contract, section 8)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Member:
    """What a group needs of one run."""

    run: str
    owner: str
    children_keys: tuple[str, ...]
    counts: bool
    remaining: bool
    undelivered: bool
    open: bool
    owner_gone: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """The obligations towards one owner in one session."""

    session: str
    owner: str
    runs: int = 0
    remaining: int = 0
    undelivered: int = 0

    @property
    def all_terminal(self) -> bool:
        return self.remaining == 0

    @property
    def settled(self) -> bool:
        return self.remaining == 0 and self.undelivered == 0


def groups_of(session: str, members: Collection[Member]) -> list[Group]:
    """Return the groups of one session, by owner; obligations of an owner that ended or is gone count for its own owner."""
    heirs = _heirs(members)
    found: dict[str, list[Member]] = {}
    for member in members:
        if member.counts:
            found.setdefault(_effective(member, heirs), []).append(member)
    return [
        Group(session, owner, len(runs), sum(m.remaining for m in runs), sum(m.undelivered for m in runs))
        for owner, runs in sorted(found.items())
    ]


def group_of(session: str, owner: str, members: Collection[Member]) -> Group:
    """Return one group; an owner without runs has an empty one."""
    return next(
        (group for group in groups_of(session, members) if group.owner == owner), Group(session, owner)
    )


def heirs_of_runs(members: Collection[Member]) -> dict[str, str]:
    """Return to whom each unsettled run of one session is owed now: its owner, or who inherits from that one."""
    heirs = _heirs(members)
    return {
        member.run: _effective(member, heirs) for member in members if member.remaining or member.undelivered
    }


def _heirs(members: Iterable[Member]) -> Mapping[str, str]:
    """Map each owner that has ended in all its own runs, or that is gone, to its own owner."""
    serving: dict[str, list[Member]] = {}
    gone: set[str] = set()
    for member in members:
        for key in member.children_keys:
            serving.setdefault(key, []).append(member)
        if member.owner_gone:
            gone.add(member.owner)
    heirs = {
        key: runs[-1].owner
        for key, runs in serving.items()
        if key in gone or not any(member.open for member in runs)
    }
    for owner in gone:
        heirs.setdefault(owner, "")
    return heirs


def _effective(member: Member, heirs: Mapping[str, str]) -> str:
    owner, seen = member.owner, {""}
    if not (member.remaining or member.undelivered):
        return owner
    while owner in heirs and owner not in seen:
        seen.add(owner)
        owner = heirs[owner]
    return owner
