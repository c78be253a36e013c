"""Measure and draw what docs/servos.md shows of arms with servos, their stiffness 30 % wrong.

From this project's folder (two minutes):

    python docs/servos.py SO101.urdf VX300.urdf.xacro OPEN_MANIPULATOR_X.urdf.xacro

of the packages example-robot-data, github.com/Interbotix/interbotix_ros_manipulators and
github.com/ROBOTIS-GIT/open_manipulator. The servos' figures are assumed, not measured.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from featherstone_ros import Model
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.trajectory import Point
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.simulation import DrivenArm
from featherstone_ros.simulation.closed_loop import ClosedLoop
from featherstone_ros.simulation.drive_bus import DriveBus
from featherstone_ros.tools import panels
from featherstone_ros.tools.style import BLUE, GREEN, GREY, RED, finish, picture

RATE = 100.0  # [Hz]
PLAY, RESOLUTION = 4e-3, 1.5e-3  # [rad]
SHARES = (0.7, 1.0, 1.3)  # of the true stiffness
SETTLED = 1.0  # [s]
PICTURE = Path(__file__).with_name("servos.png")


class Servos(NamedTuple):
    """Of one arm: joints, stiffness, damping, dry friction and rotor (n,), or of all joints."""

    joints: str
    stiffness: object
    damping: object
    friction: object
    rotor: object


ARMS = {
    "SO-101": Servos(
        "shoulder_pan shoulder_lift elbow_flex wrist_flex wrist_roll", 17.8, 0.6, 0.052, 0.028
    ),
    "ViperX 300": Servos(
        "waist shoulder elbow wrist_angle wrist_rotate",
        [100.0, 200.0, 100.0, 50.0, 50.0],
        [2.0, 4.0, 2.0, 1.0, 1.0],
        0.2,
        [0.1, 0.2, 0.1, 0.03, 0.03],
    ),
    "OpenManipulator-X": Servos("joint1 joint2 joint3 joint4", 40.0, 0.8, 0.06, 0.02),
}


class Alone:
    """Servos that are told positions, as everybody does."""

    def __init__(self, bus):
        """Take what reads and writes."""
        self.read, self.bus = bus.read, bus

    def write(self, at, command):
        """Send the position, without the torque."""
        self.bus.write(at, command.position)


class Bench:
    """An arm with its servos as they are."""

    def __init__(self, name, file):
        """Read the arm's file."""
        all_joints = Model.from_file(file).joint_names
        self.servos = ARMS[name]
        joints = [joint for joint in all_joints if joint in self.servos.joints.split()]
        self.model = Model.from_file(file, joints=joints)
        order = [self.servos.joints.split().index(joint) for joint in joints]
        self.rotor, self.friction, stiffness, damping = (
            np.broadcast_to(value, len(joints))[order]
            for value in (
                self.servos.rotor,
                self.servos.friction,
                self.servos.stiffness,
                self.servos.damping,
            )
        )
        self.stiffness, self.damping = stiffness, damping
        lower, upper = np.maximum(self.model.lower, -2.0), np.minimum(self.model.upper, 2.0)
        self.middle, self.amplitude = 0.5 * (lower + upper), 0.15 * (upper - lower)

    def units(self, law="position", wrong=1.0, **more):
        """Return the drives as they are, or with a wrong stiffness."""
        return DriveUnits(
            self.model.joint_names,
            law,
            stiffness=wrong * self.stiffness,
            damping=self.damping,
            **more,
        )

    def plant(self, units):
        """Return the simulated arm."""
        return DrivenArm(
            self.model,
            units,
            self.rotor,
            friction=self.friction,
            backlash=PLAY,
            resolution=RESOLUTION,
            q=self.middle,
            time_step=5e-4,
        )

    def loop(self, plant, **parameters):
        """Return the controller around a plant."""
        timing = {"gains.period": 1.0 / RATE, "gains.delay": 1.0 / RATE}
        names = self.model.joint_names
        rotors = {f"armature.{n}": float(j) for n, j in zip(names, self.rotor, strict=True)}
        return ClosedLoop(ControlledArm.of(self.model, timing | rotors | parameters), plant)

    def points(self, moves):
        """Return points of sines, or of standing still."""
        omega = 1.7 * (1.0 + 0.2 * np.arange(self.model.n))
        times = np.arange(0.5, 6.5, 0.5)
        size = self.amplitude * moves
        points = [
            Point(t, self.middle + size * np.sin(omega * t), size * omega * np.cos(omega * t))
            for t in times
        ]
        return [*points, Point(times[-1] + 0.5, points[-1].positions, np.zeros(self.model.n))]

    def follow(self, plant, moves):
        """Return what happened."""
        return self.loop(plant, output="joint_state").run(self.points(moves), rest=1.0)


def size(record):
    """Return the RMS of the error of all joints, settled [mrad]."""
    return 1e3 * np.sqrt(np.nanmean(record.error[record.time > SETTLED] ** 2))


def swing(record):
    """Return by how much a joint that is to stand moves in the last second [mrad]."""
    return 1e3 * np.ptp(record.q[record.time > record.time[-1] - 1.0], axis=0).max()


def followers(bench):
    """Print errors of a follower; return records by motion and share of the stiffness."""
    records = {}
    for moves in (False, True):
        alone = bench.follow(Alone(bench.plant(bench.units())), moves)
        print(f"  {'moves' if moves else 'stands'}, servos alone: {size(alone):.1f} mrad")
        records[moves, None] = alone
        for share in SHARES:
            bus = DriveBus(bench.model, bench.units(wrong=share), bench.plant(bench.units()))
            records[moves, share] = record = bench.follow(bus, moves)
            print(
                f"    stiffness {share:g} of the true: {size(record):.1f} mrad, "
                f"{size(alone) / size(record):.1f} times less"
                + ("" if moves else f"; swings {swing(record):.1f} mrad")
            )
    return records


def leaders(bench):
    """Print how far a leader arm moves in 3 s that nobody holds it, from half a second on."""
    motor = {"torque_constant": 1.2, "gear_ratio": 1.0}
    told_wrong = {"torque_constant": 1.08, "gear_ratio": 1.0}
    cases = {
        "no torque": None,
        "current, constant 10 % wrong": ("current", told_wrong, 1.0),
        "offset, stiffness 30 % wrong": ("position", {}, 0.7),
        "offset, stiffness known": ("position", {}, 1.0),
    }
    for label, case in cases.items():
        law, of_motor, wrong = case or ("current", motor, 1.0)
        plant = bench.plant(bench.units(law, **(motor if law == "current" else {})))
        if case is None:
            advance = plant.advance
        else:
            bus = DriveBus(bench.model, bench.units(law, wrong, **of_motor), plant)
            advance = bench.loop(bus, mode="gravity_compensation").advance
        advance(0.5)
        begin = plant.true_q
        advance(3.0)
        print(f"    leader, {label}: {np.abs(plant.true_q - begin).max():.3f} rad")


def draw(bench, records):
    """Draw the errors of the joints that bear most."""
    joints = [bench.model.joint_names.index(j) for j in ("shoulder_lift", "elbow_flex")]
    curves = {
        "servos alone": (None, GREY),
        "torque as offset, stiffness 30 % too low": (0.7, RED),
        "known": (1.0, BLUE),
        "30 % too high": (1.3, GREEN),
    }
    height = 4.6
    with picture(PICTURE) as pyplot:
        figure, axes = pyplot.subplots(
            2, 2, sharex=True, sharey=True, figsize=(11, height), dpi=100, facecolor="white",
            gridspec_kw={
                "top": 1 - 1.25 / height, "bottom": 0.11, "left": 0.06, "right": 0.99,
                "hspace": 0.3, "wspace": 0.06,
            },
        )  # fmt: skip
        panels.write_title(figure, "An SO-101 with hobby servos: error of the position [mrad]")
        panels.write_legend(figure, [(label, c) for label, (_, c) in curves.items()], 0.7)
        for column, moves in enumerate((False, True)):
            for row, joint in enumerate(joints):
                panel = axes[row, column]
                for share, colour in curves.values():
                    record = records[moves, share]
                    panel.plot(record.time, 1e3 * record.error[:, joint], lw=1.1, color=colour)
                what = "is to move" if moves else "is to stand"
                name = bench.model.joint_names[joint]
                panel.set_title(f"{name} {what}", loc="left", fontsize=9, color=GREY)
                finish(panel)
            axes[1, column].set_xlabel("time [s]")


def main():
    """Measure, print and draw."""
    for name, file in zip(ARMS, sys.argv[1:], strict=False):
        print(name, flush=True)
        bench = Bench(name, file)
        records = followers(bench)
        leaders(bench)
        if name == "SO-101":
            draw(bench, records)
            print(PICTURE)


if __name__ == "__main__":
    main()
