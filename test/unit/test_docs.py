"""What the documents show is run: every Python block, in order, in one namespace."""

import importlib
import re
from pathlib import Path

import pytest

from featherstone_ros.control import events

SOURCE = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted((SOURCE / "docs").glob("*.md"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_python_line_runs(document, monkeypatch):
    monkeypatch.chdir(SOURCE)
    text = document.read_text()
    names: dict = {}
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        lines_above = text.count("\n", 0, block.start(1))  # so that a traceback shows the line
        exec(compile("\n" * lines_above + block[1], str(document), "exec"), names)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_named_file_is_there(document):
    package = SOURCE / "featherstone_ros"
    core = SOURCE / "cython_core"
    rooms = [room for room in core.iterdir() if room.is_dir()]
    roots = [SOURCE, SOURCE / "docs", core, *rooms, package, package / "reference"]
    named = set(re.findall(r"`([\w/]+\.(?:py|pxd|pxi|md|urdf))`", document.read_text()))
    missing = {path for path in named if not any((root / path).is_file() for root in roots)}
    assert not missing


def test_every_function_of_the_reference_that_is_named_is_there():
    """As `module.function`, in the tables of docs/dynamics.md."""
    text = (SOURCE / "docs/dynamics.md").read_text()
    modules = {path.stem for path in (SOURCE / "featherstone_ros/reference").glob("[a-z]*.py")}
    named = [name.split(".") for name in re.findall(r"`(\w+(?:\.\w+)+)`", text)]
    named = [path for path in named if path[0] in modules and path[-1] != "py"]
    assert len(named) > 60
    for module, *path in named:
        found = importlib.import_module(f"featherstone_ros.reference.{module}")
        for name in path:
            assert hasattr(found, name), f"{module} has no {'.'.join(path)}"
            found = getattr(found, name)


def test_every_test_that_is_named_is_there():
    text = (SOURCE / "docs/dynamics.md").read_text()
    named = set(re.findall(r"`(test_\w+)`", text))
    files = (SOURCE / "test/unit").glob("test_reference_*.py")
    there = {name for file in files for name in re.findall(r"def (test_\w+)", file.read_text())}
    assert len(named) > 40
    assert named <= there


@pytest.mark.parametrize("texts", ["CAUSES", "REJECTIONS"])
def test_every_reason_of_the_diagnostics_is_explained(texts):
    document = (SOURCE / "docs/diagnostics.md").read_text()
    for text in filter(None, getattr(events, texts)):
        spoken = max(re.split(r"{.*?}", text), key=len).strip(" (:,)")
        assert spoken in document or spoken.partition(":")[0] in document, text
