"""Reads joint states from tables with named columns: CSV, or NumPy's npz.

A column is named by a quantity and a joint, in either order: ``position_elbow``, ``elbow.effort``,
``/joint_states/elbow/velocity``, ``tau[elbow]``. One is the time [s], or, if its name ends so, in
ms, us or ns. An npz has such columns, or arrays (N, n) and ``joint_names`` (n,). Where joints are
only numbered, or are not named at all, the reader's names are taken in order, and a note says so.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import BagError
from featherstone_ros.identification.recording import FIELDS, JointStates

SUFFIXES = (".csv", ".npz")
MAX_COLUMNS = 10_000
QUANTITIES = {
    "position": ("position", "positions", "pos", "q", "angle"),
    "velocity": ("velocity", "velocities", "vel", "qd", "dq", "speed"),
    "effort": ("effort", "efforts", "eff", "torque", "torques", "tau", "current"),
}
QUANTITY_OF = {word: quantity for quantity, words in QUANTITIES.items() for word in words}
NAMES = ("joint_names", "names", "joints")
TIME = re.compile(r"_*(time|times|timestamp|stamp|t|secs?|seconds)(?:_?\W*(s|ms|us|ns)\W*)?")
UNITS = {None: 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
FIRST = 10**9  # [ns] of the first row: a stamp of 0 means none


def read_table(path: Path, joints: Sequence[Sequence[str]] = ()) -> JointStates:
    """Return the joint states of a table."""
    try:
        columns = _csv(path) if path.suffix.lower() == ".csv" else _npz(path)
    except FileNotFoundError:
        raise BagError(f"there is no {path}") from None
    except (OSError, ValueError, KeyError, EOFError, csv.Error) as error:
        raise BagError(f"{path} cannot be read: {str(error)[:300]}") from None
    found = _joint_states(columns, path)
    if not all(joint.isdigit() for joint in found.joint_names):
        return found
    return _named(found, joints, path)


def _named(states: JointStates, joints: Sequence[Sequence[str]], path: Path) -> JointStates:
    """Return joint states with names instead of numbers, in the order of these."""
    n = len(states.joint_names)
    names = next((tuple(those) for those in joints if len(those) == n), None)
    if names is None:
        lists = " or ".join(f"{len(those)} ({', '.join(those)})" for those in joints if those)
        raise BagError(
            f"{path} cannot be read: it has {n} columns, and there is no array joint_names with as "
            f"many names{f', nor are there {n} of the {lists}' if lists else ''}; name them in "
            "their order by --joints, or in the file: np.savez(path, **np.load(path), "
            "joint_names=[...])"
        )
    order = sorted(range(n), key=lambda k: int(states.joint_names[k]))
    fields = {f: getattr(states, f)[:, order] for f in FIELDS}
    note = f"the file names no joints: its columns are taken for {', '.join(names)}, in this order"
    return replace(states, joint_names=names, notes=(note,), **fields)


def _csv(path: Path) -> dict[str, Floats]:
    """Return the columns of a file whose first line names them; an empty field is NaN."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        head = file.readline()
        delimiter = max(",;\t", key=head.count)
        names = next(csv.reader([head], delimiter=delimiter), [])
        if len(names) > MAX_COLUMNS:
            raise ValueError(f"{len(names)} columns, expected at most {MAX_COLUMNS}")
        values = array("d")
        for number, row in enumerate(csv.reader(file, delimiter=delimiter), 2):
            if len(row) != len(names):
                if not any(map(str.strip, row)):
                    continue
                raise ValueError(f"line {number} has {len(row)} fields, its head {len(names)}")
            values.extend(float(field) if field.strip() else np.nan for field in row)
    if not names:
        raise ValueError("it is empty")
    rows = np.frombuffer(values).reshape(-1, len(names))
    return {name.strip(): column for name, column in zip(names, rows.T, strict=True)}


def _npz(path: Path) -> dict[str, Floats]:
    """Return the columns of an archive, those of (N, n) arrays by the joints' names."""
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files[:MAX_COLUMNS]}
    names = next((arrays.pop(name) for name in NAMES if name in arrays), None)
    columns: dict[str, Floats] = {}
    for key, values in arrays.items():
        if values.dtype.kind not in "fiu":
            continue
        is_one = values.ndim == 2 and values.shape[1] == 1 and names is None
        if values.ndim == 1 or (is_one and key.lower() not in QUANTITY_OF):
            columns[key] = values.ravel().astype(float)
        elif values.ndim == 2 and key.lower() in QUANTITY_OF:
            those = range(values.shape[1]) if names is None else names
            if len(those) != values.shape[1]:
                raise ValueError(f"{key} has {values.shape[1]} columns, joint_names {len(those)}")
            columns |= {f"{key}/{n}": c for n, c in zip(those, values.T.astype(float), strict=True)}
    return columns


def _joint_states(columns: Mapping[str, Floats], path: Path) -> JointStates:
    time: Floats | None = None
    found: dict[str, dict[str, Floats]] = {}
    for name, values in columns.items():
        if match := TIME.fullmatch(name.lower()):
            time = values * UNITS[match[2]] if time is None else time
        elif (meant := _meaning(name)) is not None:
            quantity, joint = meant
            if quantity in found.setdefault(joint, {}):
                raise BagError(f"{path}: two columns are the {quantity} of joint {joint!r:.100}")
            found[joint][quantity] = values
    joints = [joint for joint, those in found.items() if "position" in those]
    if time is None or not joints:
        missing = "time" if time is None else "position of a joint"
        raise BagError(
            f"{path} has no column for the {missing}, expected e.g. time, position_JOINT, "
            f"velocity_JOINT, effort_JOINT; it has {_listed(list(columns))}"
        )
    if not np.isfinite(time).all():
        raise BagError(f"{path}: a time is no finite number")
    if any(len(values) != len(time) for joint in joints for values in found[joint].values()):
        raise BagError(f"{path}: columns have different lengths")
    order = np.argsort(time, kind="stable")
    if not np.array_equal(order, np.arange(len(time))):
        back = int(np.flatnonzero(np.diff(time) < 0)[0])
        raise BagError(f"{path}: the time goes back after row {back + 1}, expected rows in order")
    stamp = np.rint((time - time[:1]) * 1e9).astype(np.int64) + FIRST
    nothing = np.full(len(time), np.nan)
    q, qd, effort = (
        np.column_stack([found[joint].get(quantity, nothing) for joint in joints])
        for quantity in QUANTITIES
    )
    return JointStates(path.name, tuple(joints), stamp, stamp, q, qd, effort)


def _meaning(name: str) -> tuple[str, str] | None:
    """Return quantity and joint of a column, None if it is something else."""
    parts = [part for part in re.split(r"[/.\[\]():\s]+", name) if part]
    for k, part in enumerate(parts):
        quantity = QUANTITY_OF.get(part.lower())
        if quantity and len(parts) > 1:
            return quantity, parts[k + 1] if k + 1 < len(parts) else parts[k - 1]
    last = parts[-1] if parts else ""
    first, _, rest = last.partition("_")
    if first.lower() in QUANTITY_OF and rest:
        return QUANTITY_OF[first.lower()], rest
    rest, _, end = last.rpartition("_")
    return (QUANTITY_OF[end.lower()], rest) if end.lower() in QUANTITY_OF and rest else None


def _listed(names: Sequence[str], most: int = 20) -> str:
    shown = ", ".join(repr(name[:60]) for name in names[:most]) or "none"
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
