"""What is wrong for good makes an arm fast; the same arm with nothing wrong stands."""

import wrong_for_good as study


def test_a_wrong_sign_is_seen_and_true_states_move_nothing():
    one = study.arm("panda", 0.2)
    assert study.believed(one, lambda state: state, **study.FLOATING) < 0.01
    assert study.believed(one, study.mirrored(1), **study.FLOATING) > 0.1


def test_a_payload_that_is_not_there_lifts_a_floating_arm():
    one = study.arm("panda", 0.2)
    assert 0.1 < study.unloaded(one) < 10.0
    assert study.fastest(one.loop(**study.FLOATING), one.model.velocity_limit) < 0.01
