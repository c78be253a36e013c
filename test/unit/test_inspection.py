"""The inertial doctor: sound robots have no finding, every fault put into them is named."""

import copy
import json
import xml.etree.ElementTree as ET
from functools import cache
from itertools import groupby
from operator import itemgetter

import numpy as np
import pytest
from example_robots import MASSLESS_JOINTS, ROBOTS, SIX
from studies import few_or_all
from urdf_faults import FAULTS, Fault, about_the_origin, lies_far_out
from urdf_text import chain, joint, link, robot

from featherstone_ros.inspection import meshes
from featherstone_ros.inspection.doctor import examine
from featherstone_ros.model.finding import Severity
from featherstone_ros.model.robots import robot_file

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
        patch.setattr(meshes, "points", cache(meshes.points))
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
    """Of sound links whose centre of mass is far out, as their inertia goes: 42 of 48."""
    more = ("so101", "g1_29dof_rev_1_0", "talos_reduced", "alex_nub_hands", "centauro")
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


@pytest.mark.parametrize(
    ("text", "element"),
    [
        ("<robot", "robot ''"),
        ("", "robot ''"),
        ("<sdf/>", "robot ''"),
        (robot(link("a"), link("b")), "link 'a'"),
        (robot(link("a", mass=-1)), "link 'a'"),
        (robot(link("a"), link("b"), joint("j", "a", "b", axis="0 0 0")), "joint 'j'"),
        (chain("only", inside='<mimic joint="only"/>'), "joint 'only'"),
        (robot(link("a"), link("b"), joint("j", "a", "b", kind="floating")), "joint 'j'"),
    ],
    ids=["cut", "empty", "sdf", "two roots", "mass < 0", "no axis", "mimic of itself", "floating"],
)
def test_what_the_model_refuses_is_an_error(text, element):
    inspection = examine(text)
    (refused,) = [f for f in inspection.findings if f.rule.name == "refused"]
    assert refused.element == element and inspection.worst is Severity.ERROR
    assert str(refused).count(element) == 1


@pytest.mark.parametrize(
    ("closing", "said"),
    [
        ('<constraint name="pin" type="revolute"/>', "<constraint> 'pin'"),
        ("<loop/>", "<loop>"),
        ('<drake:loop_joint xmlns:drake="d" name="pin"/>', "<loop_joint> 'pin'"),
        ('<gazebo><joint name="pin" type="revolute"/></gazebo>', "<gazebo> with a <joint> 'pin'"),
    ],
)
def test_what_closes_a_loop_is_named(closing, said):
    closed = chain("crank", inside=LIMITS).replace("</robot>", f"{closing}</robot>")
    (found,) = [f for f in examine(closed).findings if f.rule.name == "closed-loop"]
    assert found.found == said and found.severity is Severity.WARNING
    drives = closed.replace('<joint name="pin"', '<plugin name="pin"')
    if "gazebo" in closing:
        assert all(f.rule.name != "closed-loop" for f in examine(drives).findings)


def test_robot_without_moving_joints_is_warned_of():
    for text in ("<robot name='empty'/>", robot(link("a"))):
        assert [f.rule.name for f in examine(text).findings] == ["nothing-moves"]


LIMITS = '<limit lower="-1" upper="1" effort="9" velocity="3"/>'


def test_joint_that_moves_next_to_nothing_is_named():
    """A point mass on the axis of the last joint: found by no look at a single link's matrix."""
    text = robot(
        link("base"),
        link("arm"),
        link("wrist", None),
        link("tool", 0.5, "0 0 0.1", (1e-13, 1e-13, 1e-13)),
        joint("shoulder", "base", "arm", axis="1 0 0", inside=LIMITS),
        joint("twist", "arm", "wrist", inside=LIMITS),
        joint("flange", "wrist", "tool", "fixed"),
    )
    found = {f.name: f for f in examine(text).findings if f.rule.name == "singular-mass-matrix"}
    assert found.keys() == {"twist"} and found["twist"].severity is Severity.ERROR


def test_negative_inertia_that_shows_is_an_indefinite_mass_matrix():
    text = robot(
        link("base"),
        link("arm", 1, "0 0 0", (1, 1, -1)),
        joint("shoulder", "base", "arm", inside=LIMITS),
    )
    assert ("indefinite-mass-matrix", "joint", "shoulder") in named(examine(text))


def test_frame_between_joints_is_a_note_and_seen_link_without_mass_a_warning():
    box = '<visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual>'

    def severities(virtual):
        parts = [link("base"), virtual, link("tip")]
        joints = [joint("a", "base", "mid", inside=LIMITS), joint("b", "mid", "tip", inside=LIMITS)]
        found = examine(robot(*parts, *joints)).findings
        return [(f.severity, f.name) for f in found if f.rule.name == "missing-inertia"]

    assert severities('<link name="mid"/>') == [(Severity.NOTE, "mid")]
    assert severities(f'<link name="mid">{box}</link>') == [(Severity.WARNING, "mid")]


def test_links_that_do_not_move_are_only_noted():
    text = robot(
        link("base", 1, "0 0 0", (-1, 1, 1)), link("arm"), joint("j", "base", "arm", inside=LIMITS)
    )
    assert {(f.severity, f.name) for f in examine(text).findings} == {(Severity.NOTE, "base")}


def test_damaged_descriptions_are_reported_not_raised():
    """Attributes and elements taken out or spoiled at random."""
    random = np.random.default_rng(7)
    for path in OURS:
        for _ in range(60):
            root = ET.parse(path).getroot()
            for _ in range(3):
                spoil(root, random)
            json.dumps(examine(ET.tostring(root), path.parent).as_dict(), allow_nan=False)


def spoil(root, random):
    parents = [element for element in root.iter() if len(element) or element.attrib]
    parent = parents[random.integers(len(parents))]
    if parent.attrib and random.uniform() < 0.7:
        key = sorted(parent.attrib)[random.integers(len(parent.attrib))]
        parent.set(key, random.choice(["", "nan", "-1", "0", "1e300", "0 0 0", "x", "1 2"]))
    elif len(parent):
        parent.remove(parent[random.integers(len(parent))])


# Absurd figures and names -------------------------------------------------------------------------


def seen_link(name, solid, **figures):
    """Return a link with a solid to see."""
    seen = f"<visual><geometry>{solid}</geometry></visual></link>"
    return link(name, **figures).replace("</link>", seen)


def test_inertia_beyond_all_units_is_found():
    tiny = seen_link("arm", '<sphere radius="0.002"/>', inertia=(1e300, 1e300, 1e300), mass=1e-300)
    found = rules_of(robot(link("base"), tiny, joint("j", "base", "arm")))
    assert "units" in found


def test_size_beyond_all_bounds_is_no_exception():
    far = joint("j", "base", "arm", xyz="1e200 0 0")
    assert rules_of(robot(link("base"), link("arm"), far))


def test_mesh_with_too_long_a_name_is_a_note():
    arm = seen_link("arm", f'<mesh filename="/{"x" * 5000}.stl"/>')
    found = examine(robot(link("base"), arm, joint("j", "base", "arm"))).findings
    assert "not found" in next(f.found for f in found if f.rule.name == "size-unknown")


def test_mass_matrix_of_very_many_joints_is_not_checked():
    names = [f"j{k}" for k in range(301)]
    assert "mass-matrix-unchecked" in rules_of(chain(*names))
    assert "mass-matrix-unchecked" not in rules_of(chain(*names[:30]))


def rules_of(text):
    """Return the names of the rules that find something."""
    return {finding.rule.name for finding in examine(text).findings}


@pytest.mark.parametrize("name", ["panda", "ur5e"])
@pytest.mark.parametrize("drawn", [True, False], ids=["with geometry", "without"])
def test_inertias_in_gram_are_an_error(name, drawn):
    root = ET.parse(robot_file(name)).getroot()
    for inertia in root.iter("inertia"):
        for key, value in inertia.items():
            inertia.set(key, repr(1000 * float(value)))
    for element in root.findall("link"):
        for kind in () if drawn else ("visual", "collision"):
            for part in element.findall(kind):
                element.remove(part)
    inspection = examine(ET.tostring(root), robot_file(name).parent)
    assert inspection.worst is Severity.ERROR
    assert any(f.rule.name == "units" for f in inspection.findings if f.severity is Severity.ERROR)
