"""What the documents show is run: every Python block, in order, in one namespace."""

import re
from pathlib import Path

import pytest

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
    roots = [SOURCE, SOURCE / "docs", SOURCE / "featherstone_ros/reference"]
    named = set(re.findall(r"`([\w/]+\.(?:py|pxd|pxi|md|urdf))`", document.read_text()))
    missing = {path for path in named if not any((root / path).is_file() for root in roots)}
    assert not missing
