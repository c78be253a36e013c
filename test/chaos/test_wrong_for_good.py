"""What is wrong for good makes an arm fast; the same arm with nothing wrong stands."""

import wrong_for_good as study


def test_a_wrong_sign_is_seen_and_a_load_that_is_not_there_and_true_states_move_nothing():
    one = study.arm("ur5e", 0.2)
    assert study.floating(one) < 0.01
    assert study.floating(one, study.mirrored(1)) > 0.1
    assert 0.1 < study.unloaded(one) < 10.0
