"""What would the tests miss? Changes one place of the sources at a time, and runs the tests.

    python test/mutants.py [--seed 0] [--each 12] [--only WORD] [--since COMMIT] [--keep FOLDER]
        [--tests unit scenes]

A mutant is a copy of the sources with one change: a sign, a bound, a number off by one, a swapped
operand, a statement that is left out. Places are drawn by the seed, as many in each room; with
--since only in lines that a commit has not. The tests of `make test` run until one fails, those
whose names are nearest first. What survives is printed last: it is equivalent (EQUIVALENT says
why), or a test is missing. A change that does not compile is none: another one is drawn.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parents[1]
ROOMS = {
    "cython_core/control": "*.p*",
    "cython_core/dynamics": "*.p*",
    "cython_core/simulation": "*.p*",
    "cython_core/observer": "*.p*",
    "featherstone_ros/control": "**/*.py",
    "featherstone_ros/model": "**/*.py",
    "featherstone_ros/identification": "**/*.py",
}
COPIED = ("cython_core", "featherstone_ros", "benchmarks", "config", "docs", "examples", "launch")
COPIED += ("resource", "test", ".ci", ".github", ".devcontainer", "build")
KINDS = ("unit", "scenes", "chaos", "ros")  # without ROS first: they are faster
TIME_OUT = 120.0  # [s] for a test: what hangs is noticed
LONGEST = 900.0  # [s] for all tests of a mutant

# Kind, what is searched, what takes its place.
CHANGES = [
    ("sign", re.compile(r" \+ "), " - "),
    ("sign", re.compile(r" - "), " + "),
    ("sign", re.compile(r" \+= "), " -= "),
    ("sign", re.compile(r" -= "), " += "),
    ("sign", re.compile(r"(?<=[=(,] )-(?=[a-z])"), ""),
    ("operand", re.compile(r" \* "), " / "),
    ("operand", re.compile(r" / "), " * "),
    ("operand", re.compile(r"\bmin\("), "max("),
    ("operand", re.compile(r"\bmax\("), "min("),
    ("operand", re.compile(r"\band\b"), "or"),
    ("operand", re.compile(r"\bor\b"), "and"),
    ("operand", re.compile(r"(?<=\bif )not |(?<=\breturn )not "), ""),
    ("bound", re.compile(r" < "), " <= "),
    ("bound", re.compile(r" <= "), " < "),
    ("bound", re.compile(r" > "), " >= "),
    ("bound", re.compile(r" >= "), " > "),
    ("bound", re.compile(r" == "), " != "),
    ("off by one", re.compile(r"(?<=range\()1(?=,)"), "2"),
    ("off by one", re.compile(r"(?<=range\()n(?=\))"), "n - 1"),
    ("off by one", re.compile(r"(?<=[\[ ]i )\+ 1\b"), "+ 2"),
    ("left out", re.compile(r"^( +)[\w.\[\], ]+ [-+*/|&]?= .*[^\\(,\[{]$"), r"\1pass"),
    ("left out", re.compile(r"^( +)[\w.]+\(.*\)$"), r"\1pass"),
]  # fmt: skip
# What is no statement, or whose change no test could see: declarations, texts, words for people.
NO_CODE = re.compile(
    r"\s*(#|cdef (inline|struct|enum|class|extern|bint|double|int|const|Py|void)|ctypedef|def "
    r"|class |from |import |cimport|include|raise|assert|@|\"|f\"|'|Args|\.\.\.)"
    r"|.*(\"\"\"|declared\(|lambda:)"
)

# Mutants that no test can kill: file and changed line, and why.
EQUIVALENT: dict[tuple[str, str], str] = {}


class Mutant(NamedTuple):
    """A change: file, line number from 0, kind, and the new line."""

    file: str
    line: int
    kind: str
    text: str


def statements(lines: list[str]) -> Iterator[int]:
    """Yield the numbers of lines of code, without docstrings."""
    inside = False
    for k, line in enumerate(lines):
        quotes = line.count('"""')
        if not inside and not quotes and line.strip() and not NO_CODE.match(line):
            yield k
        inside ^= quotes % 2 == 1


def mutants_of(path: Path, allowed: set[int] | None) -> Iterator[Mutant]:
    """Yield all mutants of a file, of the lines that are allowed (None: of all)."""
    lines = path.read_text().splitlines()
    for k in statements(lines):
        if allowed is not None and k not in allowed:
            continue
        code, hash_, comment = lines[k].partition("  #")
        for kind, pattern, new in CHANGES:
            for match in pattern.finditer(code):
                text = code[: match.start()] + match.expand(new) + code[match.end() :]
                if text != code:
                    yield Mutant(str(path.relative_to(SOURCE)), k, kind, text + hash_ + comment)


def changed_lines(path: Path, since: str) -> set[int]:
    """Return the lines of a file that a commit does not have."""
    command = ["git", "diff", "-U0", since, "--", str(path)]
    diff = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True, check=True).stdout
    found: set[int] = set()
    for begin, count in re.findall(r"^@@ .*\+(\d+)(?:,(\d+))? @@", diff, re.M):
        found |= set(range(int(begin) - 1, int(begin) - 1 + int(count or 1)))
    return found


def drawn(seed: int, each: int, only: str, since: str | None) -> Iterator[Iterator[Mutant]]:
    """Yield for each place the mutants to try, one after the other until one compiles."""
    for room, pattern in ROOMS.items():
        files = sorted(path for path in (SOURCE / room).glob(pattern) if only in str(path))
        dice = random.Random(f"{seed} {room}")
        pool = [
            mutant
            for path in files
            for mutant in mutants_of(path, changed_lines(path, since) if since else None)
        ]
        by_kind: dict[str, list[Mutant]] = {}
        for mutant in pool:
            by_kind.setdefault(mutant.kind, []).append(mutant)
        for mutants in by_kind.values():
            dice.shuffle(mutants)
        kinds = sorted(by_kind)
        for k in range(each if kinds else 0):
            yield iter(by_kind[kinds[k % len(kinds)]][k // len(kinds) :: each])


def nearest_first(file: str, folder: Path, kinds: Sequence[str]) -> list[str]:
    """Return the test files, those that share most words with a source first."""
    words = set(re.findall(r"[a-z]{3,}", Path(file).stem)) | {file.split("/")[1]}

    def distance(path: Path) -> tuple[int, str]:
        text = path.read_text()
        named = len(words & set(re.findall(r"[a-z]{3,}", path.stem)))
        return -4 * named - sum(word in text for word in words), str(path)

    return [
        str(path.relative_to(folder))
        for kind in kinds
        for path in sorted((folder / "test" / kind).glob("test_*.py"), key=distance)
    ]


def compiles(folder: Path, mutant: Mutant) -> bool:
    """Compile what is to be compiled; whether it can be."""
    if mutant.file.endswith(".py"):
        command = [sys.executable, "-m", "py_compile", mutant.file]
    else:
        command = [sys.executable, "setup.py", "build_ext", "--inplace"]
    environment = {**os.environ, "FEATHERSTONE_BUILD_FOR": "native"}
    done = subprocess.run(command, cwd=folder, capture_output=True, env=environment, check=False)
    return done.returncode == 0


def killer(folder: Path, mutant: Mutant, kinds: Sequence[str], workers: int) -> str:
    """Return the test that fails; empty: none does."""
    files = nearest_first(mutant.file, folder, kinds)
    options = ["-q", "-x", "-p", "no:cacheprovider", f"--timeout={TIME_OUT}", "--no-header"]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    end = time.monotonic() + LONGEST
    for some, beside in ((files[:6], 0), (files[6:], workers)):
        command = [sys.executable, "-m", "pytest", *options, f"-n{beside}", *some]
        try:
            left = end - time.monotonic()
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, env=environment,
                check=False, timeout=left,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "they do not end"
        if done.returncode not in (0, 5):
            failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.M)
            return failed[0] if failed else f"pytest ends with {done.returncode}"
    return ""


def copied(folder: Path) -> None:
    """Copy the sources, and what has been compiled."""
    for name in COPIED:
        if (SOURCE / name).exists():
            shutil.copytree(SOURCE / name, folder / name, symlinks=True, dirs_exist_ok=True)
    for path in SOURCE.iterdir():
        if path.is_file():
            shutil.copy2(path, folder / path.name)


def main() -> int:
    """Try the mutants; print what survives.

    Returns:
        0 if all that survive are known to be equivalent, else 1.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=12, help="places in each room")
    parser.add_argument("--only", default="", help="files whose path has this")
    parser.add_argument("--since", help="lines that this commit does not have")
    parser.add_argument("--keep", type=Path, help="folder of the copy, kept and used again")
    parser.add_argument("--workers", type=int, default=5)
    parser.add_argument("--tests", nargs="+", default=KINDS, help="folders of tests")
    args = parser.parse_args()
    folder = args.keep or Path(tempfile.mkdtemp(prefix="mutants_"))
    folder.mkdir(exist_ok=True)
    copied(folder)
    unchanged = Mutant("cython_core/control/control.pyx", 0, "none", "")
    by = (
        killer(folder, unchanged, args.tests, args.workers)
        if compiles(folder, unchanged)
        else "the compiler"
    )
    if by:
        print(f"not even the unchanged sources pass: {by}")
        return 1
    alive, count = [], 0
    for candidates in drawn(args.seed, args.each, args.only, args.since):
        for mutant in candidates:
            path = folder / mutant.file
            original = path.read_text()
            lines = original.splitlines()
            before = lines[mutant.line].strip()
            lines[mutant.line] = mutant.text
            path.write_text("\n".join(lines) + "\n")
            known = EQUIVALENT.get((mutant.file, mutant.text.strip()))
            try:
                if known is None and not compiles(folder, mutant):
                    continue
                count += 1
                by = (
                    f"equivalent: {known}"
                    if known
                    else killer(folder, mutant, args.tests, args.workers)
                )
            finally:
                path.write_text(original)
            place = f"{mutant.file}:{mutant.line + 1}"
            what = f"{place} {mutant.kind}: {before}  ->  {mutant.text.strip()}"
            print(f"{what}\n    {by or 'SURVIVES'}", flush=True)
            alive += [] if by else [what]
            break
    print(f"{count - len(alive)} of {count} mutants are noticed; what survives:")
    print(*alive, sep="\n")
    return bool(alive)


if __name__ == "__main__":
    sys.exit(main())
