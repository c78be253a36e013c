"""Joint states that come more slowly than gains are made for are told, gaps and silence are not."""

from featherstone_ros.control.diagnostics import StatePeriod


def texts(counts, expected=0.002, silence=0.1):
    """One report a second; ``counts`` are the states in each."""
    watch, total, told = StatePeriod(), 0, []
    watch.update(10.0, 0, expected, silence)
    for second, count in enumerate(counts, 1):
        total += count
        told.append(watch.update(10.0 + second, total, expected, silence))
    return told


def test_slow_states_are_told_with_both_periods():
    told = texts([200, 200, 200, 500])
    assert told[:2] == ["", ""] and told[3] == ""  # the first second is not whole
    assert "every 5 ms" in told[2] and "gains.period 2 ms" in told[2]


def test_a_gap_silence_and_the_expected_period_are_not_told():
    assert not any(texts([500, 500, 200, 500, 500, 400]))
    assert not any(texts([500, 500, 0, 3, 0, 5]))
    assert not any(texts([200] * 5, expected=0.005))


def test_time_that_is_set_back_begins_anew():
    watch = StatePeriod()
    for now, count in ((10.0, 1), (11.0, 201), (12.0, 401)):
        watch.update(now, count, 0.002, 0.1)
    assert watch.text
    watch.update(3.0, 402, 0.002, 0.1)
    assert watch.text == ""
    watch.update(4.0, 902, 0.002, 0.1)
    assert watch.text == ""
