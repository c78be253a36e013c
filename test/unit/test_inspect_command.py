"""featherstone-ros inspect: tables, findings, JSON and the exit status."""

import json

import pytest
from rich.console import Console
from test_inspection_geometry import write_stl
from urdf_text import joint, link, robot

from featherstone_ros.inspection.doctor import examine
from featherstone_ros.model.robots import robot_file
from featherstone_ros.tools import cli
from featherstone_ros.tools.inspect.report import tables

LIMITS = '<limit lower="-1" upper="1" effort="{}" velocity="3"/>'


def arm(effort=9, **of_link):
    parts = [link("base"), link("arm", **of_link)]
    return robot(*parts, joint("elbow", "base", "arm", inside=LIMITS.format(effort)))


@pytest.fixture
def inspect(tmp_path, capsys):
    def run(text, *options):
        path = tmp_path / "arm.urdf"
        path.write_text(text)
        status = cli.main(["inspect", str(path), *options])
        return status, capsys.readouterr().out

    return run


def test_sound_arm_passes(inspect):
    assert cli.main(["inspect", "nowhere.urdf"]) == 1
    status, output = inspect(arm())
    assert status == 0 and "Nothing found" in output
    for word in ("arm", "elbow", "revolute", "0.02", "0.03", "0.04"):
        assert word in output


def test_warning_passes_with_element_rule_and_consequence(inspect):
    status, output = inspect(arm(effort=0))
    assert status == 0
    for words in (
        "warning",
        'has effort="0"',
        "joint 'elbow'",
        "it cannot be driven",
        "1 warning.",
    ):
        assert words in output


def test_error_is_exit_status_1(inspect):
    status, output = inspect(arm(inertia=(0, 0, 0)), "--findings")
    assert status == 1 and "link 'arm'" in output and "centre of mass\n" not in output
    assert inspect("<robot")[0] == 1
    status, output = inspect(arm(inertia=(1, 1, -3)), "--findings")
    assert status == 1 and "link 'arm'" in output and "not positive definite" in output


def test_robot_that_floats_is_inspected_by_the_joints_that_move(inspect):
    """A humanoid's root; nothing else is wrong, nor does anything hide what else is."""
    for effort, verdict in ((20, "Nothing found"), (0.1, "gravity-beyond-effort")):
        limits = LIMITS.format(effort)
        text = robot(
            *(link("world", mass=None), link("torso"), link("arm", com="0.2 0 0.1")),
            joint("root", "world", "torso", "floating"),
            joint("shoulder", "torso", "arm", axis="0 1 0", inside=limits),
        )
        status, output = inspect(text, "--findings")
        assert status == 1 and "root" in output and "refused" in output
        assert "--joints" in output and 'base="floating"' in output
        status, output = inspect(text, "--findings", "--joints", "shoulder")
        assert "refused" not in output and verdict in output
        findings = examine(text, base="floating").findings
        assert {f.rule.name for f in findings if f.severity} <= {verdict}
    assert inspect(text, "--joints", "elbow")[0] == 1


def test_json_has_tables_and_findings(inspect):
    status, output = inspect(arm(effort=0, mass=2), "--json")
    result = json.loads(output)
    assert status == 0 and result["warnings"] == 1 and result["errors"] == 0
    assert result["links"][1]["mass"] == 2 and result["links"][1]["principal_moments"][2] == 0.04
    assert result["joints"][0]["effort"] == 0 and result["joints"][0]["damping"] == 0
    (finding,) = result["findings"]
    assert finding["severity"] == "warning" and finding["rule"] == "effort-zero"
    assert (finding["kind"], finding["name"]) == ("joint", "elbow") and finding["consequence"]


def test_hostile_names_are_printed_as_they_are(inspect):
    name = "[red]base[/nothing]"
    output = inspect(robot(link(name), link("b"), joint("j", name, "b")))[1]
    assert name in output


def test_notes_of_one_rule_are_not_a_page_and_a_link_to_the_file_finds_its_meshes(
    inspect, tmp_path, capsys
):
    far = '<visual><geometry><mesh filename="arm.stl"/></geometry></visual>'
    links = [link("l0"), *(link(f"l{k}").replace("</link>", f"{far}</link>") for k in range(1, 9))]
    joints = (joint(f"j{k}", f"l{k - 1}", f"l{k}", inside=LIMITS.format(9)) for k in range(1, 9))
    text = robot(*links, *joints)
    output = inspect(text)[1]
    assert output.count("arm.stl: not found") == 4 and "and 4 more (--json lists all)" in output
    assert inspect(text, "--json")[1].count("size-unknown") == 8

    write_stl(tmp_path / "arm.stl")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "linked.urdf").symlink_to(tmp_path / "arm.urdf")
    assert cli.main(["inspect", str(elsewhere / "linked.urdf")]) == 0
    assert "not found" not in capsys.readouterr().out


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
