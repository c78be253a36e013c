"""What becomes of NaN and infinity: docs/python.md has the rule."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from driven_arm import DrivenArm
from each import each
from methods import METHODS, MODELS, OF_MODELS

import featherstone_ros as fr
from featherstone_ros import Dynamics, Model
from featherstone_ros.control import CartesianImpedance, retime
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.controller import target_request
from featherstone_ros.control.trajectory import Point, Trajectory
from featherstone_ros.kinematics import inverse_kinematics, pose_error, pose_error_derivative
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.model.drives import Drives
from featherstone_ros.observer import Shadow, ShadowSettings
from featherstone_ros.simulation import Noise, SimulatorSettings, Twin
from featherstone_ros.simulation.closed_loop import ClosedLoop, Command
from featherstone_ros.simulation.simulated_arm import SimulatedArm

PATH = np.array([[0, -0.5, 0, -2, 0, 1.5, 0.8], [0.1, -0.4, 0, -2, 0, 1.5, 0.8]])
POISONS = (np.nan, np.inf, -np.inf)
PANDA = Model.from_robot("panda")
HAND = "panda_hand"
Q = np.array([0, -0.5, 0, -2, 0, 1.5, 0.8])
HERE = Dynamics(PANDA).link_pose(Q, HAND)


@cache
def arm():
    return ControlledArm.of(PANDA)


def servo_arm(armature=0.1, **options):
    servos = DriveUnits(PANDA.joint_names, "position", stiffness=2000.0)
    return DrivenArm(PANDA, servos, armature, **options)


def closed_loop(**options):
    return ClosedLoop(arm(), SimulatedArm.of(PANDA, arm().drives, Q), **options)


def started_law():
    law = CartesianImpedance(PANDA, HAND)
    law.start(Q)
    return law


COMPUTED = METHODS | OF_MODELS


@each("method", COMPUTED)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_single_state_is_as_a_row_of_a_batch_and_leaves_nothing_behind(model, method):
    row, dynamics = COMPUTED[method], Dynamics(model)
    given = row.states(dynamics)
    clean = row(dynamics, *given)
    for where in (-1, slice(7 * model.floating, None)):
        spoiled = given[0].copy()
        spoiled[where] = np.nan
        single = row(dynamics, spoiled, *given[1:])
        batch = row(dynamics, *(x[np.newaxis] for x in (spoiled, *given[1:])))
        np.testing.assert_array_equal(np.isfinite(single), np.isfinite(batch[0]))
        assert not np.isfinite(single).all()
    np.testing.assert_array_equal(row(dynamics, *given), clean)


@pytest.mark.parametrize("poison", POISONS)
def test_wrenches_and_points_spread_likewise(poison):
    dynamics = Dynamics(PANDA)
    f_ext = {HAND: np.zeros((3, 6))}
    f_ext[HAND][1, 2] = poison
    tau = dynamics.rnea(np.tile(Q, (3, 1)), 0 * Q, 0 * Q, f_ext=f_ext)
    assert np.isfinite(tau[[0, 2]]).all() and not np.isfinite(tau[1]).any()
    assert not np.isfinite(dynamics.jacobian(Q, HAND, (poison, 0, 0))).all()


@pytest.mark.parametrize("poison", POISONS)
def test_where_a_base_is_does_not_matter_how_it_is_turned_must_be_known(poison):
    model = MODELS["floating"]
    dynamics, q = Dynamics(model), model.neutral
    expected = dynamics.crba(q)
    q[0] = poison
    np.testing.assert_array_equal(dynamics.crba(q), expected)
    assert not np.isfinite(dynamics.link_pose(q, model.base_link)).all()
    q[0], q[4] = 0.0, poison
    for refused in (dynamics.crba, lambda q: model.integrate(q, np.zeros(model.nv))):
        with pytest.raises(ValueError, match=r"^q\[3:7\]: expected the unit quaternion"):
            refused(q)


# Poses -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("poison", POISONS)
def test_poses_spread_it_but_a_rotation_must_be_one(poison):
    T = HERE
    away, turned = T.copy(), T.copy()
    away[1, 3], turned[1, 1] = poison, poison
    error = pose_error(np.stack([T, away]), T)
    assert not error[0].any() and np.isfinite(error[1]).tolist() == [1, 0, 1, 1, 1, 1]
    for wrong in (turned, [0, 0, 0, 0, 0, poison, 1]):
        with pytest.raises(ValueError, match="pose: expected a"):
            pose_error(wrong, T)
        with pytest.raises(ValueError, match="pose: expected a"):
            inverse_kinematics(PANDA, HAND, wrong, q0=Q)
    last = pose_error(T, T, last=[0, 0, 0, poison, 0, 0])
    assert np.isfinite(last).tolist() == [1, 1, 1, 0, 1, 1]
    rate = pose_error_derivative([0, 0, 0, poison, 0, 0], np.zeros(6))
    assert np.isfinite(rate).tolist() == [1, 1, 1, 0, 0, 0]


def test_a_search_that_cannot_begin_says_so():
    T = HERE
    away = T.copy()
    away[0, 3] = np.nan
    found = inverse_kinematics(PANDA, HAND, np.stack([T, away]), q0=Q)
    assert found.success.tolist() == [True, False] and "not finite" in found.outcome[1]
    assert "not finite" in inverse_kinematics(PANDA, HAND, T, q0=Q * np.nan).outcome


# What keeps numbers ------------------------------------------------------------------------------

KEEPERS = {
    "parameters": lambda x: PANDA.with_inertial_parameters([x, *PANDA.inertial_parameters[1:]]),
    "locked": lambda x: Model.from_robot("panda", joints=(), locked={"panda_joint2": x}),
    "inertial": lambda x: fr.inertial(x, (0, 0, 0)),
    "box": lambda x: fr.box(size=(1, x, 1), mass=1.0),
    "cylinder": lambda x: fr.cylinder(radius=x, length=1.0, mass=1.0),
    "sphere": lambda x: fr.sphere(radius=x, mass=1.0),
    "tolerance": lambda x: Dynamics(PANDA).operational_space(Q, Q, HAND, tolerance=x),
    "impedance's start": lambda x: CartesianImpedance(PANDA, HAND).start(np.full(7, x)),
    "drives": lambda x: retime(PANDA, PATH, drives=Drives(0 * Q, 0 * Q, np.full(7, x))),
    "box of walls": lambda x: fr.control.box((0, 0, x), (1, 1, 1)),
    "link_speed": lambda x: retime(PANDA, PATH, link_speed={HAND: x}),
    "blend": lambda x: retime(PANDA, PATH, blend=x),
    "effort": lambda x: retime(PANDA, PATH, effort=x),
    "path": lambda x: retime(PANDA, PATH + x),
    "noise": lambda x: Noise(position=x),
    "twin": lambda x: SimulatorSettings(time_step=x),
    "twin's start": lambda x: Twin(PANDA, SimulatorSettings(initial_positions=np.full(7, x))),
    "twin's time": lambda x: Twin(PANDA, SimulatorSettings()).advance(x),
    **{
        f"target's {name}": lambda x, name=name, n=n: target_request(**{name: np.full(n, x)})
        for name, n in (("pose", 7), ("twist", 6), ("wrench", 6))
    },
    "twin's command": lambda x: Twin(PANDA, SimulatorSettings()).command(np.full(7, x), 0.0),
    "law's velocity": lambda x: started_law().torque(Q, np.full(7, x), 0.001),
    "shadow": lambda x: ShadowSettings(max_gap=x),
    **{
        f"shadow's {name}": lambda x, name=name: Shadow(
            PANDA, ShadowSettings(**{name: np.full(7, x)})
        )
        for name in ("observer_gain", "effort_gain", "contact_hysteresis")
    },
    **{
        f"driven arm's {name}": lambda x, name=name: servo_arm(**{name: x})
        for name in ("armature", "damping", "friction", "backlash", "resolution", "gear_stiffness")
    },
    "driven arm's command": lambda x: servo_arm().write(0.0, Command(Q, told=np.full(7, x))),
    "driven arm's duration": lambda x: servo_arm().advance(x),
    **{
        f"loop's {name}": lambda x, name=name: closed_loop(**{name: x})
        for name in ("delay", "period")
    },
    "loop's step": lambda x: closed_loop().step(x),
    "loop's duration": lambda x: closed_loop().advance(x),
    "controller's time": lambda x: arm().controller().accept_state(x, Q, 0 * Q),
    "controller's request": lambda x: arm().controller().activate(x),
    "transition": lambda x: arm().controller().change_model(0.0, PANDA, transition_time=x),
    "trajectory's time": lambda x: Trajectory(PANDA.joint_names, [Point(x, Q)], arm().limits),
}
# Of which infinity is one, for no limit.
LIMITS = {
    "torque_rate": lambda x: retime(PANDA, PATH, torque_rate=np.full(7, 1e3 * x)),
    "acceleration": lambda x: retime(PANDA, PATH, acceleration=x),
    "contact_threshold": lambda x: Shadow(PANDA, ShadowSettings(contact_threshold=np.full(7, x))),
    **{
        name: lambda x, name=name: inverse_kinematics(PANDA, HAND, HERE, q0=Q, **{name: x})
        for name in ("position_tolerance", "orientation_tolerance")
    },
    "bandwidth": lambda x: servo_arm(bandwidth=x),
    "velocity": lambda x: replace(arm().limits, velocity=np.full(7, x)),
}


@each("keeper", KEEPERS)
@pytest.mark.parametrize("poison", POISONS)
def test_what_keeps_numbers_refuses_it(keeper, poison):
    with pytest.raises(ValueError, match=str(poison)):
        KEEPERS[keeper](poison)


@each("keeper", KEEPERS | LIMITS)
def test_what_keeps_numbers_takes_one(keeper):
    (KEEPERS | LIMITS)[keeper](0.5)


@each("limit", LIMITS)
def test_no_limit_is_nan_or_negative(limit):
    for x in (np.nan, -np.inf):
        with pytest.raises(ValueError, match=limit):
            LIMITS[limit](x)
    assert LIMITS[limit](np.inf)
