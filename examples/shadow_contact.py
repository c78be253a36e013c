"""How well a shadow feels contact: convergence of its estimates, and false alarms.

A simulated arm is driven along fast motions by PD and feedforward at 1 kHz. Its joint states, with
noise on every figure, are all that the shadow gets.

- Convergence: a wrench pulls at a link for a while, unknown to the shadow. How fast does the
  estimate approach it, and how far from it does it end?
- False alarms: nothing touches the arm, but it is heavier than the shadow believes. How often does
  the shadow report contact, at its default thresholds?

Prints both and draws the first.

Examples:
  python examples/shadow_contact.py
  python examples/shadow_contact.py --robot ur5e --minutes 60
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

import featherstone_ros as fr
from featherstone_ros.arrays import Floats
from featherstone_ros.observer import Shadow, ShadowSettings
from featherstone_ros.tools.multi_sine import MultiSine, plan
from featherstone_ros.tools.robot_setup import RobotSetup, load
from featherstone_ros.tools.style import COLOURS, FAINT, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TIME_STEP = 0.001  # [s] of control and simulation
EPISODE = 20.0  # [s] of a motion
NOISE = (1e-4, 0.01, 0.2)  # of position, velocity and effort [rad, rad/s, N m]
FORCE = (30.0, -20.0, 40.0, 4.0, -3.0, 3.0)  # [N, N m] the hidden wrench, in the link's axes
BEGIN, END = 5.0, 9.0  # [s] when it acts
SETTLED = 15.0  # time constants after which the estimate is compared


class State(NamedTuple):
    """A measured joint state: time [s], position, velocity and effort (n,)."""

    time: float
    q: Floats
    qd: Floats
    effort: Floats


@dataclass(frozen=True)
class Record:
    """What a shadow said, sample by sample."""

    time: Floats  # (N,) [s]
    torque: Floats  # (N, n) external torque [N m or N]
    wrench: Floats  # (N, 6) estimate [N, N m]
    contact: NDArray[np.bool_]  # (N,) bool

    @property
    def alarms(self) -> int:
        """How often contact began."""
        began = (now and not before for before, now in pairwise(self.contact))
        return sum(map(bool, began), start=int(self.contact[0]))


def settings_for(robot: RobotSetup, **changes: Any) -> ShadowSettings:
    """Return a shadow's settings with the robot's friction and armature."""
    return ShadowSettings(drives=robot.drives, **changes)


def motion_of(robot: RobotSetup, speed: float, centre: Floats | None = None) -> MultiSine:
    """Plan a motion of every joint, around the robot's start unless another centre is given."""
    if centre is None:
        centre = robot.by_joint("digital_twin", "initial_positions.{}")
    return plan(robot.model, fr.Dynamics(robot.model).rnea, centre, EPISODE, speed)


def drive(
    robot: RobotSetup,
    motion: MultiSine,
    rate: float,
    seed: int,
    mass_error: float = 0.0,
    f_ext: Callable[[float], dict[str, Sequence[float]] | None] = lambda time: None,
) -> Iterator[State]:
    """Drive the arm along a motion; yield what it measures ``rate`` times a second.

    ``robot``: as the controller believes it is; ``rate``: a divisor of 1 kHz; ``mass_error``: share
    by which all links are heavier than believed; ``f_ext``: wrenches on links over time [s].
    """
    model = robot.model
    heavier = model.with_inertial_parameters((1.0 + mass_error) * model.inertial_parameters)
    arm = fr.Simulator(heavier, TIME_STEP, **robot.drives.of_simulator)
    random = np.random.default_rng(seed)
    p, d = (robot.by_joint("feedforward_controller", f"gains.{{}}.{gain}") for gain in "pd")
    time, q, qd, qdd = motion.samples(TIME_STEP)
    still = np.zeros(model.n)
    frictionless = replace(robot.drives, viscous=still, coulomb=still)
    feedforward = frictionless.torque(fr.Dynamics(model), q, qd, qdd)
    arm.reset(q[0])
    every = round(1.0 / (rate * TIME_STEP))
    for k in range(len(time) - 1):
        torque = feedforward[k] + p * (q[k] - arm.q) + d * (qd[k] - arm.qd)
        arm.step(torque, 1, f_ext(time[k]))
        if k % every == 0:
            noise = np.multiply.outer(NOISE, np.ones(model.n)) * random.standard_normal(
                (3, model.n)
            )
            yield State(time[k + 1], *(np.array([arm.q, arm.qd, torque]) + noise))


def watch(shadow: Shadow, states: Iterable[State]) -> Record:
    """Let a shadow follow joint states from its beginning."""
    shadow.restart()
    rows = []
    for state in states:
        update = shadow.update(round(state.time * 1e9), state.q, state.qd, state.effort)
        if update is not None and update.residual is not None:
            residual = update.residual
            rows.append((state.time, residual.torque, residual.wrench, residual.contact))
    return Record(*(np.array(column) for column in zip(*rows, strict=True)))


def pulled(robot: RobotSetup, rate: float, gain: float, speed: float, seed: int = 0) -> Record:
    """Return what a shadow says while a hidden wrench pulls at its link."""
    shadow = Shadow(robot.model, settings_for(robot, observer_gain=gain))
    link = shadow.wrench_link
    states = drive(
        robot,
        motion_of(robot, speed),
        rate,
        seed,
        f_ext=lambda time: {link: FORCE} if BEGIN <= time < END else None,
    )
    return watch(shadow, takewhile(lambda state: state.time < END + 1.0, states))


def convergence(record: Record, gain: float) -> tuple[float, float]:
    """Return the time constant [s] and the bias of the estimate, as a share of the wrench.

    The time constant is that of the best-fitting exponential. The bias is the error of the mean
    after settling, of force or torque relative to their size, whichever is larger.
    """
    since = record.time - BEGIN
    wrench = np.array(FORCE)
    rising = (since > 0.0) & (since < 4.0 / gain)
    share = record.wrench[rising] @ wrench / (wrench @ wrench)
    candidates = np.linspace(0.3, 3.0, 1000) / gain
    curves = 1.0 - np.exp(-since[rising] / candidates[:, None])
    constant = candidates[np.argmin(((curves - share) ** 2).sum(axis=1))]
    settled = (since > SETTLED / gain) & (record.time < END)
    missed = (record.wrench[settled].mean(axis=0) - wrench).reshape(2, 3)
    relative = np.linalg.norm(missed, axis=1) / np.linalg.norm(wrench.reshape(2, 3), axis=1)
    return float(constant), float(relative.max())


def untouched(robot: RobotSetup, rate: float, mass_error: float, episode: int) -> Record:
    """Return what a shadow says of a heavier arm along a motion that depends on the episode."""
    random = np.random.default_rng([episode, 5])
    model = robot.model
    start = robot.by_joint("digital_twin", "initial_positions.{}")
    room = np.minimum(np.minimum(model.upper - start, start - model.lower), 1.0)
    centre = start + 0.5 * room * random.uniform(-1.0, 1.0, model.n)
    motion = motion_of(robot, random.uniform(0.2, 0.8), centre)
    shadow = Shadow(model, settings_for(robot))
    return watch(shadow, drive(robot, motion, rate, episode, mass_error))


def draw(record: Record, gain: float, path: Path) -> None:
    """Draw force and torque of the estimate over time, with the true ones."""
    with picture(path) as pyplot:
        figure = pyplot.figure(figsize=(9.0, 4.2), dpi=100, layout="constrained")
        figure.suptitle(
            f"Wrench on a moving arm, from noisy joint states (grey: 1 / gain = {1 / gain:g} s)"
        )
        _draw(record, gain, *figure.subplots(1, 2))


def _draw(record: Record, gain: float, *panels: Axes) -> None:
    shown = (record.time > BEGIN - 0.5) & (record.time < BEGIN + 1.0)
    time = record.time[shown] - BEGIN
    for column, (axes, what) in enumerate(zip(panels, ("force [N]", "torque [N m]"), strict=True)):
        for axis in range(3):
            index = 3 * column + axis
            axes.plot(
                time, record.wrench[shown, index], lw=0.9, color=COLOURS[axis], label="xyz"[axis]
            )
            truth = np.where(time > 0.0, FORCE[index], 0.0)
            axes.plot(time, truth, "--", lw=1.0, color=COLOURS[axis])
        axes.axvspan(0.0, 1.0 / gain, color=FAINT, zorder=0)
        axes.set(xlabel="time since the contact [s]", ylabel=what)
    axes.legend(title="dashed: true")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--robot", default="panda", help="panda, ur5e, or a file")
    parser.add_argument("--rate", type=float, default=200.0, help="joint states per second [Hz]")
    parser.add_argument("--gain", type=float, default=25.0, help="of the observer [1/s]")
    parser.add_argument("--mass-error", type=float, default=5.0, help="[%%] for the false alarms")
    parser.add_argument("--minutes", type=float, default=10.0, help="of motion without contact")
    parser.add_argument("--output", type=Path, default=Path("shadow"), help="folder of the picture")
    options = parser.parse_args(arguments)
    console = Console()
    try:
        robot = load(options.robot)
    except fr.FeatherstoneError as error:
        parser.error(str(error))
    for speed in (0.0, 0.3, 0.8):
        record = pulled(robot, options.rate, options.gain, speed)
        constant, bias = convergence(record, options.gain)
        console.print(
            f"wrench at {100 * speed:.0f} % speed: time constant {1e3 * constant:.1f} ms "
            f"(1 / gain = {1e3 / options.gain:.1f} ms), bias {100 * bias:.2f} %"
        )
        if speed == 0.3:
            draw(record, options.gain, options.output / "wrench.png")
    episodes = max(1, round(options.minutes * 60.0 / EPISODE))
    alarms, most = 0, np.zeros(robot.model.n)
    for episode in track(range(episodes), "moving without contact", console=console):
        record = untouched(robot, options.rate, options.mass_error / 100.0, episode)
        alarms += record.alarms
        most = np.maximum(most, np.abs(record.torque).max(axis=0))
    hours = episodes * EPISODE / 3600.0
    console.print(
        f"{alarms} false alarms in {hours:.2f} h of motion ({alarms / hours:.1f} per hour), links "
        f"{options.mass_error:g} % heavier than believed, {options.rate:g} Hz"
    )
    console.print("largest external torque [N m]:", np.round(most, 2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
