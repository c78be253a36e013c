"""Measure the gains of docs/identification.md: torque per current of a UR10e, by a known load.

Recordings: github.com/shamilmamedov/dynamic_calibration. From this project's folder:
``python docs/effort_gains.py FOLDER/dataset_ur10e FOLDER/URe/urdf/ur10e.urdf``. Its
``estimate_drive_gains.m`` says what mass was carried.
"""

import sys
from pathlib import Path

import numpy as np
from contact import GAINS, read

from featherstone_ros import Model
from featherstone_ros.identification import gains_by_load
from featherstone_ros.identification.recording import Recording

MASS = 2.805  # [kg]
PAIRS = {"14harm50secLoad": "14harm50sec", "31-load": "31-unload"}


def recording(folder, name, names):
    """Return a recording with currents as efforts."""
    time, q, qd, torque = read(folder, name)
    return Recording(name, names, time, q, qd, torque / GAINS)


def main():
    """Measure and print."""
    folder, urdf = map(Path, sys.argv[1:])
    model = Model.from_file(urdf)
    for pair in PAIRS.items():
        loaded, bare = (recording(folder, name, model.joint_names) for name in pair)
        found = gains_by_load(model, loaded, bare, "wrist_3_link", MASS)
        print(" and ".join(pair))
        for row in zip(found.joints, found.gain, found.deviation, GAINS, strict=True):
            print("  {:20} {:6.2f} ± {:5.2f} N m/A, published {:5.2f}".format(*row))
        shares = (found.gain / GAINS)[np.isin(found.joints, found.found)]
        print(f"  found against published: {np.round(shares, 3)}")


if __name__ == "__main__":
    main()
