"""The whole benchmark in a few rounds: what it says and writes, not how fast anything is."""

import contextlib
import io
import json

import pytest

from featherstone_ros.tools import cli
from featherstone_ros.tools.bench import callgrind, sections, session
from featherstone_ros.tools.bench.instruction_sets import NAMES, in_use
from featherstone_ros.tools.bench.results import Result
from featherstone_ros.tools.bench.sections import NODES, SECTIONS

RACED = {name: section for name, section in SECTIONS.items() if name != NODES}  # NODES: test/ros


def bench(*arguments):
    """Return the exit status and the output of the command."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        status = cli.main(["bench", *map(str, arguments)])
    return status, text.getvalue()


@pytest.fixture
def undrawn(monkeypatch):
    """Leave the picture out, which takes as long as the race."""
    monkeypatch.setattr("featherstone_ros.tools.bench.picture.draw", lambda *drawn: None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bench")


@pytest.fixture(scope="module")
def output(folder):
    """What a quick run of everything but the nodes prints."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "200")
        status, text = bench("--quick", *(f"--only={name}" for name in RACED), "--output", folder)
    assert status == 0
    return text


@pytest.fixture(scope="module")
def report(output, folder):
    """What it writes."""
    return json.loads((folder / "report.json").read_text())


@pytest.mark.parametrize(("name", "section"), RACED.items(), ids=RACED)
def test_every_section_is_printed_and_written_or_named_as_skipped(name, section, output, report):
    raced = any(result["section"] == name for result in report["results"])
    assert section.title in " ".join(output.split())
    assert raced or any(section.title in text for text in report["skipped"])


def test_every_result_can_be_read_again(report):
    assert report["results"]
    for values in report["results"]:
        result = Result.from_dict(values)
        assert json.loads(json.dumps(result.as_dict())) == values
        assert result.ours > 0 and result.ratio > 0 and result.rounds >= 3


def test_every_instruction_set_is_raced_or_the_reason_given(output, report):
    pytest.importorskip("pinocchio")  # what is raced on all of them is raced against it
    assert report["instruction_sets"][in_use()] == "raced"
    assert set(report["instruction_sets"]) == {*NAMES, in_use()}
    for name, state in report["instruction_sets"].items():
        raced = {r["section"] for r in report["results"] if r["instruction_set"] == name}
        assert raced >= set(session.ON_EVERY_SET) if state == "raced" else not raced
        assert name in output


def test_the_machine_and_the_peers_are_written_down(report):
    assert report["machine"]["processor"] and report["machine"]["cores"]
    assert {"numpy", "pin", "mujoco"} <= set(report["machine"]["versions"])


def test_the_picture_is_one(output, folder):
    pytest.importorskip("matplotlib")
    assert (folder / "report.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("undrawn")
def test_absent_peers_are_named_with_what_helps(monkeypatch, tmp_path):
    monkeypatch.setattr(sections, "find_spec", lambda name: None)
    monkeypatch.setattr(session, "NAMES", {})
    monkeypatch.setenv("COLUMNS", "200")
    only = [f"--only={name}" for name in ("single", "simulation", NODES)]
    status, text = bench("--quick", *only, "--output", tmp_path)
    assert status == 0
    for peer in ("pinocchio", "mujoco"):
        assert f"{peer} is not installed (pip install" in text
    assert "rclpy is not installed (source a ROS 2" in text
    assert all(SECTIONS[name].title in text for name in ("single", "simulation", NODES))


@pytest.mark.usefixtures("undrawn")
def test_an_instruction_set_that_cannot_be_had_is_reported(monkeypatch, tmp_path):
    pytest.importorskip("pinocchio")
    monkeypatch.setattr(session, "NAMES", {"no-such-set": ""})
    bench("--quick", "--only=single", "--output", tmp_path)
    states = json.loads((tmp_path / "report.json").read_text())["instruction_sets"]
    assert states[in_use()] == "raced" and states["no-such-set"].startswith("not raced here: ")


@pytest.mark.usefixtures("undrawn")
def test_a_robot_of_ones_own(tmp_path):
    arguments = ("--quick", "--only=threads", "--robot=ur5e", "--output", tmp_path)
    assert bench(*arguments)[0] == 0
    results = json.loads((tmp_path / "report.json").read_text())["results"]
    assert {result["robot"] for result in results} == {"ur5e"}


def test_unknown_robot_is_reported(capsys, tmp_path):
    assert cli.main(["bench", "--quick", "--robot=pandora", "--output", str(tmp_path)]) == 1
    assert "pandora" in capsys.readouterr().err


def test_callgrind_without_valgrind_says_so(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cli.main(["bench", "--callgrind", "--output", str(tmp_path)]) == 1
    assert "valgrind is not installed" in capsys.readouterr().err


def test_instructions_are_counted_once_and_where_they_are(tmp_path):
    dump = tmp_path / "dump"
    dump.write_text(
        """# callgrind format
positions: line
events: Ir
summary: 1111

ob=(1) /core.so
fl=(1) core.c
fn=(1) rnea
10 100
+2 10
cob=(2) /libm.so
cfi=(2) sin.c
cfn=(2) sin
calls=7 0
* 1000

ob=(2)
fn=(2)
3 600
-1 400

ob=(1)
fn=(3) crba
9 1
"""
    )
    assert callgrind.instructions(dump) == {"/core.so": 111, "/libm.so": 1000}
