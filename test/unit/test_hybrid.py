"""Hybrid dynamics of joints that are held or move no inertia, and what says which are prescribed.

Its identities: test_dynamics_identities.py.
"""

import numpy as np
import pytest
from test_dynamics_arguments import on_the_axis

from featherstone_ros import Dynamics, Model, SingularInertiaError

WRIST = Model.from_urdf(on_the_axis())  # whose own torque nothing resists


def test_joint_without_inertia_may_be_prescribed():
    dynamics = Dynamics(WRIST)
    qdd, tau = dynamics.hybrid([0.1, 0.2], [1, 2], [np.nan, 3], [4, np.nan], [False, True])
    np.testing.assert_allclose(dynamics.rnea([0.1, 0.2], [1, 2], qdd), tau, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("batch", [(), (3,)], ids=["single", "batch"])
def test_joint_without_inertia_raises_if_it_is_free(batch):
    given = np.ones((4, *batch, 2))
    with pytest.raises(SingularInertiaError, match="joint 'wrist' moves no inertia"):
        Dynamics(WRIST).hybrid(*given, [True, False])


WRIST_DRIVEN = np.array([False, True])


@pytest.mark.parametrize(
    "choice",
    [
        [False, True],
        (0, 1),
        np.array([0.0, 1.0]),
        np.array([False, True, True])[::2],
        np.array([[True, False], [False, True]])[1],
    ],
    ids=["list", "ints", "floats", "not contiguous", "view"],
)
def test_prescribed_is_whatever_says_true_or_false(choice):
    given = np.random.default_rng(1).uniform(-1, 1, (4, 2))
    expected = Dynamics(WRIST).hybrid(*given, WRIST_DRIVEN)
    np.testing.assert_array_equal(Dynamics(WRIST).hybrid(*given, choice), expected)


@pytest.mark.parametrize("choice", [[0, 2], [np.nan, 1], ["wrist", "elbow"], [-1, 1]], ids=repr)
def test_what_is_neither_true_nor_false_raises(choice):
    with pytest.raises(ValueError, match=r"^prescribed: expected "):
        Dynamics(WRIST).hybrid(*np.ones((4, 2)), choice)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 3), (2, 3)], ids=str)
def test_prescribed_raises_if_its_shape_does_not_fit(shape):
    for states in np.ones((4, 2)), np.ones((4, 5, 2)):
        with pytest.raises(ValueError, match=r"prescribed: expected shape \(2,\).*got ") as error:
            Dynamics(WRIST).hybrid(*states, np.ones(shape, dtype=bool))
        assert str(error.value).endswith(f"got {shape}")


def test_one_choice_holds_for_all_rows_of_a_batch():
    given = np.random.default_rng(3).uniform(-1, 1, (4, 5, 2))
    together = Dynamics(WRIST).hybrid(*given, WRIST_DRIVEN)
    expected = Dynamics(WRIST).hybrid(*given, np.tile(WRIST_DRIVEN, (5, 1)))
    np.testing.assert_array_equal(together, expected)


def test_prescribed_of_several_rows_makes_a_batch_of_a_single_state():
    choices = np.array([[False, True], [True, True]])
    q, qd, qdd, tau = np.random.default_rng(2).uniform(-1, 1, (4, 2))
    dynamics = Dynamics(WRIST)
    together = np.stack(dynamics.hybrid(q, qd, qdd, tau, choices))
    alone = [np.stack(dynamics.hybrid(q, qd, qdd, tau, choice)) for choice in choices]
    np.testing.assert_allclose(together, np.stack(alone, axis=1), rtol=1e-14)
