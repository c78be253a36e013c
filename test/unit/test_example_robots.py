"""All robots of example-robot-data load, and their bodies are those that Pinocchio makes."""

import functools
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from example_robots import EMPTY, MASSLESS_JOINTS, ROBOTS, UNLIKE_ROBOTS, to_pinocchio
from studies import few_or_all

from featherstone_ros.errors import ModelError
from featherstone_ros.model import Model, urdf

if not ROBOTS:
    pytest.skip("example-robot-data is not installed", allow_module_level=True)

unlike_robots = pytest.mark.parametrize("path", UNLIKE_ROBOTS)
comparable = pytest.mark.parametrize(
    "path", few_or_all(UNLIKE_ROBOTS, [path for path in ROBOTS if path.name != EMPTY])
)


@functools.cache
def load(path):
    return Model.from_file(path, locked=MASSLESS_JOINTS.get(path.name))


def test_there_are_69():
    assert len(ROBOTS) == 69


def test_the_one_without_any_link_is_refused():
    (path,) = (path for path in ROBOTS if path.name == EMPTY)
    with pytest.raises(ModelError, match="has no <link>"):
        load(path)


@comparable
def test_loads_with_the_joints_of_the_document(path):
    root = ET.parse(path).getroot()
    by_name = {joint.get("name"): joint for joint in root.findall("joint")}

    def is_free(joint):
        mimic = joint.find("mimic")
        follows = mimic is not None and mimic.get("joint") in by_name
        locked = joint.get("name") in MASSLESS_JOINTS.get(path.name, ())
        return joint.get("type") != "fixed" and not follows and not locked

    model = load(path)
    assert list(model.joint_names) == [name for name, joint in by_name.items() if is_free(joint)]
    assert list(model.link_names) == [link.get("name") for link in root.findall("link")]


with_idle_fingers = pytest.mark.parametrize(
    "path", [p for p in ROBOTS if p.name in MASSLESS_JOINTS]
)


@with_idle_fingers
def test_fingers_without_any_inertia_are_locked_with_a_warning(path, caplog):
    idle = MASSLESS_JOINTS[path.name]
    model = Model.from_file(path)
    assert idle.keys() <= model.locked.keys()
    assert all(model.locked[name] == 0 for name in idle)
    (record,) = caplog.records
    assert all(name in record.message.split("locked at 0")[1] for name in idle)


@with_idle_fingers
def test_raises_if_fingers_without_any_inertia_are_asked_for(path):
    first = next(iter(MASSLESS_JOINTS[path.name]))
    names = (*Model.from_file(path).joint_names, first)
    with pytest.raises(ModelError, match=re.escape(f"{path}: joint '{first}' moves no mass")):
        Model.from_file(path, joints=names)


@functools.cache
def with_every_second_joint_locked(path):
    names = load(path).joint_names
    locked = {name: 0.1 + 0.2 * k for k, name in enumerate(names) if k % 2}
    return Model.from_file(path, locked=locked | MASSLESS_JOINTS.get(path.name, {}))


variants = pytest.mark.parametrize(
    "load_variant", [load, with_every_second_joint_locked], ids=["all joints", "half locked"]
)


@unlike_robots
@variants
def test_bodies_have_the_inertia_that_pinocchio_sums(path, load_variant):
    pinocchio = pytest.importorskip("pinocchio")
    model = load_variant(path)
    reference = pinocchio.buildModelFromUrdf(str(path))
    data = reference.createData()
    pinocchio.forwardKinematics(reference, data, to_pinocchio(reference, model, np.zeros(model.n)))
    carrier, sums = {}, {}  # the moving joint that carries each joint, and what it carries
    for j, (name, inertia) in enumerate(zip(reference.names, reference.inertias, strict=True)):
        carrier[j] = carrier[reference.parents[j]] if name in model.locked else j
        in_carrier = data.oMi[carrier[j]].actInv(data.oMi[j]).act(inertia).matrix()
        sums[carrier[j]] = sums.get(carrier[j], 0) + in_carrier
    tree = model.tree
    assert len(sums) == len(tree.body_names)
    child_of = {joint.name: joint.child for joint in urdf.parse(path.read_bytes()).joints}
    for j, spatial_inertia in sums.items():  # [[m 1, -m c x], [m c x, about origin]]
        body = tree.body_names.index(child_of.get(reference.names[j], model.base_link))
        mass, (mcx, about_origin) = spatial_inertia[0, 0], np.hsplit(spatial_inertia[3:], 2)
        tolerance = 1e-12 * max(mass, 0.01)
        np.testing.assert_allclose(tree.mass[body], mass, atol=tolerance)
        np.testing.assert_allclose(
            tree.first_moment[body], [mcx[2, 1], mcx[0, 2], mcx[1, 0]], atol=tolerance
        )
        np.testing.assert_allclose(tree.inertia[body], about_origin, atol=tolerance)


@unlike_robots
@variants
def test_links_and_centre_of_mass_are_where_pinocchio_puts_them(path, load_variant):
    pinocchio = pytest.importorskip("pinocchio")
    model = load_variant(path)
    reference = pinocchio.buildModelFromUrdf(str(path))
    data = reference.createData()
    random = np.random.default_rng(69)
    for _ in range(3):
        q = random.uniform(-2, 2, model.n)
        links, total_first_moment = place_links(model.tree, q)
        configured = to_pinocchio(reference, model, q)
        pinocchio.framesForwardKinematics(reference, data, configured)
        frames = [reference.getFrameId(name, pinocchio.FrameType.BODY) for name in links]
        expected = [data.oMf[frame].homogeneous for frame in frames]
        np.testing.assert_allclose(list(links.values()), expected, atol=1e-12)
        first_moments = [
            inertia.mass * placement.act(inertia.lever)
            for placement, inertia in zip(data.oMi, reference.inertias, strict=True)
        ]
        np.testing.assert_allclose(total_first_moment, np.sum(first_moments, axis=0), atol=1e-10)


def place_links(tree, q):
    """Return the pose (4, 4) of every link by name, and the sum of mass times position (3,)."""
    body_pose = [np.eye(4)]
    for i in range(len(tree.parent)):
        turn, shift = tree.motion[i] * (tree.multiplier[i] * q[tree.dof[i]] + tree.offset[i])
        moved = homogeneous(rotation_about(tree.axis[i], turn), tree.axis[i] * shift)
        at_joint = homogeneous(tree.rotation[i], tree.translation[i])
        body_pose.append(body_pose[tree.parent[i] + 1] @ at_joint @ moved)
    links = {
        name: body_pose[body + 1] @ homogeneous(rotation, translation)
        for name, body, rotation, translation in zip(
            tree.link_names, tree.link_body, tree.link_rotation, tree.link_translation, strict=True
        )
    }
    moments = [
        pose[:3, 3] * mass + pose[:3, :3] @ first_moment
        for pose, mass, first_moment in zip(body_pose, tree.mass, tree.first_moment, strict=True)
    ]
    return links, np.sum(moments, axis=0)


def homogeneous(rotation, translation):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation, translation
    return T


def rotation_about(axis, angle):
    """Return the rotation from its quaternion, unlike the code under test."""
    w, (x, y, z) = np.cos(angle / 2), np.sin(angle / 2) * axis
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
