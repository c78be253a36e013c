"""The inertial doctor: sound robots have no finding, every fault put into them is named."""

import copy
import json
import re
import struct
import xml.etree.ElementTree as ET
from functools import cache, partial
from itertools import groupby
from operator import itemgetter

import numpy as np
import pytest
from example_robots import MASSLESS_JOINTS, ROBOTS, SIX
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from studies import few_or_all
from urdf_faults import FAULTS, Fault, about_the_origin, lies_far_out
from urdf_text import chain, joint, link, robot

from featherstone_ros.inspection import geometry
from featherstone_ros.inspection.doctor import examine
from featherstone_ros.inspection.geometry import shapes
from featherstone_ros.model import urdf
from featherstone_ros.model.finding import Severity
from featherstone_ros.model.robots import robot_file
from featherstone_ros.model.rotations import rotation_from_rpy
from featherstone_ros.tools.inspect.report import tables

# The clean set: nothing is found in these.
CLEAN = ("a1", "alexander_v1.lowerBodyOnly", "borinot_flying_arm_2", "go2", "hextilt_flying_arm_5")
CLEAN += ("kinova", "solo", "solo12", "tiago_pro", "xarm7", "z1")
OURS = [robot_file("ur5e"), robot_file("panda")]
FILES = {path.stem: path for path in [*ROBOTS, *OURS]}
SUBJECTS = [n for n in ("panda", "ur5e", "xarm7", "kinova", "a1") if n in FILES]


@pytest.fixture(scope="module", autouse=True)
def meshes_read_once():
    """Of a robot with one fault after the other, the meshes stay the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(geometry, "points", cache(geometry.points))
        yield


@cache
def of(path):
    return examine(path.read_bytes(), path.parent)


def named(inspection):
    return {(f.rule.name, f.kind, f.name) for f in inspection.findings}


@pytest.mark.parametrize("name", [name for name in ("ur5e", *CLEAN) if name in FILES])
def test_nothing_is_found_in_the_clean_set(name):
    assert of(FILES[name]).findings == ()


def test_our_panda_has_the_one_flaw_of_its_source():
    assert named(of(robot_file("panda"))) == {("triangle-inequality", "link", "panda_link4")}


@pytest.mark.parametrize(
    "path", [path for path in ROBOTS if path.stem in SIX or path.name in MASSLESS_JOINTS]
)
def test_robot_is_examined_and_not_refused(path):
    inspection = of(path)
    assert not any(finding.rule.name == "refused" for finding in inspection.findings)
    names = {element.name for element in (*inspection.robot.links, *inspection.robot.joints)}
    assert all(f.name in names for f in inspection.findings if f.kind != "robot")
    if path.name in MASSLESS_JOINTS:
        found = {f.name for f in inspection.findings if f.rule.name == "weightless-joint"}
        assert found == set(MASSLESS_JOINTS[path.name])


def targets(root, fault):
    """Return the moving joints, or their child links with mass, that can have the fault."""
    joints = [j for j in root.findall("joint") if j.get("type") != "fixed"]
    if fault.kind == "joint":
        return [j for j in joints if fault.suits(j)]
    children = {j.find("child").get("link") for j in joints}
    links = [e for e in root.findall("link") if e.get("name") in children]
    drawn = [e for e in links if e.find("inertial") is not None and e.find("collision") is not None]
    return [e for e in drawn if fault.suits(e)]


def possible_faults():
    """Return robots with faults that they can have, by fault."""
    roots = {name: ET.parse(FILES[name]).getroot() for name in SUBJECTS}
    return [
        (name, fault)
        for fault in FAULTS
        for name, root in roots.items()
        if targets(root, FAULTS[fault])
    ]


ONE_OF_EACH = [next(pairs) for _, pairs in groupby(possible_faults(), itemgetter(1))]


@pytest.mark.skipif(not ROBOTS, reason="example-robot-data is not installed")
def test_every_fault_is_tried_on_several_robots():
    robots = [fault for _, fault in possible_faults()]
    assert all(robots.count(fault) >= min(2, len(SUBJECTS)) for fault in FAULTS)


@pytest.mark.parametrize(("name", "fault_name"), few_or_all(ONE_OF_EACH, possible_faults()))
def test_fault_is_found_and_named(name, fault_name):
    fault, path = FAULTS[fault_name], FILES[name]
    root = ET.parse(path).getroot()
    before = named(of(path))
    elements = targets(root, fault)
    k = np.random.default_rng(5).integers(len(elements))
    broken = copy.deepcopy(root)
    element = targets(broken, fault)[k]
    fault.edit(element)
    inspection = examine(ET.tostring(broken), path.parent)
    new = named(inspection) - before
    wanted = {(rule, fault.kind, element.get("name")) for rule in fault.rules}
    assert new & wanted, f"{element.get('name')}: {new}"
    assert fault.status == 0 or inspection.worst is Severity.ERROR


def test_inertia_about_the_origin_is_found_where_it_matters():
    """Of sound links whose centre of mass is far out, as their inertia goes: 36 of 42."""
    more = ("g1_29dof_rev_1_0", "alex_nub_hands", "centauro")
    rules = {"inertia-wrong-point", "inertia-too-large"}
    found = []
    for path in (FILES[name] for name in ("ur5e", "panda", *CLEAN, *more) if name in FILES):
        root = ET.parse(path).getroot()
        far_out = targets(root, Fault("link", about_the_origin, (), 0, lies_far_out))
        if not far_out:
            continue
        odd = {name for rule, _, name in named(of(path)) if rule in rules}
        changed = [element for element in far_out if element.get("name") not in odd]
        for element in changed:
            about_the_origin(element)
        now = named(examine(ET.tostring(root), path.parent))
        odd = {name for rule, _, name in now if rule in rules}
        found += [element.get("name") in odd for element in changed]
    if len(found) > 20:  # example-robot-data is there
        assert np.mean(found) > 0.85


WIDE = '<limit lower="-1" upper="1" effort="{}" velocity="3"/>'
LIMITS = WIDE.format(9)
BALL = '<visual><geometry><sphere radius="0.002"/></geometry></visual>'
FAR = f'<visual><geometry><mesh filename="/{"x" * 5000}.stl"/></geometry></visual>'


def swing(*of_arm, base=("base",), seen="", effort=9, xyz="0 0 0.3", **of_link):
    """Return a robot of one joint."""
    arm = link("arm", *of_arm, **of_link).replace("</link>", f"{seen}</link>")
    shoulder = joint("shoulder", "base", "arm", inside=WIDE.format(effort), xyz=xyz)
    return robot(link(*base), arm, shoulder)


def elbow(middle):
    """Return a robot of two joints, with that between them."""
    joints = [joint("a", "base", "mid", inside=LIMITS), joint("b", "mid", "tip", inside=LIMITS)]
    return robot(link("base"), middle, link("tip"), *joints)


def closed(closing):
    return swing().replace("</robot>", f"{closing}</robot>")


# A point mass on the axis of the last joint: found by no look at a single link's matrix.
TWIST = robot(
    link("base"), link("arm"), link("wrist", None), link("tool", 0.5, "0 0 0.1", (1e-13,) * 3),
    joint("shoulder", "base", "arm", axis="1 0 0", inside=LIMITS),
    joint("twist", "arm", "wrist", inside=LIMITS), joint("flange", "wrist", "tool", "fixed"),
)  # fmt: skip
LOOPS = {
    '<constraint name="pin" type="revolute"/>': "<constraint> 'pin'",
    "<loop/>": "<loop>",
    '<drake:loop_joint xmlns:drake="d" name="pin"/>': "<loop_joint> 'pin'",
    '<gazebo><joint name="pin" type="revolute"/></gazebo>': "<gazebo> with a <joint> 'pin'",
}
REFUSED = {
    "robot ''": ("<robot", "", "<sdf/>"),
    "link 'a'": (robot(link("a"), link("b")), robot(link("a", mass=-1))),
    "joint 'j'": (chain("j", axis="0 0 0"), chain("j", kind="floating"),
                  chain("j", inside='<mimic joint="j"/>')),
}  # fmt: skip
ODD = ("base", 1, "0 0 0", (-1, 1, 1))
NOTE, WARNING, ERROR = Severity.NOTE, Severity.WARNING, Severity.ERROR


@pytest.mark.parametrize(
    ("text", "severity", "rule", "said"),
    [
        ("<robot name='empty'/>", WARNING, "nothing-moves", "robot 'empty'"),
        (robot(link("a")), WARNING, "nothing-moves", "robot 'test'"),
        (swing(1, "0 0 0", (1, 1, -1)), ERROR, "indefinite-mass-matrix", "joint 'shoulder'"),
        (TWIST, ERROR, "singular-mass-matrix", "joint 'twist'"),
        (swing(base=ODD), NOTE, "not-positive-definite", "link 'base'"),
        (elbow('<link name="mid"/>'), NOTE, "missing-inertia", "link 'mid'"),
        (elbow(f'<link name="mid">{BALL}</link>'), WARNING, "missing-inertia", "link 'mid'"),
        (swing(1e-300, "0 0 0", (1e300,) * 3, seen=BALL), ERROR, "units", "link 'arm'"),
        (swing(xyz="1e200 0 0"), None, "", ""),
        (swing(seen=FAR), NOTE, "size-unknown", "link 'arm'"),
        (chain(*(f"j{k}" for k in range(301))), NOTE, "mass-matrix-unchecked", "robot 'test'"),
        (chain(*(f"j{k}" for k in range(30))), None, "mass-matrix-unchecked", ""),
        *((text, ERROR, "refused", element) for element, several in REFUSED.items()
          for text in several),
        *((closed(closing), WARNING, "closed-loop", said) for closing, said in LOOPS.items()),
        (closed('<gazebo><plugin name="pin"/></gazebo>'), None, "closed-loop", ""),
    ],
)  # fmt: skip
def test_a_small_fault_is_found(text, severity, rule, said):
    found = [f for f in examine(text).findings if f.rule.name == rule]
    assert bool(found) == (severity is not None)
    assert all(f.severity is severity and said in (f.found, f.element) for f in found)


# What a whole robot has wrong ---------------------------------------------------------------------


def masses(text, change):
    return re.sub(r'(<mass value=)"([^"]*)"', lambda m: f'{m[1]}"{change(float(m[2])):g}"', text)


def grams(text):
    """Return a robot whose inertias are in g m^2."""
    pattern = r'(\bi[xyz]{2}=)"([^"]*)"'
    return re.sub(pattern, lambda m: f'{m[1]}"{1000 * float(m[2])!r}"', text)


ONES = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
UNDRAWN = partial(re.compile(r"<(collision|visual)>.*?</\1>", re.DOTALL).sub, "")
SPOILT = {
    "ones": (lambda text: re.sub(r"<inertia [^>]*>", ONES, masses(text, lambda m: 1)),
             "placeholder-inertia", ERROR),
    "com at zero": (partial(re.sub, r'(<inertial>\s*<origin xyz=)"[^"]*"', r'\1"0 0 0"'),
                    "com-at-origin", WARNING),
    "grams without geometry": (lambda text: UNDRAWN(masses(text, lambda m: 1000 * m)),
                               "gravity-beyond-effort", ERROR),
    "dense": (lambda text: masses(text, lambda m: 1000 * m), "units", ERROR),
    "inertias in gram": (grams, "units", ERROR),
    "inertias in gram without geometry": (lambda text: UNDRAWN(grams(text)), "units", ERROR),
    "weak": (partial(re.sub, r'effort="(87|150)"', 'effort="2"'), "gravity-beyond-effort", ERROR),
}  # fmt: skip


@pytest.mark.parametrize("name", ["panda", "ur5e"])
@pytest.mark.parametrize(("spoil", "rule", "least"), SPOILT.values(), ids=SPOILT)
def test_a_robot_that_cannot_be_is_not_fit_for_dynamics(name, spoil, rule, least):
    findings = examine(spoil(robot_file(name).read_text()), robot_file(name).parent).findings
    assert rule in {finding.rule.name for finding in findings if finding.severity >= least}


def test_a_helper_link_is_one_note():
    helper = joint("h", "tool0", "helper", "fixed")
    parts = link("helper", 1e-8, "0 0 0", (1e-5, 1e-5, 1e-5)) + helper
    text = robot_file("ur5e").read_text().replace("</robot>", f"{parts}</robot>")
    findings = [f for f in examine(text).findings if f.name in ("helper", "h")]
    assert [(f.severity, f.rule.name) for f in findings] == [(NOTE, "negligible-mass")]


# Sizes of links: exact for solids however they lie, read from meshes, a note where neither.


CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (-1, 3)], float)


def shape(*elements, folder=None):
    root = urdf.read_xml(f'<robot><link name="a">{"".join(elements)}</link></robot>')
    return shapes(root, folder)["a"]


def visual(solid, xyz="0 0 0", rpy="0 0 0"):
    return f'<visual><origin xyz="{xyz}" rpy="{rpy}"/><geometry>{solid}</geometry></visual>'


def surface(kind):
    """Return points on a solid of length 3, radius 0.5 or edges 1, 2, 3, and its element."""
    angle = np.linspace(0, 2 * np.pi, 181)
    if kind == "box":
        return CORNERS * [1, 1, 0.75] - [0.5, 1, 0.75], '<box size="1 2 3"/>'
    circle = 0.5 * np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    ends = np.concatenate([circle + np.array([0, 0, z]) for z in (-1.5, 1.5)])
    if kind == "cylinder":
        return ends, '<cylinder radius="0.5" length="3"/>'
    polar = angle[:91, None]
    r = np.sin(polar)
    parts = (r * np.cos(angle), r * np.sin(angle), np.cos(polar) + 0 * angle)
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
    box = shape(visual(solid, "1 2 3", f"{roll} {pitch} {yaw}"))
    np.testing.assert_allclose(box.lower, placed.min(axis=0), atol=2e-3)
    np.testing.assert_allclose(box.upper, placed.max(axis=0), atol=2e-3)


def test_several_solids_make_one_box():
    box = shape(visual('<sphere radius="1"/>'), visual('<sphere radius="2"/>', "0 0 5"))
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
    solid = f'<mesh filename="{uri}" scale="0.1 0.2 0.3"/>'
    seen = shape(visual(solid, "1 2 3", "0.4 0.5 0.6"), folder=folder)
    placed = CORNERS * [0.1, 0.2, 0.3] @ rotation_from_rpy(0.4, 0.5, 0.6).T + [1, 2, 3]
    np.testing.assert_allclose(seen.lower, placed.min(axis=0), atol=1e-9)
    np.testing.assert_allclose(seen.upper, placed.max(axis=0), atol=1e-9)


@pytest.mark.parametrize("variable", ["AMENT_PREFIX_PATH", "ROS_PACKAGE_PATH"])
def test_mesh_is_found_where_ros_looks(tmp_path, monkeypatch, variable):
    share = tmp_path / ("share/arm" if variable == "AMENT_PREFIX_PATH" else "arm")
    share.mkdir(parents=True)
    write_obj(share / "a.obj")
    monkeypatch.setenv(variable, f"/nowhere:{tmp_path}")
    assert isinstance(shape(visual('<mesh filename="package://arm/a.obj"/>')), geometry.Box)


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


MESH = '<instance_geometry url="#g"/>'


@pytest.mark.parametrize(
    "depth, leaf, what", [(40, "", "10000 n"), (40, MESH, "10000 n"), (12, MESH, "5000000 p")]
)
def test_scene_whose_nodes_double_at_every_level_or_of_too_many_points_is_refused(
    tmp_path, depth, leaf, what
):
    levels = "".join(
        f'<node id="n{i}">' + f'<instance_node url="#n{i + 1}"/>' * 2 + "</node>"
        for i in range(depth)
    )
    (tmp_path / "a.dae").write_text(
        f"""<COLLADA><library_geometries><geometry id="g"><mesh>
        <source id="s"><float_array>{"1 2 3 " * 1300}</float_array></source>
        <vertices><input semantic="POSITION" source="#s"/></vertices></mesh></geometry>
        </library_geometries>
        <library_nodes>{levels}<node id="n{depth}">{leaf}</node></library_nodes>
        <library_visual_scenes><visual_scene><node><instance_node url="#n0"/></node></visual_scene>
        </library_visual_scenes></COLLADA>"""
    )
    with pytest.raises(geometry.MeshError, match=f"more than {what}"):
        geometry.points(tmp_path / "a.dae")
    write_collada(tmp_path / "b.dae")  # each mesh is placed once
    assert geometry.points(tmp_path / "b.dae").shape == CORNERS.shape


# The command: tables, findings, JSON and the exit status.


@pytest.fixture
def inspect(tmp_path, tool):
    def run(text, *options, status=0):
        path = tmp_path / "arm.urdf"
        path.write_text(text)
        return tool("inspect", path, *options, status=status)

    return run


SAID = [  # of which robot, with which options, the status, and what is said
    (swing(), "", 0,
     ("Nothing found", "arm", "shoulder", "revolute", "0.02", "0.03", "0.04")),
    (swing(effort=0), "", 0,
     ("warning", 'has effort="0"', "joint 'shoulder'", "cannot be driven", "1 warning.")),
    (swing(inertia=(0, 0, 0)), "--findings", 1, ("link 'arm'",)),
    (swing(inertia=(1, 1, -3)), "--findings", 1, ("link 'arm'", "not positive definite")),
    ("<robot", "", 1, ()),
]  # fmt: skip


@pytest.mark.parametrize(("text", "option", "status", "words"), SAID)
def test_verdict_is_the_status_and_names_element_rule_and_consequence(
    text, option, status, words, inspect
):
    output = inspect(text, *option.split(), status=status)
    assert all(word in output for word in words)
    assert not option or "centre of mass\n" not in output.out


def test_robot_that_floats_is_inspected_by_the_joints_that_move(inspect):
    """A humanoid's root; nothing else is wrong, nor does anything hide what else is."""
    for effort, verdict in ((20, "Nothing found"), (0.1, "gravity-beyond-effort")):
        limits = WIDE.format(effort)
        text = robot(
            *(link("world", mass=None), link("torso"), link("arm", com="0.2 0 0.1")),
            joint("root", "world", "torso", "floating"),
            joint("shoulder", "torso", "arm", axis="0 1 0", inside=limits),
        )
        output = inspect(text, "--findings", status=1)
        assert "root" in output and "refused" in output
        assert "--joints" in output and 'base="floating"' in output
        output = inspect(text, "--findings", "--joints", "shoulder", status=None)
        assert "refused" not in output and verdict in output
        findings = examine(text, base="floating").findings
        assert {f.rule.name for f in findings if f.severity} <= {verdict}
    inspect(text, "--joints", "elbow", status=1)


def test_json_has_tables_and_findings(inspect):
    result = json.loads(inspect(swing(effort=0, mass=2), "--json"))
    assert result["warnings"] == 1 and result["errors"] == 0
    assert result["links"][1]["mass"] == 2 and result["links"][1]["principal_moments"][2] == 0.04
    assert result["joints"][0]["effort"] == 0 and result["joints"][0]["damping"] == 0
    (finding,) = result["findings"]
    assert finding["severity"] == "warning" and finding["rule"] == "effort-zero"
    assert (finding["kind"], finding["name"]) == ("joint", "shoulder") and finding["consequence"]


def test_hostile_names_are_printed_as_they_are(inspect):
    name = "[red]base[/nothing]"
    assert name in inspect(robot(link(name), link("b"), joint("j", name, "b")))


def test_notes_of_one_rule_are_not_a_page_and_a_link_to_the_file_finds_its_meshes(
    inspect, tmp_path, tool
):
    far = '<visual><geometry><mesh filename="arm.stl"/></geometry></visual>'
    links = [link("l0"), *(link(f"l{k}").replace("</link>", f"{far}</link>") for k in range(1, 9))]
    joints = (joint(f"j{k}", f"l{k - 1}", f"l{k}", inside=LIMITS) for k in range(1, 9))
    text = robot(*links, *joints)
    output = inspect(text)
    assert output.count("arm.stl: not found") == 4 and "and 4 more (--json lists all)" in output
    assert inspect(text, "--json").count("size-unknown") == 8

    write_stl(tmp_path / "arm.stl")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "linked.urdf").symlink_to(tmp_path / "arm.urdf")
    assert "not found" not in tool("inspect", elsewhere / "linked.urdf")


@pytest.mark.parametrize("width", [80, 130])
@pytest.mark.parametrize("name", ["panda", "ur5e"])
def test_no_figure_is_cut_off(name, width):
    inspection = examine(robot_file(name).read_text(), robot_file(name).parent)
    console = Console(width=width, force_terminal=True, no_color=True)
    with console.capture() as capture:
        console.print(tables(inspection, width))
    text = capture.get()
    assert "…" not in text
    inertials = [link.inertial for link in inspection.robot.links if link.inertial]
    assert all(f"{inertial.mass:.3g}" in text for inertial in inertials if inertial.mass)
