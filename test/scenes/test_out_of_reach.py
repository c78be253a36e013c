"""A target out of reach, in mode cartesian_impedance with nothing set: a spring at its bound."""

from __future__ import annotations

import numpy as np
import pytest
from arm_scene import Scene, load, play
from studies import study
from urdf_text import joint, link, robot

from featherstone_ros import Dynamics, Model
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.phases import RUNNING
from featherstone_ros.simulation.closed_loop import ClosedLoop
from featherstone_ros.simulation.simulated_arm import SimulatedArm

TURN, BACK = 1.5707963, 3.1415927
# Of each joint of a KUKA LBR iiwa: xyz and rpy, limit of position, effort, speed; of its link:
# mass, centre of mass, ixx iyy izz.
IIWA = (
    ((0, 0, 0.1575), (0, 0, 0), 2.967, 320, 1.484, 4.0, (0, -0.03, 0.12), (0.1, 0.09, 0.02)),
    ((0, 0, 0.2025), (TURN, 0, BACK), 2.1, 320, 1.484, 4.0, (0, 0.06, 0.04), (0.05, 0.018, 0.044)),
    ((0, 0.2045, 0), (TURN, 0, BACK), 2.967, 176, 1.745, 3.0, (0, 0.03, 0.13), (0.08, 0.075, 0.01)),
    ((0, 0, 0.2155), (TURN, 0, 0), 2.094, 176, 1.309, 2.7, (0, 0.067, 0.034), (0.03, 0.01, 0.029)),
    ((0, 0.1845, 0), (-TURN, BACK, 0), 2.97, 110, 2.27, 1.7, (0, 0.02, 0.076), (0.02, 0.018, 5e-3)),
    ((0, 0, 0.2155), (TURN, 0, 0), 2.094, 40, 2.356, 1.8, (0, 0, 0), (0.005, 0.0036, 0.0047)),
    ((0, 0.081, 0), (-TURN, BACK, 0), 3.054, 40, 2.356, 0.3, (0, 0, 0.02), (0.001, 0.001, 0.001)),
)  # fmt: skip


def iiwa() -> Model:
    def words(numbers: tuple[float, ...]) -> str:
        return " ".join(map(str, numbers))

    parts = [link("link_0", None)]
    for k, (xyz, rpy, limit, effort, speed, mass, com, inertia) in enumerate(IIWA, 1):
        inside = (
            f'<limit lower="-{limit}" upper="{limit}" effort="{effort}" velocity="{speed}"/>'
            '<dynamics damping="0.5"/>'
        )
        between, where = (f"link_{k - 1}", f"link_{k}"), {"xyz": words(xyz), "rpy": words(rpy)}
        parts.append(link(f"link_{k}", mass, words(com), inertia))
        parts.append(joint(f"joint_{k}", *between, inside=inside, **where))
    return Model.from_urdf(robot(*parts))


@pytest.mark.parametrize("seed", [302, study(316), study(492)])
def test_an_arm_at_rest_does_not_oscillate_where_its_desired_motion_swings(seed):
    model, random = iiwa(), np.random.default_rng(seed)
    arm = ControlledArm.of(model, {"mode": "cartesian_impedance", "tip": "link_7"})
    start = np.array([0.0, 0.5, 0.0, -1.5, 0.0, 1.0, 0.0])
    if seed % 2 == 0:
        start = random.uniform(0.6 * model.lower, 0.6 * model.upper)
    notes: list[str] = []
    plant = SimulatedArm.of(model, arm.drives, start)
    loop = ClosedLoop(arm, plant, notify=notes.append)
    loop.advance(0.3)
    way = random.normal(size=3)
    target = Dynamics(model).link_pose(plant.q, "link_7")
    target[:3, 3] += random.choice([0.5, 1.0, 3.0]) / np.linalg.norm(way) * way
    loop.controller.set_target(loop.now, target)
    loop.advance(2.0)
    assert "oscillates" not in "".join(notes)
    assert loop.controller.phase in RUNNING


@pytest.mark.parametrize("seed", [16, 17, study(4), study(18)])
def test_a_joint_that_its_speed_limit_holds_back_is_not_accused(seed):
    """An xArm7 without rotors: what the desired motion would take of friction is not sent, since a
    wrist as light would be too fast with it. So nothing moves that wrist. (In MuJoCo it creeps.)
    """
    random, start = np.random.default_rng(seed), np.array([0.0, 0.02, 0.0, 1.31, 0.0, 0.72, 0.0])
    if seed % 2 == 0:
        model = load("xarm7").model
        start = random.uniform(
            np.maximum(0.6 * model.lower, -2.0), np.minimum(0.6 * model.upper, 2.0)
        )

    def far_away(loop: ClosedLoop) -> None:
        way = random.normal(size=3)
        target = Dynamics(loop.arm.model).link_pose(loop.controller.snapshot().q, "link7")
        target[:3, 3] += random.choice([0.5, 1.0, 3.0]) / np.linalg.norm(way) * way
        loop.controller.set_target(loop.now, target)

    mode = {"mode": "cartesian_impedance", "tip": "link7"}
    played = play(Scene("xarm7", {0.3: far_away}, 2.3, start, mode))
    assert "to the bit" not in played.text
    assert played.loop.controller.phase in RUNNING
