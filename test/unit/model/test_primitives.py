"""Inertial figures of solids, from identities that leave the textbook's formulas no freedom."""

import numpy as np
import pytest
from refusals import refusals

from featherstone_ros import ModelError, box, cylinder, inertial, mesh, sphere
from featherstone_ros.model.primitives import together
from featherstone_ros.model.rotations import rotation_from_rpy

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


def triangles_of_a_box(size, at=(0, 0, 0)):
    """Return twelve triangles, facing outwards."""
    corners = (np.array(list(np.ndindex(2, 2, 2))) - 0.5) * size + at
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [face for a, b, c, d in sides for face in ((a, b, c), (a, c, d))]
    return corners[faces]


BOX = triangles_of_a_box((1, 2, 3))
PLACES = [{}, {"translation": (0.3, -0.2, 5.0), "rotation": (0.4, -0.9, 2.0)}]


@pytest.mark.parametrize("place", PLACES, ids=["at the origin", "elsewhere"])
def test_mesh_of_a_box_is_the_box(place):
    size = np.array([0.3, 0.5, 0.7])
    assert_same(
        mesh(triangles_of_a_box(size), density=STEEL, **place), box(size, density=STEEL, **place)
    )


def test_mesh_far_from_its_origin_keeps_its_digits():
    size, far = np.array([0.3, 0.5, 0.7]), np.array([100.0, -200.0, 50.0])
    # Corners there are rounded to 3e-14 m; a tensor about the far origin would lose 1e-11 of it.
    assert_same(
        mesh(triangles_of_a_box(size, far), mass=2), box(size, mass=2, translation=far), rtol=1e-12
    )


def test_mesh_with_a_cavity_lacks_what_would_fill_it():
    outer, inner, at = (1, 2, 3), (0.5, 0.6, 0.7), (0.1, 0.2, 0.3)
    cavity = triangles_of_a_box(inner, at)[:, ::-1]
    hollow = mesh(np.concatenate([triangles_of_a_box(outer), cavity]), density=STEEL)
    filling = box(inner, density=STEEL, translation=at)
    assert_same(together([hollow, filling]), box(outer, density=STEEL))


def test_mesh_inside_out_is_the_same_solid():
    triangles = triangles_of_a_box((1, 2, 3))
    assert_same(mesh(triangles[:, ::-1], mass=2), mesh(triangles, mass=2))


@pytest.mark.parametrize("shape", ["icosphere", "annulus", "capsule", "cone"])
def test_mesh_agrees_with_trimesh(shape):
    import trimesh

    figures = {
        "icosphere": {"radius": 0.3},
        "annulus": {"r_min": 0.2, "r_max": 0.5, "height": 0.3},
        "capsule": {"radius": 0.2, "height": 0.6},
        "cone": {"radius": 0.2, "height": 0.6},
    }
    peer = getattr(trimesh.creation, shape)(**figures[shape])
    peer.apply_transform(trimesh.transformations.euler_matrix(0.4, -0.9, 2.0))
    peer.apply_translation([0.1, 0.2, 0.3])
    peer.density = STEEL
    expected = inertial(peer.mass, peer.center_mass, peer.moment_inertia)
    assert_same(mesh(peer.triangles, density=STEEL), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("solid", "volume"),
    [
        (lambda **weight: box((1, 2, 3), **weight), 6),
        (lambda **weight: cylinder(2, 3, **weight), 12 * np.pi),
        (lambda **weight: sphere(3, **weight), 36 * np.pi),
        (lambda **weight: mesh(triangles_of_a_box((1, 2, 3)), **weight), 6),
    ],
    ids=["box", "cylinder", "sphere", "mesh"],
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


def test_weightless_parts_keep_their_inertia():
    rotors = together([inertial(0, (1, 2, 3), np.eye(3)), inertial(0, (0, 0, 0), 2 * np.eye(3))])
    np.testing.assert_array_equal(rotors.inertia, 3 * np.eye(3))
    assert rotors.mass == 0


test_what_cannot_be_used_is_refused = refusals(
    ("mass of a box is None and its density None, expected one of", lambda: box((1, 2, 3))),
    ("mass of a sphere is 1 and its density 2, expected", lambda: sphere(1, mass=1, density=2)),
    ("mass of a cylinder is 0.0, expected > 0", lambda: cylinder(1, 1, mass=0)),
    ("density of a cylinder is inf, expected finite", lambda: cylinder(1, 1, density=np.inf)),
    (r"size of a box is \[1.0, 0.0, 3.0\], expected > 0", lambda: box((1, 0, 3), mass=1)),
    (r"size of a box has shape \(\), expected \(3,\)", lambda: box(2, mass=1)),
    ("radius of a sphere is -1.0, expected > 0", lambda: sphere(-1, mass=1)),
    ("radius and length of a cylinder is .*'long'", lambda: cylinder(1, "long", mass=1)),
    (r"translation has shape \(2,\)", lambda: sphere(1, mass=1, translation=(1, 2))),
    ("rotation is .* orthonormal", lambda: box((1, 1, 1), mass=1, rotation=2 * np.eye(3))),
    (r"edge \[.*\] to \[.*\] of a mesh has no triangle on its", lambda: mesh(BOX[:-1], mass=1)),
    ("triangles all face outwards", lambda: mesh([*BOX[:-1], BOX[-1, ::-1]], mass=1)),
    ("mesh enclose 0 m.3, expected a volume", lambda: mesh([*BOX, *BOX[:, ::-1]], mass=1)),
    (r"triangles of a mesh have shape \(3, 3\), expected \(T", lambda: mesh(BOX[0], mass=1)),
    ("triangles of a mesh are not numbers", lambda: mesh([[1, 2], [3]], mass=1)),
    (r"triangle 12 of a mesh is \[\[nan", lambda: mesh([*BOX, BOX[0] * np.nan], mass=1)),
    ("mass of a mesh is None and its density None", lambda: mesh(BOX)),
    ("mass is -1.0, expected a number >= 0", lambda: inertial(-1)),
    ("com is .* expected finite", lambda: inertial(1, (0, 0, np.nan))),
    ("a symmetric matrix", lambda: inertial(1, (0, 0, 0), [[1, 1, 0], [0, 1, 0], [0, 0, 1]])),
    ("principal moment -1, expected none below 0",
     lambda: inertial(1.0, (0, 0, 0), -np.eye(3))),
    ("principal moment -",
     lambda: inertial(1.0, (0, 0, 0), [[1, 2, 0], [2, 1, 0], [0, 0, 1]])),
    error=ModelError,
)  # fmt: skip


def test_a_flat_body_may_have_a_moment_of_zero():
    inertial(1.0, (0, 0, 0), np.diag([1.0, 1.0, 0.0]))
