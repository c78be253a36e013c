"""Prints figures of the compiled controller's structure; test_architecture.py holds their bounds.

    python test/structure.py

The sources are read as text: a function is a ``cdef inline`` of a .pxd, and calls what it names.
"""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

CORE = Path(__file__).resolve().parents[1] / "cython_core"
CONTROL = CORE / "control"
BOUNDS = "fault_bounds.pxd"  # the table of constants that promises need
HEAD = re.compile(r"^cdef inline .*?\b(\w+)\(([^)]*)\) noexcept nogil:", re.MULTILINE)
IMPORT = re.compile(r"^from (\S+) cimport (?:\(([^)]*)\)|(.*))$", re.MULTILINE)
DOCSTRING = re.compile(r'""".*?"""', re.DOTALL)


class Function(NamedTuple):
    """A compiled function: its file, name, arguments and body."""

    path: Path
    name: str
    arguments: str
    body: str


@cache
def functions() -> dict[tuple[Path, str], Function]:
    """Return all functions of the .pxd files, by file and name."""
    found = {}
    for path in sorted(CORE.rglob("*.pxd")):
        text = path.read_text()
        heads = [*HEAD.finditer(text)]
        ends = [*(head.start() for head in heads), len(text)][1:]
        for head, end in zip(heads, ends, strict=False):
            body = re.sub(r"#.*", "", DOCSTRING.sub("", text[head.end() : end]))
            found[path, head[1]] = Function(path, head[1], head[2], body)
    return found


@cache
def imported(path: Path) -> dict[str, tuple[Path, str]]:
    """Return what each name that a file imports is: of which file, and its name there."""
    names = {}
    for module, block, line in IMPORT.findall(path.read_text()):
        source = CORE / f"{module.replace('.', '/')}.pxd"
        for name, alias in re.findall(r"(\w+)(?: as (\w+))?", block or line):
            names[alias or name] = source, name
    return names


def reached(start: Function) -> set[Function]:
    """Return all functions that are called by one, itself included."""
    found, ahead = set(), [start]
    while ahead:
        function = ahead.pop()
        if function in found:
            continue
        found.add(function)
        for name in set(re.findall(r"\w+", function.body)):
            own = functions().get((function.path, name))
            called = own or functions().get(imported(function.path).get(name, (CORE, name)))
            if called:
                ahead.append(called)
    return found


def only(name: str) -> Function:
    """Return the one function of cython_core/control with a name."""
    (found,) = (f for f in functions().values() if f.name == name and f.path.parent == CONTROL)
    return found


def files_of_a_state() -> list[str]:
    """Return the files of cython_core/control in which a joint state, as bytes, calls functions."""
    paths = {function.path for function in reached(only("answer_state"))}
    return sorted(path.name for path in paths if path.parent == CONTROL)


def returns(name: str) -> int:
    """Return from how many places a function returns."""
    return len(re.findall(r"\breturn\b", only(name).body))


def constants_apart() -> int:
    """Return how many constants stand elsewhere than in the table."""
    return sum(
        path.read_text().count("#define") for path in CONTROL.glob("*.pxd") if path.name != BOUNDS
    )


def that_change_all() -> list[str]:
    """Return the functions that may change the whole Controller."""
    changing = re.compile(r"(?<!const )\bController\* ")
    return sorted(f.name for f in functions().values() if changing.search(f.arguments))


def main() -> None:
    """Print the figures."""
    figures = {
        "files of cython_core/control": len([*CONTROL.glob("*.p*")]),
        "of these a joint state visits (22)": len(files_of_a_state()),
        "returns of take_state (2)": returns("take_state"),
        f"constants outside of {BOUNDS} (44)": constants_apart(),
        "functions that may change the whole Controller (22)": len(that_change_all()),
    }
    for what, figure in figures.items():
        print(f"{what:55}{figure:5}")


if __name__ == "__main__":
    main()
