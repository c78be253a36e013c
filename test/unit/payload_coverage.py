"""How often a payload's interval covers the truth: of mass, centre of mass and inertia.

Three arms, each with links that differ from its URDF, friction that nobody knows and torque noise,
carry a load of 0.5, 1 or 3 kg with a random place and shape. Printed is the share of true values
within 1.96 standard deviations (95 % are expected), and how many times as wide these are as the
errors (the RMS of their ratio). With ``--identified`` also for arms that are identified from
another motion, half a minute each; with ``--slender`` for loads that are no compact boxes; with
``--warm 0.05`` for drives whose friction changed by 5 % between the two recordings.

    python test/unit/payload_coverage.py [--truths 60] [--identified] [--slender] [--warm 0.05]
"""

import argparse
from collections import defaultdict

import numpy as np
from example_robots import example_robot

import featherstone_ros as fr
from featherstone_ros import identification
from featherstone_ros.identification.arm import Arm
from featherstone_ros.identification.bodies import Bodies
from featherstone_ros.identification.model_order import Fitting, fit_parts
from featherstone_ros.identification.recording import Recording
from featherstone_ros.model.robots import robot_file

ARMS = {
    "ur5e": lambda: (robot_file("ur5e"), "tool0"),
    "panda": lambda: (robot_file("panda"), "panda_hand"),
    "xarm7": lambda: (example_robot("xarm7"), "link7"),
}
MASSES = (0.5, 1.0, 3.0)  # [kg]
LINK_ERRORS = (0.003, 0.1)  # standard deviations of theta, see ``bodies``: from, to
FRICTION, NOISE = 0.04, 0.002  # of the effort limits
DENSITY = 1000.0  # [kg/m^3]
UPPER = np.triu_indices(3)
INTERVAL = 1.96  # deviations
FIGURES = {"mass": slice(0, 1), "com": slice(1, 4), "inertia": slice(4, 10)}


def motion(model, seed, duration=20.0, rate=100.0):
    """Return time (N,), position, velocity and acceleration (N, n) of a sum of sines."""
    random = np.random.default_rng(seed)
    t = np.arange(round(duration * rate)) / rate
    omega = 2 * np.pi * random.uniform(0.05, 0.45, (4, model.n))
    angle = omega * t[:, None, None] + random.uniform(0, 2 * np.pi, (4, model.n))
    low, high = np.maximum(model.lower, -2.5), np.minimum(model.upper, 2.5)
    amplitude = random.uniform(0.5, 1.0, (4, model.n)) / omega
    amplitude *= 0.35 * (high - low) / (2 * amplitude.sum(axis=0))
    q = (low + high) / 2 + (amplitude * np.sin(angle)).sum(axis=1)
    qd = (amplitude * omega * np.cos(angle)).sum(axis=1)
    return t, q, qd, -(amplitude * omega**2 * np.sin(angle)).sum(axis=1)


def recording(model, drives, moved, random, sag=0.0):
    """Return what the sensors of an arm with drives (coulomb, viscous, offset) (3, n) give.

    Drives yield by ``sag`` [rad] to their effort limit.
    """
    t, q, qd, qdd = moved
    q = q - sag * fr.Dynamics(model).rnea(q, qd, qdd) / model.effort_limit
    qd, qdd = (np.gradient(q, t, axis=0), qdd) if sag else (qd, qdd)
    qdd = np.gradient(qd, t, axis=0) if sag else qdd
    coulomb, viscous, offset = drives
    limit = model.effort_limit
    tau = fr.Dynamics(model).rnea(q, qd, qdd) + viscous * qd + coulomb * np.tanh(qd / 0.01)
    tau = tau + offset + NOISE * limit * random.normal(size=q.shape)
    noisy = q + 1e-5 * random.normal(size=q.shape), qd + 1e-3 * random.normal(size=q.shape)
    return Recording("", model.joint_names, t, *noisy, tau)


def load(random, mass, slender=False):
    """Return the centre of mass and the inertia of a random box, whose sides are up to 1 : 3.

    Slender: up to 1 : 10, from foam to steel.
    """
    if slender:
        half = 10.0 ** random.uniform(-0.5, 0.5, 3)
        density = DENSITY * 40.0 ** random.uniform(-0.44, 0.56)
    else:
        half = random.uniform(0.5, 1.5, 3)
        density = DENSITY * random.uniform(0.4, 2.5)
    half *= (mass / density / (8 * half.prod())) ** (1 / 3)  # [m]
    turn = np.linalg.qr(random.normal(size=(3, 3)))[0]
    moments = mass / 3 * (half @ half - half**2)
    com = random.uniform([-0.05, -0.05, 0.02], [0.05, 0.05, 0.15])
    return com, turn @ np.diag(moments) @ turn.T


def identified(model, states):
    """Return the arm that is identified from a recording."""
    fitting = Fitting(model, [states], range(model.n), cut_off=2.0)
    fit, best = fit_parts(fitting)
    return fitting.arm(best, fit)


WAYS = ("URDF", "difference")


def measure(name, truths, ways=WAYS, slender=False, sag=0.0, warm=0.0):
    """Return errors and deviations, each (truths, 10), of mass, place and inertia, by way."""
    urdf, link = ARMS[name]()
    model = fr.Model.from_file(urdf)
    bodies, limit = Bodies.of(model), model.effort_limit
    found = defaultdict(list)
    for truth in range(truths):
        random = np.random.default_rng([truth, len(name)])
        size = np.exp(random.uniform(*np.log(LINK_ERRORS)))
        theta = size * random.normal(size=10 * len(bodies.names))
        real = model.with_inertial_parameters(bodies.link_parameters(theta))
        drives = random.uniform(0.3, 1.0, (3, model.n)) * FRICTION * limit
        drives[2] *= random.choice([-0.2, 0.2], model.n)
        moved, mass = motion(model, truth), MASSES[truth % 3]
        com, inertia = load(random, mass, slender)
        bare = recording(real, drives, moved, random, sag)
        loaded = real.with_payload(link, mass, com, inertia)
        warmed = drives * (1.0 + warm * random.normal(size=drives.shape)) if warm else drives
        carried = recording(loaded, warmed, moved, random, sag)
        for way in ways:
            arm, states = Arm.without_drives(model), carried
            if way == "difference":
                states = arm.difference(carried, bare, 2.0)
            if way == "identified":
                other = motion(model, truth + 1000, duration=30.0)
                driven = recording(real, drives, other, np.random.default_rng(truth))
                arm = identified(model, driven)
            got = identification.find_payload(
                arm, [states], link, fit_drives=way == "URDF", subtracted=way == "difference"
            )
            off = [got.mass - mass, *(got.com - com), *(got.inertia - inertia)[UPPER]]
            wide = [got.mass_deviation, *got.com_deviation, *got.inertia_deviation[UPPER]]
            found[way].append((off, wide))
    return {way: np.array(values).swapaxes(0, 1) for way, values in found.items()}


def rated(off, wide):
    """Return the share of errors within 1.96 deviations, and the deviations per RMS error."""
    ratio = np.sqrt(((off / wide) ** 2).mean())
    return (np.abs(off) < INTERVAL * wide).mean(), 1.0 / ratio


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--truths", type=int, default=60)
    parser.add_argument("--identified", action="store_true")
    parser.add_argument("--slender", action="store_true")
    parser.add_argument("--sag", type=float, default=0.0, help="of drives at their limit [rad]")
    parser.add_argument("--warm", type=float, default=0.0, help="share by which friction changed")
    args = parser.parse_args()
    ways = (*WAYS, "identified") if args.identified else WAYS
    for name in ARMS:
        found = measure(name, args.truths, ways, args.slender, args.sag, args.warm)
        for way, (off, wide) in found.items():
            line = f"{name:8}{way:12}"
            for what, those in FIGURES.items():
                share, ratio = rated(off[:, those], wide[:, those])
                line += f"{what} {share:6.1%} x{ratio:5.2f}  "
            rms = np.sqrt((off**2).mean(axis=0))
            moment = np.sqrt((rms[FIGURES["inertia"]] ** 2).mean())
            print(line + f"mass off by {rms[0]:.4f} kg, moments {moment:.5f} kg m^2", flush=True)


if __name__ == "__main__":
    main()
