"""Every kind of URDF that is refused, and whether the message helps."""

import re

import pytest
from each import each
from refusals import refusals
from urdf_text import chain, joint, link, robot

from featherstone_ros import Model
from featherstone_ros.errors import ModelError
from featherstone_ros.model import urdf

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


@each("figure", FIGURES)
def test_a_figure_that_is_not_finite_is_refused(figure):
    said, text = figure
    with pytest.raises(ModelError, match=f"^(joint 'j'|link 'a'): .*{re.escape(said)}"):
        urdf.parse(text)


def test_joints_that_move_something_are_not_refused():
    assert Model.from_urdf(idle("revolute", None), joints=["turn"]).n == 1
    text = follower('<mimic joint="a" multiplier="0.5"/>')
    assert Model.from_urdf(text.replace(link("left"), link("left", None))).joint_names == ("a",)


def test_parse_takes_text_of_just_ten_megabytes():
    text = chain("turn")
    assert urdf.parse(text + " " * (10_000_000 - len(text))).base_link == "base"
