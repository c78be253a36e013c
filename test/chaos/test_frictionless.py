"""No law, phase or way into it excites an arm without friction: some of the campaign's robots."""

from dataclasses import replace

import frictionless
import pytest
from studies import few_or_all

# Light wrists, a gripper, a long arm: of those that were worst with unchecked damping. The campaign
# has all robots (`python test/chaos/frictionless.py`).
ROBOTS = [
    "config/panda",
    "config/ur5e",
    "kinova",
    "so100",
    "xarm7",
    "ur10_robot",
]
FAST, SLOW = (0.002, 0.002), (0.005, 0.003)


@pytest.mark.parametrize("name", few_or_all(["so100"], ROBOTS))
def test_no_phase_or_way_into_it_excites_an_arm_without_friction(name: str) -> None:
    path = frictionless.paths([name])[0]
    seed = ROBOTS.index(name)
    delays = [FAST, SLOW][seed % 2 : seed % 2 + 1]
    outcomes = frictionless.outcomes_of(path, [seed], delays)
    assert len(outcomes) >= len(frictionless.WAYS) - len(frictionless.COMPLIANT)
    # The last torque acts until silence is noticed: docs/faults.md, what is not kept yet.
    late = [one for one in outcomes if one.way == "compliant_blind" and one.fastest < 1.25]
    assert not [one for one in outcomes if one.is_bad and one not in late]


def test_damping_that_is_too_strong_for_the_loop_is_found() -> None:
    """What the node refuses: the campaign would show it."""
    arm = frictionless.arm(frictionless.paths(["so100"])[0])
    assert not isinstance(arm, str)
    episode = frictionless.Episode(arm, *FAST, frictionless.Mode.FEEDFORWARD, seed=0)
    strong = replace(episode.arm.settings, damping=200.0 * episode.arm.settings.damping)
    episode.controller.configure(episode.now, strong)
    frictionless.part(episode)
    frictionless.stop(episode)
    assert episode.fastest > frictionless.BEYOND
