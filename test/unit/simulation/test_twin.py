"""The twin against its simulator, and what it does when things go wrong."""

import numpy as np
import pytest
from drive_settings import with_drives
from example_robots import EMPTY, MASSLESS_JOINTS, ROBOTS, UNLIKE_ROBOTS
from pushed_twin import ARM, START, apply_wrench, follow, make, set_state
from studies import few_or_all

import featherstone_ros as fr
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.model.robots import robot_file, robot_names
from featherstone_ros.simulation import Noise, SimulatorSettings, Twin
from featherstone_ros.simulation.twin import FULL_SPEED, drive_gains

STOPPING_TIME = 0.1  # of the brakes [s]
UNSTABLE = {  # explicit damping with a time step far beyond its stability
    "integrator": "semi_implicit_euler",
    "rate": 10.0,
    "time_step": 0.1,
    "viscous": 5.0,
    "hold_until_command": False,
}


@pytest.fixture(scope="module")
def model() -> fr.Model:
    return fr.Model.from_urdf(ARM)


def run(twin: Twin, periods: int, now: float = 0.0) -> None:
    for _ in range(periods):
        twin.advance(now)


def test_friction_is_the_identified_law(model):
    friction = {"load": [0.2, 0.3], "thinning": [0.5, 0.1]}
    drives = {"viscous": [1.0, 2.0], "coulomb": [0.5, 0.2], **friction}
    twin = make(model, rate=100.0, integrator="rk4", hold_until_command=False, **drives)
    simulator = fr.Simulator(
        model, 1e-3, "rk4", damping=[1.0, 2.0], friction=[0.5, 0.2], **friction
    )
    simulator.reset(START)
    run(twin, 50)
    simulator.step(np.zeros(model.n), 500)
    np.testing.assert_allclose(twin.q, simulator.q, rtol=1e-12)
    without = make(model, rate=100.0, integrator="rk4", hold_until_command=False)
    run(without, 50)
    assert np.abs(without.q - twin.q).max() > 0.01


@pytest.mark.parametrize("time_step", [1e-3, 0.01])
def test_a_joints_spring_acts_where_the_joint_is(model, time_step):
    """At every step of the integration, whatever the rate of the states."""
    stiffness, offset = np.array([30.0, 12.0]), np.array([2.0, -1.0])
    twin = make(
        model,
        rate=100.0,
        time_step=time_step,
        hold_until_command=False,
        stiffness=stiffness,
        offset=offset,
    )
    simulator = fr.Simulator(model, time_step, SimulatorSettings.integrator)
    simulator.reset(START)
    run(twin, 50)
    for _ in range(round(0.5 / time_step)):
        simulator.step(-stiffness * simulator.q - offset)
    np.testing.assert_allclose(twin.q, simulator.q, rtol=1e-12)


def test_a_brake_carries_the_joints_spring(model):
    twin = make(model, stiffness=[30.0, 12.0])
    run(twin, 10)
    held = fr.Dynamics(model).gravity(START) + np.array([30.0, 12.0]) * START
    np.testing.assert_allclose(twin.effort, held, rtol=1e-12)


def test_period_is_divided_evenly_into_steps_no_longer_than_time_step():
    settings = SimulatorSettings(rate=300.0, time_step=0.001)
    assert settings.steps_per_period == 4
    assert settings.effective_time_step == pytest.approx(1 / 1200)
    assert SimulatorSettings(rate=500.0, time_step=0.001).steps_per_period == 2
    assert SimulatorSettings(rate=1000.0, time_step=0.1).steps_per_period == 1


def test_default_initial_position_is_the_nearest_to_zero_within_the_limits(model):
    twin = Twin(model, SimulatorSettings())
    np.testing.assert_array_equal(twin.q, [0.0, 0.2])


# Brakes.


def test_brakes_hold_until_the_first_command_and_carry_gravity(model):
    twin = make(model)
    run(twin, 1000)
    np.testing.assert_array_equal(twin.q, START)
    np.testing.assert_allclose(twin.effort, fr.Dynamics(model).gravity(START), rtol=1e-12)
    twin.command(np.zeros(2), now=1.0)
    run(twin, 1)
    assert (twin.qd != 0).all()


def test_command_timeout_stops_the_arm_without_a_jump_and_holds_it(model):
    twin = make(model, command_timeout=0.1)
    twin.command([5.0, 1.0], now=0.0)
    run(twin, 100, now=0.1)
    assert not twin.is_braked
    speed = twin.qd
    assert np.abs(speed).max() > 0.1
    speeds = []
    for _ in range(150):
        twin.advance(now=0.11)
        speeds.append(twin.qd)
    assert twin.is_braked
    steps = np.abs(np.diff([speed, *speeds], axis=0))
    assert (steps <= np.abs(speed) * 0.001 / STOPPING_TIME + 1e-12).all()
    stopped = twin.q
    np.testing.assert_array_equal(twin.qd, 0.0)
    run(twin, 100, now=0.2)
    np.testing.assert_array_equal(twin.q, stopped)
    np.testing.assert_allclose(twin.effort, fr.Dynamics(model).gravity(stopped), rtol=1e-12)
    twin.command([5.0, 1.0], now=0.3)
    twin.advance(now=0.3)
    assert (twin.qd != 0).all()


def test_no_timeout_before_the_first_command_nor_when_it_is_zero(model):
    falling = make(model, command_timeout=0.1, hold_until_command=False)
    run(falling, 10, now=100.0)
    never = make(model)
    never.command([0.0, 0.0], now=0.0)
    run(never, 10, now=1e6)
    assert not falling.is_braked
    assert not never.is_braked


def test_wrench_moves_nothing_while_braked_but_is_carried(model):
    twin = make(model)
    apply_wrench(twin, "tool", [0.0, 0.0, 20.0, 0.0, 0.0, 0.0])
    run(twin, 10)
    np.testing.assert_array_equal(twin.q, START)
    wrench = {"tool": np.array([0.0, 0.0, 20.0, 0.0, 0.0, 0.0])}
    expected = fr.Dynamics(model).rnea(START, np.zeros(2), np.zeros(2), wrench)
    np.testing.assert_allclose(twin.effort, expected, rtol=1e-12)


# Commands.


def test_effort_is_saturated_at_the_urdf_limits_unless_switched_off(model):
    twin = make(model)
    twin.command([100.0, -100.0], now=0.0)
    run(twin, 1)
    np.testing.assert_array_equal(twin.effort, [40.0, -10.0])
    twin.command([40.0, 0.0], now=0.0)
    assert twin.saturated == 1  # at the limit is not beyond it
    free = make(model, saturate_effort=False)
    free.command([100.0, -100.0], now=0.0)
    run(free, 1)
    np.testing.assert_array_equal(free.effort, [100.0, -100.0])
    assert free.saturated == 0


# Wrenches.


def test_wrench_ends_after_its_timeout_and_a_new_one_replaces_it(model):
    twin = make(model, hold_until_command=False, wrench_timeout=0.05)
    simulator = fr.Simulator(model)
    simulator.reset(START)
    first, second = np.array([[3.0, 0.0, -2.0, 0.0, 0.5, 0.0], [2.0, 1.0, 2.0, 1.0, 2.0, 1.0]])
    apply_wrench(twin, "tool", first)  # in the link's axes
    run(twin, 10)
    simulator.step(np.zeros(2), 10, {"tool": first})
    apply_wrench(twin, "tool", second)
    run(twin, 100)
    simulator.step(np.zeros(2), 50, {"tool": second})
    simulator.step(np.zeros(2), 50)
    np.testing.assert_array_equal(twin.q, simulator.q)
    assert twin.wrenches == {}


def test_wrench_whose_publisher_has_gone_ends_unless_one_message_is_to_stay(model):
    gone, stays = (make(model, **settings) for settings in ({}, {"wrench_timeout": 0.0}))
    for twin in (gone, stays):
        apply_wrench(twin, "tool", np.ones(6))
        run(twin, 1000)
    assert not gone.wrenches
    assert list(stays.wrenches) == ["tool"]


# State.


def test_set_state_moves_the_joints_named_and_keeps_the_time(model):
    twin = make(model, hold_until_command=False)
    run(twin, 10)
    shoulder = twin.q[0]
    set_state(twin, [1.5], [0.2], joints=np.array([1]))
    np.testing.assert_array_equal(twin.q, [shoulder, 1.5])
    assert twin.qd[1] == 0.2
    np.testing.assert_array_equal(twin.position, twin.q)
    assert twin.time == 10_000_000


def test_reset_repeats_the_run_bit_for_bit_noise_included(model):
    noise = Noise(position=1e-3, velocity=1e-2, effort=0.1, seed=5)
    twin = make(model, noise=noise)

    def record() -> np.ndarray:
        rows = []
        for k in range(200):
            twin.command([np.sin(k), np.cos(k)], now=k * 0.001)
            twin.advance(now=k * 0.001)
            rows.append(np.r_[twin.time, twin.position, twin.velocity, twin.effort])
        return np.array(rows)

    first = record()
    apply_wrench(twin, "tool", np.ones(6))
    twin.reset()
    assert twin.is_braked
    assert twin.time == 0
    np.testing.assert_array_equal(record(), first)


def test_changed_settings_keep_state_and_time(model):
    twin = make(model, hold_until_command=False)
    run(twin, 10)
    q, qd = twin.q, twin.qd
    twin.use(SimulatorSettings(**with_drives(model, rate=200.0, armature=1.0, integrator="rk4")))
    np.testing.assert_array_equal(twin.q, q)
    np.testing.assert_array_equal(twin.qd, qd)
    run(twin, 10)
    assert twin.time == 60_000_000


# Noise.


def test_noise_is_seeded_has_its_deviations_and_leaves_the_true_state_alone(model):
    noise = Noise(position=1e-3, velocity=1e-2, effort=0.5, seed=1)
    twins = [make(model, noise=n) for n in (noise, noise, Noise(1e-3, 1e-2, 0.5, seed=2), Noise())]
    rows = [[], [], [], []]
    for twin, row in zip(twins, rows, strict=True):
        for _ in range(2000):
            twin.advance(now=0.0)
            row.append(np.r_[twin.position, twin.velocity, twin.effort])
        np.testing.assert_array_equal(twin.q, START)
    same, again, other, silent = np.array(rows)
    np.testing.assert_array_equal(same, again)
    assert (same != other).any()
    deviations = np.repeat([1e-3, 1e-2, 0.5], 2)
    np.testing.assert_allclose((same - silent).std(axis=0), deviations, rtol=0.1)


# Faults.


def test_divergence_stops_at_the_last_good_state_and_reset_recovers(model):
    twin = make(model, **UNSTABLE)
    set_state(twin, START, [1.0, 1.0])
    for _ in range(1000):
        twin.advance(now=0.0)
        assert np.isfinite(np.r_[twin.position, twin.velocity, twin.effort]).all()
    assert "diverged" in twin.fault
    assert "shoulder" in twin.fault or "elbow" in twin.fault
    time, q = twin.time, twin.q
    twin.advance(now=0.0)
    assert twin.time == time
    np.testing.assert_array_equal(twin.q, q)
    assert np.abs(twin.qd).max() <= 1e4
    twin.reset()
    assert twin.fault == ""
    np.testing.assert_array_equal(twin.q, START)


@pytest.mark.parametrize("path", few_or_all(UNLIKE_ROBOTS, [p for p in ROBOTS if p.name != EMPTY]))
def test_an_arm_with_nothing_set_loses_energy_under_gravity_torque(path):
    """Some have a damping times a millisecond of many times the inertia, as the iCub's wrists."""
    model = fr.Model.from_file(path, locked=MASSLESS_JOINTS.get(path.name))
    if not model.n:
        pytest.skip("nothing moves")
    # Some URDFs say 0 for the efforts of joints that gravity loads.
    twin, dynamics = Twin(model, SimulatorSettings(saturate_effort=False)), fr.Dynamics(model)
    set_state(twin, twin.q, np.full(model.n, 0.1))
    begin, _ = dynamics.energy(twin.q, twin.qd)
    for _ in range(1000):
        twin.command(dynamics.gravity(twin.q), 0.0)
        twin.advance(0.0)
    assert twin.fault == ""
    kinetic, _ = dynamics.energy(twin.q, twin.qd)
    assert kinetic < 1.01 * begin


def test_a_braking_joint_that_has_reached_its_stop_stands(model):
    """Velocities say what positions do: a joint that stays where it is has none."""
    twin = make(model, stop_stiffness=1e5, stop_damping=1e3, command_timeout=0.1)
    twin.command([0.0, 0.0], now=0.0)
    run(twin, 200)
    set_state(twin, [0.0, 2.45], [1.0, 4.0])
    positions, velocities = [], []
    for k in range(60):
        run(twin, 1, now=1.0 + 0.001 * k)
        positions.append(twin.q[1])
        velocities.append(twin.qd[1])
    assert twin.is_braked and twin.qd[0] > 0.1
    at_stop = np.array(positions) == 2.5
    assert 10 < at_stop.sum() < 60
    assert not np.array(velocities)[at_stop].any()
    assert (np.array(velocities)[~at_stop] > 1.0).all()
    set_state(twin, [0.0, 2.5], [0.0, -1.0])
    run(twin, 20, now=2.0)
    assert twin.qd[1] < 0.0 and twin.q[1] < 2.5


# Drives that close their own position loop, and constant friction.


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


def test_drives_that_hide_gravity_measure_as_much_less_in_motion_too(model):
    twins = [
        make(model, drive_p=400.0, drive_d=60.0, units=DriveUnits(model.joint_names, effort=effort))
        for effort in ("torque", "torque_without_gravity")
    ]
    for twin in twins:
        follow(twin, [0.5, 1.5], (), now=0.0)
        run(twin, 100)
    whole, hiding = twins
    assert np.abs(whole.qd).min() > 0.1
    np.testing.assert_array_equal(hiding.q, whole.q)
    gravity = fr.Dynamics(model).gravity(whole.q)
    np.testing.assert_allclose(whole.effort - hiding.effort, gravity, rtol=1e-9)


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
    speeds, beyond = [goal * 0.0], []
    for k in range(700):
        goal = goal + by * (k in steps_at)
        follow(twin, goal, (), now=0.0)
        twin.advance(0.0)
        speeds.append(twin.qd)
        beyond.append(twin.q - goal)
    assert np.max(beyond) < 0.01  # each brakes in time
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
