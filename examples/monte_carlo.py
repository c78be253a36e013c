"""How an arm tracks when payload and friction are not what its controller believes.

A sample is an arm with a payload (mass, centre) and joint friction drawn around the believed ones.
It is driven along a few fast motions under three laws with the same gains: PD alone, PD + gravity,
and PD + full feedforward; what a law takes from a model, it takes from the believed one. Control
and simulation run at 1 kHz, torques are clipped to the effort limits. Motions and laws are the rows
of one batched fr.Simulator, which has the payload and the friction of the sample.

Prints the tracking errors, which uncertainty they come from, and how many runs ask for more torque
than there is; draws that; keeps the figures of every sample in results.npz.

Examples:
  python examples/monte_carlo.py
  python examples/monte_carlo.py --robot ur5e --payload 3 --output monte_carlo/ur5e
  python examples/monte_carlo.py --friction-spread 0       what the payload alone does
  python examples/monte_carlo.py --states 24000 --seed 7   1000 arms
  python examples/monte_carlo_dask.py                      the same, on many processes or machines
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

import featherstone_ros as fr
from featherstone_ros.arrays import Floats
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model.drives import Drives
from featherstone_ros.tools.multi_sine import plan
from featherstone_ros.tools.robot_setup import load
from featherstone_ros.tools.style import milli, short_names

LAWS = ("PD alone", "PD + gravity", "feedforward")
TIME_STEP = 0.001  # [s] of control and simulation
CENTRE = (0.0, 0.0, 0.05)  # [m] where the payload's centre is believed to be, in its link's frame
TRACE_SPACING = 50  # [TIME_STEP]
MIN_STEPS = 500  # the planner looks at a motion every 10 steps
Map = Callable[[Callable[[int], "Tracking"], Iterable[int]], Iterable["Tracking"]]
_SPREAD_OF_STARTS = 0.5  # of the way from the robot's start to the nearest limit, or of 1 rad


@dataclass(frozen=True)
class Study:
    """What is simulated: all that a worker needs besides the index of a sample."""

    robot: str = "panda"  # one of the package's own, or the path of a URDF or xacro file
    seed: int = 0  # of everything random
    steps: int = 4000  # length of the motions [``TIME_STEP``]
    motions: int = 8  # how many motions each sample is driven along
    payload: float = 2.0  # believed mass of the payload, and median of the real ones [kg]
    mass_spread: float = 0.15  # standard deviation of the logarithm of the mass
    centre_spread: float = 0.01  # standard deviation of the payload's centre along each axis [m]
    friction_spread: float = 0.3  # standard deviation of the logarithm of each joint's friction

    @property
    def rows(self) -> int:
        """How many states a sample has: one for each law and motion."""
        return len(LAWS) * self.motions


class Scene(NamedTuple):
    """What all samples of a study share; rows are the motions of the first law, of the second..."""

    model: fr.Model  # the arm without payload
    link: str  # the link that carries the payload: the last
    coulomb: Floats  # (n,) believed Coulomb friction [N m or N]
    viscous: Floats  # (n,) believed viscous friction [N m s/rad or N s/m]
    armature: Floats  # (n,) inertia of the drives [kg m^2 or kg]
    p: Floats  # (n,) position gains [N m/rad or N/m]
    d: Floats  # (n,) velocity gains [N m s/rad or N s/m]
    q: Floats  # (steps, rows, n) desired positions [rad or m]
    qd: Floats  # (steps, rows, n) desired velocities [rad/s or m/s]
    torque: Floats  # (steps, rows, n) the law's model torque, of the believed arm [N m or N]


class Tracking(NamedTuple):
    """What a sample is and how it tracks. Many samples are stacked along a first axis."""

    mass: Floats  # real mass of the payload [kg]
    centre: Floats  # (3,) real centre of mass of the payload in its link's frame [m]
    friction: Floats  # (n,) real over believed friction
    rms: Floats  # (laws, motions, n) root mean square tracking error [rad or m]
    effort: Floats  # (laws, motions, n) largest torque asked for, over the effort limit
    trace: Floats  # (times, motions, n) error with feedforward, every ``TRACE_SPACING`` [rad or m]


@lru_cache(maxsize=1)
def prepare(study: Study) -> Scene:
    """Plan the motions and compute the feedforward along them, once per process."""
    robot = load(study.robot)
    model, link = robot.model, robot.model.link_names[-1]
    known = partial(robot.by_joint, "feedforward_controller")
    coulomb, viscous = known("friction.{}.coulomb"), known("friction.{}.viscous")
    armature = known("armature.{}")
    drives = Drives(armature, viscous, coulomb)
    believed = fr.Dynamics(model.with_payload(link, study.payload, CENTRE))

    def inverse_dynamics(q: Floats, qd: Floats, qdd: Floats) -> Floats:
        return drives.torque(believed, q, qd, qdd, sliding=np.sign(qd))

    room = np.minimum(model.upper - robot.start, robot.start - model.lower)
    reach = _SPREAD_OF_STARTS * np.minimum(room, 1.0)
    starts = robot.start + np.random.default_rng(study.seed).uniform(
        -reach, reach, (study.motions, model.n)
    )
    times = np.arange(study.steps) * TIME_STEP
    motions = [plan(model, inverse_dynamics, q, study.steps * TIME_STEP) for q in starts]
    q, qd, qdd = np.concatenate([motion.at(times) for motion in motions], axis=1)

    def by_step(*laws: Floats) -> Floats:
        """Stack (motions * steps, n) of each law into (steps, rows, n)."""
        rows = np.reshape(laws, (study.rows, study.steps, model.n))
        return np.ascontiguousarray(rows.swapaxes(0, 1))

    return Scene(
        model=model,
        link=link,
        coulomb=coulomb,
        viscous=viscous,
        armature=armature,
        p=known("gains.{}.p"),
        d=known("gains.{}.d"),
        q=by_step(q, q, q),
        qd=by_step(qd, qd, qd),
        torque=by_step(np.zeros_like(q), believed.gravity(q), inverse_dynamics(q, qd, qdd)),
    )


def drive(study: Study, index: int) -> Tracking:
    """Draw one sample and drive it along all motions under all laws.

    The result depends on the arguments alone, bit for bit on one kind of processor: not on the
    number of samples, nor on who computes them in which order.
    """
    scene = prepare(study)
    n = scene.model.n
    # The same as SeedSequence(seed).spawn(index + 1)[index].
    random = np.random.default_rng(np.random.SeedSequence(study.seed, spawn_key=(index,)))
    mass = study.payload * np.exp(study.mass_spread * random.standard_normal())
    centre = CENTRE + study.centre_spread * random.standard_normal(3)
    friction = np.exp(study.friction_spread * random.standard_normal(n))

    simulator = fr.Simulator(
        scene.model.with_payload(scene.link, mass, centre),
        TIME_STEP,
        damping=friction * scene.viscous,
        friction=friction * scene.coulomb,
        armature=scene.armature,
    )
    simulator.reset(scene.q[0])
    limit = scene.model.effort_limit
    square, effort, trace = np.zeros((study.rows, n)), np.zeros((study.rows, n)), []
    for step, (q, qd, torque) in enumerate(zip(scene.q, scene.qd, scene.torque, strict=True)):
        error = q - simulator.q
        asked = torque + scene.p * error + scene.d * (qd - simulator.qd)
        square += error**2
        np.maximum(effort, np.abs(asked), out=effort)
        if step % TRACE_SPACING == 0:
            trace.append(error[-study.motions :])
        simulator.step(np.clip(asked, -limit, limit))

    by_law = (len(LAWS), study.motions, n)
    return Tracking(
        mass=np.asarray(mass),
        centre=centre,
        friction=friction,
        rms=np.sqrt(square / study.steps).reshape(by_law),
        effort=(effort / limit).reshape(by_law),
        trace=np.array(trace),
    )


@dataclass(frozen=True)
class StudyResult:
    """The results of all samples of a study."""

    study: Study  # what was simulated
    tracking: Tracking  # of all samples, in front of the axes that ``Tracking`` names
    seconds: float  # how long it took [s]

    @cached_property
    def joints(self) -> list[str]:
        """Short names of the joints."""
        return short_names(prepare(self.study).model.joint_names)

    @property
    def unit(self) -> str:
        """Unit of errors, in thousandths."""
        prismatic = "prismatic" in prepare(self.study).model.joint_types
        return "mrad or mm" if prismatic else "mrad"

    @property
    def duration(self) -> float:
        """Length of the motions [s]."""
        return self.study.steps * TIME_STEP

    @property
    def states(self) -> int:
        """How many states were simulated side by side, in all."""
        return len(self.tracking.mass) * self.study.rows

    @property
    def throughput(self) -> float:
        """Simulated steps times states per second [1/s]."""
        return self.states * self.study.steps / self.seconds

    @cached_property
    def total(self) -> Floats:
        """(samples, laws, motions) RMS error of all joints together [rad or m]."""
        total: Floats = np.linalg.norm(self.tracking.rms, axis=-1)
        return total

    @property
    def gain(self) -> Floats:
        """(samples, motions) error of PD + gravity over error of feedforward on the same run."""
        return self.total[:, 1] / self.total[:, 2]

    @property
    def saturated(self) -> Floats:
        """(laws,) share of runs that ask for more torque than some joint's limit."""
        share: Floats = np.mean((self.tracking.effort > 1).any(axis=-1), axis=(0, 2))
        return share

    @cached_property
    def budget(self) -> dict[str, Floats]:
        """(n,) share of each uncertainty in the joints' mean square error with feedforward.

        At every instant the error is, to first order, e = e0 + sum_i g_i x_i in the deviations x_i
        of the sample from what is believed. Least squares over the samples give g_i(t), and the
        deviations being independent, mean(g_i^2) mean(x_i^2) is what x_i adds to the mean square.
        """
        tracking = self.tracking
        x = np.column_stack(
            [
                np.ones_like(tracking.mass),
                tracking.mass - self.study.payload,
                tracking.centre - CENTRE,
                tracking.friction - 1,
            ]
        )
        g, *_ = np.linalg.lstsq(x, tracking.trace.reshape(len(x), -1), rcond=None)
        g = g.reshape(-1, *tracking.trace.shape[1:])
        part = np.mean(g**2, axis=(1, 2)) * np.mean(x**2, axis=0)[:, None]
        part /= part.sum(axis=0)
        known, mass, centre, friction = np.split(part, [1, 2, 5])
        own = friction.diagonal()
        return {
            "payload mass": mass[0],
            "payload centre": centre.sum(axis=0),
            "own friction": own,
            "other friction": friction.sum(axis=0) - own,
            "all as believed": known[0],
        }

    def table(self) -> Table:
        """What goes to the terminal."""
        table = Table(
            title=f"RMS tracking error, median / 95 % of the runs [{self.unit}]",
            caption="peak torque: with feedforward, 95 % of the runs, over the effort limit",
            title_justify="left",
            caption_justify="left",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            show_edge=False,
            padding=(0, 1, 0, 0),
        )
        table.add_column("joint", no_wrap=True)
        for law in LAWS:
            table.add_column(law, justify="right", no_wrap=True)
        table.add_column("mostly from", no_wrap=True)
        table.add_column("peak\ntorque", justify="right", no_wrap=True)
        middle, high = np.quantile(self.tracking.rms, (0.5, 0.95), axis=(0, 2))  # (laws, n)
        effort = np.quantile(self.tracking.effort[:, -1], 0.95, axis=(0, 1))
        for j, joint in enumerate(self.joints):
            cause = max(self.budget, key=lambda name: self.budget[name][j])
            table.add_row(
                joint,
                *[f"{milli(m[j])} / {milli(h[j]):>4}" for m, h in zip(middle, high, strict=True)],
                f"{cause} {100 * self.budget[cause][j]:.0f} %",
                f"{100 * effort[j]:.0f} %",
            )
        return table

    def verdict(self) -> str:
        """The result in words."""
        shares = ", ".join(
            f"{100 * share:.1f} % ({law})" for law, share in zip(LAWS, self.saturated, strict=True)
        )
        typical, worst = np.quantile(self.gain, (0.5, 0.05))
        return (
            f"Feedforward from the believed model tracks {typical:.1f} times better than PD + "
            f"gravity; in 95 % of the runs at least {worst:.1f} times.\n"
            f"More torque than a joint has was asked for in {shares} of the runs.\n"
        )


def simulate(study: Study, samples: int, console: Console, mapped: Map = map) -> StudyResult:
    """Drive all samples, with a progress bar; ``mapped``: ``map``, or one that works elsewhere."""
    start = time.perf_counter()
    results = mapped(partial(drive, study), range(samples))
    results = list(track(results, "driving arms", total=samples, console=console, transient=True))
    tracking = Tracking(*map(np.stack, zip(*results, strict=True)))
    return StudyResult(study, tracking, time.perf_counter() - start)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not a number >= 0")
    return int(text)


def _size(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a finite number >= 0")
    return value


# Fields of Study on the command line: type, metavar, help.
OPTIONS: dict[str, tuple[Callable[[str], Any], str, str]] = {
    "robot": (str, "NAME|PATH", "panda, ur5e, or a URDF file of your own"),
    "seed": (_count, "N", "of everything random: motions, payloads, friction"),
    "steps": (_count, "N", "length of the motions in steps of 1 ms"),
    "payload": (_size, "KG", "mass on the last link that the controller believes in"),
    "mass_spread": (_size, "X", "relative standard deviation of the real mass"),
    "centre_spread": (_size, "M", "standard deviation of its centre along each axis"),
    "friction_spread": (_size, "X", "relative standard deviation of each joint's friction"),
}


def arguments(description: str) -> argparse.ArgumentParser:
    """Return a parser for what every way of running a study takes."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default, shown = Study(), " (default: %(default)s)"
    for name, (kind, metavar, text) in OPTIONS.items():
        parser.add_argument(
            "--" + name.replace("_", "-"),
            type=kind,
            default=getattr(default, name),
            metavar=metavar,
            help=text + shown,
        )
    parser.add_argument(
        "--states",
        type=_count,
        default=64 * default.rows,
        metavar="N",
        help=f"states in all, {default.rows} for each arm: {len(LAWS)} laws on "
        f"{default.motions} motions" + shown,
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("monte_carlo"),
        metavar="FOLDER",
        help="where report.png and results.npz go" + shown,
    )
    return parser


def run(args: argparse.Namespace, mapped: Map = map) -> int:
    """Run a study as the command line wants it; return the exit status."""
    study = Study(**{name: getattr(args, name) for name in OPTIONS})
    samples = -(-args.states // study.rows)
    console = Console()
    try:
        draw = _drawing()
        _check(study, samples)
        console.print(
            f"{study.robot}: {samples} arms x {study.motions} motions x {len(LAWS)} laws = "
            f"{samples * study.rows} states, {study.steps} steps each"
        )
        report = simulate(study, samples, console, mapped)
    except FeatherstoneError as error:
        print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        return 1
    console.print(report.table(), report.verdict(), sep="\n")
    console.print(
        f"{report.states * study.steps / 1e6:.1f} million steps x states in {report.seconds:.1f} s:"
        f" {report.throughput / 1e6:.2f} million per second"
    )
    args.output.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        args.output / "results.npz", joints=report.joints, **report.tracking._asdict()
    )
    draw(report, LAWS, args.output / "report.png")
    console.print(f"picture and figures: {args.output}/")
    return 0


def _drawing() -> Callable[..., None]:
    """Import what draws the picture: here, because workers need no matplotlib."""
    try:
        from monte_carlo_picture import draw
    except ImportError as error:
        remedy = "pip install 'featherstone_ros[examples]'"
        raise FeatherstoneError(f"the picture cannot be drawn ({error}): {remedy}") from error
    return draw


def _check(study: Study, samples: int) -> None:
    """Refuse a study that is too small."""
    if study.steps < MIN_STEPS:
        raise FeatherstoneError(f"--steps is {study.steps}, expected at least {MIN_STEPS}")
    unknowns = prepare(study).model.n + 5
    if samples < 2 * unknowns:
        raise FeatherstoneError(
            f"--states is {samples * study.rows}, expected at least {2 * unknowns * study.rows}: "
            f"twice as many samples as {unknowns} causes of error that they are to tell apart"
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Run a study in this process; returns the exit status."""
    return run(arguments(__doc__).parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
