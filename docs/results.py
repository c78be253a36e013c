"""Measure the table of docs/identification.md: torque left unexplained in published recordings.

``python docs/results.py UR10E INVERSE PANDA FER.urdf`` with the folders of the repositories
github.com/shamilmamedov/dynamic_calibration, github.com/unisa-acg/inverse-dynamics-solver and
github.com/marcocognetti/FrankaEmikaPandaDynModel, and the FER with its hand of
github.com/frankaemika/franka_description.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from contact import ROWS, TRAINING, read

from featherstone_ros import Model
from featherstone_ros.identification.explanation import rms
from featherstone_ros.identification.identification import Options, identify, score
from featherstone_ros.identification.recording import Recording
from featherstone_ros.model.robots import robot_file

sys.path.append(str(Path(__file__).parents[1] / "test" / "unit"))
import bag_writer
import recorded_arm
from example_robots import example_robot

POINTS = slice(700, 4200)  # in motion
OTHERS = {
    "12 harmonics": ["40sec_12harm", "50sec_12harm"],
    "at rest": [f"17-p{k}" for k in range(1, 11)],
}


def bag(folder, name, time, *values, names):
    """Write a recording; return its path."""
    states = recorded_arm.states(time - time[0], *values, names=names)
    return bag_writer.write(Path(folder) / name, {"/joint_states": states})


def row(name, bags, urdf, held_out=()):
    """Identify, print what the held-out part leaves unexplained, and return the result."""
    found = identify(bags, urdf, Options(held_out=held_out))
    (_, before), (motion, after) = (
        score(arm, found.held_out, found.judged, 2.0) for arm in (found.before, found.arm)
    )
    left = [np.nansum(1 - one.r2) for one in (before, after)]
    width, share = found.width, 100 * after.rms / rms(motion.effort)
    print(f"{name}: {left[0]:.4f} with the URDF, {left[1]:.4f} identified", flush=True)
    print(f"  by joint {np.round(share, 1)} % of the torque's RMS")
    print(f"  prior's widths {width[0]:g}, {width[1]:g}; law of friction: {found.law}")
    return found


def ur10e(folder, data, urdf):
    """Print the row, and what other recordings leave."""
    names = Model.from_file(urdf).joint_names
    parts = {TRAINING.split("-", 1)[1]: ROWS, "ptp_10_points": POINTS}
    bags = [
        bag(folder, name, *(x[rows] for x in read(data, name)), names=names)
        for name, rows in parts.items()
    ]
    found = row("UR10e", bags[:1], urdf, bags[1:])
    for kind, files in OTHERS.items():
        recordings = [Recording("", names, *read(data, name)) for name in files]
        for label, arm in (("URDF", found.before), ("identified", found.arm)):
            for some in [recordings] if kind == "at rest" else [[one] for one in recordings]:
                got = score(arm, some, found.judged, 2.0)[1]
                print(f"  {kind}, {label}: {np.nansum(1 - got.r2):.4f}; {np.round(got.rms, 2)} N m")


def main():
    """Measure and print."""
    ours, inverse, panda, fer = map(Path, sys.argv[1:])
    trajectory = panda / "matlab" / "data" / "Exciting_Traj" / "Trajectory_1" / "rbt_log"
    fields = (
        f"exciting_traj_{field}.txt" for field in ("time", "positions", "velocity", "torques")
    )
    with tempfile.TemporaryDirectory() as folder:
        ur10e(folder, ours / "dataset_ur10e", ours / "URe" / "urdf" / "ur10e.urdf")
        of_ur10 = inverse / "ur10_inverse_dynamics_solver" / "bagfiles"
        row("UR10", [of_ur10 / "ur10_exciting_trajectory.db3"], example_robot("ur10_robot"))
        time, *values = (np.loadtxt(trajectory / field) for field in fields)
        names = tuple(f"panda_joint{k}" for k in range(1, 8))
        values = [value.reshape(-1, 7) for value in values]
        row("Panda of Gaz", [bag(folder, "gaz", time, *values, names=names)], robot_file("panda"))
        of_panda = inverse / "franka_inria_inverse_dynamics_solver" / "bagfiles"
        row("Panda", [of_panda / "panda_exciting_trajectory.db3"], fer)


if __name__ == "__main__":
    main()
