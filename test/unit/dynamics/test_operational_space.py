"""The hand in space: inertia as a task sees it, also where the Jacobian loses rank."""

from pathlib import Path

import numpy as np
import pytest
from comparison import assert_equal_to_rounding
from methods import random_state
from random_trees import random_tree
from states import State

from featherstone_ros import Dynamics, Model, SingularJacobianError

CONFIG = Path(__file__).resolve().parents[3] / "config"
POINT = np.array([0.1, -0.2, 0.3])
ARM = "panda_hand"


def stretched(elbow=0.0):
    """UR5e, nearly or wholly stretched out, in motion."""
    model = Model.from_file(CONFIG / "ur5e.urdf")
    q = np.array([0.3, -1.0, elbow, 0.4, 0.7, 0.2])
    return Dynamics(model), q, np.array([0.3, -0.5, 0.7, -0.2, 0.4, 0.1]), np.ones(6), "tool0"


@pytest.mark.parametrize("elbow", [0.0, 1e-9])
def test_a_stretched_arm_has_no_operational_space_inertia(elbow):
    ur5e, q, *_ = stretched(elbow)
    with pytest.raises(SingularJacobianError, match=r"'tool0'.*rank"):
        ur5e.operational_space_inertia(q, "tool0")
    batch = np.tile(q, (20, 1))
    batch[:-1, 2] = 1.0
    with pytest.raises(SingularJacobianError, match="'tool0'"):
        ur5e.operational_space_inertia(batch, "tool0")
    assert np.isfinite(ur5e.operational_space_inertia(batch[:-1], "tool0")).all()


# A task's dynamics, at any rank ------------------------------------------------------------------


MOVING = {  # six or more freedoms move the link
    "arm": (lambda: Model.from_file(CONFIG / "panda.urdf"), ARM),
    "floating arm": (lambda: Model.from_file(CONFIG / "panda.urdf", base="floating"), ARM),
    "mimic": (lambda: Model.from_urdf(random_tree(12, 14, mimic=0.3, branching=0.0)), "link14"),
}


@pytest.mark.parametrize(("make", "link"), MOVING.values(), ids=MOVING)
def test_the_wrench_of_a_task_gives_the_acceleration_that_it_asks_for(make, link):
    model = make()
    d, (q, qd) = Dynamics(model), random_state(model, np.random.default_rng(5))
    wanted = np.array([1.0, -2.0, 3.0, 0.5, -0.4, 0.3])
    space = d.operational_space(q, qd, link, POINT)
    J = d.jacobian(q, link, POINT)
    qdd = d.aba(q, qd, J.T @ (space.Lambda @ wanted + space.mu + space.p))
    found = J @ qdd + d.jacobian_dot(q, qd, link, POINT) @ qd
    assert space.rank == 6
    assert_equal_to_rounding(found, wanted, tolerance=1e-8)


def four_joints():
    arm = State(Model.from_file(CONFIG / "panda.urdf"))
    return arm.dynamics, arm.q, arm.qd, arm.tau, "panda_link4"


@pytest.mark.parametrize(
    ("state", "rank"),
    [(stretched(1.0), 6), (stretched(), 5), (stretched(1e-5), 5), (four_joints(), 4)],
    ids=["whole", "stretched", "nearly stretched", "four joints"],
)
def test_what_a_task_leaves_free_does_not_disturb_it(state, rank):
    """N and N^T are projectors; where the rank is full, or exactly less, J N = 0."""
    d, q, qd, tau, link = state
    space = d.operational_space(q, qd, link)
    J, Minv, n = d.jacobian(q, link), d.minv(q), d.model.n
    assert space.rank == rank
    assert_equal_to_rounding(space.N @ space.N, space.N, 1.0)
    assert_equal_to_rounding(np.trace(space.N), float(n - rank), 1.0)
    disturbance = J @ Minv @ space.N.T @ tau
    assert np.abs(disturbance).max() < 1e-3 * np.abs(J @ Minv @ tau).max()
    moved = space.Lambda @ J @ Minv @ J.T
    assert_equal_to_rounding(moved @ moved, moved, 1.0, 1e-8)
    assert_equal_to_rounding(np.trace(moved), float(rank), 1.0, 1e-8)
    assert_equal_to_rounding(space.Jbar, Minv @ J.T @ space.Lambda)


def test_near_rank_loss_no_wrench_grows_without_bound():
    d, _, qd, _, link = stretched()
    sizes = {}
    for elbow in (0.0, 1e-12, 1e-6, 1e-4, 0.1):
        space = d.operational_space(stretched(elbow)[1], qd, link)
        sizes[elbow] = np.abs(space.Lambda).max(), np.abs(space.mu).max(), np.abs(space.p).max()
    for elbow in (1e-12, 1e-6):
        np.testing.assert_allclose(sizes[elbow], sizes[0.0], rtol=1e-3)
    exact = d.operational_space(stretched(1e-4)[1], qd, link, tolerance=1e-9)
    assert exact.rank == 6 and np.abs(exact.Lambda).max() > 1e4 * sizes[0.0][0]


def test_a_batch_is_what_its_states_are_of_any_rank():
    d, _, qd, _, link = stretched()
    states = np.stack([stretched(elbow)[1] for elbow in (0.0, 1.0, 1e-5, 0.5)])
    batch = d.operational_space(states, qd, link)
    assert batch.rank.tolist() == [5, 6, 5, 6]
    for row, state in enumerate(states):
        one = d.operational_space(state, qd, link)
        for name in ("Lambda", "mu", "p", "Jbar", "N", "rank"):
            assert_equal_to_rounding(getattr(batch, name)[row], getattr(one, name), 100.0)


def test_no_joint_leaves_a_task_nothing():
    model = Model.from_robot("panda", joints=())
    space = Dynamics(model).operational_space([], [], ARM)
    assert space.rank == 0 and not space.Lambda.any() and space.N.shape == (0, 0)
