"""The least inertia of the drives, assumed where no gains are stable without."""

import json
import re

import numpy as np
import pytest
from example_robots import ROBOTS, example_robot
from studies import study
from urdf_text import geared_arm, joint, link, robot

from featherstone_ros.control.armature import SHARES, assumed_armature, in_words, min_armature
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.gains import (
    BANDWIDTH,
    DAMPING_RATIO,
    NoStableGainsError,
    SampledLoop,
    Timing,
    choose,
)
from featherstone_ros.errors import SingularInertiaError
from featherstone_ros.model import Model
from featherstone_ros.model.robots import robot_file
from featherstone_ros.tools import cli
from featherstone_ros.tools.proposal import propose

URDF = geared_arm()
ARM = Model.from_urdf(URDF)


def gains(armature, timing=None):
    loop = SampledLoop(ARM, armature, timing)
    return choose(loop, BANDWIDTH, DAMPING_RATIO)


@pytest.mark.parametrize("timing", [Timing(), Timing(0.004, 0.008)], ids=str)
def test_it_is_the_least_share_that_will_do(timing):
    held = min_armature(ARM, timing=timing)
    heaviest = SampledLoop(ARM, timing=timing).heaviest
    share = (held.armature / heaviest).max()
    least = next(s for s in SHARES if share == pytest.approx(s))
    assert gains(held.armature, timing).p.all()
    assert SampledLoop(ARM, held.armature, timing).is_stable(held.gains.p, held.gains.d)
    for less in [0.0, *(s for s in SHARES if s < least)]:
        with pytest.raises(NoStableGainsError):
            gains(less * heaviest, timing)


def test_the_armature_that_a_refusal_advises_is_enough():
    slow = ControlledArm.of(ARM).with_parameters({"gains.period": 0.004, "gains.delay": 0.008})
    with pytest.raises(NoStableGainsError) as refused:
        slow.settings  # noqa: B018
    said = slow.feedback.remedy(refused.value)
    advised = dict(re.findall(r"(armature\.\w+) ([\d.e+-]+)", said))
    assert advised and said.endswith("would do")
    assert slow.with_parameters({k: float(v) for k, v in advised.items()}).settings.p.all()


def test_only_the_joint_that_needs_it_gets_any():
    armature = assumed_armature(ARM)
    assert armature[0] > 0.0 and armature[1] == 0.0
    assert in_words(ARM.joint_names, armature) == f"armature.inner {armature[0]:.3g}"


@pytest.mark.study
def test_the_search_ends_where_a_joint_moves_next_to_no_inertia():
    """A massless neck: 8e15 times its mobility left the search in a loop without end."""
    held = min_armature(Model.from_file(example_robot("human")))
    assert held.armature.max() > 0.0
    assert (held.gains.d > 0.0).all()


def arm_with_a_link_of(mass):
    """Return an arm of two joints about one axis, with a mass and inertia between them."""
    limit = '<limit lower="-2" upper="2" velocity="2" effort="50"/>'
    return Model.from_urdf(
        robot(
            link("base"), link("near", mass, "0 0 0", (mass,) * 3),
            link("far", 1.0, "0.1 0 0", (1e-3,) * 3),
            joint("inner", "base", "near", inside=limit, xyz="0 0 0"),
            joint("outer", "near", "far", inside=limit, xyz="0 0 0"),
        )
    )  # fmt: skip


def test_a_joint_that_nothing_resists_is_named():
    arm = arm_with_a_link_of(1e-30)
    with pytest.raises(SingularInertiaError, match="'inner'"):
        min_armature(arm)
    assert not assumed_armature(arm).any()


def test_an_arm_in_space_or_on_a_boat_is_the_same_arm():
    for other in (
        Model.from_urdf(URDF, gravity=(0, 0, 0)),
        Model.from_urdf(URDF, base="floating"),
    ):
        np.testing.assert_array_equal(assumed_armature(other), assumed_armature(ARM))


@pytest.mark.parametrize(
    "path",
    [
        *map(robot_file, ("panda", "ur5e")),
        *(study(p) for p in ROBOTS if p.stem in ("kinova", "xarm7", "ur10_robot", "romeo")),
    ],
)
def test_nothing_is_assumed_where_nothing_is_needed(path):
    """Nor where joints move no inertia at all, as two of Romeo's."""
    assert not assumed_armature(Model.from_file(path)).any()


def test_preflight_and_excite_assume_what_the_nodes_assume(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    arm = ControlledArm.from_robot(str(path), ARM.joint_names)
    assert arm.drives.armature.max() > 0.0
    np.testing.assert_array_equal(arm.drives.armature, assumed_armature(ARM))


def test_setup_assumes_what_the_nodes_assume_and_inspect_says_it(tmp_path, capsys):
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    assumed = assumed_armature(ARM)
    np.testing.assert_array_equal(propose(path).armature, assumed)
    assert cli.main(["inspect", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["assumed_armature"] == {"inner": assumed[0]}
    assert cli.main(["inspect", str(path), "--findings"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"inertia of the drives: armature.inner {assumed[0]:.3g}" in said
    assert cli.main(["inspect", "ur5e", "--findings"]) == 0
    assert "armature" not in capsys.readouterr().out
