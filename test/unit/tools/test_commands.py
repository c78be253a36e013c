import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from refusals import refused_commands
from urdf_text import chain, geared_arm

from featherstone_ros import __version__
from featherstone_ros.control.gains import SampledLoop
from featherstone_ros.errors import GET_ROS, FeatherstoneError
from featherstone_ros.model import Model
from featherstone_ros.model.robots import robot_file
from featherstone_ros.tools import COMMANDS
from featherstone_ros.tools.demo import add_arguments
from featherstone_ros.tools.interruption import ended_by_signals
from featherstone_ros.tools.processes import NodeProcess, node_environment
from featherstone_ros.tools.proposal import propose
from featherstone_ros.tools.result import Result
from featherstone_ros.tools.robot_setup import described, load


def test_all_commands_are_listed(tool):
    for said in (tool("--help"), tool(status=2)):
        listed = {line.split()[0] for line in said.out.splitlines() if line.split()}
        assert {*COMMANDS} <= listed
    assert tool("--version") == f"featherstone-ros {__version__}"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_teaches_by_example_in_80_columns(tool, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    output = tool(command, "--help")
    assert f"featherstone-ros {command}" in output.out.partition("Examples:")[2]
    assert [line for line in output.out.splitlines() if len(line) > 80] == []


def test_help_loads_no_numpy(tmp_path):
    program = (
        "import sys; from featherstone_ros.tools.cli import main\n"
        f"for command in {list(COMMANDS)}:\n"
        "    try: main([command, '--help'])\n"
        "    except SystemExit: pass\n"
        "    assert 'numpy' not in sys.modules, command"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


NEEDS_URDF = {
    "setup": [],
    "run": [],
    "inspect": [],
    "evaluate": ["rec/"],
    "excite": ["--output=e.yaml"],
    "identify": ["monday/", "tuesday/"],
    "payload": ["--link=tool0", "rec/"],
    "preflight": ["plan.yaml"],
    "retime": ["--output=fast.yaml", "plan.yaml"],
}


@pytest.mark.parametrize("command", NEEDS_URDF)
@pytest.mark.parametrize(
    "given", [["arm.urdf"], ["--urdf", "arm.urdf"], ["--urdf=arm.urdf"]], ids=str
)
def test_the_description_has_a_place_and_an_option(command, given, monkeypatch, tool):
    seen = {}
    module = f"featherstone_ros.tools.{command}"
    monkeypatch.setattr(f"{module}.run", lambda args, _: seen.update(vars(args)) or Result())
    tool(command, *NEEDS_URDF[command], *given)
    assert seen["urdf"] == "arm.urdf"
    assert seen.get("bags", NEEDS_URDF["identify"]) == NEEDS_URDF["identify"]


@pytest.mark.parametrize("command", ["setup", "excite", "evaluate", "identify"])
def test_the_description_may_stand_after_the_joints(command, monkeypatch, tool):
    seen = {}
    module = f"featherstone_ros.tools.{command}"
    monkeypatch.setattr(f"{module}.run", lambda args, _: seen.update(vars(args)) or Result())
    tool(command, *NEEDS_URDF[command], "--joints", "elbow", "wrist", "arm.urdf")
    assert (seen["joints"], seen["urdf"]) == (["elbow", "wrist"], "arm.urdf")


def test_piped_output_has_whole_names_and_figures(tmp_path, tool, monkeypatch):
    name = "a_joint_whose_name_is_so_long_that_a_table_of_80_columns_would_cut_it_off"
    limit = '<limit lower="-1" upper="1" velocity="2" effort="90"/>'
    path = tmp_path / "arm.urdf"
    path.write_text(chain(name, "elbow", inside=limit))
    monkeypatch.setenv("COLUMNS", "80")
    shown = tool("inspect", path).out
    assert name in shown and "…" not in shown and "\x1b" not in shown


test_what_cannot_be_done_is_refused = refused_commands(
    {
        "x.png": None,
        "fixed.urdf": chain("mount", kind="fixed"),
        "bad.urdf": chain("mount", kind="welded"),
    },
    ("demo --model-error nan", 2, "nan is not a number from -99 to 1000"),
    ("run ur5e --namespace 2nd", 2, "'2nd' is no namespace: expected letters"),
    ("demo --model-error 1e9", 2, "1e9 is not a number from -99 to 1000"),
    ("demo --duration 1e300", 2, "1e300 is too large, expected at most 3600"),
    ("excite --urdf ur5e --output x.yaml --duration 1e300", 2, "1e300 is too large"),
    ("setup ur5e --bandwidth 1e300", 2, "1e300 is too large, expected at most 1000"),
    ("setup ur5e --gravity 0 0 1e300", 2, "--gravity: 1e300 is not a number from -100 to 100"),
    ("setup ur5e --gravity nan 0 0", 2, "--gravity: nan is not a number from -100 to 100"),
    ("setup ur5e --delay 0.5", 1, "--delay is 0.5 s, 250 periods of 0.002 s; expected at most 20"),
    ("setup ur5e --output .", 1, ". cannot be written: it is a folder"),
    ("identify x.mcap --urdf ur5e --output .", 1, ". cannot be written: it is a folder"),
    ("excite --urdf ur5e --output .", 1, ". cannot be written: it is a folder"),
    ("setup ur5e --output x.yaml", 1, "x.png cannot be written: it is a folder"),
    ("evaluate x.mcap ur5e --csv .", 1, ". cannot be written: it is a folder"),
    ("evaluate x.mcap ur5e --parameters .", 1, ". cannot be written: it is a folder"),
    ("payload x.mcap ur5e --link tool0 --json .", 1, ". cannot be written: it is a folder"),
    ("preflight x.yaml ur5e --fill-effort .", 2, ". cannot be written: it is a folder"),
    ("setup", 2, r"the following arguments are required: URDF \(or --urdf URDF\)"),
    ("evaluate x.mcap ur5e --filter-hz=0", 2, "--filter-hz"),
    ("evaluate x.mcap ur5e --filter-hz=inf", 2, "--filter-hz"),
    ("evaluate x.mcap --json x.json", 2, "the following arguments are required: URDF"),
    ("identify ur5e.urdf", 2, "the following arguments are required: URDF"),
    ("setup --joints ur5e.urdf", 2, "the following arguments are required: URDF"),
    ("inspect ur5e --urdf panda", 2, "URDF is given twice: ur5e and panda"),
    ("excite --urdf ur5e --output /dev/null/x", 1, "/dev/null/x cannot be written"),
    ("setup bad.urdf", 1, "/bad.urdf: joint 'mount': type is 'welded', expected one of"),
    ("run bad.urdf", 1, "/bad.urdf: joint 'mount': type is 'welded', expected one of"),
    ("demo --robot bad.urdf", 1, "/bad.urdf: joint 'mount': type is 'welded', expected"),
    ("demo --robot fixed.urdf", 1, "robot 'test' has no joint that moves: nothing to drive"),
    ("inspect nowhere.urdf", 1, "nowhere.urdf"),
    ("demonstrate", 2, "demo"),
    (
        "inspect panda --findigs",
        2,
        "usage: featherstone-ros inspect.*featherstone-ros inspect: error: unknown: --findigs$",
    ),
    ("run ur5e --parameters a.yaml b.yaml", 2, "unknown: b.yaml; --parameters .* be repeated$"),
    ("run ur5e --parameters a.yaml --findigs", 2, "unknown: --findigs$"),
    ("demo --rate 0", 2, "--rate"),
    ("demo --rate nan", 2, "--rate"),
    ("demo --rate fast", 2, "--rate"),
    ("demo --robot pandora --output out", 1, "featherstone-ros demo: .*'pandora'.*panda.*ur5e"),
    ("demo --robot nowhere/arm.urdf", 1, "featherstone-ros demo: .*'nowhere/arm.urdf'.*panda"),
    ("retime --link-speed tool0=-1", 2, "tool0=-1 is not LINK=V: -1 is not a positive"),
    ("retime --link-speed 0.2", 2, "0.2 is not LINK=V"),
    ("identify --load tool0=-2", 2, "tool0=-2 is not LINK=KG: -2 is not a positive"),
    ("identify --current-gain j1=0", 2, "j1=0 is not JOINT=K: 0 is not a number other"),
    ("identify --current-gain j1=much", 2, "j1=much is not JOINT=K: could not convert"),
)


def test_a_file_that_cannot_be_written_at_the_end_is_named(tmp_path, monkeypatch, tool):
    def fill_the_disk(*_):
        raise OSError(28, "No space left on device", "arm.json")

    monkeypatch.setattr("featherstone_ros.tools.inspect.run", fill_the_disk)
    error = tool("inspect", "ur5e", status=1).err
    assert error == "featherstone-ros inspect: arm.json: No space left on device\n"


@pytest.mark.parametrize("command", ["identify x.mcap --urdf ur5e", "evaluate x.mcap --urdf ur5e"])
def test_a_recording_that_is_missing_is_named_before_a_library_is(command, monkeypatch, tool):
    for library in ("rosbags.rosbag2", "scipy.optimize"):
        monkeypatch.setitem(sys.modules, library, None)
    assert "there is no x.mcap" in tool(*command.split(), status=1)


@pytest.mark.parametrize("module", ["rclpy", "matplotlib"])
def test_demo_says_what_to_install(tool, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)  # importing it fails
    error = tool("demo", status=1).err
    assert f"{module} cannot be imported" in error and "pip install" in error


def test_demo_is_limited_to_this_host_unless_asked(monkeypatch):
    import argparse

    def discovery_range(*arguments):
        parser = argparse.ArgumentParser()
        add_arguments(parser)
        return parser.parse_args(arguments).discovery_range

    monkeypatch.delenv("ROS_AUTOMATIC_DISCOVERY_RANGE", raising=False)
    assert discovery_range() == "LOCALHOST"
    assert discovery_range("--discovery-range", "SUBNET") == "SUBNET"
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    assert discovery_range() == "SUBNET"


def test_a_node_that_ends_is_reported_with_its_last_words(tmp_path):
    environment = node_environment(1, "LOCALHOST", tmp_path)
    with NodeProcess("no_such_node", [], environment, tmp_path) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(FeatherstoneError, match=r"no_such_node ended with .* 1") as error:
            process.check()
    assert "No module named featherstone_ros.no_such_node" in str(error.value)


def test_a_node_is_stopped_by_an_error_in_the_demo(tmp_path):
    environment = node_environment(1, "LOCALHOST", tmp_path)
    with pytest.raises(RuntimeError):
        with NodeProcess("tools.cli", [], environment, tmp_path) as process:
            raise RuntimeError
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, signal.SIG_DFL)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_node_is_being_started_leaves_no_node_behind(
    tmp_path, monkeypatch, signum
):
    """What a handler raises must not come between the process and its owner."""

    def popen(*arguments, **options):
        started.append(real(*arguments, **options))
        signal.raise_signal(signum)
        return started[0]

    started, real = [], subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", popen)
    with ended_by_signals(), pytest.raises(KeyboardInterrupt):
        NodeProcess("tools.cli", [], node_environment(1, "LOCALHOST", tmp_path), tmp_path)
    assert started[0].returncode is not None


def test_demo_drives_a_robot_of_its_own_parameters_with_what_setup_proposes(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(geared_arm())
    bare = described(str(path))
    assert not bare.files and not bare.parameters["feedforward_controller"]
    robot, proposal = load(str(path)), propose(path)
    assert robot.start == pytest.approx(proposal.start)
    rotors = robot.by_joint("digital_twin", "armature.{}")
    assert robot.has_assumed_drives and rotors == pytest.approx(proposal.rotors)
    p, d = (robot.by_joint("feedforward_controller", f"gains.{{}}.{kind}") for kind in "pd")
    assert (p >= proposal.gains.p).all()  # by the rotors, light joints get what was asked for
    assert SampledLoop(robot.model, rotors).worst(p, d) is None


def test_the_demos_twin_is_heavier_than_its_controller_believes():
    from featherstone_ros.tools.demo.play import node_parameters

    options = SimpleNamespace(real_time=False, rate=500.0)
    parameters = node_parameters(load("ur5e"), 0.1, options)
    twin, controller = (
        Model.from_urdf(parameters[node]["robot_description"]).inertial_parameters
        for node in ("digital_twin", "feedforward_controller")
    )
    assert twin == pytest.approx(1.1 * controller)


def test_a_reader_who_has_seen_enough_ends_a_command_without_a_traceback(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "featherstone_ros.tools.cli", "inspect", robot_file("panda")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=node_environment(1, "LOCALHOST", tmp_path) | {"PYTHONUNBUFFERED": "1"},
        cwd=tmp_path,
    )
    process.stdout.close()  # as head does
    complaint = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait() == 1
    assert "Traceback" not in complaint and "Broken pipe" not in complaint


@pytest.mark.parametrize(
    ("meanwhile", "signum", "status"),
    [("cli._parser", signal.SIGINT, 130),  # while the commands are imported
     ("inspect.run", signal.SIGINT, 130), ("inspect.run", signal.SIGTERM, 143)],
)  # fmt: skip
def test_signal_ends_a_command(meanwhile, signum, status, monkeypatch, tool):
    monkeypatch.setattr(
        f"featherstone_ros.tools.{meanwhile}", lambda *_: signal.raise_signal(signum)
    )
    assert tool("inspect", "ur5e", status=status).err == "interrupted\n"


# The nodes' --help and --version, answered before anything starts; what they say without ROS.


@pytest.mark.parametrize("node", ["feedforward_controller", "digital_twin"])
@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_help_and_version_are_told_and_start_nothing(node, flag, tmp_path):
    command = [sys.executable, "-X", "importtime", "-m", f"featherstone_ros.{node}", flag]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "rclpy" not in done.stderr
    if flag == "--version":
        assert done.stdout == f"{node} {__version__}\n"
    else:
        assert f"usage: {node}" in done.stdout and "robot_description" in done.stdout


@pytest.mark.parametrize("node", ["feedforward_controller", "digital_twin"])
def test_without_ros_one_line_says_how_to_get_it(node, tmp_path):
    code = (
        "import sys; sys.modules['rclpy'] = None; "  # as if it were not there
        f"from featherstone_ros.{node} import main; sys.exit(main([]))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{node}: cannot start: ") and "rclpy" in line
    assert line.endswith(GET_ROS)
    assert (done.returncode, done.stdout) == (1, "")
