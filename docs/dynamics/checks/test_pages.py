"""What the chapters say of the reference, of its tests and of the compiled core is there."""

import importlib
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[3]
CHAPTERS = [SOURCE / "docs/dynamics.md", *sorted((SOURCE / "docs/dynamics").glob("*.md"))]


def test_every_function_of_the_reference_that_is_named_is_there():
    """As `module.function`, in the tables."""
    text = "\n".join(path.read_text() for path in CHAPTERS)
    folders = importlib.import_module("reference").__path__
    modules = {path.stem for folder in folders for path in Path(folder).glob("[a-z]*.py")}
    named = [name.split(".") for name in re.findall(r"`(\w+(?:\.\w+)+)`", text)]
    named = [path for path in named if path[0] in modules and path[-1] != "py"]
    assert len(named) > 60
    for module, *path in named:
        found = importlib.import_module(f"reference.{module}")
        for name in path:
            assert hasattr(found, name), f"{module} has no {'.'.join(path)}"
            found = getattr(found, name)


def test_every_test_that_is_named_is_there():
    """As `test_...`, in all pages."""
    pages = [SOURCE / "README.md", *(SOURCE / "docs").rglob("*.md")]
    named = {path: set(re.findall(r"`(test_[\w*]+)`", path.read_text())) for path in pages}
    files = [*(SOURCE / "test").rglob("test_*.py"), *Path(__file__).parent.glob("test_*.py")]
    there = {name for path in files for name in re.findall(r"def (test_\w+)", path.read_text())}
    assert len(named[SOURCE / "docs/dynamics/sources.md"]) > 40
    assert not {(str(path), *missing) for path in named if (missing := named[path] - there)}


@pytest.mark.parametrize("algorithm", ["rnea", "crba", "aba"])
def test_every_row_of_a_book_s_table_stands_in_the_code(algorithm):
    """In the reference and in the compiled core, as the chapter shows them beside each other."""
    text = (SOURCE / f"docs/dynamics/{algorithm}.md").read_text()
    header, _, *rows = re.findall(
        r"^\| (.*) \|$", text[text.index("## Row by row") :], re.MULTILINE
    )
    files = [SOURCE / path for path in re.findall(r"`(.*?)`", header)]
    assert len(files) == 2 and len(rows) >= 8
    for row in rows:
        cells = row.split(" | ")[1:]
        for file, cell in zip(files, cells, strict=True):
            for line in re.findall(r"`(.*?)`", cell):
                assert line in file.read_text(), f"{file.name}: {line}"
