"""Dependencies point down, as docs/architecture.md shows: what may import what."""

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "featherstone_ros"
PRODUCT = {"control", "simulation", "shadow", "realtime", "nodes"}
TOOLS = {"commands", "demo", "bench", "evaluation", "identification", "monitoring"}
ROS = ("rclpy", "rcl_interfaces", "launch")
WITHOUT_ROS = {"control", "simulation", "shadow", "reference", "inspection", "evaluation"}
# The model warns of what no body can be, by the doctor's rules; the doctor needs models.
LEFT = {("model.py", "inspection")}
# One service is a tool: it finds a payload, when asked to, and imports that then.
ON_DEMAND = {"payload_service.py": {"evaluation", "identification"}}


def imports(path):
    """Return the modules that a file imports, with full names, wherever in it."""
    names = set()
    folder = ("featherstone_ros", *path.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = folder[: len(folder) - node.level + 1] if node.level else ()
            module = ".".join((*base, *([node.module] if node.module else ())))
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return names


@cache
def files():
    """Return (room, path, the rooms and modules of the package that it imports) of each file."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        names = imports(path)
        parts = [name.split(".") for name in names if name.startswith("featherstone_ros.")]
        found.append((path.relative_to(PACKAGE).parts[0], path, {own[1] for own in parts}))
    return found


def test_the_product_does_not_use_the_tools():
    for room, path, used in files():
        if room in PRODUCT:
            assert not used & TOOLS - ON_DEMAND.get(path.name, set()), path


def test_nothing_below_the_nodes_uses_them():
    for room, path, used in files():
        if room in PRODUCT - {"nodes"} | {"inspection", "evaluation", "model.py", "urdf.py"}:
            assert "nodes" not in used, path


def test_models_know_nothing_of_what_is_done_with_them():
    above = PRODUCT | TOOLS | {"inspection", "preflight", "reference"}
    for name in (
        "urdf.py",
        "coordinates.py",
        "body_tree.py",
        "tree.py",
        "primitives.py",
        "model.py",
    ):
        used = {own for room, _, own_rooms in files() if room == name for own in own_rooms}
        assert {(name, own) for own in used & above} <= LEFT


def test_the_reference_stands_alone():
    for room, path, used in files():
        if room == "reference":
            assert used <= {"reference", "errors"}, path
        elif room in PRODUCT | TOOLS:
            assert "reference" not in used, path


def test_logic_does_not_need_ros():
    for room, path, _ in files():
        if room in WITHOUT_ROS:
            foreign = {name.split(".")[0] for name in imports(path)}
            assert not {name for name in foreign if name in ROS or name.endswith("_msgs")}, path
