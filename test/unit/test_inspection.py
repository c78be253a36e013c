"""The inertial doctor: sound robots have no finding, every fault put into them is named."""

import copy
import re
import xml.etree.ElementTree as ET
from functools import cache, partial
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


LIMITS = '<limit lower="-1" upper="1" effort="9" velocity="3"/>'
BALL = '<visual><geometry><sphere radius="0.002"/></geometry></visual>'
FAR = f'<visual><geometry><mesh filename="/{"x" * 5000}.stl"/></geometry></visual>'


def swing(*of_arm, base=("base",), seen="", **of_joint):
    """Return a robot of one joint."""
    arm = link("arm", *of_arm).replace("</link>", f"{seen}</link>")
    shoulder = joint("shoulder", "base", "arm", inside=LIMITS, **of_joint)
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
