"""A trajectory that breaks limits gets new times from the arm's desired state on, or a reason."""

import importlib.util
import threading
from queue import Queue

import numpy as np
import pytest
from control_arm import ARM, NAMES, Bench, Q
from numpy.testing import assert_allclose

from featherstone_ros import Dynamics
from featherstone_ros.control.feasibility.checks import check_trajectory
from featherstone_ros.control.retiming.retime import BLEND, RetimingError
from featherstone_ros.control.retiming.unfit import UnfitTrajectory, not_retimed
from featherstone_ros.control.retiming.worker import Job, Worker
from featherstone_ros.control.trajectory import (
    LimitsError,
    Point,
    Trajectory,
    TrajectoryError,
    plan_start,
)

REST = (0.0, 0.0)
GOAL = Q + np.array([1.0, -1.0])
STILL = np.zeros(2)


@pytest.fixture(scope="module")
def bench():
    return Bench().start()


def trajectory(*points, **options):
    return Trajectory(NAMES, [Point(*point) for point in points], ARM.space, **options)


def unfit(bench, *points, elapsed=0.0):
    moment = bench.controller.snapshot()
    return UnfitTrajectory.of("", trajectory(*points), moment, elapsed)


def retimed(found):
    return found.retimed(ARM, lambda done, total: None)


def fits(bench, timed):
    """Whether the arm can follow from where it is, by the check of the node."""
    moment, verdicts = bench.controller.snapshot(), []
    again = Trajectory(NAMES, timed.points(), ARM.space)

    def inspect(motion, begin):
        verdicts.append(
            check_trajectory(Dynamics(ARM.model), ARM.model, ARM.settings, motion, begin, STILL)
        )

    plan_start(again, moment, bench.settings, None, inspect)
    return verdicts[0].fits


TOO_FAST = {
    "lines": [(0.1, Q + 0.5), (0.2, GOAL)],
    "cubic": [(0.2, GOAL, REST)],
    "quintic from beside the arm": [(0.0, Q + 1e-3, REST, REST), (0.2, GOAL, REST, REST)],
    "spline through a turn": [(0.1, Q + 0.5, (9.0, 9.0)), (0.3, Q - 0.2, (-1.0, 1.0)),
                              (0.5, GOAL, REST)],
}  # fmt: skip


@pytest.mark.parametrize("points", TOO_FAST.values(), ids=TOO_FAST)
def test_the_arm_can_follow_it_from_where_it_is_to_its_goal(bench, points):
    found = unfit(bench, *points)
    timed = retimed(found)
    assert_allclose(timed.positions[[0, -1]], [Q, points[-1][1]], atol=1e-9)
    assert timed.duration > found.duration == points[-1][0]
    assert fits(bench, timed)
    assert f"{timed.duration / found.duration:.4g} times as long" in found.outcome(timed)
    assert "(joint 'shoulder')" in found.outcome(timed) or "(joint 'elbow')" in found.outcome(timed)


def test_points_that_lie_ahead_are_passed_within_the_blend(bench):
    corner = Q + np.array([0.6, 0.1])
    timed = retimed(unfit(bench, (0.0, Q + 1e-3), (0.1, corner), (0.2, GOAL)))
    assert np.abs(timed.verdict.demand.position - corner).max(axis=1).min() < BLEND


def test_points_that_are_over_are_left_out(bench):
    points = [(0.1, Q - 0.9), (0.4, GOAL)]
    timed = retimed(unfit(bench, *points, elapsed=0.3))
    assert (timed.positions[:, 0] > Q[0] - 1e-6).all()


def test_it_is_no_faster_than_asked_for(bench):
    """Only the corners of its lines are too sharp: the arm could be there much sooner."""
    found = unfit(bench, (5.0, Q + 0.2), (10.0, GOAL))
    timed = retimed(found)
    assert timed.duration == pytest.approx(10.0) and fits(bench, timed)
    assert "1 times as long" in found.outcome(timed)


def test_what_does_not_depend_on_time_stays_refused(bench):
    with pytest.raises(RetimingError, match="outside its limits"):
        retimed(unfit(bench, (0.1, (2.8, 0.0), (40.0, 0.0)), (0.3, GOAL, REST)))


@pytest.mark.parametrize(
    ("points", "velocity", "why"),
    [
        ([(0.1, GOAL)], STILL, ""),
        ([(0.1, GOAL)], np.array([0.0, 1e-3]), "the arm is in motion"),
        ([(0.0, Q, (0.1, 0.0)), (1.0, GOAL, REST)], STILL, "it begins in motion"),
        ([(0.1, GOAL, (0.1, 0.0))], STILL, "it ends in motion"),
        ([(0.1, GOAL, REST, REST, (1.0, 0.0))], STILL, "its efforts belong to its times"),
        ([(0.1, GOAL, REST, REST, REST)], STILL, ""),
        ([(0.0, GOAL)], STILL, "it has no duration"),
        ([(1.0 + k / 100, GOAL) for k in range(2001)], STILL, "it has 2001 points, more than 2000"),
        ([(1.0 + k, Q + 0.1 * k / 600) for k in range(601)], STILL, ""),
        (
            [(1.0 + k, Q + 0.1 * (k % 2)) for k in range(202)],
            STILL,
            "it has 201 lines in different directions, more than 200",
        ),
    ],
)
def test_who_gets_no_new_times(points, velocity, why):
    assert not_retimed(trajectory(*points, allow_moving_end=True), velocity, 0.0) == why


def test_a_goal_that_comes_too_soon_may_be_timed_anew_and_a_start_out_of_reach_not():
    with pytest.raises(LimitsError, match="can be reached in time"):
        trajectory((0.1, GOAL)).check_start(0.0, Q, 0.2)
    for points in ([(0.0, GOAL)], [(0.1, GOAL), (5.0, Q)]):
        with pytest.raises(TrajectoryError, match="starts too far") as raised:
            trajectory(*points).check_start(0.0, Q, 0.2)
        assert not isinstance(raised.value, LimitsError)


def test_an_arm_that_has_been_elsewhere_meanwhile_does_not_follow():
    bench = Bench().start()
    found = unfit(bench, (0.1, GOAL))
    assert found.outdated(bench.controller.snapshot()) == ""
    bench.controller.set_trajectory(bench.now, NAMES, [Point(1.0, Q + 0.1)])
    bench.run(0.5)
    assert found.outdated(bench.controller.snapshot()) == "the arm was moved meanwhile"
    bench.run(0.5, states=False)  # which stops it
    bench.run(0.5)
    assert found.outdated(bench.controller.snapshot()) == "the arm was stopped meanwhile"


def test_without_scipy_it_cannot_be_asked_for(monkeypatch):
    assert ARM.with_parameters(retime=True).values["retime"]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="retime is True: expected scipy: pip install scipy"):
        ARM.with_parameters(retime=True)
    ARM.with_parameters(retime=False)


# The thread.


class Asker:
    """The thread that asks: what is delivered waits until it looks."""

    def __init__(self):
        self.actions, self.told = Queue(), []
        self.worker = Worker(self.actions.put)

    def ask(self, name, compute):
        done = lambda result: self.told.append((name, result))  # noqa: E731
        dropped = lambda why: self.told.append((name, f"dropped: {why}"))  # noqa: E731
        self.worker.start(Job(compute, done, dropped))

    def look(self):
        """Do what is delivered next."""
        self.actions.get(timeout=10.0)()


@pytest.fixture
def asker():
    asker = Asker()
    yield asker
    asker.worker.close()


def test_a_result_is_handed_over_in_the_thread_that_asks(asker):
    asker.ask("one", lambda report: threading.current_thread())
    asker.look()
    ((name, thread),) = asker.told
    assert name == "one" and thread is not threading.current_thread()


def test_an_exception_is_a_result(asker):
    error = RetimingError("no")

    def fail(report):
        raise error

    asker.ask("one", fail)
    asker.look()
    assert asker.told == [("one", error)]


def test_a_newer_job_ends_the_one_before_which_is_told(asker):
    begun = threading.Event()

    def lasting(report):
        begun.set()
        while True:
            report(0, 1)

    asker.ask("old", lasting)
    assert begun.wait(10.0)
    asker.ask("new", lambda report: 7)  # the only thread gets there once the old one has ended
    asker.look()
    asker.look()
    assert asker.told == [("old", "dropped: superseded by a newer one"), ("new", 7)]


def test_a_result_that_waits_is_dropped_too(asker):
    asker.ask("one", lambda report: 7)
    waiting = asker.actions.get(timeout=10.0)
    asker.worker.drop("not wanted")
    waiting()
    asker.look()
    assert asker.told == [("one", "dropped: not wanted")]
    asker.worker.drop("not wanted")
    assert asker.actions.empty()
