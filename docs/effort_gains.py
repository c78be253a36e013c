"""Measure the gains of docs/identification.md: torque per current of a UR10e, by a known load.

Recordings: github.com/shamilmamedov/dynamic_calibration. From this project's folder:
``python docs/effort_gains.py FOLDER/dataset_ur10e FOLDER/URe/urdf/ur10e.urdf``. Its
``estimate_drive_gains.m`` says what mass was carried.

The mass of the load is found as well, with the published gains and with the robot's own constants.
These are the ratio of the torques and currents that its controller aims at,
which the recordings have, too: a current is torque by constant, and friction.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from contact import GAINS, read

from featherstone_ros import Model
from featherstone_ros.identification import find_payload, gains_by_load
from featherstone_ros.identification.arm import Arm
from featherstone_ros.identification.recording import Recording

MASS = 2.805  # [kg]
PAIRS = {"14harm50secLoad": "14harm50sec", "31-load": "31-unload"}


def recording(folder, name, names):
    """Return a recording with currents as efforts."""
    time, q, qd, torque = read(folder, name)
    return Recording(name, names, time, q, qd, torque / GAINS)


def own_constants(folder, name):
    """Return the robot's own torque per current of each joint (6,) [N m/A]."""
    (file,) = folder.glob(f"*/*{name}.csv")
    rows = np.genfromtxt(file, delimiter=",")
    velocity, current, torque = rows[:, 7:13], rows[:, 19:25], rows[:, 25:31]
    found = []
    for qd, i, tau in zip(velocity.T, current.T, torque.T, strict=True):
        law = np.stack([tau, qd, np.sign(qd), np.ones_like(qd)], axis=1)
        found.append(1.0 / np.linalg.lstsq(law, i, rcond=None)[0][0])
    return np.array(found)


def main():
    """Measure and print."""
    folder, urdf = map(Path, sys.argv[1:])
    model = Model.from_file(urdf)
    for pair in PAIRS.items():
        loaded, bare = (recording(folder, name, model.joint_names) for name in pair)
        found = gains_by_load(model, loaded, bare, "wrist_3_link", MASS)
        print(" and ".join(pair))
        own = own_constants(folder, pair[1])
        for row in zip(found.joints, found.gain, found.deviation, own, GAINS, strict=True):
            print("  {:20} {:6.2f} ± {:5.2f} N m/A, own {:5.2f}, published {:5.2f}".format(*row))
        without = Arm.without_drives(model)
        for which, gains in {"published": GAINS, "own": own}.items():
            more = loaded.minus(bare)
            torques = replace(more, effort=gains * more.effort)
            load = find_payload(without, [torques], "wrist_3_link", subtracted=True)
            print(f"  by {which} gains {load.mass:.3f} ± {load.mass_deviation:.3f} kg")
        shares = (found.gain / GAINS)[np.isin(found.joints, found.found)]
        print(f"  found against published: {np.round(shares, 3)}")


if __name__ == "__main__":
    main()
