"""What `identify` and `evaluate` say of recordings of many arms: sound ones, and with one fault.

An arm follows a motion with feedback, moved by our simulator or by MuJoCo. Its drives have rotors
and friction that nobody knows. Motions are those of `excite`, moves between poses with a rest at
each, of which positions alone are recorded, and `retime`'s, as fast as torques allow. ``clean``
sensors are exact, and the arm is as described; the others have quantised encoders and noise, and
the links are up to 10 % off.

Each answer is judged: ``right`` names the culprit, ``untold`` says that the motion cannot tell,
``silent`` says nothing, ``wrong`` names another. What is identified is compared with the arm as it
is. Tests of all this: test_clean_recordings.py.
"""

import contextlib
import io
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import known_arm
import numpy as np
import scipy  # which imports its parts when they are used
from arm_scene import MujocoArm
from example_robots import ROBOTS
from urdf_text import LIFT, scara

import featherstone_ros as fr
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.identification.base_parameters import base_parameters
from featherstone_ros.identification.bodies import Bodies
from featherstone_ros.identification.faults import find_faults, in_other_units
from featherstone_ros.identification.identification import identify
from featherstone_ros.identification.model_order import Fitting
from featherstone_ros.identification.recording import Recording, interpolated
from featherstone_ros.identification.recording_checks import clipped_efforts
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.robots import robot_file, robot_names
from featherstone_ros.tools import cli
from featherstone_ros.tools.clearance import Clearance
from featherstone_ros.tools.excite import excitation

WRITTEN = {"lift": LIFT, "scara": scara()}
ARMS = ("ur5e", "panda", "z1", "xarm7", "so101", "kinova", "ur10_robot", "talos_left_arm", *WRITTEN)
SPOILED = ("ur5e", "z1", "xarm7", "kinova", "so101")
SIBLINGS = {"ur5e": "ur10_robot", "ur10_robot": "ur5e", "so101": "so100"}
MOTIONS, PLANTS = ("excited", "plain", "retimed"), ("twin", "mujoco")
RATE, STEPS = 200.0, 5  # [1/s] of states, and steps of the plant between two
LENGTH, POSES, REST = 20.0, 10, 0.4  # [s], and [s] at each of these poses
SHORTEST, HELD = 12.0, 0.6  # [s] of a retimed motion, share of the effort limits
STIFFNESS, DAMPING = 400.0, 40.0  # [1/s^2], [1/s]
FRICTION, ROTOR = (0.05, 0.2), 0.01  # of the largest torque of links, [kg m^2 or kg]
TICKS = 2**16  # of an encoder, per turn or m
RANDOM = 1000  # states
SPEED_NOISE, TORQUE_NOISE, LINK_ERROR = 2e-3, 0.005, 0.1  # [rad/s or m/s], of RMS torque, theta


@cache
def file_of(arm: str) -> Path:
    """Return an arm's description."""
    if arm in WRITTEN:
        file = Path(tempfile.mkdtemp()) / f"{arm}.urdf"
        file.write_text(WRITTEN[arm])
        return file
    if arm in robot_names():
        return Path(robot_file(arm))
    return next(path for path in ROBOTS if path.stem == arm)


@cache
def controlled(arm: str) -> ControlledArm:
    """Return an arm with its limits; without those of a gripper that no torque moves."""
    return ControlledArm.from_robot(str(file_of(arm)))


def random_of(*names: object) -> np.random.Generator:
    """Return the random numbers of a case."""
    return np.random.default_rng(zlib.crc32(repr(names).encode()))


@cache
def motion(arm: str, kind: str, seed: int) -> tuple[np.ndarray, ...]:
    """Return time (N,), position, velocity and acceleration (N, n), from rest to rest."""
    its, random = controlled(arm), random_of(arm, kind, seed)
    model = its.model
    if kind == "excited":
        clearance = Clearance.of(model, file_of(arm).read_bytes(), file_of(arm).parent)
        planner = excitation.Excitation(its, clearance, LENGTH)
        starts, steps = excitation.STARTS, excitation.STEPS
        excitation.STARTS, excitation.STEPS = 4, 4
        plan = planner.search(seed=seed)
        excitation.STARTS, excitation.STEPS = starts, steps
        return plan.series.samples(round(LENGTH * RATE) + 1)
    lower, upper = np.maximum(model.lower, -2.5), np.minimum(model.upper, 2.5)
    middle, half = (lower + upper) / 2, 0.8 * (upper - lower) / 2
    points = _held(model, middle + half * random.uniform(-1, 1, (POSES + 1, model.n)))
    fastest = np.where(model.velocity_limit > 0, np.minimum(model.velocity_limit, 3.0), 3.0)
    if kind == "plain":
        taken = LENGTH / POSES - REST
        way = 0.5 * fastest * taken / 1.875
        for k in range(POSES):
            points[k + 1] = points[k] + np.clip(points[k + 1] - points[k], -way, way)
        return known_arm.moves(points, LENGTH / POSES, taken, RATE)
    drives = replace(Drives.of_model(model), coulomb=np.zeros(model.n))  # ours is another
    timed = fr.control.retime(model, points, drives=drives, acceleration=8.0, effort=0.7)
    slower = max(1.0, SHORTEST / timed.duration)
    fields = timed.positions, timed.velocities / slower, timed.accelerations / slower**2
    curve = scipy.interpolate.BPoly.from_derivatives(slower * timed.times, np.stack(fields, axis=1))
    t = np.arange(int(slower * timed.duration * RATE)) / RATE
    return t, *(curve(t, order) for order in range(3))


def _held(model: fr.Model, points: np.ndarray) -> np.ndarray:
    """Return poses, as far from the one that is held most easily as the effort limits allow."""

    def share(poses: np.ndarray) -> np.ndarray:
        return (np.abs(fr.Dynamics(model).gravity(poses)) / model.effort_limit).max(axis=1)

    easiest, x = points[share(points).argmin()], np.linspace(0, 1, 20)[:, None, None]
    while share(np.concatenate(points[:-1] + x * np.diff(points, axis=0))).max() > HELD:
        points = easiest + 0.9 * (points - easiest)
    return points


@dataclass(frozen=True)
class Case:
    """A recording of an arm.

    Attributes:
        arm: Its name.
        kind: Of motion.
        plant: What moves it.
        seed: Of all that is drawn.
        clean: Sensors are exact, and the arm is as described.
    """

    arm: str
    kind: str
    plant: str
    seed: int
    clean: bool = False

    @property
    def model(self) -> fr.Model:
        """The arm as described."""
        return controlled(self.arm).model

    def random(self, *names: object) -> np.random.Generator:
        """Return random numbers of a name."""
        return random_of(self, *names)


def real(case: Case) -> fr.Model:
    """Return the arm as it is."""
    if case.clean:
        return case.model
    bodies = Bodies.of(case.model)
    theta = LINK_ERROR * case.random("links").uniform(-1, 1, 10 * len(bodies.names))
    return case.model.with_inertial_parameters(bodies.link_parameters(theta))


def friction(case: Case, arm: fr.Model) -> tuple[np.ndarray, np.ndarray]:
    """Return an arm's Coulomb and viscous friction (n,) that nobody knows."""
    _, q, qd, qdd = motion(case.arm, case.kind, case.seed)
    random = case.random("friction")
    size = np.abs(fr.Dynamics(arm).rnea(q, qd, qdd)).max(axis=0)
    size = np.maximum(size, 0.02 * size.max())
    coulomb, viscous = (size * random.uniform(*FRICTION, arm.n) for _ in range(2))
    return coulomb, viscous / np.maximum(np.abs(qd).max(axis=0), 0.1)


def driven(case: Case, arm: fr.Model) -> Recording:
    """Return what is true of an arm that follows a motion."""
    t, q, qd, qdd = motion(case.arm, case.kind, case.seed)
    dynamics, (coulomb, viscous) = fr.Dynamics(arm), friction(case, arm)
    rotor = np.full(arm.n, ROTOR)
    period = 1 / RATE / STEPS
    if case.plant == "mujoco":
        known = {}
        for name, *terms in zip(arm.joint_names, coulomb, viscous, rotor, strict=True):
            fields = (f"friction.{name}.coulomb", f"friction.{name}.viscous", f"armature.{name}")
            known |= dict(zip(fields, map(float, terms), strict=True))
        text = arm.to_urdf(file_of(case.arm).read_text())
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "real.urdf"
            file.write_text(text)
            its = ControlledArm.from_robot(str(file)).with_parameters(known)
        plant = MujocoArm(text, its, q[0], period).simulator
        plant._model.opt.gravity[:] = arm.gravity
        plant.set_state(q[0], qd[0])
    else:
        options = {"damping": viscous, "friction": coulomb, "armature": rotor}
        plant = fr.Simulator(arm, period, "implicit", **options)
        plant.reset(q[0], qd[0])
    forward = viscous * qd + coulomb * np.tanh(qd / 0.01)
    states = []
    for k in range(len(t)):
        at, speed = plant.q, plant.qd
        pull = qdd[k] + STIFFNESS * (q[k] - at) + DAMPING * (qd[k] - speed)
        tau = dynamics.rnea(at, speed, pull) + rotor * pull + forward[k]
        states.append((at, speed, tau))
        plant.step(tau, STEPS)
    position, velocity, effort = (np.array(rows) for rows in zip(*states, strict=True))
    # Each acts until the next state; the plants step velocity first, then position by it: their
    # velocity is that of half a step before.
    effort = interpolated(t, t + (STEPS - 1) * period / 2, effort)
    velocity = interpolated(t, t - period / 2, velocity)
    assert np.abs(position - q).max() < 0.1  # [rad or m]
    return Recording("", case.model.joint_names, t, position, velocity, effort)


def sensed(case: Case, true: Recording) -> Recording:
    """Return what the sensors give."""
    velocity = None if case.kind == "plain" else true.velocity
    if case.clean:
        return replace(true, velocity=velocity)
    random, shape = case.random("noise"), true.position.shape
    tick = 2 * np.pi / TICKS
    noise = SPEED_NOISE * random.standard_normal(shape)
    spread = TORQUE_NOISE * true.effort.std(axis=0) * random.standard_normal(shape)
    return replace(
        true,
        position=tick * np.round(true.position / tick),
        velocity=None if velocity is None else velocity + noise,
        effort=true.effort + spread,
    )


@cache
def sound(case: Case) -> Recording:
    """Return a recording without fault."""
    return sensed(case, driven(case, real(case)))


def said(model: fr.Model, recording: Recording) -> tuple[list[str], list[str], str]:
    """Return what `identify` names, what it remarks, and the load that it sees."""
    fitting = Fitting(model, [recording], range(model.n), 2.0)
    faults = in_other_units(find_faults(fitting), model, recording, 2.0)
    clipped = clipped_efforts(model.joint_names, [recording])
    return [*faults.texts, *clipped], list(faults.notes), faults.load


def written(case: Case, folder: str) -> str:
    """Write a sound recording; return its path."""
    its = sound(case)
    signals = its.time, its.position, its.velocity, its.effort
    return known_arm.save(Path(folder) / "bag.npz", signals, its.joint_names)


def identified(case: Case) -> str:
    """Return why `identify` and `evaluate` do not accept a sound recording; empty: they do."""
    urdf = str(file_of(case.arm))
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        bag = written(case, folder)
        told = stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        stack.enter_context(contextlib.redirect_stderr(told))
        output = str(Path(folder) / "out.urdf")
        if cli.main(["identify", bag, "--urdf", urdf, "--output", output]):
            return told.getvalue().strip()
    return ""


def compared(case: Case) -> tuple[np.ndarray, float]:
    """Compare what `identify` finds with the arm as it is.

    Returns:
        Errors (k,) of what the data identify, in deviations; and what the model's torque is off in
        random states, as fast as the recorded motion, relative to the torque (RMS).
    """
    arm, random = real(case), case.random("states")
    with tempfile.TemporaryDirectory() as folder:
        found = identify([written(case, folder)], file_of(case.arm))
    rotor, its = np.full(arm.n, ROTOR), found.estimate
    true = dict.fromkeys(its.names, 0.0)  # no offset, and no friction that grows with the load
    links = base_parameters(arm).mapping @ np.concatenate([Bodies.of(arm).parameters, rotor])
    true |= dict(zip(its.names, links.tolist(), strict=False))
    for term, values in zip(("coulomb", "viscous"), friction(case, arm), strict=True):
        names = (f"{term}.{name}" for name in arm.joint_names)
        true |= dict(zip(names, values.tolist(), strict=True))
    off = (its.value - np.array([true[name] for name in its.names])) / its.deviation
    _, q, qd, qdd = motion(case.arm, case.kind, case.seed)
    q, qd, qdd = (
        random.uniform(low, high, (RANDOM, arm.n))
        for low, high in ((x.min(axis=0), x.max(axis=0)) for x in (q, qd, qdd))
    )
    torque = fr.Dynamics(arm).rnea(q, qd, qdd) + rotor * qdd
    model, drives = found.arm.model, found.arm.drives
    left = fr.Dynamics(model).rnea(q, qd, qdd) + drives.armature * qdd - torque
    return off[its.identified], float(np.linalg.norm(left) / np.linalg.norm(torque))


@dataclass(frozen=True)
class Spoiled:
    """A recording with a fault.

    Attributes:
        recording: It.
        words: What names the culprit, one of them; empty: nothing need be named.
        joint: The culprit, empty if it is no joint.
        model: The arm as it is said to be; None: as described.
        late, turned: True delay [s] and tilt [rad].
    """

    recording: Recording
    words: tuple[str, ...]
    joint: str = ""
    model: fr.Model | None = None
    late: float = 0.0
    turned: float = 0.0


Spoil = Callable[[Case], Spoiled]


def joint_of(case: Case, count: int = 1) -> list[int]:
    """Return joints that are at fault."""
    return case.random("joint").permutation(case.model.n)[:count].tolist()


def of_one(fields: str, change: Callable[[np.ndarray], np.ndarray], *words: str) -> Spoil:
    """Return what changes fields of one joint, and is named so."""

    def spoil(case: Case) -> Spoiled:
        (k,) = joint_of(case)
        its, name = sound(case), case.model.joint_names[k]
        changed = {f: np.copy(x) for f in fields.split() if (x := getattr(its, f)) is not None}
        for values in changed.values():
            values[:, k] = change(values[:, k])
        names = tuple(word.format(name) for word in words)
        return Spoiled(replace(its, **changed), names, name)

    return spoil


def scaled(factor: float) -> Spoil:
    """Return what multiplies one joint's effort."""
    words = "{}: its effort is ", "{}: measured torque is", "{}="
    return of_one("effort", lambda x: factor * x, *words)


def clipped(effort: np.ndarray) -> np.ndarray:
    top = 0.9 * np.abs(effort).max()
    return np.clip(effort, -top, top)


def in_amperes(case: Case) -> Spoiled:
    recording = replace(sound(case), effort=0.09 * sound(case).effort)
    return Spoiled(recording, ("of possible links", "Efforts are another unit", "measured torque"))


def late(delay: float) -> Spoil:
    """Return what makes efforts late [s]."""

    def spoil(case: Case) -> Spoiled:
        its = sound(case)
        effort = interpolated(its.time - delay, its.time, its.effort)
        words = ("All efforts come",) * (delay > 0.01)
        known = its.time >= its.time[0] + delay  # before that no effort was recorded
        return Spoiled(replace(its, effort=effort).where(known), words, late=delay)

    return spoil


def encoder_off(offset: float) -> Spoil:
    """Return what turns an encoder's zero [rad or m]."""
    return of_one("position", lambda x: x + offset, "{}: its encoder is off")


def swapped(case: Case) -> Spoiled:
    pair = sorted(joint_of(case, 2))
    effort, names = sound(case).effort.copy(), [case.model.joint_names[k] for k in pair]
    effort[:, pair] = effort[:, pair[::-1]]
    words = (f"{names[0]} and {names[1]}: their efforts", f"{names[1]} and {names[0]}: their")
    return Spoiled(replace(sound(case), effort=effort), words, names[0])


def tilted(degrees: float) -> Spoil:
    """Return what mounts the arm otherwise."""

    def spoil(case: Case) -> Spoiled:
        angle, way = np.radians(degrees), case.random("way").uniform(0, 2 * np.pi)
        down = 9.81 * np.array([np.sin(angle) * np.cos(way), np.sin(angle) * np.sin(way), 0.0])
        down[2] = -9.81 * np.cos(angle)
        arm = real(case).with_gravity(tuple(down.tolist()))
        return Spoiled(sensed(case, driven(case, arm)), ("Gravity is turned by",), turned=angle)

    return spoil


def sibling(case: Case) -> Spoiled:
    """Give the description of another arm of as many joints, one by one in their order.

    The SO-101's come from the hand to the base, the SO-100's from the base: each is another.
    """
    other = controlled(SIBLINGS.get(case.arm, case.arm)).model
    recording = replace(sound(case), joint_names=other.joint_names)
    return Spoiled(recording, ("another arm's",), model=other)


def loaded(case: Case) -> Spoiled:
    arm, link = _carrying(real(case)), Bodies.of(case.model).names[-1]
    return Spoiled(sensed(case, driven(case, arm)), ("unmodelled load", "another arm's"), link)


def wrong_payload(case: Case) -> Spoiled:
    return Spoiled(sound(case), (), model=_carrying(case.model))


def _carrying(arm: fr.Model) -> fr.Model:
    """Return an arm with a load of a tenth of its mass at its end."""
    mass = 0.1 * float(arm.tree.mass[1:].sum())
    return arm.with_payload(arm.link_names[-1], mass, [0.0, 0.0, 0.05], 1e-3 * mass * np.eye(3))


def weightless(case: Case) -> Spoiled:
    gravity = fr.Dynamics(real(case)).gravity(sound(case).position)
    recording = replace(sound(case), effort=sound(case).effort - gravity)
    return Spoiled(recording, ("The torque is explained better without gravity",))


FAULTS: dict[str, Spoil] = {
    "sign": of_one("effort", np.negative, "{}: its effort has the opposite sign"),
    "gain 1.6": scaled(1.6),
    "gain 0.09": scaled(0.09),
    "amperes": in_amperes,
    "clipped": of_one("effort", clipped, "{}: its effort is clipped"),
    "5 ms": late(0.005),
    "20 ms": late(0.02),
    "40 ms": late(0.04),
    "encoder .1": encoder_off(0.1),
    "encoder .3": encoder_off(0.3),
    "swapped": swapped,
    "mirrored": of_one("position velocity", np.negative, "{}: its position and velocity seem"),
    "tilt 2": tilted(2.0),
    "tilt 10": tilted(10.0),
    "tilt 45": tilted(45.0),
    "wall": tilted(90.0),
    "sibling": sibling,
    "load": loaded,
    "payload": wrong_payload,
    "weightless": weightless,
}


@dataclass(frozen=True)
class Verdict:
    """What is said of a fault.

    Attributes:
        word: ``right``, ``untold``, ``silent`` or ``wrong``.
        texts: All that is said.
        errors: Of delay [ms] and tilt [degrees], with their deviations, where these are told.
    """

    word: str
    texts: tuple[str, ...]
    errors: dict[str, tuple[float, float]]


def judged(case: Case, spoiled: Spoiled) -> Verdict:
    """Return what is said of a recording, and whether it is right."""
    named, notes, load = said(spoiled.model or case.model, spoiled.recording)
    everything = [*named, load] if load else named
    is_right = [any(word in text for word in spoiled.words) for text in everything]
    untold = "cannot tell" in " ".join(named) or any(
        "not tell" in note and spoiled.joint and spoiled.joint in note for note in notes
    )
    if any("cannot tell" in text for text in named):
        word = "untold"
    elif named and not all(is_right[: len(named)]):
        word = "wrong"
    elif any(is_right) or not spoiled.words:
        word = "right"
    else:
        word = "untold" if untold or any("another arm's" in note for note in notes) else "silent"
    return Verdict(word, (*everything, *notes), _errors(spoiled, notes))


def _errors(spoiled: Spoiled, notes: list[str]) -> dict[str, tuple[float, float]]:
    (note,) = [n for n in notes if n.startswith("estimated")] or [""]
    errors = {}
    for what, before, after, true in (
        ("delay", "efforts ", " ms", 1e3 * spoiled.late),
        ("tilt", "gravity ", " degrees", np.degrees(spoiled.turned)),
    ):
        if before in note and after in note:
            value, deviation = map(float, note.split(before)[1].split(after)[0].split(" ± "))
            errors[what] = value - true, deviation
    return errors


def covered(errors: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the share of errors within 1.96 deviations, and their RMS in deviations.

    Both are printed to a tenth, of which half is nobody's error.
    """
    off, wide = np.abs(np.array(errors)).T
    off, wide = np.maximum(off - 0.05, 0.0), wide + 0.05
    return float((off < 1.96 * wide).mean()), float(np.sqrt(((off / wide) ** 2).mean()))
