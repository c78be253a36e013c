"""A twin whose base floats: an arm on a boat, a cart, a satellite."""

import numpy as np
import pytest
import urdf_text
from cdr_messages import Writer
from comparison import assert_equal_to_rounding
from drive_settings import with_drives
from methods import INTEGRATORS
from pushed_twin import ARM, apply_wrench, follow, set_state
from refusals import refusals

import featherstone_ros as fr
from featherstone_ros import message_templates as templates
from featherstone_ros._twin import INPUTS, OUTPUTS
from featherstone_ros.model.robots import robot_file
from featherstone_ros.simulation import SimulatorSettings, Twin

SECOND = 1_000_000_000
WEIGHTLESS = (0.0, 0.0, 0.0)
PLACE = {
    "initial_base_position": (1.0, -2.0, 0.5),
    "initial_base_orientation": (0.5, -0.5, 0.5, 0.5),
}
FRICTIONLESS = {"viscous": 0.0, "coulomb": 0.0}
BASE = urdf_text.link("base", 5, "0 0 0", (0.3, 0.3, 0.3))
BOAT = ARM.replace(urdf_text.link("base", None), BASE)


@pytest.fixture(scope="module")
def model() -> fr.Model:
    """Panda in space."""
    return fr.Model.from_file(robot_file("panda"), base="floating", gravity=WEIGHTLESS)


@pytest.fixture(scope="module")
def boat() -> fr.Model:
    return fr.Model.from_urdf(BOAT, base="floating")


def make(model: fr.Model, **settings) -> Twin:
    settings = {"integrator": "rk4", **PLACE, **settings}
    return Twin(model, SimulatorSettings(**with_drives(model, **settings)))


def state(twin: Twin) -> tuple[np.ndarray, np.ndarray]:
    return (
        np.concatenate([twin.base_pose, twin.q]),
        np.concatenate([twin.base_velocity, twin.qd]),
    )


def momentum(twin: Twin) -> np.ndarray:
    return fr.Dynamics(twin.model).momentum(*state(twin))


def push(twin: Twin, steps: int = 100) -> None:
    """Give the whole a momentum by a wrench on its base."""
    twin.command(np.zeros(twin.n), 0.0)
    apply_wrench(twin, twin.model.base_link, [30, -20, 10, 3, 2, -1])
    twin.advance(0.0, steps)
    apply_wrench(twin, twin.model.base_link, np.zeros(6))


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_motion_is_the_simulators(boat, integrator):
    """Bit for bit, under gravity and a wrench."""
    friction = {"viscous": 0.3, "coulomb": 0.1}
    twin = make(boat, integrator=integrator, initial_positions=(0.4, 0.7), **friction)
    simulator = fr.Simulator(boat, 1e-3, integrator, damping=0.3, friction=0.1)
    simulator.reset(state(twin)[0])
    wrench = {"upper": [0, 0, 35.0, 0, 1, 0]}
    twin.command([2.0, -1.0], 0.0)
    apply_wrench(twin, "upper", wrench["upper"])
    twin.advance(0.0, 200)
    simulator.step([*np.zeros(6), 2.0, -1.0], 200, f_ext=wrench)
    q, qd = state(twin)
    assert q.tolist() == simulator.q.tolist()
    assert qd.tolist() == simulator.qd.tolist()


def test_base_is_held_until_the_first_command_and_free_after_it(boat):
    twin = make(boat)
    held = twin.base_pose
    np.testing.assert_array_equal(held, [1, -2, 0.5, 0.5, -0.5, 0.5, 0.5])
    twin.advance(0.0, 500)
    assert twin.is_braked and twin.base_is_held
    assert twin.base_pose.tolist() == held.tolist()
    gravity = fr.Dynamics(boat).gravity(state(twin)[0])
    assert_equal_to_rounding(twin.effort, gravity[6:])
    twin.command([0.0, 0.0], 0.0)
    twin.advance(0.0, 500)
    assert not twin.base_is_held
    # What falls freely: no joint moves against another.
    fallen = held[:3] - [0, 0, 9.81 * 0.5**2 / 2]
    np.testing.assert_allclose(twin.base_pose[:3], fallen, atol=1e-9)
    free = make(boat, hold_until_command=False)
    free.advance(0.0, 500)
    assert free.base_pose.tolist() == twin.base_pose.tolist()
    twin.reset()
    assert twin.base_is_held and twin.base_pose.tolist() == held.tolist()
    assert not twin.base_velocity.any()


def test_brakes_after_a_timeout_lock_the_joints_and_leave_the_momentum(model):
    twin = make(model, command_timeout=0.05, **FRICTIONLESS)
    push(twin)
    twin.command(np.array([0.3, 2, 0.3, 2, 0.1, 0.2, 0.01]), 0.0)
    twin.advance(0.0, 50)
    before, speed = momentum(twin), np.abs(twin.qd)
    assert 0.3 < speed.max() < 20.0
    velocities = []
    for _ in range(150):
        twin.advance(1.0, 1)
        velocities.append(twin.qd)
    assert twin.is_braked and not twin.base_is_held
    steps = np.abs(np.diff(velocities, axis=0))
    assert (steps <= 1.001 * speed / 100).all()  # in 0.1 s, evenly
    assert twin.qd.tolist() == [0.0] * 7
    assert_equal_to_rounding(momentum(twin), before, tolerance=1e-8)
    locked, turned = twin.q, twin.base_pose
    twin.advance(1.0, 2000)
    assert twin.q.tolist() == locked.tolist()
    assert np.abs(twin.base_pose - turned).max() > 0.01
    assert_equal_to_rounding(momentum(twin), before, tolerance=1e-8)


def test_brakes_carry_what_keeps_the_joints_while_the_base_turns(model):
    """The effort told is that of inverse dynamics with no force on the base."""
    twin = make(model, command_timeout=0.01, armature=0.1, offset=0.2, **FRICTIONLESS)
    push(twin)
    twin.advance(1.0, 300)
    q, qd = state(twin)
    assert not qd[6:].any()
    held = np.arange(13) >= 6
    qdd, tau = fr.Dynamics(model).hybrid(q, qd, np.zeros(13), np.zeros(13), held)
    assert np.abs(qdd[:6]).max() > 1e-3
    assert_equal_to_rounding(twin.effort, tau[6:] + 0.2, tolerance=1e-9)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_drives_follow_positions_on_a_base_that_gives_way(model, integrator):
    twin = make(model, integrator=integrator, time_step=2e-4, **FRICTIONLESS)
    wanted = np.array([0.5, 0.3, -0.4, -1.2, 0.2, 1.0, -0.3])
    follow(twin, wanted)
    twin.advance(0.0, 5000)
    np.testing.assert_allclose(twin.q, wanted, atol=1e-6)
    assert np.abs(twin.base_pose[:3] - PLACE["initial_base_position"]).max() > 1e-3
    if integrator == "rk4":
        assert np.abs(momentum(twin)).max() <= 1e-6
    assert np.abs(twin.effort).max() <= model.effort_limit.max()


def test_joint_stops_and_effort_limits_are_forces_within_the_arm(model):
    settings = {"stop_stiffness": 1e4, "stop_damping": 500.0, "armature": 1.0, "viscous": 20.0}
    twin = make(model, time_step=1e-4, coulomb=0.0, **settings)
    push(twin)
    before = momentum(twin)
    twin.command(np.full(7, 1e6), 0.0)
    assert twin.saturated == 1
    for _ in range(200):
        twin.advance(0.0, 100)
        assert (np.abs(twin.effort) <= model.effort_limit).all()
    assert ((twin.q > model.upper) & (twin.q < model.upper + 0.02)).any()
    assert_equal_to_rounding(momentum(twin), before, tolerance=1e-7)


def test_set_state_moves_joints_and_leaves_the_base(model):
    twin = make(model)
    push(twin)
    pose, velocity = twin.base_pose, twin.base_velocity
    set_state(twin, [0.3], joints=[2])
    assert twin.q[2] == 0.3
    assert twin.base_pose.tolist() == pose.tolist()
    assert twin.base_velocity.tolist() == velocity.tolist()


def test_fixed_base_has_no_pose():
    twin = Twin(fr.Model.from_urdf(ARM), SimulatorSettings())
    twin.command(np.zeros(twin.model.n), 0.0)
    assert twin.base_pose is None and twin.base_velocity is None and twin.base_is_held


def test_base_that_leaves_all_bounds_is_a_fault_that_names_it(model):
    twin = make(model)
    twin.command(np.zeros(7), 0.0)
    good = state(twin)
    apply_wrench(twin, model.base_link, [1e6, 0, 0, 0, 0, 0])
    twin.advance(0.0, 1000)
    assert twin.fault.startswith(f"simulation diverged: floating base {model.base_link}, velocity ")
    assert all(np.array_equal(*pair) for pair in zip(state(twin), good, strict=True))
    twin.reset()
    assert not twin.fault


def test_orientation_is_made_a_unit_quaternion(model):
    twin = make(model, initial_base_orientation=(0, 0, 0.707, 0.707))
    assert np.linalg.norm(twin.base_pose[3:]) == pytest.approx(1.0, abs=1e-15)


# What it tells.

EVERY_MESSAGE = (
    templates.odometry("world", "panda_link0"),
    templates.tf_message("map", "panda_link0"),
)


def header(writer: Writer, frame: str, stamp: int) -> None:
    writer.add("i", stamp // SECOND)
    writer.add("I", stamp % SECOND)
    writer.add_string(frame)


def expected_messages(twin: Twin, stamp: int) -> list[bytes]:
    """Return odometry and transform as CDR has them."""
    pose, twist = twin.base_pose, twin.base_velocity
    odometry, transform = Writer(), Writer()
    header(odometry, "world", stamp)
    odometry.add_string("panda_link0")
    odometry.add("d", *pose, *np.zeros(36), *twist, *np.zeros(36))
    transform.add("I", 1)
    header(transform, "map", stamp)
    transform.add_string("panda_link0")
    transform.add("d", *pose)
    return [odometry.message, transform.message]


@pytest.mark.parametrize("clock", [False, True])
def test_pose_and_twist_go_out_with_every_state_and_its_stamp(model, clock):
    twin = Twin(model, SimulatorSettings(lockstep=True, **PLACE), clock, EVERY_MESSAGE)
    twin.start(0.0)
    command = Writer()
    command.add("I", 0, 0)
    command.add_doubles([1.0] * 7)
    now = 0
    for k in range(1, 4):
        published, _ = twin.message(INPUTS["commands"], command.message, now)
        first = 1 + clock
        assert published[0][0] == (OUTPUTS["clock"] if clock else first)
        told = [data for output, data in published if output >= first and output != 0]
        expected = expected_messages(twin, k * 1_000_000)
        assert told[-2:] == expected
        assert published[-1][0] == OUTPUTS["joint_states"]
    assert twin.base_velocity.any()


SPACE, STANDING = (fr.Model.from_urdf(text, base=base) for text, base in
                   ((BOAT, "floating"), (ARM, "fixed")))  # fmt: skip
PLACES = {
    "initial_base_position .* expected three finite": {"initial_base_position": (0, 0)},
    "initial_base_position .* expected three": {"initial_base_position": (0, 0, np.nan)},
    "initial_base_orientation .* unit": {"initial_base_orientation": (0, 0, 0, 0)},
    "initial_base_orientation .* unit quaternion": {"initial_base_orientation": (0, 0, 1)},
}
test_what_no_base_has_is_refused = refusals(
    *((ValueError, said, lambda place=place: make(SPACE, **place))
      for said, place in PLACES.items()),
    (fr.ModelError, "floating base 'base' moves no inertia",
     lambda: make(fr.Model.from_urdf(ARM, base="floating"))),
    (ValueError, "base_messages: got 1, too many",
     lambda: Twin(STANDING, SimulatorSettings(), False, EVERY_MESSAGE[:1])),
)  # fmt: skip
