"""Every kind of URDF that is refused, and whether the message helps."""

import re

import pytest
from each import each
from urdf_text import chain, joint, link, robot

from featherstone_ros import Model
from featherstone_ros.errors import FeatherstoneError, ModelError
from featherstone_ros.model import urdf

BILLION_LAUGHS = """<!DOCTYPE lolz [
  <!ENTITY lol "lol">
  <!ENTITY lol1 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">
  <!ENTITY lol2 "&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;">
]><robot name="&lol2;"><link name="a"/></robot>"""
EXTERNAL = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="a">&x;</robot>'
PARAMETER = '<!DOCTYPE r [<!ENTITY % x SYSTEM "http://localhost/x.dtd"> %x;]><robot name="a"/>'


def assert_refused(text, *said):
    """Check that the text is refused and that the message says each of these."""
    with pytest.raises(ModelError) as refusal:
        urdf.parse(text)
    for part in said:
        assert part in str(refusal.value)


@pytest.mark.parametrize(
    "text",
    ["", "   ", "robot", "<robot>", "<robot></link></robot>", "<robot/><robot/>", b"\xff\xfe\x00",
     "<robot name='\x00'/>", "<robot name='\ud800'/>", b"<robot name='\xff'/>",
     b'<?xml version="1.0" encoding="klingon"?><robot/>', "<robot a='1' a='2'/>",
     "<robot>&nbsp;</robot>", "${xacro}", '{"robot": 1}'],
)  # fmt: skip
def test_parse_raises_if_malformed(text):
    assert_refused(text, "URDF is not well-formed XML")


@pytest.mark.parametrize("text", [BILLION_LAUGHS, EXTERNAL, PARAMETER])
@pytest.mark.parametrize("encode", [str, str.encode], ids=["str", "bytes"])
def test_parse_raises_if_entities_are_declared(text, encode):
    assert_refused(encode(text), "entities")


@pytest.mark.parametrize("text", [" " * 10_000_001, b"\n" * 10_000_001, "é" * 5_000_001])
def test_parse_raises_if_longer_than_ten_megabytes(text):
    assert_refused(text, "bytes long", "expected at most 10000000")


def test_parse_takes_text_of_just_ten_megabytes():
    text = chain("turn")
    assert urdf.parse(text + " " * (10_000_000 - len(text))).base_link == "base"


@pytest.mark.parametrize("text", [None, 3, ["<robot/>"]])
def test_parse_raises_if_not_text(text):
    with pytest.raises(TypeError, match=f"str or bytes, got {type(text).__name__}"):
        urdf.parse(text)


def test_parse_raises_if_root_is_not_robot():
    assert_refused("<sdf><robot/></sdf>", "<sdf>", "expected <robot>")


def test_parse_raises_if_several_roots():
    assert_refused(robot(link("a"), link("b")), "'a', 'b'", "expected one root link")


@pytest.mark.parametrize(
    ("joints", "said"),
    [
        (joint("j", "a", "a"), ("'j'", "loop")),
        (joint("j", "a", "b") + joint("k", "b", "a"), ("'j', 'k'", "loop")),
        (joint("j", "b", "a") + joint("k", "b", "a"), ("'a'", "'j' and 'k'", "loops")),
    ],
    ids=["self", "circle", "two parents"],
)
def test_parse_raises_if_loop(joints, said):
    assert_refused(robot(link("a"), link("b"), joints), *said)


def test_parse_raises_if_loop_beside_a_tree():
    assert_refused(
        robot(*map(link, "abc"), joint("j", "b", "c"), joint("k", "c", "b")), "'j', 'k'", "loop"
    )


@pytest.mark.parametrize(
    ("parent", "child", "said"),
    [("x", "b", "<parent link> 'x'"), ("a", "x", "<child link> 'x'")],
)
def test_parse_raises_if_parent_or_child_is_unknown(parent, child, said):
    assert_refused(robot(link("a"), link("b"), joint("j", parent, child)), "joint 'j'", said)


@pytest.mark.parametrize("tag", ["parent", "child"])
@pytest.mark.parametrize("replacement", ["<{}/>", ""])
def test_parse_raises_if_parent_or_child_is_missing(tag, replacement):
    text = re.sub(rf"<{tag} [^>]*>", replacement.format(tag), chain("j"))
    assert_refused(text, "joint 'j'", f"<{tag}>", "'link'")


def test_parse_raises_if_names_are_not_unique():
    assert_refused(robot(link("a"), link("a")), "link name 'a'", "unique")
    assert_refused(
        robot(*map(link, "abc"), joint("j", "a", "b"), joint("j", "a", "c")), "joint name 'j'"
    )


@pytest.mark.parametrize("tag", ["link", "joint"])
def test_parse_raises_if_name_is_missing(tag):
    assert_refused(f"<robot><{tag}/></robot>", f"<{tag}> has no 'name'")


@pytest.mark.parametrize("kind", ["spherical", "ball", "Revolute", ""])
def test_parse_raises_if_joint_type_is_not_supported(kind):
    assert_refused(
        chain("j", kind=kind), "joint 'j'", repr(kind), "revolute, continuous, prismatic"
    )


def test_parse_raises_if_joint_type_is_missing():
    assert_refused(chain("j").replace(' type="revolute"', ""), "joint 'j'", "missing")


NOT_NUMBERS = [
    "nan",
    "inf",
    "-Infinity",
    "1e999",
    "",
    " ",
    "1,5",
    "1_0",
    "0x10",
    "1 2",
    "${pi}",
    "one",
]


@each("value", NOT_NUMBERS)
@pytest.mark.parametrize(
    ("element", "attribute"),
    [("limit", "lower"), ("limit", "upper"), ("limit", "velocity"), ("limit", "effort"),
     ("dynamics", "damping"), ("dynamics", "friction")],
)  # fmt: skip
def test_parse_raises_if_figure_of_joint_is_not_a_finite_number(element, attribute, value):
    text = chain("j", inside=f'<{element} {attribute}="{value}"/>')
    assert_refused(text, f"joint 'j': <{element}> '{attribute}' is {value!r}", "a finite number")


@each("value", NOT_NUMBERS)
@pytest.mark.parametrize("attribute", ["multiplier", "offset"])
def test_parse_raises_if_figure_of_mimic_is_not_a_finite_number(attribute, value):
    text = chain("i", "j", inside=f'<mimic joint="i" {attribute}="{value}"/>')
    assert_refused(text, f"<mimic> '{attribute}' is {value!r}", "a finite number")


@each("value", ["nan", "", "one"])
@pytest.mark.parametrize("attribute", ["value", "ixx", "iyy", "izz", "ixy", "ixz", "iyz"])
def test_parse_raises_if_figure_of_link_is_not_a_finite_number(attribute, value):
    text = re.sub(rf'{attribute}="[^"]*"', f'{attribute}="{value}"', robot(link("a")))
    assert_refused(text, "link 'a'", f"'{attribute}' is {value!r}", "a finite number")


@pytest.mark.parametrize("attribute", ["value", "ixx", "iyy", "izz"])
def test_parse_raises_if_figure_of_link_is_missing(attribute):
    text = re.sub(rf' {attribute}="[^"]*"', "", robot(link("a")))
    assert_refused(text, "link 'a'", f"has no '{attribute}'")


@each("value", ["1 2", "1 2 3 4", "", "nan 0 0", "0 inf 0", "1,2,3", "a b c"])
@pytest.mark.parametrize("attribute", ["xyz", "rpy", "axis"])
def test_parse_raises_if_vector_is_not_three_finite_numbers(attribute, value):
    element = "axis" if attribute == "axis" else "origin"
    assert_refused(
        chain("j", **{attribute: value}),
        f"joint 'j': <{element}>", f"is {value!r}", "3 finite numbers",
    )  # fmt: skip


def test_parse_raises_if_origin_of_inertial_is_not_finite():
    assert_refused(robot(link("a", com="0 0 nan")), "link 'a': <inertial><origin> 'xyz'")


def test_parse_raises_if_mass_is_negative():
    assert_refused(robot(link("a", mass=-0.5)), "link 'a'", "-0.5", ">= 0")


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic"])
def test_parse_raises_if_axis_of_moving_joint_is_zero(kind):
    assert_refused(chain("j", kind=kind, axis="0 0 0"), "joint 'j'", "<axis xyz>", "zero")


def test_parse_raises_if_mimic_has_no_leader():
    assert_refused(chain("j", inside="<mimic/>"), "joint 'j': <mimic>", "'joint'")


def test_refusals_can_be_caught_as_the_base_of_all_errors_and_as_value_error():
    assert issubclass(ModelError, FeatherstoneError)
    assert issubclass(ModelError, ValueError)


# Absurd figures and names -------------------------------------------------------------------------


def follower(inside):
    """Return a URDF in which joint b follows joint a; ``inside`` stands in b."""
    links = map(link, ["base", "left", "right"])
    return robot(*links, joint("a", "base", "left"), joint("b", "base", "right", inside=inside))


@pytest.mark.parametrize("figure", ["multiplier", "offset"])
def test_model_raises_if_a_mimic_has_a_figure_out_of_bounds(figure):
    with pytest.raises(ModelError, match=r"joint 'b': <mimic> comes to .*below 1e\+100"):
        Model.from_urdf(follower(f'<mimic joint="a" {figure}="-1e308"/>'))


@pytest.mark.parametrize("figure", ["damping", "friction"])
def test_model_raises_if_friction_adds_up_to_infinity(figure):
    inside = f'<mimic joint="a" multiplier="1e99"/><dynamics {figure}="1e300"/>'
    with pytest.raises(ModelError, match=f"joint 'a': <dynamics> '{figure}' .* inf"):
        Model.from_urdf(follower(inside))


def test_model_of_a_deeply_nested_text_is_read_or_refused():
    inner = "<a>" * 20_000 + "</a>" * 20_000
    assert Model.from_urdf(f"<robot>{link('base')}{inner}</robot>").n == 0
    with pytest.raises(ModelError, match="not well-formed"):
        Model.from_urdf("<a>" * 20_000)


# What would be read, and mean something else ------------------------------------------------------


def test_model_raises_if_there_is_no_link():
    with pytest.raises(ModelError, match="robot 'r' has no <link>"):
        Model.from_urdf('<robot name="r"/>')


def test_parse_raises_if_only_the_robot_has_a_namespace():
    text = chain("j").replace("<robot", '<u:robot xmlns:u="u"').replace("</robot", "</u:robot")
    assert_refused(text, "<robot> is in the XML namespace 'u'", "<link>")


@pytest.mark.parametrize("figure", ["damping", "friction"])
@pytest.mark.parametrize("text", [chain("j", inside="{}"), follower("{}")], ids=["own", "follower"])
def test_model_raises_if_friction_is_negative(figure, text):
    name = "b" if 'name="b"' in text else "j"
    inside = f'<dynamics {figure}="-0.5"/>' + ('<mimic joint="a"/>' if name == "b" else "")
    with pytest.raises(ModelError, match=f"joint '{name}': <dynamics {figure}> is -0.5"):
        Model.from_urdf(text.replace("{}", inside))
