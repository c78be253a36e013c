"""Drives of the twin that close their own position loop, and constant friction."""

import numpy as np
import pytest
from pushed_twin import follow
from test_twin import ARM, START, make, run

import featherstone_ros as fr
from featherstone_ros.model.robots import robot_file, robot_names
from featherstone_ros.simulation import SimulatorSettings, Twin
from featherstone_ros.simulation.twin import FULL_SPEED, drive_gains


@pytest.fixture(scope="module")
def model() -> fr.Model:
    return fr.Model.from_urdf(ARM)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "implicit", "rk4"])
def test_drive_comes_to_rest_where_its_spring_carries_the_arm(model, integrator):
    p = np.array([400.0, 100.0])
    twin = make(model, integrator=integrator, drive_p=p, drive_d=[60.0, 15.0])
    goal = np.array([0.5, 0.8])
    follow(twin, goal, (), now=0.0)
    run(twin, 5000)
    np.testing.assert_allclose(twin.qd, 0.0, atol=1e-6)
    gravity = fr.Dynamics(model).gravity(twin.q)
    np.testing.assert_allclose(p * (goal - twin.q), gravity, rtol=1e-5)
    np.testing.assert_allclose(twin.effort, gravity, rtol=1e-5)


def test_small_steps_are_the_spring_and_damper_of_the_equation(model):
    """Against the simulator, the loop closed around it in steps of 10 us."""
    p, d = np.array([200.0, 50.0]), np.array([20.0, 5.0])
    goal, speed = np.array([0.5, 0.8]), np.array([0.1, -0.2])
    twin = make(model, rate=100.0, time_step=1e-4, drive_p=p, drive_d=d, saturate_effort=False)
    follow(twin, goal, speed, now=0.0)
    run(twin, 20)
    simulator = fr.Simulator(model, time_step=1e-5)
    simulator.reset(START)
    for _ in range(20_000):
        simulator.step(p * (goal - simulator.q) + d * (speed - simulator.qd))
    np.testing.assert_allclose(twin.q, simulator.q, atol=2e-4)
    np.testing.assert_allclose(twin.qd, simulator.qd, atol=2e-3)


def test_drive_stays_within_the_effort_limits_and_arrives_all_the_same(model):
    twin = make(model, drive_p=1e5, drive_d=1e3)
    follow(twin, [-0.4, 1.0], (), now=0.0)
    efforts = []
    for _ in range(3000):
        twin.advance(0.0)
        efforts.append(np.abs(twin.effort))
    limits = model.effort_limit
    assert (np.max(efforts, axis=0) <= limits).all()
    assert (np.max(efforts, axis=0) == limits).any()
    np.testing.assert_allclose(twin.q, [-0.4, 1.0], atol=1e-3)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "implicit"])
@pytest.mark.parametrize("time_step", [1e-3, 1e-2])
def test_any_gains_are_stable(model, integrator, time_step):
    twin = make(
        model,
        rate=1 / time_step,
        time_step=time_step,
        integrator=integrator,
        drive_p=1e8,
        drive_d=1e6,
        saturate_effort=False,
    )
    follow(twin, START + 0.1, (), now=0.0)
    run(twin, 1000)
    assert twin.fault == ""
    np.testing.assert_allclose(twin.q, START + 0.1, atol=1e-4)


@pytest.mark.parametrize(("steps_at", "by"), [([50], 0.05), (range(0, 150, 100), 0.4)])
def test_no_step_is_followed_faster_than_drives_move(steps_at, by):
    """A bare description: a wrist without rotor. The second is what a twin finds after .2 s."""
    arm = fr.Model.from_file(robot_file("ur5e"))
    goal = np.array([0.0, -1.2, 1.4, -1.7, -1.5, 0.3])
    twin = make(arm, initial_positions=goal)
    speeds = [goal * 0.0]
    for k in range(700):
        goal = goal + by * (k in steps_at)
        follow(twin, goal, (), now=0.0)
        twin.advance(0.0)
        speeds.append(twin.qd)
    assert (np.abs(speeds) <= 1.0001 * arm.velocity_limit).all()
    assert (np.abs(np.diff(speeds, axis=0)) <= 1.0001e-3 * arm.velocity_limit / FULL_SPEED).all()
    np.testing.assert_allclose(twin.q, goal, atol=0.02)


def test_some_joints_follow_while_others_are_driven_by_effort(model):
    twin = make(model, drive_p=400.0, drive_d=60.0)
    follow(twin, [START[0]], (), now=0.0, joints=[0])
    follow(twin, effort=[2.0], joints=[1])
    twin.advance(0.0)
    assert twin.effort[1] == 2.0
    twin.command([1.0, 2.0], now=0.0)
    twin.advance(0.0)
    assert list(twin.effort) == [1.0, 2.0]


@pytest.mark.parametrize("name", robot_names())
def test_gains_chosen_for_an_arm_hold_and_move_it(name):
    model = fr.Model.from_file(robot_file(name))
    twin = Twin(model, SimulatorSettings())
    home = twin.q
    goal = np.clip(home + 0.2, model.lower, model.upper)
    for blend in np.linspace(0.0, 1.0, 500):
        follow(twin, home + blend * (goal - home), (goal - home) / 0.5, now=0.0)
        twin.advance(0.0)
    follow(twin, goal, (), now=0.0)
    run(twin, 1000)
    assert twin.fault == ""
    np.testing.assert_allclose(twin.q, goal, atol=0.06)
    np.testing.assert_allclose(twin.qd, 0.0, atol=0.05)


def test_gains_grow_with_the_armature(model):
    (p, d), (heavy_p, heavy_d) = (drive_gains(model, np.full(2, a)) for a in (0.0, 5.0))
    assert (heavy_p > p).all()
    assert (heavy_d > d).all()
