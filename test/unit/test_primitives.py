"""Inertial figures of solids, from identities that leave the textbook's formulas no freedom."""

import numpy as np
import pytest

from featherstone_ros import ModelError, box, cylinder, inertial, sphere
from featherstone_ros.primitives import together
from featherstone_ros.urdf import rotation_from_rpy

STEEL = 7850.0  # [kg/m^3]
SLICES = 4000


def assert_same(actual, expected, rtol=1e-13):
    """Compare to a share of the greatest entry."""
    assert actual.mass == pytest.approx(expected.mass, rel=rtol)
    np.testing.assert_allclose(actual.com, expected.com, atol=rtol)
    scale = np.abs(expected.inertia).max()
    np.testing.assert_allclose(actual.inertia, expected.inertia, rtol=0, atol=rtol * scale)


def midpoints(length, count):
    """Return the middles of ``count`` equal slices of a length centred at 0."""
    return (np.arange(count) + 0.5) * length / count - length / 2


def test_box_is_the_boxes_it_is_cut_into():
    size, cuts = np.array([0.3, 0.5, 0.7]), (2, 3, 4)
    centres = np.meshgrid(*map(midpoints, size, cuts))
    parts = [
        box(size / cuts, density=STEEL, translation=centre)
        for centre in np.stack(centres, axis=-1).reshape(-1, 3)
    ]
    assert_same(together(parts), box(size, density=STEEL))


def test_cylinder_is_the_strips_it_is_cut_into():
    radius, length = 0.2, 0.5
    strips = [
        box((2 * radius / SLICES, 2 * np.sqrt(radius**2 - x**2), length), density=STEEL,
            translation=(x, 0, 0))
        for x in midpoints(2 * radius, SLICES)
    ]  # fmt: skip
    assert_same(cylinder(radius, length, density=STEEL), together(strips), rtol=1e-5)


def test_sphere_is_the_disks_it_is_cut_into():
    radius = 0.2
    disks = [
        cylinder(np.sqrt(radius**2 - z**2), 2 * radius / SLICES, density=STEEL,
                 translation=(0, 0, z))
        for z in midpoints(2 * radius, SLICES)
    ]  # fmt: skip
    assert_same(sphere(radius, density=STEEL), together(disks), rtol=1e-6)


@pytest.mark.parametrize(
    ("solid", "volume"),
    [
        (lambda **weight: box((1, 2, 3), **weight), 6),
        (lambda **weight: cylinder(2, 3, **weight), 12 * np.pi),
        (lambda **weight: sphere(3, **weight), 36 * np.pi),
    ],
    ids=["box", "cylinder", "sphere"],
)
def test_mass_is_density_times_volume(solid, volume):
    by_density = solid(density=STEEL)
    assert by_density.mass == pytest.approx(STEEL * volume, rel=1e-15)
    assert_same(by_density, solid(mass=STEEL * volume))


def test_pose_of_a_solid_is_that_of_its_own_axes():
    rpy = (0.3, -0.7, 1.1)
    R = rotation_from_rpy(*rpy)
    placed = box((0.1, 0.2, 0.3), mass=2, translation=(1, 2, 3), rotation=rpy)
    np.testing.assert_array_equal(placed.com, [1, 2, 3])
    moments, axes = np.linalg.eigh(placed.inertia)
    np.testing.assert_allclose(np.abs(axes.T @ R[:, ::-1]), np.eye(3), atol=1e-12)
    np.testing.assert_allclose(moments, np.diag(box((0.1, 0.2, 0.3), mass=2).inertia)[::-1])
    assert_same(placed, box((0.1, 0.2, 0.3), mass=2, translation=(1, 2, 3), rotation=R))


def test_lying_cylinder_has_its_axis_along_x():
    lying = cylinder(0.1, 2, mass=3, rotation=(0, np.pi / 2, 0)).inertia
    np.testing.assert_allclose(lying[0, 0], 3 * 0.1**2 / 2)
    np.testing.assert_allclose(lying[1, 1], lying[2, 2])


def test_two_masses_at_a_distance_have_the_moment_of_a_dumbbell():
    dumbbell = together([inertial(2, (1, 0, 0)), inertial(6, (5, 0, 0))])
    assert_same(dumbbell, inertial(8, (4, 0, 0), np.diag([0, 24, 24])))  # 2 * 3^2 + 6 * 1^2


def test_parts_add_up_in_any_order_and_grouping():
    random = np.random.default_rng(5)
    parts = [
        box(random.uniform(0.1, 1, 3), mass=random.uniform(1, 9), rotation=random.uniform(-3, 3, 3),
            translation=random.uniform(-1, 1, 3))
        for _ in range(4)
    ]  # fmt: skip
    a, b, c, d = parts
    assert_same(together([together([d, a]), together([c, b])]), together(parts))
    assert_same(together([a]), a)


def test_weightless_parts_keep_their_inertia():
    rotors = together([inertial(0, (1, 2, 3), np.eye(3)), inertial(0, (0, 0, 0), 2 * np.eye(3))])
    np.testing.assert_array_equal(rotors.inertia, 3 * np.eye(3))
    assert rotors.mass == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: box((1, 2, 3)), "mass of a box is None and its density None, expected one of"),
        (lambda: sphere(1, mass=1, density=2), "mass of a sphere is 1 and its density 2, expected"),
        (lambda: cylinder(1, 1, mass=0), "mass of a cylinder is 0.0, expected > 0"),
        (lambda: cylinder(1, 1, density=np.inf), "density of a cylinder is inf, expected finite"),
        (lambda: box((1, 0, 3), mass=1), r"size of a box is \[1.0, 0.0, 3.0\], expected > 0"),
        (lambda: box(2, mass=1), r"size of a box has shape \(\), expected \(3,\)"),
        (lambda: sphere(-1, mass=1), "radius of a sphere is -1.0, expected > 0"),
        (lambda: cylinder(1, "long", mass=1), "radius and length of a cylinder is .*'long'"),
        (lambda: sphere(1, mass=1, translation=(1, 2)), r"translation has shape \(2,\)"),
        (lambda: box((1, 1, 1), mass=1, rotation=2 * np.eye(3)), "rotation is .* orthonormal"),
        (lambda: inertial(-1), "mass is -1.0, expected a number >= 0"),
        (lambda: inertial(1, (0, 0, np.nan)), "com is .* expected finite"),
        (lambda: inertial(1, (0, 0, 0), [[1, 1, 0], [0, 1, 0], [0, 0, 1]]), "a symmetric matrix"),
    ],
)
def test_raises_if_a_figure_cannot_be_used(make, message):
    with pytest.raises(ModelError, match=message):
        make()
