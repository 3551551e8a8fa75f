"""How long the observer distrusts silence: after outages, and while everybody falls silent at once."""

from __future__ import annotations

from headcount_collector.judge.policy import SECOND
from headcount_collector.watch.observer import ASLEEP, AWAY, LONGEST_STRETCH, SET_BACK, UNHEARD, Observer

T0 = 1_800_000_000 * SECOND
BEAT = 10 * SECOND


def at(second: int) -> int:
    return T0 + second * SECOND


def observer() -> Observer:
    return Observer(60 * SECOND)


def spells(found: Observer, *seconds: int) -> list[str]:
    return [found.state(at(second)) for second in seconds]


def test_after_an_outage_silence_counts_again_when_the_warm_up_is_over() -> None:
    found = observer()
    found.was_blind(at(0), at(100))
    assert spells(found, 100, 159, 160) == ["degraded", "degraded", "ok"]
    assert found.sleeps == []


def test_outage_upon_outage_degrades_for_five_minutes_at_most() -> None:
    found = observer()
    for second in range(0, 1000, 20):
        found.was_blind(at(second), at(second + 10))
        if second == 280:
            assert found.warm_at == at(10) + LONGEST_STRETCH
    assert at(990) < found.warm_at <= at(1050)


def test_a_sleep_of_the_host_is_remembered_and_the_oldest_forgotten() -> None:
    found = observer()
    for number in range(120):
        found.was_blind(at(1000 * number), at(1000 * number + 5), ASLEEP)
    assert len(found.sleeps) == 100
    assert found.sleeps[-1] == (at(119_000), at(119_005))


def test_several_keep_alives_that_all_stop_make_it_blind_until_one_is_back_and_the_warm_up_over() -> None:
    found = observer()
    found.listen([(BEAT, at(0)), (BEAT, at(5))], at(34))
    assert spells(found, 34) == ["ok"]
    found.listen([(BEAT, at(0)), (BEAT, at(5))], at(35))
    assert spells(found, 35, 100) == ["degraded", "degraded"]
    found.listen([(BEAT, at(100)), (BEAT, at(5))], at(101))
    assert spells(found, 160, 161) == ["degraded", "ok"]


def test_a_silence_that_lasts_degrades_for_five_minutes_at_most() -> None:
    found = observer()
    for second in range(35, 1000, 5):
        found.listen([(BEAT, at(0)), (BEAT, at(5))], at(second))
    assert spells(found, 334, 335, 999) == ["degraded", "ok", "ok"]


def test_a_lone_producer_that_falls_silent_is_a_finding_and_no_blindness() -> None:
    found = observer()
    found.listen([(BEAT, at(0))], at(500))
    assert spells(found, 500) == ["ok"]


def test_who_was_lost_long_before_is_no_witness_of_blindness() -> None:
    found = observer()
    found.listen([(BEAT, at(0)), (BEAT, at(1000))], at(1100))
    assert spells(found, 1100) == ["ok"]
    found.listen([(BEAT, at(0)), (BEAT, at(1000)), (BEAT, at(1010))], at(1110))
    assert spells(found, 1110) == ["degraded"]


def test_one_voice_among_the_silent_is_enough() -> None:
    found = observer()
    found.listen([(BEAT, at(0)), (BEAT, at(0)), (BEAT, at(490))], at(500))
    assert spells(found, 500) == ["ok"]


def test_a_clock_that_is_set_back_takes_the_warm_up_with_it() -> None:
    found = observer()
    found.was_blind(at(5000), at(5100))
    found.set_back(at(5110) - at(110), at(110))
    assert spells(found, 110, 159, 160) == ["degraded", "degraded", "ok"]
    assert found.blind_from == at(0)
    found.listen([(BEAT, at(200)), (BEAT, at(205))], at(235))
    found.set_back(at(236) - at(36), at(36))
    assert spells(found, 36, 334, 335) == ["degraded", "degraded", "ok"]


def test_what_kept_it_from_seeing_is_remembered_the_latest_first() -> None:
    found = observer()
    found.was_blind(at(0), at(20))
    found.listen([(BEAT, at(0)), (BEAT, at(5))], at(200))
    assert [(why, until) for why, _, until in found.history()] == [(UNHEARD, None), (AWAY, at(20))]
    found.listen([(BEAT, at(210)), (BEAT, at(210))], at(211))
    found.set_back(60 * SECOND, at(155))
    (back, unheard, _) = found.history()
    assert back == (SET_BACK, at(215), at(155))
    assert (unheard[0], unheard[2]) == (UNHEARD, at(211))
