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
        link.push(number * 0.005, number, b"%d" % number)
        for step in range(5):
            now = number * 0.005 + step * 0.001
            out += [(now, delivery.payload) for delivery in link.pop(now)]
    link.end()
    return out + [(np.inf, delivery.payload) for delivery in link.pop(np.inf)]


def numbers(out: list[tuple[float, bytes]]) -> list[int]:
    return [int(payload) for _, payload in out]


def test_without_fault_all_comes_at_once(link):
    out = send(link, None)
    assert numbers(out) == list(range(200))
    assert [time for time, _ in out] == [0.005 * i for i in range(200)]


def test_drop_loses_its_share(link):
    assert 30 < len(send(link, Fault("drop states", probability=0.75))) < 70


def test_freeze_loses_all_until_it_ends(link):
    assert send(link, Fault("freeze states")) == []
    link.push(9.0, 7, b"later")
    assert [delivery.payload for delivery in link.pop(9.0)] == [b"later"]


def test_burst_keeps_all_for_its_end(link):
    out = send(link, Fault("burst states"))
    assert numbers(out) == list(range(200))
    assert {time for time, _ in out} == {np.inf}


def test_delay_keeps_the_order_and_reorder_does_not(link):
    delayed = send(link, Fault("delay states", delay=0.007))
    assert numbers(delayed) == list(range(200))
    assert delayed[3][0] == pytest.approx(0.022)
    mixed = numbers(send(link, Fault("reorder states", delay=0.03)))
    assert mixed != sorted(mixed) == list(range(200))


def test_duplicate_repeats_its_share(link):
    out = numbers(send(link, Fault("duplicate states", probability=1.0)))
    assert sorted(out) == sorted(list(range(200)) * (1 + COPIES))


def test_corrupt_messages_are_marked(link):
    link.begin(Fault("corrupt states", probability=0.5, damage="nan"), 1.0)
    for number in range(200):
        link.push(0.0, number, b"")
    out = link.pop(0.0)
    assert len(out) == 200
    assert all(delivery.spoiled == (delivery.payload == b"nan") for delivery in out)
    assert 70 < sum(delivery.spoiled for delivery in out) < 130


def test_spike_then_freeze_is_one_corrupt_message(link):
    out = send(link, Fault("spike, then freeze", damage="huge"))
    assert [payload for _, payload in out] == [b"0huge"]


def test_ros_time_is_shifted(link):
    assert send(link, Fault("ROS time backward", offset=-2.0), 1)[0][1] == b"0-2"
