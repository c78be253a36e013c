"""Sizes of links: exact for solids however they lie, read from meshes, a note where neither."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featherstone_ros.inspection import meshes
from featherstone_ros.inspection.doctor import examine
from featherstone_ros.inspection.geometry import shapes
from featherstone_ros.model import urdf
from featherstone_ros.model.rotations import rotation_from_rpy

CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (-1, 3)], float)


def shape(*elements, folder=None):
    root = urdf.read_xml(f'<robot><link name="a">{"".join(elements)}</link></robot>')
    return shapes(root, folder)["a"]


def visual(solid, xyz="0 0 0", rpy="0 0 0"):
    return f'<visual><origin xyz="{xyz}" rpy="{rpy}"/><geometry>{solid}</geometry></visual>'


def surface(kind):
    """Return points on a solid of length 3, radius 0.5 or edges 1, 2, 3, and its element."""
    angle = np.linspace(0, 2 * np.pi, 721)
    if kind == "box":
        return CORNERS * [1, 1, 0.75] - [0.5, 1, 0.75], '<box size="1 2 3"/>'
    circle = 0.5 * np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    ends = np.concatenate([circle + np.array([0, 0, z]) for z in (-1.5, 1.5)])
    if kind == "cylinder":
        return ends, '<cylinder radius="0.5" length="3"/>'
    z = np.linspace(-1, 1, 181)[:, None]
    r = np.sqrt(1 - z**2)
    parts = (r * np.cos(angle), r * np.sin(angle), z + 0 * angle)
    ball = 0.5 * np.stack(parts, axis=-1).reshape(-1, 3)
    if kind == "sphere":
        return ball, '<sphere radius="0.5"/>'
    return (
        np.concatenate([ball + np.array([0, 0, z]) for z in (-1.5, 1.5)]),
        '<capsule radius="0.5" length="3"/>',
    )


angles = st.floats(-3, 3)


@pytest.mark.parametrize("kind", ["box", "cylinder", "sphere", "capsule"])
@settings(max_examples=25)
@given(roll=angles, pitch=angles, yaw=angles)
def test_box_around_a_solid_is_exact_in_every_attitude(kind, roll, pitch, yaw):
    points, solid = surface(kind)
    placed = points @ rotation_from_rpy(roll, pitch, yaw).T + [1, 2, 3]
    box = shape(visual(solid, "1 2 3", f"{roll} {pitch} {yaw}")).box
    np.testing.assert_allclose(box.lower, placed.min(axis=0), atol=2e-3)
    np.testing.assert_allclose(box.upper, placed.max(axis=0), atol=2e-3)


def test_several_solids_make_one_box():
    box = shape(visual('<sphere radius="1"/>'), visual('<sphere radius="2"/>', "0 0 5")).box
    np.testing.assert_array_equal(box.lower, [-2, -2, -1])
    np.testing.assert_array_equal(box.upper, [2, 2, 7])


def write_stl(path):
    triangles = CORNERS[[[0, 1, 2], [3, 4, 5], [5, 6, 7]]]
    records = b"".join(struct.pack("<12fH", 0, 0, 0, *t.ravel(), 0) for t in triangles)
    path.write_bytes(b"solid misleading".ljust(80) + struct.pack("<I", len(triangles)) + records)


def write_ascii_stl(path):
    lines = [f"vertex {x} {y} {z}" for x, y, z in CORNERS]
    path.write_text("solid a\nfacet normal 0 0 1\n" + "\n".join(lines) + "\nendsolid a\n")


def write_obj(path):
    lines = [f"v {x} {y} {z}" for x, y, z in CORNERS]
    path.write_text("# v 9 9 9\n" + "\n".join(lines) + "\nvn 9 9 9\nf 1 2 3\n")


def write_collada(path):
    """In mm, and turned, moved and scaled on the way, so that all must be undone in order."""
    numbers = " ".join(str(1000 * x) for x in (CORNERS[:, [1, 0, 2]] * [1, -1, 1] / 2).ravel())
    path.write_text(f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema">
 <asset><unit name="mm" meter="0.001"/></asset>
 <library_geometries><geometry id="g"><mesh>
  <source id="p"><float_array id="pa" count="24">{numbers}</float_array></source>
  <source id="n"><float_array id="na" count="3">9e9 9e9 9e9</float_array></source>
  <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
 </mesh></geometry></library_geometries>
 <library_visual_scenes><visual_scene id="s">
  <node><translate>1000 0 0</translate>
   <node><translate>-1000 0 0</translate><rotate>0 0 1 90</rotate><scale>2 2 2</scale>
    <instance_geometry url="#g"/></node></node>
 </visual_scene></library_visual_scenes>
</COLLADA>""")


WRITERS = {
    "binary.stl": write_stl,
    "ascii.STL": write_ascii_stl,
    "mesh.obj": write_obj,
    "mesh.dae": write_collada,
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("scheme", ["package://arm_description/meshes/", "file://", "../meshes/"])
def test_mesh_is_found_and_measured(tmp_path, name, scheme):
    folder = tmp_path / "arm_description" / "urdf"
    mesh = tmp_path / "arm_description" / "meshes" / name
    for new in (folder, mesh.parent):
        new.mkdir(parents=True)
    WRITERS[name](mesh)
    uri = f"file://{mesh}" if scheme == "file://" else scheme + name
    seen = shape(visual(f'<mesh filename="{uri}" scale="0.001 0.001 0.001"/>'), folder=folder)
    np.testing.assert_allclose(seen.box.lower, [0, 0, -0.001], atol=1e-9)
    np.testing.assert_allclose(seen.box.upper, [0.001, 0.002, 0.003], atol=1e-9)


@pytest.mark.parametrize("variable", ["AMENT_PREFIX_PATH", "ROS_PACKAGE_PATH"])
def test_mesh_is_found_where_ros_looks(tmp_path, monkeypatch, variable):
    share = tmp_path / ("share/arm" if variable == "AMENT_PREFIX_PATH" else "arm")
    share.mkdir(parents=True)
    write_obj(share / "a.obj")
    monkeypatch.setenv(variable, f"/nowhere:{tmp_path}")
    assert shape(visual('<mesh filename="package://arm/a.obj"/>')).box is not None


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.stl", None, "not found"),
        ("a.blend", b"", "only .stl, .obj and .dae are read"),
        ("a.stl", b"", "has no points"),
        ("a.stl", b"solid\nvertex 1 nan 2\n", "not finite"),
        ("a.obj", b"v 1 2 x\n", "cannot be read"),
        ("a.dae", b"<COLLADA", "cannot be read"),
        ("a.dae", b"<!DOCTYPE a [<!ENTITY b 'c'>]><COLLADA>&b;</COLLADA>", "cannot be read"),
    ],
)
def test_mesh_that_cannot_be_measured_is_a_note_with_the_reason(tmp_path, name, content, reason):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    text = f'<robot name="r"><link name="a">{visual(f"<mesh filename={name!r}/>")}</link></robot>'
    (note,) = [f for f in examine(text, tmp_path).findings if f.rule.name == "size-unknown"]
    assert note.name == "a" and name in note.found and reason in note.found


@pytest.mark.parametrize("leaf", ["", '<instance_geometry url="#g"/>'], ids=["empty", "point"])
def test_scene_whose_nodes_double_at_every_level_or_of_too_many_points_is_refused(
    tmp_path, leaf, monkeypatch
):
    levels = "".join(
        f'<node id="n{i}">' + f'<instance_node url="#n{i + 1}"/>' * 2 + "</node>" for i in range(40)
    )
    (tmp_path / "a.dae").write_text(
        f"""<COLLADA><library_geometries><geometry id="g"><mesh>
        <source id="s"><float_array>1 2 3</float_array></source>
        <vertices><input semantic="POSITION" source="#s"/></vertices></mesh></geometry>
        </library_geometries><library_nodes>{levels}<node id="n40">{leaf}</node></library_nodes>
        <library_visual_scenes><visual_scene><node><instance_node url="#n0"/></node></visual_scene>
        </library_visual_scenes></COLLADA>"""
    )
    with pytest.raises(meshes.MeshError, match="more than 10000 nodes"):
        meshes.points(tmp_path / "a.dae")
    write_collada(tmp_path / "b.dae")  # each mesh is placed once
    assert meshes.points(tmp_path / "b.dae").shape == CORNERS.shape
    monkeypatch.setattr(meshes, "MAX_POINTS", 3)
    with pytest.raises(meshes.MeshError, match="more than 3 points"):
        meshes.points(tmp_path / "b.dae")
