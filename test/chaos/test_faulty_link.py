"""What comes out of a faulty link."""

import numpy as np
import pytest
from episodes import Fault
from faulty_link import COPIES, FaultyLink


@pytest.fixture
def link() -> FaultyLink:
    return FaultyLink(
        np.random.default_rng(0),
        lambda payload, damage: payload + damage.encode(),
        lambda payload, offset: payload + b"%g" % offset,
        ("nan", "inf"),
    )


def send(link: FaultyLink, fault: Fault | None, count: int = 200) -> list[tuple[float, bytes]]:
    """Send messages 5 ms apart; return when which came out, at a resolution of 1 ms."""
    out = []
    if fault is not None:
        link.begin(fault, end=count * 0.005)
    for number in range(count):
        link.push(number * 0.005, b"%d" % number)
        for step in range(5):
            now = number * 0.005 + step * 0.001
            out += [(now, delivery.payload) for delivery in link.pop(now)]
    link.end()
    return out + [(np.inf, delivery.payload) for delivery in link.pop(np.inf)]


def numbers(out: list[tuple[float, bytes]]) -> list[int]:
    return [int(payload) for _, payload in out]


EVERY = list(range(200))


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (None, EVERY),
        (Fault("freeze states"), []),
        (Fault("burst states"), EVERY),
        (Fault("delay states", delay=0.007), EVERY),
        (Fault("reorder states", delay=0.03), EVERY),
        (Fault("duplicate states", probability=1.0), sorted(EVERY * (1 + COPIES))),
    ],
    ids=str,
)
def test_a_fault_loses_repeats_and_delays_what_it_says(link, fault, expected):
    out = send(link, fault)
    found, times = numbers(out), [time for time, _ in out]
    assert sorted(found) == expected
    kind = fault.kind.split()[0] if fault else ""
    assert (found == sorted(found)) == (kind not in ("reorder", "duplicate"))
    if kind == "burst":
        assert set(times) == {np.inf}
    elif kind == "delay":
        assert times[3] == pytest.approx(0.022)
    elif not kind:
        assert times == [0.005 * i for i in EVERY]


def test_drop_loses_its_share_and_a_freeze_ends(link):
    assert 30 < len(send(link, Fault("drop states", probability=0.75))) < 70
    assert send(link, Fault("freeze states")) == []
    link.push(9.0, b"later")
    assert [delivery.payload for delivery in link.pop(9.0)] == [b"later"]


def test_corrupt_messages_are_marked(link):
    link.begin(Fault("corrupt states", probability=0.5, damage="nan"), 1.0)
    for _ in range(200):
        link.push(0.0, b"")
    out = link.pop(0.0)
    assert len(out) == 200
    assert all(delivery.spoiled == (delivery.payload == b"nan") for delivery in out)
    assert 70 < sum(delivery.spoiled for delivery in out) < 130


def test_a_spike_is_one_corrupt_message_and_ros_time_is_shifted(link):
    out = send(link, Fault("spike, then freeze", damage="huge"))
    assert [payload for _, payload in out] == [b"0huge"]
    assert send(link, Fault("ROS time backward", offset=-2.0), 1)[0][1] == b"0-2"
