"""Episodes: the arm's motion and the fault, all drawn from one seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.model import Model

STATES, COMMANDS, WRENCH = "states", "commands", "wrench"
BOTH = (STATES, COMMANDS)
KILL_INTO_DAMAGE = "kill controller, corrupt states"

STATE_DAMAGE = (
    "nan",
    "inf",
    "huge",
    "wrong length",
    "joint missing",
    "joint twice",
    "empty",
    "position spike",
    "velocity spike",
    "effort spike",
    "stamp zero",
    "stamp backward",
)
COMMAND_DAMAGE = ("nan", "inf", "huge", "wrong length", "empty")
WRENCH_DAMAGE = ("nan", "inf", "huge", "spike")  # now and then
LASTING_WRENCH_DAMAGE = ("zero", "reversed", "scaled", "offset")

MAX_WRONG = 0.1  # share of wrong messages of class 3
SPEED, SPEED_WITH_LOST_COMMANDS = 1.2, 2.0  # over the limits
REACH = 0.5  # [rad] of a start around the arm's home, and of a motion around its start
SHARE_OF_SPEED = 0.5  # of the velocity limits that a motion uses
LIMIT_DISTANCE = 0.02  # [rad] from a position limit at which every third motion ends
SHORTEST_MOTION = 0.5  # [s]
# Of a quintic from rest to rest over mean velocity, and over mean velocity by duration.
PEAK, PEAK_ACCELERATION = 1.875, 5.774


@dataclass(frozen=True)
class Fault:
    """What happens between the nodes, or to one of them.

    Attributes:
        kind: One of ``KINDS``.
        links: The directions of traffic it concerns; none if it concerns a process.
        duration: How long it lasts [s]; of a kill, until the restart.
        probability: Share of messages it concerns.
        delay: Longest delay [s].
        damage: Sort of corruption.
        offset: Of the time stamps and of ROS time [s].
    """

    kind: str
    links: tuple[str, ...] = ()
    duration: float = 0.0
    probability: float = 1.0
    delay: float = 0.0
    damage: str = ""
    offset: float = 0.0

    @property
    def is_lie(self) -> bool:
        """Tell whether joint states are false."""
        spoils = self.kind.endswith("states") and self.kind.split()[0] in ("corrupt", "garbage")
        return spoils or self.kind in ("all at once", "spike, then freeze", KILL_INTO_DAMAGE)

    @property
    def fault_class(self) -> int:
        """The class of docs/faults.md: 1 silence, 3 wrong now and then, 4 for good, 5 hostile."""
        spoils = self.kind.split()[0].rstrip(",") in ("corrupt", "garbage", "spike", "all", "kill")
        if not spoils or self.kind in ("kill controller", "kill twin"):
            return 1
        if self.probability <= MAX_WRONG or self.kind.startswith("spike"):
            return 3
        return 4 if WRENCH in self.links else 5

    @property
    def most_speed(self) -> float:
        """The speed over its limit that docs/faults.md promises; of class 5 that of commands."""
        lost = COMMANDS in self.links or self.fault_class >= 4
        return SPEED_WITH_LOST_COMMANDS if lost else SPEED

    @property
    def loses_commands(self) -> bool:
        """Tell whether the drives keep commands for longer than they were meant for."""
        return self.kind == "drop commands"


@dataclass(frozen=True)
class Episode:
    """One run: the arm is put at ``start``, moves to ``target``, and ``fault`` comes meanwhile.

    Attributes:
        seed: Of everything.
        start: (n,) [rad].
        target: (n,) [rad]; equal to ``start``: the arm stands still.
        motion_time: Duration of the motion [s].
        fault: What happens.
        onset: When, counted from the beginning of the motion [s].
        by_hand: The arm is led by its hand, in mode cartesian_impedance; else by its joints.
    """

    seed: int
    start: Floats
    target: Floats
    motion_time: float
    fault: Fault
    onset: float
    by_hand: bool

    @property
    def at_rest(self) -> bool:
        """Whether the arm stands still until the fault comes."""
        return bool(np.array_equal(self.start, self.target))


def freeze_time(random: np.random.Generator) -> float:
    """Return a duration between 50 ms and 2 s, each scale as likely as another [s]."""
    return float(0.05 * 40.0 ** random.random())


def _lossy(kind: str, link: str, random: np.random.Generator) -> Fault:
    share = random.uniform(0.1, 0.9)
    return Fault(f"{kind} {link}", (link,), random.uniform(0.3, 1.0), share)


def _delayed(kind: str, link: str, longest: float, random: np.random.Generator) -> Fault:
    delay = random.uniform(0.002, longest)
    return Fault(f"{kind} {link}", (link,), random.uniform(0.3, 1.0), 1.0, delay)


def _corrupt(link: str, damages: tuple[str, ...], random: np.random.Generator) -> Fault:
    damage = str(random.choice(damages))
    share = random.choice([0.05, 0.3, 1.0])
    if link == COMMANDS and damage == "huge":
        share = 0.05  # of the right form: a drive that believes its master has to obey
    return Fault(f"corrupt {link}", (link,), random.uniform(0.1, 1.0), share, damage=damage)


def _garbage(link: str, random: np.random.Generator) -> Fault:
    damage = str(random.choice(["noise", "truncated", "bits flipped"]))
    share = 0.05 if damage == "bits flipped" and link == COMMANDS else random.choice([0.1, 1.0])
    return Fault(f"garbage {link}", (link,), random.uniform(0.1, 1.0), share, damage=damage)


def _freeze(links: tuple[str, ...], kind: str, random: np.random.Generator) -> Fault:
    return Fault(kind, links, freeze_time(random))


def _spiked_freeze(random: np.random.Generator) -> Fault:
    damage = str(random.choice(["position spike", "velocity spike", "effort spike", "huge"]))
    return Fault("spike, then freeze", (STATES,), freeze_time(random), damage=damage)


def _clock(random: np.random.Generator) -> Fault:
    offset = -(10.0 ** random.uniform(-2.0, 3.0))
    return Fault("ROS time backward", (STATES,), random.uniform(0.1, 1.0), offset=offset)


def _kill_into_damage(random: np.random.Generator) -> Fault:
    damage = str(random.choice(STATE_DAMAGE))
    return Fault(KILL_INTO_DAMAGE, (STATES,), 0.1, 0.5, damage=damage)


# Kind of fault -> what draws one; the seed goes through them in turn.
KINDS = {
    "drop states": lambda random: _lossy("drop", STATES, random),
    "drop commands": lambda random: _lossy("drop", COMMANDS, random),
    "delay states": lambda random: _delayed("delay", STATES, 0.090, random),
    "delay commands": lambda random: _delayed("delay", COMMANDS, 0.010, random),
    "duplicate states": lambda random: _lossy("duplicate", STATES, random),
    "duplicate commands": lambda random: _lossy("duplicate", COMMANDS, random),
    "reorder states": lambda random: _delayed("reorder", STATES, 0.030, random),
    "reorder commands": lambda random: _delayed("reorder", COMMANDS, 0.015, random),
    "corrupt states": lambda random: _corrupt(STATES, STATE_DAMAGE, random),
    "corrupt commands": lambda random: _corrupt(COMMANDS, COMMAND_DAMAGE, random),
    "garbage states": lambda random: _garbage(STATES, random),
    "garbage commands": lambda random: _garbage(COMMANDS, random),
    "freeze states": lambda random: _freeze((STATES,), "freeze states", random),
    "freeze commands": lambda random: _freeze((COMMANDS,), "freeze commands", random),
    "freeze both": lambda random: _freeze(BOTH, "freeze both", random),
    "burst states": lambda random: _freeze((STATES,), "burst states", random),
    "burst commands": lambda random: _freeze((COMMANDS,), "burst commands", random),
    "spike, then freeze": _spiked_freeze,
    "ROS time backward": _clock,
    "stop controller": lambda random: Fault("stop controller", duration=freeze_time(random)),
    "stop twin": lambda random: Fault("stop twin", duration=freeze_time(random)),
    "kill controller": lambda random: Fault("kill controller", duration=freeze_time(random)),
    "kill twin": lambda random: Fault("kill twin", duration=freeze_time(random)),
    KILL_INTO_DAMAGE: _kill_into_damage,
    "all at once": lambda random: Fault("all at once", BOTH, random.uniform(0.3, 2.0), 0.1, 0.01),
}


# Beside them where a force is controlled: its sensor's.
KINDS_IN_CONTACT = KINDS | {
    "freeze wrench": lambda random: _freeze((WRENCH,), "freeze wrench", random),
    "drop wrench": lambda random: _lossy("drop", WRENCH, random),
    "corrupt wrench": lambda random: replace(
        _corrupt(WRENCH, WRENCH_DAMAGE, random), probability=MAX_WRONG
    ),
    "garbage wrench": lambda random: replace(
        _corrupt(WRENCH, LASTING_WRENCH_DAMAGE, random),
        kind="garbage wrench",
        probability=1.0,
        duration=freeze_time(random),
    ),
}


def draw(
    seed: int,
    model: Model,
    home: Floats,
    by_hand: bool | None = None,
    kinds: Mapping[str, Callable[[np.random.Generator], Fault]] = KINDS,
) -> Episode:
    """Return the episode of a seed.

    Args:
        seed: Also chooses the kind of fault: consecutive seeds go through all of them.
        model: The arm.
        home: (n,) around which the arm works [rad].
        by_hand: Whether the arm is led by its hand; None: drawn.
        kinds: Of faults.
    """
    random = np.random.default_rng(seed)
    fault = list(kinds.values())[seed % len(kinds)](random)
    inside = 2.0 * LIMIT_DISTANCE
    lower, upper = model.lower + inside, model.upper - inside
    start = np.clip(home + random.uniform(-REACH, REACH, model.n), lower, upper)
    target = np.clip(start + random.uniform(-REACH, REACH, model.n), lower, upper)
    way = random.choice(["rest", "motion", "to a limit"])
    if way == "rest":
        target = start
    elif way == "to a limit":
        joint = random.integers(model.n)
        end = random.choice([model.lower[joint] + inside / 2, model.upper[joint] - inside / 2])
        target[joint] = end
        start[joint] = np.clip(start[joint], end - 2.0 * REACH, end + 2.0 * REACH)
    speed = SHARE_OF_SPEED * model.velocity_limit
    motion_time = max(SHORTEST_MOTION, float((PEAK * np.abs(target - start) / speed).max()))
    onset = random.uniform(0.2, 0.8) * min(motion_time, 1.0)
    drawn = bool(random.random() < 0.5)
    by_hand = drawn if by_hand is None else by_hand
    return Episode(seed, start, target, motion_time, fault, onset, by_hand)
