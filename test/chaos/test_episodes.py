"""Episodes follow from their seeds."""

from dataclasses import astuple
from functools import partial

import numpy as np
from arm import arm
from episodes import COMMANDS, KINDS, STATES, draw

panda = partial(arm, "panda")


def test_a_seed_says_all_of_an_episode():
    first, again = (draw(7, panda().model, panda().home) for _ in range(2))
    assert first.fault == again.fault
    np.testing.assert_equal(astuple(first), astuple(again))


def test_consecutive_seeds_go_through_all_kinds_of_fault():
    kinds = [draw(seed, panda().model, panda().home).fault.kind for seed in range(len(KINDS))]
    assert kinds == list(KINDS)


def test_motions_are_within_the_limits_and_fast_at_most_as_intended():
    model = panda().model
    for seed in range(100):
        episode = draw(seed, model, panda().home)
        for place in (episode.start, episode.target):
            assert (place > model.lower).all() and (place < model.upper).all(), seed
        peak = 1.875 * np.abs(episode.target - episode.start) / episode.motion_time
        assert (peak <= 0.5 * model.velocity_limit + 1e-9).all(), seed
        assert 0.05 <= episode.fault.duration <= 2.0, seed


def test_every_fault_has_a_class_and_the_promise_of_its_class():
    """docs/faults.md: where commands are lost on the way, and in class 5, only drives can help."""
    faults = [draw(seed, panda().model, panda().home).fault for seed in range(40 * len(KINDS))]
    assert {fault.fault_class for fault in faults} == {1, 3, 5}
    for fault in faults:
        is_mild = fault.fault_class != 5 and COMMANDS not in fault.links
        assert fault.most_speed == (1.2 if is_mild else 2.0)
        if fault.damage and STATES in fault.links:
            rare = fault.probability <= 0.1 or fault.kind == "spike, then freeze"
            assert fault.fault_class == (3 if rare else 5)
        if fault.kind.split()[0] in ("drop", "delay", "freeze", "stop", "duplicate", "ROS"):
            assert fault.fault_class == 1
