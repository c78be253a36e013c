"""Reading URDF text: what counts, what is read past, what is the default."""

import logging
import math
import re
from functools import partial

import numpy as np
import pytest
from refusals import refusals
from urdf_text import chain, joint, link, robot

import featherstone_ros as fr
from featherstone_ros import Model
from featherstone_ros.errors import ModelError
from featherstone_ros.inspection.doctor import examine
from featherstone_ros.model import urdf
from featherstone_ros.model.robot_description import name_list

TWO_LINKS = chain("turn")


def only_joint(**figures):
    return urdf.parse(chain("turn", **figures)).joints[0]


@pytest.mark.parametrize(
    "text",
    [
        TWO_LINKS,
        TWO_LINKS.encode(),
        bytearray(TWO_LINKS.encode()),
        f'<?xml version="1.0" encoding="utf-8"?>\n{TWO_LINKS}',
        f'<?xml version="1.0" encoding="ISO-8859-1"?>\n{TWO_LINKS}',
        f'<?xml version="1.0" encoding="utf-16"?>\n{TWO_LINKS}',
        f'\n  <?xml version="1.0"?>\n{TWO_LINKS}\n',
        f'\n  <?xml version="1.0"?>\n{TWO_LINKS}\n'.encode(),
        f'\ufeff<?xml version="1.0" encoding="utf-8"?>{TWO_LINKS}',
        f'<?xml version="1.0" encoding="utf-8"?>{TWO_LINKS}'.encode("utf-8-sig"),
        f'<?xml version="1.0" encoding="utf-16"?>{TWO_LINKS}'.encode("utf-16"),
        f"<!DOCTYPE robot>{TWO_LINKS}",
        TWO_LINKS.replace("<robot", '<robot xmlns:xacro="http://ros.org/wiki/xacro"'),
        TWO_LINKS.replace("<robot", '<robot xmlns="http://www.ros.org"'),
    ],
    ids=lambda text: f"{type(text).__name__}-{text[:30]!r}",
)
def test_parse_reads_every_way_to_write_the_same_text(text):
    read = urdf.parse(text)
    assert [item.name for item in read.links] == ["base", "link1"]
    assert [item.name for item in read.joints] == ["turn"]


def test_parse_decodes_names_by_the_encoding_of_bytes_and_leaves_a_str_alone():
    declared = '<?xml version="1.0" encoding="ISO-8859-1"?>' + robot(link("Gerät"))
    assert urdf.parse(declared).base_link == "Gerät"
    assert urdf.parse(declared.encode("latin-1")).base_link == "Gerät"


def test_parse_reads_past_what_is_not_the_robot():
    junk = """
      <!-- <link name="commented_out"/> -->
      <material/> <material name="m"><texture/></material>
      <transmission name="t"><joint name="turn"/><joint name="not_a_joint"/></transmission>
      <gazebo><link name="not_a_link"/><joint name="not_a_joint" type="ball"/></gazebo>
      <gazebo:joint xmlns:gazebo="http://gazebosim.org" name="other"/>
      <ros2_control name="c" type="system"><joint name="turn"/><joint name="x"/></ros2_control>
      <sensor name="s"><parent link="nowhere"/></sensor>"""
    mesh = '<visual><geometry><mesh filename="package://x"/></geometry><origin/></visual>'
    text = TWO_LINKS.replace("</robot>", junk + "</robot>").replace(
        "</inertial>", f"</inertial>{mesh}"
    )
    read = urdf.parse(text)
    assert [item.name for item in read.links] == ["base", "link1"]
    assert [item.name for item in read.joints] == ["turn"]


@pytest.mark.parametrize("axis", ["", "<axis/>"])
def test_defaults_of_a_robot_a_link_and_a_joint_of_the_same_name(axis):
    text = f"""<robot><link name="j"><inertial><mass value="2"/></inertial></link>
        <link name="tip"/><joint name="j" type="prismatic"><parent link="j"/><child link="tip"/>
        {axis}</joint></robot>"""
    robot = urdf.parse(text)
    (read,), inertial = robot.joints, robot.links[0].inertial
    assert (robot.name, inertial.mass, robot.links[1].inertial) == ("", 2, None)
    np.testing.assert_array_equal(inertial.inertia, np.zeros((3, 3)))
    np.testing.assert_array_equal(read.rotation, np.eye(3))
    np.testing.assert_array_equal(read.translation, np.zeros(3))
    np.testing.assert_array_equal(read.axis, [1, 0, 0])
    assert (read.lower, read.upper) == (-math.inf, math.inf)
    assert (read.velocity, read.effort) == (math.inf, math.inf)
    assert (read.damping, read.friction, read.mimic) == (0, 0, None)


@pytest.mark.parametrize(
    "axis", ["0 -2 0", "1 2 3", "-.5 .5 0", "1e-200 0 0", "1e200 1e200 0", "1.7e308 1.7e308 0"]
)
def test_axis_is_normalised(axis):
    direction = np.array([float(word) for word in axis.split()])
    direction /= np.abs(direction).max()
    direction /= np.abs(direction).max()
    np.testing.assert_allclose(
        only_joint(axis=axis).axis, direction / np.linalg.norm(direction), rtol=1e-15
    )


def test_numbers_may_be_written_loosely():
    limit = '<limit lower="-.334" upper=" 130" velocity="+1E2 " effort="\n7."/>'
    read = only_joint(inside=limit, xyz="\t1   -.5\n2e-1 ")
    assert (read.lower, read.upper, read.velocity, read.effort) == (-0.334, 130, 100, 7)
    np.testing.assert_array_equal(read.translation, [1, -0.5, 0.2])


@pytest.mark.parametrize(
    ("kind", "limit", "expected"),
    [
        ("revolute", "", (-math.inf, math.inf)),
        ("revolute", '<limit effort="1" velocity="2"/>', (-math.inf, math.inf)),
        ("revolute", '<limit lower="-1" upper="2"/>', (-1, 2)),
        ("revolute", '<limit lower="-1"/>', (-1, 0)),
        ("prismatic", '<limit upper="0.04"/>', (0, 0.04)),
        ("continuous", '<limit lower="-1" upper="1"/>', (-math.inf, math.inf)),
    ],
)
def test_range(kind, limit, expected):
    read = only_joint(kind=kind, inside=limit)
    assert (read.lower, read.upper) == expected


def test_fixed_joint_ignores_axis_limits_and_mimic():
    junk = '<limit lower="nan"/><mimic joint="nobody"/><dynamics damping="x"/>'
    read = only_joint(kind="fixed", axis="0 0 0", inside=junk)
    assert not read.moves
    assert read.mimic is None


def test_rpy_turns_about_fixed_axes_in_the_order_roll_pitch_yaw():
    def turn(axis, angle):
        cos, sin = np.cos(angle), np.sin(angle)
        return np.roll([[1, 0, 0], [0, cos, -sin], [0, sin, cos]], axis, axis=(0, 1))

    expected = turn(2, 1.9) @ turn(1, -0.7) @ turn(0, 0.3)
    np.testing.assert_allclose(only_joint(rpy="0.3 -0.7 1.9").rotation, expected, atol=1e-15)


def test_tree_has_parents_first_and_siblings_in_the_order_of_the_document():
    text = robot(
        *map(link, ["hand", "tool", "arm", "base", "head"]),
        joint("wrist", "arm", "hand"),
        joint("flange", "arm", "tool"),
        joint("neck", "base", "head"),
        joint("shoulder", "base", "arm"),
    )
    read = urdf.parse(text)
    assert read.base_link == "base"
    assert [item.name for item in read.joints] == ["wrist", "flange", "neck", "shoulder"]
    assert [item.name for item in read.tree] == ["neck", "shoulder", "wrist", "flange"]


def test_parse_of_deeply_nested_junk_does_not_recurse():
    text = "<robot>" + "<a>" * 100_000 + "</a>" * 100_000 + link("base") + "</robot>"
    assert urdf.parse(text).base_link == "base"


def test_parse_of_a_long_chain_does_not_recurse():
    count = 2_000
    links = [f'<link name="{k:x}"/>' for k in range(count)]
    joints = [
        f'<joint name="{k:x}" type="fixed"><parent link="{k - 1:x}"/><child link="{k:x}"/></joint>'
        for k in range(1, count)
    ]
    assert len(urdf.parse(robot(*links, *reversed(joints))).tree) == count - 1


def test_name_list_is_cut_short():
    assert name_list(["a", "b"]) == "'a', 'b'"
    assert name_list(["a", "b", "c"], limit=1) == "'a', and 2 more"


# URDF 1.1 and 1.2: quaternions, limits of acceleration, and what no version knows.


LIMIT = '<limit lower="-1" upper="1" velocity="2" effort="3" {}/>'


def arm(version=None, limit="", origin='rpy="0.3 -0.7 1.1"', inertial='rpy="-0.4 0.2 0.9"'):
    """Return a robot of two joints; ``origin`` and ``inertial`` turn the second."""
    second = joint("j2", "l1", "l2", inside=LIMIT.format(limit), axis="0 1 0")
    tip = link("l2", com="0.1 0.2 0.3", inertia=(0.02, 0.03, 0.04))
    text = robot(
        link("base"),
        link("l1"),
        tip.replace('rpy="0 0 0"', inertial),
        joint("j1", "base", "l1", inside=LIMIT.format("")),
        second.replace('rpy="0 0 0"', origin),
    )
    return text if version is None else text.replace("<robot ", f'<robot version="{version}" ')


def quaternion(roll, pitch, yaw, length=1.0):
    """Return quat_xyzw of the same turn: the product of three, about z, y and x."""
    (sr, cr), (sp, cp), (sy, cy) = (
        (math.sin(angle / 2), math.cos(angle / 2)) for angle in (roll, pitch, yaw)
    )
    x, y, z = sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy
    w = cr * cp * cy + sr * sp * sy
    return f'quat_xyzw="{" ".join(repr(length * part) for part in (x, y, z, w))}"'


@pytest.mark.parametrize("length", [1.0, -2.5, 1e-200, 1e200])
@pytest.mark.parametrize("version", ["1.1", "1.2"])
def test_a_quaternion_turns_as_the_same_angles_do(version, length, caplog):
    turned = arm(
        version,
        origin=quaternion(0.3, -0.7, 1.1, length),
        inertial=quaternion(-0.4, 0.2, 0.9, length),
    )
    expected, found = fr.Model.from_urdf(arm()), fr.Model.from_urdf(turned)
    state = np.random.default_rng(1).uniform(-1, 1, (3, 2))
    tau = fr.Dynamics(expected).rnea(*state)
    np.testing.assert_allclose(fr.Dynamics(found).rnea(*state), tau, rtol=1e-13)
    assert not caplog.records
    rewritten = fr.Model.from_urdf(expected.with_payload("l2", 1, (0, 0, 1)).to_urdf(turned))
    loaded = found.with_payload("l2", 1, (0, 0, 1))
    np.testing.assert_allclose(
        rewritten.inertial_parameters, loaded.inertial_parameters, rtol=1e-12, atol=1e-15
    )


def test_limits_of_acceleration_are_in_the_model():
    model = fr.Model.from_urdf(arm("1.2", 'acceleration="4" jerk="50"'))
    np.testing.assert_array_equal(model.acceleration_limit, [np.inf, 4])
    np.testing.assert_array_equal(model.deceleration_limit, [np.inf, 4])  # as urdfdom
    np.testing.assert_array_equal(model.jerk_limit, [np.inf, 50])
    model = fr.Model.from_urdf(arm("1.2", 'acceleration="4" deceleration="6"'), joints=["j2"])
    assert (model.acceleration_limit, model.deceleration_limit) == ([4], [6])
    for name in ("acceleration", "deceleration", "jerk"):
        with pytest.raises(ModelError, match=f"joint 'j2': <limit> '{name}' is -1, expected >= 0"):
            urdf.parse(arm("1.2", f'{name}="-1"'))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (arm("1.0", origin='quat_xyzw="0 0 0 1"'), ("'quat_xyzw' of <origin>", "'j2'")),
        (arm(None, 'jerk="1"'), ("'jerk' of <limit>", "'j2'")),
        (arm("1.1", 'acceleration="1"'), ("'acceleration' of <limit>", "'j2'")),
        (arm("1.2", 'accel="1"'), ("'accel' of <limit>", "'j2'")),
        (arm("1.2", origin='quat="0 0 0 1"'), ("'quat' of <origin>", "'j2'")),
        (arm("1.2", inertial='quat_wxyz="1 0 0 0"'), ("'quat_wxyz' of <origin>", "'l2'")),
        (arm().replace("<inertial>", '<inertial mass="3">', 1), ("'mass' of <inertial>", "'base'")),
        (arm().replace("ixx=", 'Ixy="1" ixx=', 1), ("'Ixy' of <inertia>", "'base'")),
        (arm("0.9"), ("declares version 0.9", "'test'")),
    ],
    ids=lambda value: "" if isinstance(value, str) else value[0],
)
def test_what_is_not_read_or_not_by_others_is_named(text, said, caplog):
    with caplog.at_level(logging.WARNING):
        fr.Model.from_urdf(text)
    (record,) = caplog.records
    assert all(part in record.getMessage() for part in said)
    (finding,) = [
        f for f in examine(text).findings if "urdf-v" in f.rule.name or "unk" in f.rule.name
    ]
    assert said[0] in finding.rule.fault


def test_prefixed_attributes_and_other_elements_are_left_alone(caplog):
    text = arm("1.2").replace("<limit ", '<limit x:soft="1" xmlns:x="http://x" ', 1)
    text = text.replace("</robot>", '<gazebo><limit foo="1"/></gazebo></robot>')
    fr.Model.from_urdf(text)
    assert not caplog.records


def test_a_thousand_attributes_make_no_long_message(caplog):
    limit = " ".join(f'a{k}="1"' for k in range(1000))
    fr.Model.from_urdf(arm("1.2", limit))
    assert len(caplog.text) < 5000


def test_a_fault_in_a_long_line_shows_little_of_it():
    with pytest.raises(ModelError) as refusal:
        urdf.parse(f"<robot>{chain('j') * 1_000} & </robot>")
    assert "& </robot>" in str(refusal.value) and len(str(refusal.value)) < 400


# Every kind of URDF that is refused, and whether the message helps.


LAUGHS = '<!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">'
ENTITIES = [
    f'<!DOCTYPE r [<!ENTITY a "lol">{LAUGHS}]><robot name="&c;"><link name="a"/></robot>',
    '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="a">&x;</robot>',
    '<!DOCTYPE r [<!ENTITY % x SYSTEM "http://localhost/x.dtd"> %x;]><robot name="a"/>',
]
MALFORMED = [
    *("", "   ", "robot", "<robot>", "<robot></link></robot>", "<robot/><robot/>"),
    *(b"\xff\xfe\x00", "<robot name='\x00'/>", "<robot name='\ud800'/>", b"<robot name='\xff'/>"),
    *(b'<?xml version="1.0" encoding="klingon"?><robot/>', "<robot a='1' a='2'/>"),
    *("<robot>&nbsp;</robot>", "${xacro}", '{"robot": 1}', "<a>" * 20_000),
]
TOO_LONG = [" " * 10_000_001, b"\n" * 10_000_001, "é" * 5_000_001]
MISSING = r"joint 'j'.*<{}>.*'link'"


def pair(*joints):
    """Return a URDF of links a, b and c with these joints: name, parent, child."""
    return robot(*map(link, "abc"), *(joint(*names) for names in joints))


def follower(inside):
    """Return a URDF in which joint b follows joint a; ``inside`` stands in b."""
    links = map(link, ["base", "left", "right"])
    return robot(*links, joint("a", "base", "left"), joint("b", "base", "right", inside=inside))


REFUSED = [  # what the message must name, and the text
    *(("URDF is not well-formed XML", text) for text in MALFORMED),
    *(("entities", encode(text)) for text in ENTITIES for encode in (str, str.encode)),
    *(("bytes long.*expected at most 10000000", text) for text in TOO_LONG),
    ("<sdf>.*expected <robot>", "<sdf><robot/></sdf>"),
    ("'a', 'b'.*expected one root link", robot(link("a"), link("b"))),
    ("'j'.*loop", robot(link("a"), joint("j", "a", "a"))),
    ("'j', 'k'.*loop", robot(link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a"))),
    ("'j', 'k'.*loop", pair(("j", "b", "c"), ("k", "c", "b"))),  # beside a tree
    ("'a'.*'j' and 'k'.*loops", pair(("j", "b", "a"), ("k", "b", "a"))),
    ("joint 'j'.*<parent link> 'x'", pair(("j", "x", "b"))),
    ("joint 'j'.*<child link> 'x'", pair(("j", "a", "x"))),
    *((MISSING.format(tag), re.sub(rf"<{tag} [^>]*>", new, chain("j")))
      for tag in ("parent", "child") for new in (f"<{tag}/>", "")),
    ("link name 'a'.*unique", robot(link("a"), link("a"))),
    ("joint name 'j'", pair(("j", "a", "b"), ("j", "a", "c"))),
    *((f"<{tag}> has no 'name'", f"<robot><{tag}/></robot>") for tag in ("link", "joint")),
    *((f"joint 'j'.*{kind!r}.*revolute, continuous, prismatic", chain("j", kind=kind))
      for kind in ("spherical", "ball", "Revolute", "")),
    ("joint 'j'.*missing", chain("j").replace(' type="revolute"', "")),
    *((f"link 'a'.*has no '{name}'", re.sub(rf' {name}="[^"]*"', "", robot(link("a"))))
      for name in ("value", "ixx", "iyy", "izz")),
    ("link 'a': <inertial><origin> 'xyz'", robot(link("a", com="0 0 nan"))),
    ("link 'a'.*-0.5.*>= 0", robot(link("a", mass=-0.5))),
    *(("joint 'j'.*<axis xyz>.*zero", chain("j", kind=kind, axis="0 0 0"))
      for kind in ("revolute", "continuous", "prismatic")),
    ("joint 'j': <mimic>.*'joint'", chain("j", inside="<mimic/>")),
    ("<robot> is in the XML namespace 'u'.*<link>",
     chain("j").replace("<robot", '<u:robot xmlns:u="u"').replace("</robot", "</u:robot")),
]  # fmt: skip


def idle(kind, *figures, xyz="0 0 0"):
    """Return a URDF in which joint idle moves link b, of these figures, alone."""
    links = (*map(link, ["base", "a"]), link("b", *figures), link("c", None))
    joints = joint("turn", "base", "a"), joint("idle", "a", "b", kind, xyz=xyz)
    return robot(*links, *joints, joint("f", "b", "c", "fixed", xyz=xyz))


ONCE = chain("j").replace("<robot", '<robot version="1.1"')
REFUSED += [
    *((r"<robot version> is .*expected 1\.0, 1\.1 or 1\.2", ONCE.replace("1.1", version))
      for version in ("1.3", "2.0", "2", "one", "", "1.0.0", "1." + 50 * "9")),
    *((said, ONCE.replace('xyz="0 0 0.3" rpy="0 0 0"', turn)) for turn, said in (
        ('rpy="0 0 0" quat_xyzw="0 0 0 1"', "joint 'j': <origin> has both"),
        ('quat_xyzw="0 0 0 0"', "'quat_xyzw' is zero"),
        ('quat_xyzw="0 0 1"', "expected 4 finite numbers"))),
    *((f"in line {line}, column .*{remedy}", encode(text)) for encode in (str, str.encode)
      for line, remedy, text in (
        (2, "a comment must not have --", "<robot>\n<!-- a -- b -->\n</robot>"),
        (5, "a comment must not have --", "\n\n  <robot>\n<!-- a\n --- -->\n</robot>"),
        (2, "&amp;", '<robot>\n <link name="a & b"/></robot>'),
        (2, "&amp;", "<robot>\n <link>x & y</link></robot>"),
        (3, "xmlns:xacro=", "<robot>\n\n <xacro:foo/></robot>"),
        (2, "is not declared", '<robot>\n <link a:name="x"/></robot>'),
        (2, "&quot;", '<robot>\n<link name="&nbsp;"/></robot>'))),
]  # fmt: skip
MASSLESS = {"frame": (None,), "zeros": (0.0, "1 1 1", (0, 0, 0))}
OF_MODELS = [
    *(("joint 'idle' moves no mass and no inertia", idle(kind, *figures))
      for kind in ("revolute", "prismatic") for figures in MASSLESS.values()),
    ("joint 'a' moves no mass",
     follower('<mimic joint="a" multiplier="0"/>').replace(link("left"), link("left", None))),
    ("mass of 'a'", idle("fixed", 1e308)),
    ("inertia of 'b'", idle("revolute", 1e50, "1e40 0 0")),
    ("inertia of 'b'", idle("revolute", 1, "0 0 0", (1e308,) * 3)),
    ("link_translation of 'b'", idle("fixed", 0, "0 0 0", xyz="0 1e120 0")),
    ("robot 'r' has no <link>", '<robot name="r"/>'),
    *((r"joint 'b': <mimic> comes to .*below 1e\+100",
       follower(f'<mimic joint="a" {figure}="-1e308"/>')) for figure in ("multiplier", "offset")),
    *((f"joint 'a': <dynamics> '{figure}' .* inf",
       follower(f'<mimic joint="a" multiplier="1e99"/><dynamics {figure}="1e300"/>'))
      for figure in ("damping", "friction")),
    *((f"joint '{name}': <dynamics {figure}> is -0.5", text(f'<dynamics {figure}="-0.5"/>'))
      for figure in ("damping", "friction")
      for name, text in {"j": lambda inside: chain("j", inside=inside),
                         "b": lambda inside: follower(inside + '<mimic joint="a"/>')}.items()),
]  # fmt: skip
test_what_is_refused_is_named = refusals(
    *((ModelError, f"(?s){said}", lambda text=text: urdf.parse(text)) for said, text in REFUSED),
    *((ModelError, said, lambda text=text: Model.from_urdf(text)) for said, text in OF_MODELS),
    *((TypeError, f"str or bytes, got {type(text).__name__}", lambda text=text: urdf.parse(text))
      for text in (None, 3, ["<robot/>"])),
)  # fmt: skip

NOT_NUMBERS = "nan|inf|-Infinity|1e999|| |1,5|1_0|0x10|1 2|${pi}|one".split("|")
NOT_VECTORS = "1 2|1 2 3 4||nan 0 0|0 inf 0|1,2,3|a b c".split("|")
INSIDE = {"limit": ("lower", "upper", "velocity", "effort"), "dynamics": ("damping", "friction")}
INSIDE["mimic"] = ("multiplier", "offset")
OF_LINK = ("value", "ixx", "iyy", "izz", "ixy", "ixz", "iyz")
FIGURES = [  # what the message must say, and the text
    *((f"<{element}> '{name}' is {value!r}, expected a finite number",
       chain("j", inside=f'<{element} joint="i" {name}="{value}"/>'))
      for element, names in INSIDE.items() for name in names for value in NOT_NUMBERS),
    *((f"'{name}' is {value!r}, expected a finite number",
       re.sub(rf'{name}="[^"]*"', f'{name}="{value}"', robot(link("a"))))
      for name in OF_LINK for value in ("nan", "", "one")),
    *((f"is {value!r}, expected 3 finite numbers", chain("j", **{name: value}))
      for name in ("xyz", "rpy", "axis") for value in NOT_VECTORS),
]  # fmt: skip


test_a_figure_that_is_not_finite_is_refused = refusals(
    *((f"^(joint 'j'|link 'a'): .*{re.escape(said)}", partial(urdf.parse, text))
      for said, text in FIGURES), error=ModelError,
)  # fmt: skip


def test_joints_that_move_something_are_not_refused():
    assert Model.from_urdf(idle("revolute", None), joints=["turn"]).n == 1
    text = follower('<mimic joint="a" multiplier="0.5"/>')
    assert Model.from_urdf(text.replace(link("left"), link("left", None))).joint_names == ("a",)


def test_parse_takes_text_of_just_ten_megabytes():
    text = chain("turn")
    assert urdf.parse(text + " " * (10_000_000 - len(text))).base_link == "base"
