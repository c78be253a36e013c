"""What the documents show is run: every Python block, in order, in one namespace."""

import contextlib
import io
import re
from functools import cache
from pathlib import Path

import pytest

import featherstone_ros
from featherstone_ros.control.causes import CAUSES
from featherstone_ros.control.reasons import REJECTIONS
from featherstone_ros.tools import cli

SOURCE = Path(__file__).resolve().parents[2]
CODE = (".pyx", ".pxd", ".pxi", ".h", ".py", ".md")
DYNAMICS = [SOURCE / "docs/dynamics.md", *sorted((SOURCE / "docs/dynamics").glob("*.md"))]
DOCUMENTS = sorted({*(SOURCE / "docs").glob("*.md"), *DYNAMICS})


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_python_line_runs(document, monkeypatch):
    monkeypatch.chdir(SOURCE)
    text = document.read_text()
    names: dict = {}
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        lines_above = text.count("\n", 0, block.start(1))  # so that a traceback shows the line
        exec(compile("\n" * lines_above + block[1], str(document), "exec"), names)


def test_example_of_the_readme_runs_in_any_folder(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    text = (SOURCE / "README.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict = {}
    threads = featherstone_ros.get_num_threads()
    exec(example, names)
    featherstone_ros.set_num_threads(threads)
    assert names["sim"].time == pytest.approx(1.0)
    assert names["there"].success
    assert not caplog.records


PAGES = [*DOCUMENTS, SOURCE / "README.md", SOURCE / "examples" / "README.md"]


def anchor(heading):
    """Return what GitHub and the site make of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_file_and_a_heading(page):
    for path, heading in re.findall(r"\]\((?!https?:)([\w./-]*)(?:#([\w-]+))?\)", page.read_text()):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        if heading:
            headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            assert heading in map(anchor, headings), f"{path} has no {heading}"


@cache
def options(command):
    """Return the options of a subcommand of featherstone-ros."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), pytest.raises(SystemExit, match=r"^0$"):
        cli.main([command, "--help"])
    return set(re.findall(r"--[a-z][\w-]*", shown.getvalue()))


@pytest.mark.parametrize("page", PAGES)
def test_every_shell_command_has_the_options_that_are_shown(page):
    blocks = re.findall(r"^ *```sh\n(.*?)```", page.read_text(), re.DOTALL | re.MULTILINE)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    for line in (line.partition("#")[0] for line in lines):
        for command, rest in re.findall(r"(?<!/)featherstone-ros (\w+)([^&|;]*)", line):
            unknown = set(re.findall(r"(?<= )--[a-z][\w-]*", rest)) - options(command)
            assert not unknown, line


@cache
def sources():
    """Return the repository's own files of code and prose, relative to its folder."""
    code = ("benchmarks", "cython_core", "examples", "featherstone_ros", "launch", "test", ".ci")
    made = {SOURCE / "docs/reference", SOURCE / "docs/_build"}  # by `make docs`
    found = [
        path
        for folder in (*code, "docs")
        for path in (SOURCE / folder).rglob("*")
        if path.suffix in CODE and made.isdisjoint(path.parents)
    ]
    return [
        path.relative_to(SOURCE) for path in (*found, SOURCE / "README.md", SOURCE / "setup.py")
    ]


@cache
def named(file):
    """Return the files whose path ends so."""
    wanted = Path(file).parts
    return [path for path in sources() if path.parts[-len(wanted) :] == wanted]


@pytest.mark.parametrize(
    "folder", ["benchmarks", "cython_core", "docs", "examples", "featherstone_ros", "README.md"]
)
def test_every_file_that_is_named_is_there(folder):
    """In documents, docstrings and comments alike; COMMIT:FILE is in the history."""
    missing, count = [], 0
    for path in (path for path in sources() if path.parts[0] == folder):
        text = (SOURCE / path).read_text()
        for file in re.findall(r"(?<![\w/.<{:-])([\w/]+\.(?:pyx|pxd|pxi|md|py))(?![\w.])", text):
            count += 1
            if not named(file):
                missing.append((str(path), file))
    assert count and not missing


def test_every_function_is_in_the_file_that_is_named_for_it():
    """As "`a` and `b` in `file`"."""
    pattern = r"((?:`[\w.]+`(?:, | and )?)+) (?:in|of) `([\w/]+\.(?:py|pxd|pxi|pyx))`"
    text = "\n".join(path.read_text() for path in (*DOCUMENTS, SOURCE / "README.md"))
    found = re.findall(pattern, text)
    assert len(found) > 15
    for names, file in found:
        text = "".join((SOURCE / path).read_text() for path in named(file))
        for name in re.findall(r"`(?:\w+\.)*(\w+)`", names):
            assert re.search(rf"\b{name}\b", text), f"{file} has no {name}"


def test_every_test_that_is_named_is_there():
    page = (SOURCE / "docs/architecture.md").read_text().partition("## Where to find")[2]
    named = re.findall(r"\b(unit|ros|scenes|chaos|launch): (\w+(?:, \w+)*)", page)
    files = [(room, name) for room, names in named for name in names.split(", ")]
    assert len(files) > 100
    tests = [path for path in sources() if path.parts[0] == "test"]
    there = {(path.parts[1], path.stem.removeprefix("test_")) for path in tests}
    assert [file for file in files if file not in there] == []


@pytest.mark.parametrize(
    "texts", [[row.text for row in CAUSES.values()], REJECTIONS.values()], ids=["cause", "state"]
)
def test_every_reason_of_the_diagnostics_is_explained(texts):
    document = (SOURCE / "docs/diagnostics.md").read_text()
    for text in filter(None, texts):
        spoken = max(re.split(r"{.*?}", text), key=len).strip(" (:,)")
        assert spoken in document or spoken.partition(":")[0] in document, text
