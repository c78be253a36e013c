"""Hand guiding over DDS: stiffness 0 on some axes, pushed by the twin's ``~/external_wrench``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from led import STIFFNESS, TIPS, Led
from scene import Scene

pytestmark = pytest.mark.timeout(600)  # whole seconds of patience add up on a busy machine

PACE = 3.0  # times as fast as real time
FORCE, MOMENT = 30.0, 8.0  # [N, N m]: more than dry friction, less than the springs bear
WAY = np.array([0.06] * 3 + [0.15] * 3)  # [m, rad] that a push moves a free axis
STUCK = np.array([0.02] * 3 + [0.08] * 3)  # [m, rad] that dry friction may leave elsewhere


@pytest.fixture
def hand(ros) -> Iterator[Led]:
    with closing(Scene(ros, pace=PACE, rate=100.0, tip=TIPS["panda"])) as scene:
        guided = Led(scene)
        guided.begin()
        yield guided
        scene.assert_no_race()


def test_hand_goes_where_it_is_free_and_nowhere_else(hand):
    free = 0, 1
    hand.free(*free)
    for pushed in range(6):
        wrench = np.zeros(6)
        wrench[pushed] = (FORCE if pushed < 3 else MOMENT) * (-1) ** pushed
        before = hand.way()
        if pushed in free:
            ahead = np.sign(wrench[pushed]) * WAY[pushed]
            hand.push_until(
                wrench,
                lambda p=pushed, b=before, a=ahead: (hand.way() - b)[p] / a > 1.0,
                f"motion along axis {pushed}",
            )
        else:
            bound = abs(wrench[pushed]) / STIFFNESS[pushed] + STUCK[pushed]
            for _ in range(10):
                hand.push(wrench)
                hand.ros.run_for(0.02)
            hand.ros.wait_for(
                lambda p=pushed, b=before, bound=bound: abs((hand.way() - b)[p]) < bound,
                f"a spring along axis {pushed} that bears the push",
            )
            hand.push(np.zeros(6))
        hand.scene.wait_for_rest()
    stiff = [axis for axis in range(6) if axis not in free]
    back = lambda: (np.abs(hand.way()) < STUCK)[stiff].all()  # noqa: E731
    hand.ros.wait_for(back, "springs that have let go")
