"""What once misled evaluate and inspect: currents, degrees, missing tools, placeholders, grams."""

import json
import re

import known_arm
import numpy as np
import pytest

from featherstone_ros.inspection.doctor import examine
from featherstone_ros.model.finding import Severity
from featherstone_ros.model.robots import robot_file, robot_names
from featherstone_ros.tools import cli

pytest.importorskip("scipy")


@pytest.fixture
def evaluated(tmp_path, capsys):
    """Evaluate signals against the UR5e's own URDF; return output and scores."""

    def run(signals, *options):
        bag = known_arm.save(tmp_path / "arm.npz", signals)
        out = tmp_path / "scores.json"
        assert not cli.main(["evaluate", bag, "--urdf", "ur5e", "--json", str(out), *options])
        return " ".join(capsys.readouterr().out.split()), json.loads(out.read_text())

    return run


@pytest.mark.study
@pytest.mark.parametrize("gains", [9 / 4, [9, 9, 9, 4, 4, 4]])
def test_currents_are_not_taken_for_torque_without_gravity(evaluated, gains):
    t, q, qd, tau = known_arm.record(known_arm.NOMINAL)
    text, _ = evaluated((t, q, qd, tau / np.array(gains)))
    assert "without gravity" not in text
    assert "--current-gain" in text
    by_links = re.search("shoulder_lift_joint=([0-9.]+)", text)
    assert "measured torque is 0." in text or abs(float(by_links[1]) / 2.25 - 1.0) < 0.01


def test_positions_in_degrees_are_pointed_out(evaluated):
    t, q, qd, tau = known_arm.record(known_arm.NOMINAL)
    text, scores = evaluated((t, np.degrees(q), np.degrees(qd), tau))
    assert "degrees" in text and "degrees" in scores["suspicions"][0]


def test_a_tool_that_the_urdf_has_not_is_weighed(evaluated):
    truth = known_arm.NOMINAL.with_payload("tool0", 0.7, [0.0, 0.0, 0.05], 0.001 * np.eye(3))
    text, scores = evaluated(known_arm.record(truth))
    assert "looks like an unmodelled 0.7" in text
    assert scores["payload"]["mass"] == pytest.approx(0.7, abs=0.05)


def test_an_arm_as_its_urdf_says_carries_nothing(evaluated):
    text, scores = evaluated(known_arm.record(known_arm.NOMINAL))
    assert "unmodelled" not in text and scores["payload"] is None and not scores["suspicions"]


# The doctor.


def masses(text, change):
    return re.sub(r'(<mass value=)"([^"]*)"', lambda m: f'{m[1]}"{change(float(m[2])):g}"', text)


ONES = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
BARE = re.compile(r"<(collision|visual)>.*?</\1>", re.DOTALL)
FAULTS = {
    "ones": (
        lambda text: re.sub(r"<inertia [^>]*>", ONES, masses(text, lambda m: 1)),
        "placeholder-inertia",
        Severity.ERROR,
    ),
    "com at zero": (
        lambda text: re.sub(r'(<inertial>\s*<origin xyz=)"[^"]*"', r'\1"0 0 0"', text),
        "com-at-origin",
        Severity.WARNING,
    ),
    "grams without geometry": (
        lambda text: BARE.sub("", masses(text, lambda m: 1000 * m)),
        "gravity-beyond-effort",
        Severity.ERROR,
    ),
    "dense": (lambda text: masses(text, lambda m: 1000 * m), "units", Severity.ERROR),
    "weak": (
        lambda text: re.sub(r'effort="(87|150)"', 'effort="2"', text),
        "gravity-beyond-effort",
        Severity.ERROR,
    ),
}


@pytest.mark.parametrize("robot", robot_names())
@pytest.mark.parametrize("fault", FAULTS)
def test_a_robot_that_cannot_be_is_not_fit_for_dynamics(robot, fault):
    spoil, rule, severity = FAULTS[fault]
    inspection = examine(spoil(robot_file(robot).read_text()), robot_file(robot).parent)
    found = {finding.rule.name for finding in inspection.findings if finding.severity >= severity}
    assert rule in found


@pytest.mark.parametrize("robot", robot_names())
def test_a_sound_robot_has_none_of_that(robot):
    inspection = examine(robot_file(robot).read_text(), robot_file(robot).parent)
    rules = {finding.rule.name for finding in inspection.findings}
    assert not rules & {"placeholder-inertia", "com-at-origin", "gravity-beyond-effort", "units"}


def test_a_helper_link_is_one_note():
    helper = (
        '<link name="helper"><inertial><mass value="1e-8"/><inertia ixx="1e-5" iyy="1e-5" '
        'izz="1e-5"/></inertial></link><joint name="h" type="fixed"><parent link="tool0"/>'
        '<child link="helper"/></joint></robot>'
    )
    text = robot_file("ur5e").read_text().replace("</robot>", helper)
    findings = [f for f in examine(text).findings if f.name in ("helper", "h")]
    assert [(f.severity, f.rule.name) for f in findings] == [(Severity.NOTE, "negligible-mass")]


@pytest.mark.parametrize("width", [80, 130])
@pytest.mark.parametrize("robot", robot_names())
def test_no_figure_is_cut_off(robot, width, monkeypatch, capsys):
    from rich.console import Console

    from featherstone_ros.tools.inspect.report import tables

    inspection = examine(robot_file(robot).read_text(), robot_file(robot).parent)
    console = Console(width=width, force_terminal=True, no_color=True)
    with console.capture() as capture:
        console.print(tables(inspection, width))
    text = capture.get()
    assert "…" not in text and "mass" in text
    for link in inspection.robot.links:
        if link.inertial is not None and link.inertial.mass:
            assert f"{link.inertial.mass:.3g}" in text
