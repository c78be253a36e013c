"""Whether an arm stood when its commands ended."""

import cdr_messages
import numpy as np
import pytest
from control_arm import NAMES, PERIOD
from control_loop import LoopBench

from featherstone_ros.control.rest import last_motion


@pytest.fixture
def bench() -> LoopBench:
    return LoopBench().start()


FAR = np.array([0.0, 3.0])


def motion(bench: LoopBench):
    return last_motion(bench.compiled, bench.model, bench.now)


def hear(bench: LoopBench, q, qd) -> None:
    bench.now, bench.stamp = bench.now + PERIOD, bench.stamp + PERIOD
    nanoseconds = round(bench.stamp * 1e9)
    stamp = nanoseconds // 1_000_000_000, nanoseconds % 1_000_000_000
    bench.message(cdr_messages.joint_state(NAMES, q, qd, stamp=stamp))


def test_an_arm_that_stands_is_not_said_to_move(bench):
    bench.run(0.2)
    assert motion(bench).text == ""


def test_joints_that_move_are_named_the_fastest_first(bench):
    hear(bench, bench.arm.q, [0.1, -0.2])
    assert motion(bench).text == f"{NAMES[1]} at 0.2 rad/s, {NAMES[0]} at 0.1 rad/s"


def test_a_joint_too_fast_to_be_believed_is_seen_to_move(bench):
    hear(bench, bench.arm.q + FAR, [0.0, 1.8e3])
    assert bench.compiled.rejection[0]
    assert f"{NAMES[1]} at 1.8e+03 rad/s" in motion(bench).text


def test_a_refused_state_without_velocities_tells_nothing_new(bench):
    hear(bench, bench.arm.q + FAR, np.full(2, np.nan))
    assert bench.compiled.rejection[0]
    assert motion(bench).text == ""


def test_the_age_is_that_of_the_last_state_also_of_a_refused_one(bench):
    hear(bench, bench.arm.q + FAR, [0.0, 1.8e3])
    bench.now += 0.3
    assert motion(bench).age == pytest.approx(0.3)
