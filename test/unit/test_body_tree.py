"""Bodies that cannot be: what moves no inertia, and figures that overflow.

What links and joints are merged into: Pinocchio (test_dynamics_against_pinocchio.py), momentum over
the links (test_dynamics_identities.py) and joints held (test_hybrid.py).
"""

import pytest
from urdf_text import joint, link, robot

from featherstone_ros.errors import ModelError
from featherstone_ros.model import Model, urdf
from featherstone_ros.model.body_tree import grow
from featherstone_ros.model.joint_selection import choose


def tree_of(text, **choice):
    read = urdf.parse(text)
    return grow(read, choose(read, **choice))


@pytest.mark.parametrize("massless", [(None,), (0.0, "1 1 1", (0, 0, 0))], ids=["frame", "zeros"])
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_model_raises_if_a_joint_moves_nothing(massless, kind):
    text = robot(
        *map(link, ["base", "a"]),
        link("b", *massless),
        link("c", None),
        joint("turn", "base", "a"),
        joint("idle", "a", "b", kind),
        joint("f", "b", "c", "fixed"),
    )
    with pytest.raises(ModelError, match="joint 'idle' moves no mass and no inertia"):
        Model.from_urdf(text)
    assert tree_of(text, joints=["turn"]).n == 1


@pytest.mark.parametrize(("multiplier", "moves"), [(0.5, True), (0, False)])
def test_inertia_of_followers_counts_for_their_leader(multiplier, moves):
    text = robot(
        *map(link, ["base", "b"]),
        link("a", None),
        joint("leader", "base", "a"),
        joint("f", "base", "b", inside=f'<mimic joint="leader" multiplier="{multiplier}"/>'),
    )
    if moves:
        assert tree_of(text).joint_names == ("leader",)
    else:
        with pytest.raises(ModelError, match="joint 'leader' moves no mass"):
            Model.from_urdf(text)


@pytest.mark.parametrize(
    ("figures", "xyz", "culprit"),
    [
        ((1e308, "0 0 0"), "0 0 0", "mass of 'b'"),
        ((1e50, "1e40 0 0"), "0 0 0", "inertia of 'b'"),
        ((1, "0 0 0", (1e308, 1e308, 1e308)), "0 0 0", "inertia of 'b'"),
        ((0, "0 0 0"), "0 1e120 0", "link_translation of 'a'"),
    ],
)
def test_grow_raises_if_figures_overflow(figures, xyz, culprit):
    text = robot(*(link(name, *figures) for name in "ba"), joint("f", "b", "a", "fixed", xyz=xyz))
    with pytest.raises(ModelError, match=culprit):
        tree_of(text)
