"""Dependencies point down, as docs/architecture.md shows: what may import what."""

import ast
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import featherstone_ros
from featherstone_ros import control, model
from featherstone_ros.tools import COMMANDS

PACKAGE = Path(__file__).resolve().parents[2] / "featherstone_ros"
CORE = PACKAGE.parent / "cython_core"
# Each room, and the rooms whose modules it may import.
BELOW = {
    "realtime": set(),
    "model": set(),
    "kinematics": {"model"},
    "inspection": {"model"},
    "simulation": {"model", "control"},  # for the closed loop of both
    "observer": {"model"},
    "identification": {"model"},
    "control": {"model", "kinematics"},
}
BELOW["nodes"] = {*BELOW}
BELOW["tools"] = {*BELOW}
# Loose modules that every room may import; those that start a node belong to the nodes.
SHARED = {
    *("arrays", "parameter", "errors", "instruction_sets", "lazy"),
    *("message_faults", "message_templates", "operational_space", "progress", "text"),
}
PROGRAMS = {"digital_twin", "feedforward_controller"}
ROS = ("rclpy", "rcl_interfaces", "launch")
MAY_USE_ROS = {"nodes", "tools"}
IMPORT = r"^ *((?:import|from [\w.]+ import) (?:\([^)]*\)|.*))"  # has a line of its own, by ruff


@cache
def imports(path):
    """Return the modules that a file imports, with full names, wherever in it."""
    names = set()
    folder = ("featherstone_ros", *path.relative_to(PACKAGE).parent.parts)
    lines = re.findall(IMPORT, path.read_text(), re.M)  # all of a file takes long to parse
    for node in ast.parse("\n".join(lines)).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = folder[: len(folder) - node.level + 1] if node.level else ()
            module = ".".join((*base, *([node.module] if node.module else ())))
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return names


def room_of(module):
    """Return the room of a module of ours, by its name without that of the package."""
    name = module.split(".")[0]
    return "nodes" if name in PROGRAMS else name


@cache
def files():
    """Return (room, path, the rooms that it imports from) of each file; the package's own is none.

    What the package exports and what is compiled is open to all.
    """
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        room = room_of(path.relative_to(PACKAGE).with_suffix("").parts[0])
        own = {name.partition(".")[2] for name in imports(path) if name.startswith(PACKAGE.name)}
        rooms = {room_of(name) for name in own}
        if room not in SHARED | {"__init__", "_core"}:
            found.append((room, path, rooms & {*BELOW, *SHARED, *PROGRAMS}))
    return found


def test_every_module_is_in_a_room():
    assert {room for room, *_ in files()} == set(BELOW)


@pytest.mark.parametrize("room", BELOW)
def test_a_room_uses_those_below_it_alone(room):
    for at, path, used in files():
        if at == room:
            assert used <= BELOW[room] | SHARED | {room}, path


def test_shared_modules_use_none_of_the_rooms():
    for name in SHARED:
        used = {room_of(module.partition(".")[2]) for module in imports(PACKAGE / f"{name}.py")}
        assert not used & set(BELOW), name


def test_logic_does_not_need_ros():
    for room, path, _ in files():
        if room not in MAY_USE_ROS:
            foreign = {name.split(".")[0] for name in imports(path)}
            assert not {name for name in foreign if name in ROS or name.endswith("_msgs")}, path


def test_what_commands_share_stands_beside_them():
    """No command imports another, and what they share imports none."""
    of_commands = {f"featherstone_ros.tools.{name}": name for name in COMMANDS}
    found = {
        f"{path.relative_to(PACKAGE)}: {module}"
        for path in (PACKAGE / "tools").rglob("*.py")
        for module in imports(path)
        for command in [of_commands.get(".".join(module.split(".")[:3]))]
        if command and command not in (path.stem, path.parent.name)
    }
    assert len(COMMANDS) > 10 and not found


def test_signals_interrupt_no_call_of_rclpys_that_makes_messages():
    """Tools leave these to one module."""
    for path in (PACKAGE / "tools").rglob("*.py"):
        called = re.findall(r"\.spin_once\(|take_message|deserialize_message", path.read_text())
        assert not called or path.name == "rclpy_calls.py", path


def test_events_of_the_controller_are_fired_in_one_file():
    """What changes its phase can be read in one place."""
    fired = {
        path.name
        for path in (CORE / "control").glob("*.p*")
        if re.search(r"(?<!\bbint )\bfire\(|cimport[^\n]*\bfire\b", path.read_text())
    }
    assert fired == {"phase_changes.pxd"}


def test_no_two_constants_of_the_compiled_code_share_a_name():
    """C's preprocessor knows no modules: the second #define would change the first one's file."""
    names = [
        name
        for path in CORE.rglob("*.p*")
        for name in re.findall(r"#define (\w+)", path.read_text())
    ]
    assert len(names) > 50
    assert not {name for name, count in Counter(names).items() if count > 1}


# Packages list what they export, and load it when it is asked for.


@pytest.mark.parametrize("package", [featherstone_ros, control, model], ids=lambda p: p.__name__)
def test_what_a_package_lists_is_there(package):
    assert {*package.__all__} <= {*dir(package)}
    assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no .*'torqe'"):
        _ = package.torqe


MODULES = "fr.errors, fr.identification, fr.model.urdf, fr.control.settings, fr.control.retiming"
NUMPY = """
import sys; assert 'numpy' not in sys.modules
assert fr.Model.__module__ == 'featherstone_ros.model.model' and 'numpy' in sys.modules"""


@pytest.mark.parametrize("asked", [MODULES, NUMPY], ids=["modules", "nothing slow before"])
def test_what_is_asked_for_is_there_and_no_sooner(tmp_path, asked):
    program = f"import featherstone_ros as fr\n{asked}"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
