"""What would the tests miss? Changes one place of the sources at a time, and runs the tests.

A mutant has one change: a sign, a bound, a number off by one, a swapped operand, a statement that
is left out. Places are drawn by the seed, as many in each room; with --since only in lines that a
commit has not. Each is drawn by its own text: where one line changes, the others stay drawn. A copy
of the sources has them all, each behind a switch (``is_mutant``), so that it is compiled once; what
does not compile is none, and another one is drawn. Each file of the tests of `make test` is run
with no mutant chosen, which notes how long it takes and which places it reaches; then each mutant
has those that reach it, until a test fails. Tests that do not pass with the switches are left out,
and named. What survives is printed last: it is equivalent (EQUIVALENT says why), or a test is due.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from shutil import copytree, ignore_patterns
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
KINDS = ("unit", "scenes", "chaos", "ros")
TIME_OUT = 120.0  # [s] for a test: what hangs is noticed
LONGEST = 900.0  # [s] for all tests of a mutant
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.M)

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
NO_STATEMENT = re.compile(
    r"\s*(cdef|cpdef|ctypedef|def|class|from|import|cimport|include|@|with|try|except|else|elif$"
    r"|finally|match|case|DEF|IF)\b"
)

# Mutants that no test can kill: file, the changed line or the one left out, and why.
EITHER = "a measured number that is the bound to the bit may be called either"
EQUIVALENT = {
    "cython_core/control/motion.pxd": {
        "bound = limits.acceleration[i] if a * v >= 0.0 else limits.deceleration[i]": EITHER,
    },
    "cython_core/control/state_clock.pxd": {
        "return late if STAMP_JITTER <= late < CLOCK_JUMP else 0.0": EITHER,
    },
    "cython_core/control/state_observer.pxd": {"if off >= bound:": EITHER},
    "cython_core/control/stuck_joints.pxd": {
        "or fabs(s.expected[s.n + i]) >= STICKING_SPEED):": EITHER,
    },
    "cython_core/dynamics/displacement.pxd": {
        "scale = 2.0 * half / sine if w > 0 else -2.0 * half / sine": "half a turn has two ways",
    },
    "cython_core/dynamics/threads.pxi": {
        "while job != NULL and (job.next > job.last or job.members == job.max_members):": (
            "whoever joins a job that has no rows left finds nothing to do"
        ),
    },
    "cython_core/dynamics/dynamics.pxi": {
        "if ndim >= 0 and cnp.PyArray_SIZE(array) <= MAX_KEPT:": "a number is returned as a float",
    },
    "cython_core/observer/effort.pxd": {
        "if sliding.time[i] > SLIDING and sliding.time[n + i] >= SLIDING:": EITHER,
    },
    "cython_core/observer/momentum_observer.pxd": {
        "return 0.0 if low <= 0.0 <= high else low if low >= 0.0 else high": "0 is found before",
    },
    "cython_core/observer/shadow_cycle.pxi": {"request.answer = 0": "whoever asks has put 0 there"},
    "cython_core/simulation/twin_arm.pxd": {
        "number -= 0x9E3779B97F4A7C15ULL": "other numbers, as random",
        "arm.follows_velocity[i] = law == LAW_POSITION and law == LAW_DUTY": (
            "Cython takes this `and` for `or`"
        ),
    },
    "featherstone_ros/control/trajectory.py": {
        "between = [t for t in [*self.corners, *self._compiled.correction] if begin <= t < end]": (
            "both ends are corners anyway, each once"
        ),
    },
    "featherstone_ros/control/retiming/path.py": {
        "halved = (off.max(axis=(1, 2)) >= CLOSE) & (length > CLOSE)": EITHER,
    },
    "featherstone_ros/control/retiming/retime.py": {
        "if over_all <= 1.0 + ENOUGH and gain < ENOUGH:": EITHER,
    },
    "featherstone_ros/control/cartesian_impedance.py": {
        "if not SHORTEST < since <= LONGEST:": EITHER
    },
    "featherstone_ros/identification/base_parameters.py": {
        "scale[scale <= NEGLIGIBLE * scale.max(initial=0.0)] = np.inf": EITHER,
        "K[np.abs(K) <= NEGLIGIBLE * max(np.abs(K).max(initial=0.0), 1.0)] = 0.0": EITHER,
    },
    "featherstone_ros/identification/explanation.py": {
        "lost = np.where(after.rms >= least, before.r2 - after.r2, 0.0)": EITHER,
    },
    "featherstone_ros/identification/faults.py": {
        "elif abs(np.log(factor)) >= np.log(MIN_GAIN):": EITHER,
        "return 2 * int((left >= UNSEEN * beside).sum()) > len(scaled)": EITHER,
    },
    "featherstone_ros/identification/filtering.py": {
        "more = -least % 2 ** (least.bit_length() + 3)": "ends are continued for longer",
    },
    "featherstone_ros/identification/payload.py": {
        "if free[0] <= CERTAIN * free_deviation:": EITHER,
        "lengths = np.sqrt((columns**2).sum(axis=1).mean(axis=0)) - 1e-300": "as good as 0",
    },
    "featherstone_ros/model/primitives.py": {
        "if not abs(volume) >= 1e-12 * np.abs(volumes).sum():": EITHER,
    },
    "featherstone_ros/model/robot_description.py": {
        "x = np.array([1.0, 0.0, 0.0] if abs(normal[0]) <= UPRIGHT else [0.0, 1.0, 0.0])": EITHER,
    },
    "featherstone_ros/model/rules.py": {"if least <= -ROUNDING * trace:": EITHER},
}

# The switch, for compiled sources and for Python: whether a mutant is the chosen one. Whoever asks
# has reached it, and notes that where all processes of a test see it.
SWITCH_H = """
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
static int is_mutant(int number) {
    static int chosen;
    static unsigned char *reached;
    if (!reached) {
        const char *which = getenv("MUTANT"), *where = getenv("MUTANTS_REACHED");
        int file = where ? open(where, O_RDWR) : -1;
        void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                         file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, file, 0);
        chosen = which ? atoi(which) : -1;
        reached = map;
    }
    reached[number] = 1;
    return number == chosen;
}
"""
SWITCH_PXD = """
cdef extern from "mutant_switch.h" nogil:
    bint is_mutant(int number) noexcept
"""
SWITCH_PY = """
import mmap
import os

chosen = int(os.environ.get("MUTANT", "-1"))
where = os.environ.get("MUTANTS_REACHED")
reached = mmap.mmap(os.open(where, os.O_RDWR) if where else -1, 4096)


def is_mutant(number):
    reached[number] = 1
    return number == chosen
"""


class Mutant(NamedTuple):
    """A change: file, line number from 0, kind, and the new line."""

    file: str
    line: int
    kind: str
    text: str
    key: str  # the same as long as the line and the change are, wherever the line is


def without_texts(line: str) -> str:
    """Return a line whose texts are blank."""
    return re.sub(r"(['\"])(?:\\.|(?!\1).)*\1", lambda text: "_" * len(text[0]), line)


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
    file, lines = str(path.relative_to(SOURCE)), path.read_text().splitlines()
    seen: Counter[tuple[str, str]] = Counter()
    for k in statements(lines):
        code, hash_, comment = lines[k].partition("  #")
        for kind, pattern, new in CHANGES:
            for match in pattern.finditer(without_texts(code)):
                text = code[: match.start()] + match.expand(new) + code[match.end() :]
                if text != code:
                    seen[code, text] += 1
                    key = f"{file} {seen[code, text]} {code} {text}"
                    if allowed is None or k in allowed:
                        yield Mutant(file, k, kind, text + hash_ + comment, key)


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
        by_kind: dict[str, list[Mutant]] = {}
        for path in files:
            for mutant in mutants_of(path, changed_lines(path, since) if since else None):
                by_kind.setdefault(mutant.kind, []).append(mutant)
        for mutants in by_kind.values():
            mutants.sort(key=lambda mutant: sha256(f"{seed} {mutant.key}".encode()).digest())
        kinds = sorted(by_kind)
        for k in range(each if kinds else 0):
            yield iter(by_kind[kinds[k % len(kinds)]][k // len(kinds) :: each])


def statement(lines: list[str], line: int) -> tuple[int, int]:
    """Return the first line of the statement that has a line, and the one after its last."""
    begin = depth = 0
    for k, text in enumerate(lines):
        code = without_texts(text).partition("#")[0]
        begin = begin if depth > 0 else k
        depth += sum(code.count(c) for c in "([{") - sum(code.count(c) for c in ")]}")
        if k >= line and depth <= 0 and not code.rstrip().endswith("\\"):
            return begin, k + 1
    return begin, len(lines)


def indented(lines: Sequence[str]) -> list[str]:
    """Return them one block further in."""
    return [f"    {line}" if line.strip() else line for line in lines]


def switched(original: list[str], changed: dict[int, list[str]], python: bool) -> list[str]:
    """Return a statement with mutants by their numbers, of which one may be chosen.

    Raises:
        ValueError: It is none that can have a switch.
    """
    text = "\n".join(original)
    header = re.match(r"(\s*)(if|elif|while|for [\w, ]+ in)\b(.*):\s*(  #.*)?$", text, re.S)
    initial = re.match(r"(\s*cdef [\w ]+\*? ?\w+ =)(.*)()$", text, re.S)
    if header and not (header[2].startswith("for") and not python):
        begin, end, old = header[1] + header[2] + " (", "):", header[3]
        pattern = re.compile(r"\s*(?:if|elif|while|for [\w, ]+ in)\b(.*):\s*(?:  #.*)?$", re.S)
    elif header:
        counted = re.compile(r"(\s*for \w+ in range\()(.*)\):$")
        ranges = [counted.match("\n".join(new)) for new in (original, *changed.values())]
        split = [re.split(r",(?![^(\[]*[)\]])", match[2]) if match else [] for match in ranges]
        if not split[0] or len({len(each) for each in split}) > 1:
            raise ValueError(text)
        places = []
        for k, first in enumerate(split[0]):
            for number, new in zip(changed, split[1:], strict=True):
                if new[k] != first:
                    first = f" (({new[k]}) if is_mutant({number}) else ({first}))"
            places.append(first)
        return [f"{ranges[0][1]}{','.join(places)}):"]  # type: ignore[index]
    elif initial:
        begin, end, old = initial[1] + " (", ")", initial[2]
        pattern = re.compile(r"\s*cdef [\w ]+\*? ?\w+ =(.*)$", re.S)
    elif NO_STATEMENT.match(text) or text.rstrip().endswith(":"):
        raise ValueError(text)
    else:
        blank = re.match(r"\s*", text)[0]  # type: ignore[index]
        made = []
        for k, (number, new) in enumerate(changed.items()):
            made += [f"{blank}{'elif' if k else 'if'} is_mutant({number}):", *indented(new)]
        return [*made, f"{blank}else:", *indented(original)]
    expression = f"({old})"
    for number, new in changed.items():
        match = pattern.match("\n".join(new))
        if not match:
            raise ValueError(text)
        expression = f"(({match[1]}) if is_mutant({number}) else {expression})"
    return f"{begin}{expression}{end}".split("\n")


def with_switches(file: str, mutants: dict[int, Mutant]) -> tuple[list[str], dict[int, set[int]]]:
    """Return a source with mutants of it, and which each line of it belongs to.

    Raises:
        ValueError: One cannot have a switch; its number comes first.
    """
    lines = (SOURCE / file).read_text().splitlines()
    by_place: dict[tuple[int, int], dict[int, list[str]]] = {}
    for number, mutant in mutants.items():
        begin, end = statement(lines, mutant.line)
        new = [*lines[begin : mutant.line], mutant.text, *lines[mutant.line + 1 : end]]
        by_place.setdefault((begin, end), {})[number] = new
    python = file.endswith(".py")
    quoted, k = False, 0
    while quoted or not re.match(
        r"(from|import|cimport|cdef|include|ctypedef|def|\w+ =)", lines[k]
    ):
        quoted ^= lines[k].count('"""') % 2 == 1
        k += 1
    while python and lines[k].startswith("from __future__"):
        k += 1
    made, whose = lines[:k], {}
    made.append(f"from mutant_switch {'import' if python else 'cimport'} is_mutant")
    for (begin, end), changed in sorted(by_place.items()):
        if begin < k:
            raise ValueError(next(iter(changed)))
        try:
            new = switched(lines[begin:end], changed, python)
        except ValueError:
            raise ValueError(next(iter(changed))) from None
        made += lines[k:begin]
        whose.update({len(made) + j: set(changed) for j in range(len(new))})
        made += new
        k = end
    return made + lines[k:], whose


def compiled(folder: Path, places: list[Iterator[Mutant]]) -> dict[int, Mutant]:
    """Give the copy of the sources a mutant of each place, and return those that compile."""
    mutants = {k: mutant for k, place in enumerate(places) if (mutant := next(place, None))}
    paths = [path for room, kind in ROOMS.items() for path in (SOURCE / room).glob(kind)]
    while True:
        refused: set[int] = set()
        whose: dict[str, dict[int, set[int]]] = {}
        for path in paths:
            file, text = str(path.relative_to(SOURCE)), path.read_text()
            mine = {k: mutant for k, mutant in mutants.items() if mutant.file == file}
            try:
                if mine:
                    lines, whose[file] = with_switches(file, mine)
                    text = "\n".join(lines) + "\n"
                if file.endswith(".py"):
                    compile(text, file, "exec")
                if (folder / file).read_text() != text:
                    (folder / file).write_text(text)
            except SyntaxError as error:
                refused |= whose[file].get((error.lineno or 0) - 1, set(mine))
            except ValueError as error:
                refused.add(error.args[0])
        if not refused:
            command = [sys.executable, "setup.py", "build_ext", "--inplace"]
            flags = {"FEATHERSTONE_BUILD_FOR": "native", "FEATHERSTONE_CFLAGS": "-O1"}
            done = subprocess.run(
                command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                env=os.environ | flags, check=False,
            )  # fmt: skip
            if done.returncode == 0:
                return mutants
            for file, number in re.findall(r"^(\S+?):(\d+):\d+: (?!warn|note)", done.stdout, re.M):
                refused |= whose.get(file, {}).get(int(number) - 1, set())
                if file.endswith(".c"):  # the switch before it in C
                    before = (folder / file).read_text().splitlines()[: int(number)]
                    refused.add(int(re.findall(r"is_mutant\((\d+)\)", "\n".join(before))[-1]))
            if not refused:
                sys.exit(done.stdout)
        for k in refused:
            del mutants[k]
            if mutant := next(places[k], None):
                mutants[k] = mutant


class Tests(NamedTuple):
    """A file of tests with no mutant chosen: how long it takes [s], what it reaches, what fails."""

    name: str
    seconds: float
    reached: bytes
    failed: list[str]


def run(folder: Path, arguments: Sequence[str], **environment: str) -> tuple[int, str]:
    """Run tests of the copy; return the exit status, and what was said."""
    options = ["-q", "-p", "no:cacheprovider", f"--timeout={TIME_OUT}", *arguments]
    paths = f"{folder}{os.pathsep}{folder / 'test'}"
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *options], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        env={**os.environ, "PYTHONPATH": paths, **environment},
    )  # fmt: skip
    try:
        said, _ = process.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        said, _ = process.communicate()
    return process.returncode, said


def looked_at(folder: Path, file: Path) -> Tests:
    """Run a file of tests with no mutant chosen."""
    name, begin = str(file.relative_to(folder)), time.monotonic()
    place = folder / f"reached_{name.replace('/', '_')}"
    place.write_bytes(bytes(4096))
    _, said = run(folder, [name], MUTANTS_REACHED=str(place))
    return Tests(name, time.monotonic() - begin, place.read_bytes(), FAILED.findall(said))


def killer(folder: Path, mutant: Mutant, number: int, files: Sequence[Tests]) -> str:
    """Return the test that fails, of the files that reach it; empty: none does.

    Those whose names are near come first, then the fastest.
    """
    words = set(re.findall(r"[a-z]{3,}", Path(mutant.file).stem)) | {mutant.file.split("/")[1]}

    def key(tests: Tests) -> tuple[int, float]:
        return -len(words & set(re.findall(r"[a-z]{3,}", Path(tests.name).stem))), tests.seconds

    reaching = sorted((tests for tests in files if tests.reached[number]), key=key)
    if not reaching:
        return ""
    left_out = [f"--deselect={test}" for tests in reaching for test in tests.failed]
    names = [tests.name for tests in reaching]
    status, said = run(folder, ["-x", *names, *left_out], MUTANT=str(number))
    (folder / f"said_{number}.txt").write_text(said)
    if status < 0:
        return f"does not end: {said[-300:]}"
    return "" if status in (0, 5) else (FAILED.findall(said) or [f"pytest ends with {status}"])[0]


def copied(folder: Path) -> None:
    """Copy the sources, with what has been compiled."""
    made = ignore_patterns(".git", ".venv*", ".*_cache", "__pycache__")
    copytree(SOURCE, folder, symlinks=True, dirs_exist_ok=True, ignore=made)
    (folder / "mutant_switch.py").write_text(SWITCH_PY)
    (folder / "cython_core" / "mutant_switch.h").write_text(SWITCH_H)
    (folder / "cython_core" / "mutant_switch.pxd").write_text(SWITCH_PXD)


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
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--tests", nargs="+", default=KINDS, help="folders of tests")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="mutants_"))
    copied(folder)
    begin = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - begin:.0f} s: {text}", flush=True)

    mutants = compiled(folder, list(drawn(args.seed, args.each, args.only, args.since)))
    say(f"compiled with {len(mutants)} mutants")
    paths = [path for kind in args.tests for path in (folder / "test" / kind).rglob("test_*.py")]
    with ThreadPoolExecutor(args.workers) as pool:
        files = list(pool.map(lambda path: looked_at(folder, path), sorted(paths)))
    left_out = ", ".join(test for tests in files for test in tests.failed)
    say(f"{len(files)} files of tests; left out: {left_out or 'none'}")

    def tried(number: int) -> tuple[str, str]:
        mutant = mutants[number]
        before = (SOURCE / mutant.file).read_text().splitlines()[mutant.line].strip()
        after = mutant.text.strip()
        line = (before if after == "pass" else after).partition("  #")[0].strip()
        known = EQUIVALENT.get(mutant.file, {}).get(line)
        by = f"equivalent: {known}" if known else killer(folder, mutant, number, files)
        what = f"{mutant.file}:{mutant.line + 1} {mutant.kind}: {before}  ->  {after}"
        say(f"{number} {what}\n    {by or 'SURVIVES'}")
        return what, by

    with ThreadPoolExecutor(args.workers) as pool:
        in_turn = sorted(mutants, key=lambda number: number % args.each)  # a room after another
        done = list(pool.map(tried, in_turn))
    alive = [what for what, by in done if not by]
    able = sum(not by.startswith("equivalent: ") for _, by in done)
    print(f"{able - len(alive)} of {able} are noticed; {len(done) - able} are equivalent")
    print(*alive, sep="\n")
    return bool(alive)


if __name__ == "__main__":
    sys.exit(main())
