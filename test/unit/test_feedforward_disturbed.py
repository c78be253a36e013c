"""The torque controller under random sequences of whatever may happen to it."""

from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pytest
from control_arm import NAMES, PERIOD, Bench, Q
from studies import few_or_all

import featherstone_ros as fr
from featherstone_ros.control.phases import RUNNING, Phase
from featherstone_ros.control.settings import Mode, Terms
from featherstone_ros.control.trajectory import Point, TrajectoryError

P, D = np.array([100.0, 20.0]), np.array([10.0, 1.0])
ONE, X = np.ones(2), np.array([3.0, -2.0])


class Disturber:
    """Does random things to a controller; what it refuses is none of its business."""

    def __init__(self, bench: Bench, seed: int) -> None:
        self.bench, self.controller = bench, bench.controller
        self.random = random = np.random.default_rng(seed)
        some = random.choice
        self.acts: tuple[Callable[[], object], ...] = (
            self.trajectory,
            lambda: self.follow([Point(0.1, self.near(0.1)), Point(0.3, self.near(0.1), effort=X)]),
            lambda: bench.set_point(Point(0.0, self.near(0.05), random.normal(size=2), ONE, ONE)),
            self.target,
            lambda: self.controller.hold(bench.now),
            lambda: bench.configure(mode=Mode(some(list(Mode)))),
            lambda: bench.configure(feedforward_terms=Terms(some(list(Terms)))),
            lambda: bench.configure(effort_limit=np.full(2, random.uniform(5.0, 20.0))),
            lambda: bench.configure(p=random.uniform(0.2, 1.0) * P, d=random.uniform(0.2, 1.0) * D),
            self.payload,
            self.fall_back,
            lambda: bench.run(some([0.05, 0.15, 0.5, 1.5]), states=False),
            lambda: bench.run(some([0.05, 0.2]), states=False, timer=False),
            lambda: self.controller.accept_state(bench.now, np.array([np.nan, 0.0])),
            lambda: setattr(bench, "stamp", bench.stamp + some([-0.02, -10.0, 1e6])),
            lambda: bench.arm.set_state(bench.arm.q, random.normal(size=2)),
            lambda: bench.arm.set_state(self.near(0.5), np.zeros(2)),
            self.life,
        )

    def act(self) -> None:
        with suppress(TrajectoryError):
            self.acts[self.random.integers(len(self.acts))]()

    def near(self, spread: float) -> np.ndarray:
        return np.clip(self.bench.arm.q + self.random.normal(size=2) * spread, -2.8, 2.8)

    def follow(self, points: list[Point], delay: float | None = None) -> None:
        self.controller.set_trajectory(self.bench.now, NAMES, points, delay)

    def trajectory(self) -> None:
        times = np.cumsum(self.random.uniform(0.0, 0.5, size=3))
        points = [Point(t, self.near(0.5), self.random.normal(size=2)) for t in times]
        points.append(Point(times[-1] + 0.5, self.near(0.5), [0.0, 0.0]))
        self.follow(points, self.random.choice([None, -0.3, 0.0, 0.2]))

    def target(self) -> None:
        pose = fr.Dynamics(self.bench.model).link_pose(self.near(0.5), "link2")
        twist, wrench = self.random.normal(size=6), 10.0 * self.random.normal(size=6)
        self.controller.set_target(self.bench.now, pose, twist, wrench)

    def payload(self) -> None:
        mass = self.random.uniform(0.0, 1.0)
        loaded = self.bench.model.with_payload("link2", mass, (0.0, 0.0, 0.1))
        self.controller.change_model(self.bench.now, loaded, self.random.choice([0.0, 0.2]))

    def fall_back(self) -> None:
        for _ in range(self.random.integers(1, 40)):
            self.controller.fall_back(self.bench.now)
            self.bench.run(0.01, states=self.random.random() < 0.9)

    def life(self) -> None:
        if self.random.random() < 0.5:
            self.controller.deactivate(self.bench.now)
            self.bench.run(0.05)
        self.controller.activate(self.bench.now)


@pytest.mark.parametrize("seed", few_or_all(range(3), range(6)))
def test_no_step_and_no_nan_whatever_happens(seed):
    bench = Bench().start()
    disturber = Disturber(bench, seed)
    for _ in range(60):
        disturber.act()
        bench.run(0.02 + 0.1 * disturber.random.random())
        # The simulation has no stops.
        if np.abs(bench.arm.qd).max() > 20.0 or np.abs(bench.arm.q).max() > 3.0:
            bench.arm.set_state(Q, np.zeros(2))
    bench.controller.activate(bench.now)
    bench.configure(mode=Mode.FEEDFORWARD)
    bench.run(1.0)
    if bench.controller.phase is Phase.FAULT:
        bench.controller.hold(bench.now)
    assert bench.controller.phase in RUNNING
    commands = bench.torques()
    assert np.isfinite(commands).all()
    assert (np.abs(commands) <= 20.0).all()
    gaps = np.diff([time for time, _ in bench.commands])
    steps = np.abs(np.diff(commands, axis=0)).max(axis=1)
    allowed = 200.0 * np.clip(gaps, PERIOD, 0.005)
    assert (steps <= allowed + 1e-3).all()  # two states may come at one time
