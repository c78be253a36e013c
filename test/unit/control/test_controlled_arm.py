"""An arm with its controller's parameters: where they come from, and what is refused."""

import re

import numpy as np
import pytest
import urdf_text
from control_arm import LIMITS
from refusals import refusals

from featherstone_ros import Dynamics, Model, _control
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.gains import BANDWIDTH, SampledLoop, Timing, choose
from featherstone_ros.control.settings import Interpolation, Mode
from featherstone_ros.errors import FeatherstoneError, ModelError
from featherstone_ros.model.parameter_files import ParameterFileError
from featherstone_ros.model.robots import robot_file, robot_parameters

INSIDE = f'{LIMITS}<dynamics damping="0.25" friction="0.5"/>'
URDF = urdf_text.chain("shoulder", "elbow", axis="0 1 0", inside=INSIDE)
TIP = Model.from_urdf(URDF).link_names[-1]
PAYLOAD = {"payload.link": TIP, "payload.mass": 1.5, "payload.com": [0.0, 0.0, 0.1]}


@pytest.fixture
def file(tmp_path):
    def write(controller, both=""):
        path = tmp_path / "arm.yaml"
        path.write_text(
            f"/**:\n  ros__parameters: {{{both}}}\n"
            f"/**/feedforward_controller:\n  ros__parameters: {{{controller}}}\n"
        )
        return path

    return write


def test_what_is_not_given_is_as_declared():
    arm = ControlledArm.of(URDF)
    assert arm.settings.mode is Mode.FEEDFORWARD
    assert arm.settings.drives.viscous.tolist() == [0.25, 0.25]
    assert arm.drives.coulomb.tolist() == [0.5, 0.5]
    assert arm.limits.effort.tolist() == [20.0, 20.0]
    assert arm.values == {name: one.default for name, one in arm.parameters.items()}
    assert arm.tip == "" and not arm.has_position_loops


def test_a_text_a_path_and_a_model_describe_the_same_arm(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    q, qd, qdd = np.random.default_rng(1).uniform(-1.0, 1.0, (3, 2))
    torques = [
        Dynamics(ControlledArm.of(description, PAYLOAD).model).rnea(q, qd, qdd)
        for description in (URDF, path, str(path), Model.from_urdf(URDF))
    ]
    np.testing.assert_array_equal(torques[1:], torques[:-1])


def test_a_file_and_a_mapping_mean_the_same(file):
    path = file("mode: computed_torque, effort_scale: 5e-1", "friction.elbow.coulomb: 2")
    given = {"mode": Mode.COMPUTED_TORQUE, "effort_scale": 0.5, "friction.elbow.coulomb": 2}
    arms = [ControlledArm.of(URDF, parameters) for parameters in (path, str(path), given)]
    assert arms[0].values == arms[1].values == arms[2].values
    assert arms[0].drives.coulomb.tolist() == [0.5, 2.0]
    assert arms[0].limits.effort.tolist() == [10.0, 10.0]


def test_parameters_choose_the_joints_unless_the_caller_does(file):
    path = file("joints: [elbow]")
    assert ControlledArm.of(URDF, path).model.joint_names == ("elbow",)
    both = ["elbow", "shoulder"]
    assert ControlledArm.of(URDF, path, joints=both).model.joint_names == tuple(both)
    with pytest.raises(FeatherstoneError, match="joints are elbow, expected the model's: shoulder"):
        ControlledArm.of(Model.from_urdf(URDF), path)


@pytest.mark.parametrize("make", [str, Model.from_urdf])
def test_an_arm_that_does_not_move_is_refused(make):
    with pytest.raises(ModelError, match="robot 'stone' has no joint that moves"):
        ControlledArm.of(make("<robot name='stone'><link name='a'/></robot>"))


def test_a_change_leaves_the_rest_and_the_arm_that_was():
    arm = ControlledArm.of(URDF, PAYLOAD)
    changed = arm.with_parameters({"gains.delay": 0.003}, interpolation=Interpolation.SPLINE)
    assert changed.timing.delay == 0.003 and arm.timing.delay == 0.002
    assert changed.of_trajectories == (False, Interpolation.SPLINE)
    assert changed.values["payload.mass"] == 1.5
    assert {n for n in arm.values if arm.values[n] != changed.values[n]} == {
        "gains.delay",
        "interpolation",
    }


@pytest.mark.parametrize("robot", ["panda", "ur5e"])
def test_the_packages_own_files_are_those_of_arms_with_margin(robot):
    arm = ControlledArm.of(robot_file(robot), robot_parameters(robot))
    assert arm.settings.p.all() and arm.without_margin == ""
    assert arm.assumed_armature == ""


def test_compiled_code_takes_every_setting_of_a_joint():
    settings = ControlledArm.of(URDF).settings
    both = vars(settings) | vars(settings.drives)
    arrays = {name for name, value in both.items() if np.ndim(value) == 1}
    assert arrays == set(_control.JOINT_SETTINGS)


# Payloads by name

GRIPPER = {"link": TIP, "mass": 1.5, "com": [0.0, 0.0, 0.1]}
NAMED = {
    "payload.names": ["gripper", "empty"],
    **{f"payloads.gripper.{part}": value for part, value in GRIPPER.items()},
}


def weight(arm):
    return Dynamics(arm.model).gravity([0.6, 0.5])


def test_another_gravity_is_another_model():
    arm = ControlledArm.of(URDF)
    moon = arm.with_parameters(gravity=[0.0, 0.0, -1.62])
    assert moon.is_loaded_otherwise(arm) and not arm.is_loaded_otherwise(arm)
    np.testing.assert_allclose(weight(moon), weight(arm) * -1.62 / arm.values["gravity"][2])


def test_a_payload_is_exchanged_by_name():
    arm = ControlledArm.of(URDF, NAMED)
    bare, gripped = weight(ControlledArm.of(URDF)), weight(ControlledArm.of(URDF, PAYLOAD))
    assert np.abs(gripped - bare).min() > 0.1
    np.testing.assert_array_equal(weight(arm), bare)
    carrying = arm.with_parameters({"payload.name": "gripper"})
    np.testing.assert_array_equal(weight(carrying), gripped)
    for name in ("empty", ""):
        other = carrying.with_parameters({"payload.name": name})
        np.testing.assert_array_equal(weight(other), bare)
    heavier = carrying.with_parameters({"payloads.gripper.mass": 3.0})
    np.testing.assert_allclose(weight(heavier) - bare, 2.0 * (gripped - bare))


def test_payloads_of_a_file_are_those_of_a_mapping(file):
    gripper = f"{{link: {TIP}, mass: 1.5, com: [0.0, 0.0, 0.1]}}"
    path = file(
        "payload: {names: [gripper, empty], name: gripper}", f"payloads: {{gripper: {gripper}}}"
    )
    arm = ControlledArm.of(URDF, path)
    assert arm.values == ControlledArm.of(URDF, {**NAMED, "payload.name": "gripper"}).values
    np.testing.assert_array_equal(weight(arm), weight(ControlledArm.of(URDF, PAYLOAD)))


def test_the_weight_in_the_measured_wrench_is_that_of_the_named_payload():
    hand = {"tip": TIP, "mode": Mode.CARTESIAN_IMPEDANCE}
    unfelt = {**PAYLOAD, "wrench_has_weight": False}
    loaded, named, without = (
        ControlledArm.of(URDF, {**hand, **more}).settings.impedance
        for more in (PAYLOAD, {**NAMED, "payload.name": "gripper"}, unfelt)
    )
    assert not np.any(without["weight"])
    assert loaded["weight"][2] == pytest.approx(-1.5 * 9.80665, rel=1e-3)
    np.testing.assert_array_equal(named["weight"], loaded["weight"])
    np.testing.assert_array_equal(named["weight_at"], loaded["weight_at"])


@pytest.mark.parametrize(("changed", "expected"), [
    ({"rate": "x"}, "rate is 'x', expected type double"),
    ({"effort_scale": 2}, r"effort_scale is 2\.0, expected 0\.0 to 1\.0"),
    ({"torque_rate.elbow": 20.0}, r"torque_rate\.elbow is 20\.0: expected at least"),
    ({"mode": "fast"}, "mode is 'fast', expected one of gravity_compensation"),
    ({"payload.mass": 1.0}, r"payload\.mass is 1\.0, but payload\.link is empty"),
    ({"path_tolerence": 0.1}, r"no parameter path_tolerence \(nearest: path_tolerance\)"),
    ({"armature.wrist": 0.1}, r"no parameter armature\.wrist"),
    ({"armature.elbow": 1e5}, r"armature\.elbow is 100000\.0: expected at most"),
    ({"payload.names": ["gripper", "empty", "empty"]}, ".*expected different names"),
    ({"payload.names": ["gripper", "empty", "a.b"]}, r".*'a\.b' is no name of letters"),
    ({"payload.names": 3}, "payload.names is 3, expected a list of names"),
    ({"payload.name": "griper"}, r"payload\.name is griper \(nearest: gripper\), expected one"),
    ({"payloads.empty.mass": 1.0}, r".*payloads\.empty\.mass is 1\.0, but payloads\.empty\.link"),
    ({"payloads.empty.link": "hand"}, r"payloads\.empty\.link is 'hand'; the links are"),
    ({"payloads.gripper.com": [0.0, 0.0, 100.0]}, r"payloads\.gripper\.com is .* millimetres"),
    ({"payloads.gripper.mas": 1.0}, r".*payloads\.gripper\.mas \(nearest: payloads\.gripper\.m"),
    ({"payloads.box.mass": 1.0},
     r".*payloads\.box\.mass \(expected its payload in payload\.names"),
])  # fmt: skip
def test_what_is_refused_is_named(file, changed, expected):
    """Also a payload that the arm does not carry: or it would be refused when it is picked up."""
    given = {**NAMED, **changed}
    with pytest.raises(ValueError, match=expected):
        ControlledArm.of(URDF, given)
    path = file(", ".join(f"{name}: {value}" for name, value in given.items()))
    with pytest.raises(ParameterFileError, match=f"arm.yaml: {expected}"):
        ControlledArm.of(URDF, path)
    if not any(name.startswith("payload") for name in changed):  # of the arm, not of one value
        with pytest.raises(ValueError, match=expected):
            ControlledArm.of(URDF).with_parameters(changed)


def test_a_joint_whose_drive_is_told_positions_has_neither_gains_nor_damping():
    """The other one has those that it has beside a drive of torques."""
    servo = {"drives.elbow.command": "position", "drives.elbow.stiffness": 100.0}
    plain, mixed = ControlledArm.of(URDF), ControlledArm.of(URDF, servo)
    assert mixed.has_position_loops and not mixed.sends_joints
    for name in ("p", "d", "damping", "fault_damping"):
        of_torques, given = getattr(plain.settings, name), getattr(mixed.settings, name)
        assert given.tolist() == [of_torques[0], 0.0] and of_torques.all()
    same = {**servo, "gains.elbow.p": 1e6, "gains.elbow.d": 0.0}
    assert ControlledArm.of(URDF, same).settings.p.tolist() == mixed.settings.p.tolist()


def settings_of(**changes):
    """Return what an arm is made of as it is used, its parameters' names with __ for dots."""
    parameters = {name.replace("__", "."): value for name, value in changes.items()}
    try:
        arm = ControlledArm.of(URDF, parameters)
    except ValueError as error:
        raise AssertionError("refused where it is made") from error
    return arm.settings


SERVO = {"drives__elbow__command": "position", "drives__elbow__stiffness": 1.0}
CURRENT = {"drives__elbow__command": "current", "drives__elbow__torque_constant": 1.0}
test_figures_that_do_not_fit_together_are_refused_where_they_are_used = refusals(
    (r"gains\.elbow\.p = 1e\+06 .* swings up", {"gains__elbow__p": 1e6, "armature__elbow": 0.1}),
    ("drives.elbow.torque_constant is 0, expected more", {"drives__elbow__command": "duty"}),
    ("damping.elbow is 500: with period 2 ms, .* joint swings up at", {"damping__elbow": 500.0}),
    ("drives.elbow.rated_effort is 0, expected more", {"drives__elbow__effort": "percent"}),
    ("drives.elbow.command is current, expected torque or position with output: joint_state",
     {"output": "joint_state", **CURRENT}),
    ("mode is cartesian_impedance, which drives with position loops",
     {"mode": "cartesian_impedance", "tip": TIP, **SERVO}),
    error=ValueError, of=settings_of,
)  # fmt: skip


def test_a_parameter_that_changes_no_gain_asks_for_no_eigenvalues(monkeypatch):
    """They would keep a core from the loop, at each set of parameters."""
    arm = ControlledArm.from_robot("ur5e")
    assert arm.settings.path_tolerance != 0.2 and not arm.without_margin

    def asked(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(np.linalg, "eigvals", asked)
    other = arm.with_parameters(path_tolerance=0.2)
    assert other.settings.path_tolerance == 0.2
    assert not other.without_margin


# Which gains the controller takes: those that are set, or those of the model.


ARM = ControlledArm.of(Model.from_robot("ur5e"))
UR5E = ARM.model
ELBOW = UR5E.joint_names.index("elbow_joint")
TRACKING = (Mode.FEEDFORWARD, Mode.COMPUTED_TORQUE)


def arm(**changes):
    """Return the arm with all parameters' defaults but some, whose names have __ for dots."""
    return ARM.with_parameters({n.replace("__", "."): value for n, value in changes.items()})


def settings(**changes):
    return arm(**changes).settings


@pytest.mark.parametrize("mode", TRACKING)
def test_without_gains_they_are_those_of_the_model(mode):
    chosen = settings(mode=str(mode), gains__bandwidth=5.0)
    expected = choose(SampledLoop(UR5E, mode=mode), 5.0, 1.0, UR5E.friction)
    np.testing.assert_array_equal(chosen.p, expected.p)
    np.testing.assert_array_equal(chosen.d, expected.d)
    assert chosen.p.all()


def test_armature_and_delay_count():
    rotors = {f"armature__{joint}": 1.0 for joint in UR5E.joint_names}
    loop = SampledLoop(UR5E, 1.0, Timing(0.001, 0.004))
    given = arm(gains__period=0.001, gains__delay=0.004, **rotors)
    expected = choose(loop, BANDWIDTH, 1.0, UR5E.friction)
    np.testing.assert_array_equal(given.settings.p, expected.p)


def test_gains_of_one_joint_leave_those_of_the_others():
    chosen = ARM.settings
    given = settings(gains__elbow_joint__p=30.0)
    others = np.arange(UR5E.n) != ELBOW
    assert given.p[ELBOW] == 30.0 and given.d[ELBOW] == 0.0
    np.testing.assert_array_equal(given.p[others], chosen.p[others])
    np.testing.assert_array_equal(given.d[others], chosen.d[others])


def test_a_joint_without_gains_has_none_where_none_are_chosen():
    given = settings(gains__bandwidth=0.0, gains__elbow_joint__p=30.0)
    assert given.p[ELBOW] == given.p.sum() == 30.0 and not given.d.any()


@pytest.mark.parametrize("change", [{"gains__bandwidth": 0.0}, {"mode": "gravity_compensation"}])
def test_nothing_is_chosen_where_nothing_is_to_be(change):
    changed = arm(**change)
    assert not changed.settings.p.any() and not changed.settings.d.any()
    assert changed.feedback.unstable_gains == []


def test_the_gain_that_is_too_high_is_named():
    chosen = ARM.settings
    given = {f"gains__{j}__p": p for j, p in zip(UR5E.joint_names, chosen.p, strict=True)}
    given |= {f"gains__{j}__d": d for j, d in zip(UR5E.joint_names, chosen.d, strict=True)}
    assert arm(**given).feedback.unstable_gains == []
    high = arm(**given | {"gains__elbow_joint__d": 300.0})
    (finding,) = high.feedback.unstable_gains
    assert finding.joint == ELBOW and finding.advised[1] < finding.given[1] == 300.0
    said = high.feedback.without_margin
    assert "gains.elbow_joint.d = 300: with period 2 ms, delay 2 ms the joint swings up at" in said
    assert f" and {chosen.d[ELBOW]:.3g} would do" in said


HIGH = {"gains__elbow_joint__p": 1e9, "gains__elbow_joint__d": 1e3}
WILD = {"gains__elbow_joint__p": 1e4, "gains__elbow_joint__d": 3.0}
BORNE = {"gains__elbow_joint__p": 1e3, "gains__elbow_joint__d": 50.0}  # stable, without margin
ROTOR = {"armature__elbow_joint": 0.5}
STIFF = {"gains__wrist_3_joint__p": 500.0, "gains__wrist_3_joint__d": 5.0}  # of a real arm
HAND = {"mode": "cartesian_impedance", "tip": "tool0"}
REFUSED = [  # what is refused, what is said, and what is not refused
    *((HIGH | rotor, r"gains\.elbow_joint\.p = 1e\+09 .* swings up",
       HIGH | rotor | {"mode": "gravity_compensation"}) for rotor in ({}, ROTOR)),
    *((WILD | rotor, r"gains\.elbow_joint\.p = 1e\+04 .* swings up", BORNE | rotor)
      for rotor in ({}, ROTOR)),
    (STIFF | {"armature__wrist_3_joint": 0.001}, r"gains\.wrist_3_joint\.p = 500 .* swings up",
     STIFF),
    *((HAND | more | {"free_damping": [1e4] + [0.0] * 5},
       r"free_damping is .* swings up; expected at most .* as",
       HAND | more | {"free_damping": [60.0] * 3 + [8.0] * 3})
      for more in ({}, {"stiffness_frame": "tip"}, {"inertia_shaping": True})),
    *(({f"friction__wrist_2_joint__{law}": 300.0},
       r"'wrist_2_joint': friction takes .* effort limit of 28",
       {"friction__wrist_2_joint__viscous": 10.0})
      for law in ("coulomb", "viscous", "offset", "stiffness")),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "said", "right"), REFUSED)
def test_what_no_arm_can_bear_is_refused_and_what_one_can_is_not(wrong, said, right):
    with pytest.raises(ValueError, match=said):
        settings(**wrong)
    settings(**right)


def test_gains_that_some_rotor_bears_are_told_where_none_is_known():
    assert "swings up" in arm(**STIFF).without_margin


def test_stiffness_of_the_hand_that_delay_makes_unstable_is_told():
    hand = {"mode": "cartesian_impedance", "tip": "tool0", "gains__delay": 0.002}
    assert arm(**hand, stiffness=[400.0] * 3 + [3.0] * 3).without_margin == ""
    stiff = {"stiffness": [400.0] * 3 + [3000.0] * 3}
    text = arm(**hand, **stiff).without_margin
    assert text.startswith("stiffness: the end effector is softer in some postures")
    told = float(text.partition("gains.period is ")[2].partition(" ms")[0])
    assert told == pytest.approx(2.0 + 500 * ARM.timing.period)
    share = float(re.search(r"([\d.]+) times", text)[1])
    softer = {"stiffness": [0.9 * share * k for k in stiff["stiffness"]]}
    assert arm(**hand, **softer).without_margin == ""
