"""Measure what a shadow of a real UR10e detects of a person's pushes, and draw docs/contact.png.

Recordings: github.com/shamilmamedov/dynamic_calibration. From this project's folder (a minute):
``python docs/contact.py FOLDER/dataset_ur10e FOLDER/URe/urdf/ur10e.urdf``.

The arm is identified from one free motion. Shadows of the URDF as published, of the URDF with the
friction that `evaluate` fits, and of the identified arm then follow two other free motions, and
after that all recordings without a load: the largest external torque there is the lowest threshold
without a false alarm. With it, the pushes are found.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import featherstone_ros as fr
from featherstone_ros.identification.arm import Arm
from featherstone_ros.identification.identification import Options, identify
from featherstone_ros.observer import Shadow, ShadowSettings
from featherstone_ros.tools import panels
from featherstone_ros.tools.style import BLUE, GREY, RED, finish, picture

sys.path.append(str(Path(__file__).parents[1] / "test" / "unit"))
import bag_writer
import recorded_arm

GAINS = np.array([14.87, 13.26, 11.13, 10.62, 11.03, 11.47])  # [N m/A]
TRAINING = "identification_data/ur-20_02_10-30sec_12harm"
ROWS = slice(635, 3510)  # of it, in motion
FREE = {
    "two free motions": ["40sec_12harm", "50sec_12harm"],
    "all recordings without load": [
        *("20sec_5harm", "20sec_7harm", "20sec_8harm", "20sec_10harm", "20sec_12harm"),
        *("30sec_12harm", "40sec_12harm", "50sec_12harm", "14harm50sec", "15harm50sec"),
        *("31-unload", "12_23_free", "ptp_10_points"),
        *(f"22-joint_{k}" for k in range(1, 7)),
        *(f"17-p{k}" for k in range(1, 11)),
    ],
}
PUSHES = {  # [s] from when to when the measured efforts show one
    "push_pose_1": ((1.9, 2.8), (4.7, 5.8), (8.3, 9.4), (11.8, 13.1)),
    "push_pose_2": ((0.4, 1.4), (2.5, 3.8), (4.9, 6.0), (8.0, 9.1), (11.3, 12.5), (14.2, 15.2)),
}
STEADY = 1.0  # [s] after the first state
MOVING = 0.005  # [rad/s] of the fastest joint
PICTURE = Path(__file__).with_name("contact.png")


def read(folder, name):
    """Return time (N,), position, velocity and torque (N, 6) of a recording."""
    (file,) = folder.glob(f"*/*{name}.csv")
    rows = np.genfromtxt(file, delimiter=",")
    return rows[:, 0] - rows[0, 0], rows[:, 1:7], rows[:, 7:13], GAINS * rows[:, 13:19]


def identified(folder, urdf, names):
    """Return the arms to compare, by name."""
    time, *values = (x[ROWS] for x in read(folder, TRAINING.split("-", 1)[1]))
    with tempfile.TemporaryDirectory() as bag:
        states = recorded_arm.states(time - time[0], *values, names=names)
        found = identify(
            [bag_writer.write(Path(bag) / "bag", {"/joint_states": states})], urdf, Options()
        )
    bare = Arm.without_drives(found.model)
    return {"URDF": bare, "URDF, friction fitted": found.before, "identified": found.arm}


def followed(arm, states, threshold=np.inf):
    """Return (N, 6) external torque and contact, and (N,) force [N] on the last link."""
    shadow = Shadow(arm.model, ShadowSettings(drives=arm.drives, contact_threshold=threshold))
    external, contact, force = np.zeros_like(states[1]), [], []
    for k, (time, *state) in enumerate(zip(*states, strict=True)):
        update = shadow.update(round(1e9 * time), *state)
        said = update and update.residual
        external[k] = said.torque if said else external[k - 1] if k else 0.0
        contact.append(np.array(shadow.contact))
        force.append(np.linalg.norm(said.wrench[:3]) if said else 0.0)
    return external, np.array(contact), np.array(force)


def rms(values):
    """Return the root mean square of each joint, as text."""
    return " ".join(f"{x:6.2f}" for x in np.sqrt(np.mean(values**2, axis=0)))


def thresholds(arm, recordings):
    """Print residuals in free motion; return the lowest thresholds (6,) without a false alarm."""
    most, most_resting, moving, resting = np.zeros(6), np.zeros(6), [], []
    for states in recordings:
        external = followed(arm, states)[0]
        used = states[0] > STEADY
        twice = np.minimum(np.abs(external[1:]), np.abs(external[:-1]))  # as contact is found
        most = np.maximum(most, twice.max(axis=0))
        moves = np.abs(states[2]).max(axis=1) > MOVING
        most_resting = np.maximum(most_resting, (twice * ~(moves[1:] | moves[:-1])[:, None]).max(0))
        moving.append(external[used & moves])
        resting.append(external[used & ~moves])
    print("  RMS in motion [N m]  ", rms(np.concatenate(moving)))
    print("  RMS at rest [N m]    ", rms(np.concatenate(resting)))
    print("  most at rest [N m]   ", " ".join(f"{x:6.2f}" for x in most_resting))
    print("  threshold [N m]      ", " ".join(f"{x:6.2f}" for x in most))
    return 1.001 * most


def find_pushes(name, states, contact, force):
    """Print when a joint detected each push, its force, and for how long contact outlasted them."""
    time, said, pushed = states[0], [], np.zeros(len(states[0]), bool)
    for begin, end in PUSHES[name]:
        during = (time >= begin) & (time <= end)
        before = contact[np.flatnonzero(during)[0] - 1]  # of the last one still
        when = time[during & (contact & ~before).any(axis=1)]
        pushed |= during
        delay = f"after {when[0] - begin:.2f} s" if len(when) else "MISSED"
        said.append(f"{delay} ({force[during].max():.0f} N)")
    outside = (np.diff(time, prepend=time[0]) * (contact.any(axis=1) & ~pushed)).sum()
    print(f"  {name}: {', '.join(said)}; beyond their ends for {outside:.1f} s")


def draw(names, results, limits):
    """Draw the external torque of the first three joints while the arm is pushed."""
    height = 3 * 1.5 + 1.6
    with picture(PICTURE) as pyplot:
        figure, axes = pyplot.subplots(
            3, 2, sharex="col", sharey="row", figsize=(11, height), dpi=100, facecolor="white",
            gridspec_kw={
                "top": 1 - 1.25 / height, "bottom": 0.08, "left": 0.06, "right": 0.99,
                "hspace": 0.35, "wspace": 0.04,
            },
        )  # fmt: skip
        panels.write_title(figure, "A person pushes a UR10e that stands still: external torque")
        panels.write_legend(figure, [(arm, colour) for arm, colour in COLOURS.items()], 0.7)
        for column, name in enumerate(PUSHES):
            for j in range(3):
                panel = axes[j, column]
                for span in PUSHES[name]:
                    panel.axvspan(*span, color="0.92", zorder=0)
                for arm, colour in COLOURS.items():
                    time, external = results[name, arm]
                    panel.plot(time, external[:, j], lw=1.0, color=colour)
                    for side in (-1, 1):
                        panel.axhline(side * limits[arm][j], ls=":", lw=0.9, color=colour)
                panel.set_title(f"{names[j]} [N m]", loc="left", fontsize=9, color=GREY)
                finish(panel)
            axes[2, column].set_xlabel(f"time [s]; grey: pushes, dotted: thresholds; {name}")


COLOURS = {"URDF": RED, "identified": BLUE}


def main():
    """Measure, print and draw."""
    folder, urdf = Path(sys.argv[1]), Path(sys.argv[2])
    names = fr.Model.from_file(urdf).joint_names
    arms = identified(folder, urdf, names)
    limits, results = {}, {}
    for which, files in FREE.items():
        free = [read(folder, name) for name in files]
        for label, arm in arms.items():
            print(f"{label}, thresholds by {which}")
            limits[which, label] = thresholds(arm, free)
            for name in PUSHES:
                states = read(folder, name)
                external, contact, force = followed(arm, states, limits[which, label])
                results[name, label] = states[0], external
                find_pushes(name, states, contact, force)
        for other in ("URDF", "URDF, friction fitted"):
            ratio = limits[which, "identified"] / limits[which, other]
            print(f"identified / {other}:", " ".join(f"{x:.2f}" for x in ratio))
    draw(names, results, {label: limits[next(iter(FREE)), label] for label in arms})
    print(PICTURE)


if __name__ == "__main__":
    main()
