"""One target that is far away, and the study's own verdict."""

import far_targets


def test_an_arm_that_reached_its_target_did_not_give_up():
    outcome = far_targets.run("ur5e", bare=True, seed=1)
    assert not outcome.reason
    assert 0.05 < outcome.fastest < 1.0
    assert outcome.last < 0.02
