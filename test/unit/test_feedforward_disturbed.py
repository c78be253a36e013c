"""The torque controller under random sequences of whatever may happen to it."""

import numpy as np
import pytest
from control_arm import NAMES, PERIOD, Bench, Q
from studies import few_or_all

import featherstone_ros as fr
from featherstone_ros.control.phases import RUNNING, Phase
from featherstone_ros.control.settings import Mode, Terms
from featherstone_ros.control.trajectory import Point, TrajectoryError


class Disturber:
    """Does random things to a controller; what it refuses is none of its business."""

    def __init__(self, bench: Bench, seed: int) -> None:
        self.bench = bench
        self.random = np.random.default_rng(seed)
        self.acts = [getattr(self, name) for name in dir(self) if name.startswith("do_")]

    def act(self) -> None:
        try:
            self.random.choice(self.acts)()
        except TrajectoryError:
            pass

    def near(self, spread: float) -> np.ndarray:
        return np.clip(self.bench.arm.q + self.random.normal(size=2) * spread, -2.8, 2.8)

    def do_trajectory(self) -> None:
        times = np.cumsum(self.random.uniform(0.0, 0.5, size=3))
        points = [Point(t, self.near(0.5), self.random.normal(size=2)) for t in times]
        points.append(Point(times[-1] + 0.5, self.near(0.5), [0.0, 0.0]))
        delay = self.random.choice([None, -0.3, 0.0, 0.2])
        self.bench.controller.set_trajectory(self.bench.now, NAMES, points, delay)

    def do_effort_trajectory(self) -> None:
        points = [Point(0.1, self.near(0.1)), Point(0.3, self.near(0.1), effort=[3.0, -2.0])]
        self.bench.controller.set_trajectory(self.bench.now, NAMES, points)

    def do_reference(self) -> None:
        point = Point(0.0, self.near(0.05), self.random.normal(size=2), [1.0, 1.0], [0.5, 0.5])
        self.bench.set_point(point)

    def do_target(self) -> None:
        pose = fr.Dynamics(self.bench.model).link_pose(self.near(0.5), "link2")
        twist, wrench = self.random.normal(size=6), 10.0 * self.random.normal(size=6)
        self.bench.controller.set_target(self.bench.now, pose, twist, wrench)

    def do_hold(self) -> None:
        self.bench.controller.hold(self.bench.now)

    def do_mode(self) -> None:
        self.bench.configure(mode=self.random.choice(list(Mode)))

    def do_gains(self) -> None:
        share = self.random.uniform(0.2, 1.0)
        self.bench.configure(p=share * np.array([100.0, 20.0]), d=share * np.array([10.0, 1.0]))

    def do_terms(self) -> None:
        self.bench.configure(feedforward_terms=self.random.choice(list(Terms)))

    def do_effort_scale(self) -> None:
        self.bench.configure(effort_limit=np.full(2, self.random.uniform(5.0, 20.0)))

    def do_payload(self) -> None:
        mass = self.random.uniform(0.0, 1.0)
        loaded = self.bench.model.with_payload("link2", mass, (0.0, 0.0, 0.1))
        self.bench.controller.change_model(self.bench.now, loaded, self.random.choice([0.0, 0.2]))

    def do_fall_back(self) -> None:
        for _ in range(self.random.integers(1, 40)):
            self.bench.controller.fall_back(self.bench.now)
            self.bench.run(0.01, states=self.random.random() < 0.9)

    def do_gap(self) -> None:
        self.bench.run(self.random.choice([0.05, 0.15, 0.5, 1.5]), states=False)

    def do_stall(self) -> None:
        self.bench.run(self.random.choice([0.05, 0.2]), states=False, timer=False)

    def do_bad_state(self) -> None:
        self.bench.controller.accept_state(self.bench.now, np.array([np.nan, 0.0]))

    def do_old_stamp(self) -> None:
        self.bench.stamp -= self.random.choice([0.02, 10.0])

    def do_clock_jump(self) -> None:
        self.bench.stamp += 1e6

    def do_push(self) -> None:
        self.bench.arm.set_state(self.bench.arm.q, self.random.normal(size=2))

    def do_teleport(self) -> None:
        self.bench.arm.set_state(self.near(0.5), np.zeros(2))

    def do_life(self) -> None:
        if self.random.random() < 0.5:
            self.bench.controller.deactivate(self.bench.now)
            self.bench.run(0.05)
        self.bench.controller.activate(self.bench.now)


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
