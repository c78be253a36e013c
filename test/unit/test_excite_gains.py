"""An arm with other masses and friction follows the motion that is to identify it."""

import numpy as np
import pytest
import urdf_text
from example_robots import ROBOTS

from featherstone_ros import Model
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.gains import Gains, SampledLoop, Timing
from featherstone_ros.control.phases import Phase
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.parameter_files import read_parameters
from featherstone_ros.simulation.closed_loop import ClosedLoop
from featherstone_ros.simulation.simulated_arm import SimulatedArm
from featherstone_ros.tools import cli
from featherstone_ros.tools.excite.gains import gains_of, stable_armature
from featherstone_ros.tools.trajectory_files import read as read_trajectory

pytest.importorskip("scipy")

PERIOD = Timing.period
UR10 = next((str(path) for path in ROBOTS if path.stem == "ur10_robot"), "")
needs_ur10 = pytest.mark.skipif(not UR10, reason="example-robot-data is not installed")


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """Parameter file of setup, trajectory and gains of excite, for the UR10."""
    folder = tmp_path_factory.mktemp("excite")
    arm, motion = folder / "arm.yaml", folder / "motion.yaml"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("featherstone_ros.tools.excite.excitation.STEPS", 4)
        assert not cli.main(["setup", UR10, "--output", str(arm)])
        command = ["excite", "--urdf", UR10, "--parameters", str(arm), "--output", str(motion)]
        assert not cli.main(command)
    return arm, motion, folder / "motion_gains.yaml"


def follow(planned, gains):
    """Return how late after the motion's end the controller no longer follows it, and why."""
    file, motion, _ = planned
    (plan,) = read_trajectory(str(motion))
    chosen = read_parameters(gains)["feedforward_controller"]
    chosen = {name: value for name, value in chosen.items() if name.startswith("gains.")}
    arm = ControlledArm.from_robot(UR10, plan.names, file).with_parameters(chosen)
    model, drives = arm.model, arm.drives
    heavy = model.with_inertial_parameters(1.3 * model.inertial_parameters)
    other = Drives(np.zeros(model.n), drives.viscous, drives.coulomb + 0.05 * model.effort_limit)
    loop = ClosedLoop(arm, SimulatedArm.of(heavy, other, plan.points[0].positions, PERIOD), 0.0)
    loop.advance(0.2)
    end = loop.now + plan.points[-1].time
    record = loop.run(plan.points, rest=1.0)
    over = np.argmax(record.phase != Phase.TRAJECTORY)
    return record.time[over] - end, loop.controller.hold_reason


@pytest.mark.study
@needs_ur10
def test_setups_gains_abandon_the_motion_and_those_of_excite_do_not(planned):
    arm, _, gains = planned
    early, why = follow(planned, arm)
    assert early < -1.0 and "path_tolerance" in why  # a wrist that stands
    end, why = follow(planned, gains)
    assert end >= 0.0, why  # it has arrived


@pytest.mark.study
@needs_ur10
def test_the_controller_calls_the_gains_and_armature_of_excite_stable(planned):
    _, motion, file = planned
    (plan,) = read_trajectory(str(motion))
    model = ControlledArm.from_robot(UR10, plan.names).model
    values = read_parameters(file)["feedforward_controller"]
    p, d, armature = (
        values.numbers(name, model.joint_names, np.zeros(model.n))
        for name in ("gains.{}.p", "gains.{}.d", "armature.{}")
    )
    assert SampledLoop(model, 0.0 * armature).worst(p, d) is not None
    assert SampledLoop(model, armature).is_stable(p, d)


def test_gains_that_the_controller_refuses_are_refused_before_the_search():
    given = {"gains.elbow_joint.p": 1e9, "armature.elbow_joint": 0.5}
    arm = ControlledArm.of(Model.from_robot("ur5e"), given)
    with pytest.raises(FeatherstoneError, match=r"not start: gains\.elbow_joint\.p is 1e\+09"):
        gains_of(arm)


def test_a_wrist_of_next_to_nothing_gets_the_armature_of_a_rotor():
    """Its own inertia is 1e-4 kg m^2, its gains those that friction of 1 N m asks for."""
    limit = '<limit effort="20" velocity="3" lower="-3" upper="3"/>'
    hand = urdf_text.link("hand", 0.1, "0 0 0", (1e-4, 1e-4, 1e-4))
    joint = urdf_text.joint("wrist", "base", "hand", inside=limit)
    model = Model.from_urdf(urdf_text.robot(urdf_text.link("base"), hand, joint))
    gains = Gains(np.array([9.0]), np.array([0.04]))
    armature = stable_armature(model, np.zeros(1), gains, Timing())
    assert SampledLoop(model, armature).is_stable(gains.p, gains.d)
    assert not SampledLoop(model, 0.25 * armature).is_stable(gains.p, gains.d)
