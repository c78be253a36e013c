"""Which calls are timed: a robot, a method, and the peer's statement that computes the same."""

import timeit
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import islice
from typing import Any

import numpy as np

import featherstone_ros as fr
from benchmarks import peers
from benchmarks.robots import EXAMPLES, STANDARD, Robot, example_files, example_robots, read
from featherstone_ros.arrays import Floats
from featherstone_ros.errors import FeatherstoneError

ARGUMENTS = {  # of every public method of Dynamics
    "rnea": "q, qd, qdd",
    "aba": "q, qd, tau",
    "crba": "q",
    "bias": "q, qd",
    "gravity": "q",
    "coriolis": "q, qd",
    "minv": "q",
    "rnea_derivatives": "q, qd, qdd",
    "aba_derivatives": "q, qd, tau",
    "hybrid": "q, qd, qdd, tau, prescribed",
    "joint_wrenches": "q, qd, qdd",
    "regressor": "q, qd, qdd",
    "link_pose": "q, link",
    "link_velocity": "q, qd, link",
    "link_acceleration": "q, qd, qdd, link",
    "jacobian": "q, link",
    "jacobian_derivative": "q, qd, link",
    "operational_space": "q, qd, link",
    "operational_space_inertia": "q, link",
    "centre_of_mass": "q",
    "centre_of_mass_jacobian": "q",
    "composite_inertias": "q",
    "articulated_inertias": "q",
    "log_det_inertia": "q",
    "impulse_response": "q, f_ext",
    "momentum": "q, qd",
    "centroidal_momentum_matrix": "q",
    "energy": "q, qd",
}
BASIC = ("rnea", "aba", "crba")
OURS = "featherstone_ros"
# Each section, and what is to be known of its figures.
SECTIONS = {
    "single": "One call. The result of the call before is dropped, as in a loop: its memory is "
    "used again.",
    "batch": "Per state, on one thread. Pinocchio's wheel has no batches: its call for one state.",
    "threads": "Per state, on two threads and on one, by wall-clock time: needs idle processors.",
    "simulation": "Per step of 1 ms. mj_step does more, also with contacts and constraints off as "
    "here; the ratio is of what a user waits for.",
    "chain": "One call for a chain of so many links.",
    "robots": "One call for every robot of example-robot-data without mimic joints, which "
    "Pinocchio's forward dynamics does not have, and with up to 100 joints.",
}
PACKAGES = {"Pinocchio": ("pinocchio", "pin"), "MuJoCo": ("mujoco", "mujoco")}
TIME_STEP, STEPS, SIMULATORS = 1e-3, 100, 256
CHAIN = (10, 30, 100, 300, 1000)
MAX_JOINTS = 100  # of Pinocchio's: its data grow with their cube, to 1.7 GB for 300
AGREEMENT = 1e-9  # of the greatest entry, by which results may differ


class DisagreementError(FeatherstoneError):
    """Two calls do not compute the same."""


@dataclass(frozen=True)
class Call:
    """A call from Python, written as a user writes it."""

    before: str  # statements that belong to it
    expression: str  # the one that has the result
    names: Mapping[str, Any]  # what the names in both mean
    read: Callable[[Any], Any] = lambda result: result  # into arrays in our order
    units: int = 1  # states or steps that one call treats

    @property
    def timer(self) -> timeit.Timer:
        """What repeats the call."""
        return timeit.Timer(f"{self.before}\n{self.expression}", globals=dict(self.names))

    def outcome(self) -> list[Floats]:
        """Call once and return the result as arrays of its own."""
        found: list[Any] = []
        statement = f"{self.before}\nfound.append({self.expression})"
        timeit.timeit(statement, globals={**self.names, "found": found}, number=1)
        result = self.read(found[0])
        return [np.array(a) for a in (result if isinstance(result, tuple) else (result,))]


@dataclass(frozen=True)
class Case:
    """What is timed side by side."""

    section: str  # key of ``SECTIONS``
    robot: str
    method: str
    ours: Callable[[], Call]  # makes our call
    peer: str = ""  # whose call theirs is; empty for none
    theirs: Callable[[], Call] | None = None  # makes it

    def __str__(self) -> str:
        """Return e.g. ``single, Panda, rnea``."""
        return f"{self.section}, {self.robot}, {self.method}"

    @property
    def calls(self) -> dict[str, Callable[[], Call]]:
        """By contender, without peers that are not installed."""
        module = PACKAGES[self.peer][0] if self.peer in PACKAGES else "featherstone_ros"
        peer = {self.peer: self.theirs} if self.theirs and find_spec(module) else {}
        return {OURS: self.ours, **peer}

    def check(self) -> None:
        """Raise DisagreementError unless all compute the same."""
        ours, *others = (make().outcome() for make in self.calls.values())
        for theirs in others:
            for mine, its in zip(ours, theirs, strict=True):
                if mine.shape != its.shape:
                    raise DisagreementError(f"{self}: shapes {mine.shape} and {its.shape}")
                difference = np.abs(mine - its).max() / np.abs(its).max()
                if not difference <= AGREEMENT:
                    raise DisagreementError(
                        f"{self}: the results differ by {difference:.2g} of the greatest entry, "
                        f"expected at most {AGREEMENT:g}"
                    )


def cases(quick: bool, paths: list[str] | None = None) -> Iterator[Case]:
    """Yield what is timed; ``paths``: robots by name, or URDF files, instead of the usual ones."""
    examples = {} if paths else example_robots()
    robots = [read(path) for path in paths or ["panda"]]
    if not quick:
        robots += [examples[name] for name in STANDARD if name in examples]
    links = () if paths else CHAIN[:2] if quick else CHAIN
    others = islice(filter(is_comparable, examples.values()), 3 if quick else None)
    batch, large = (64, 256) if quick else (4096, 16384)
    last = robots[-1]
    for robot in [*robots, Robot(f"{last.name}, free base", last.text, "floating")]:
        for method in ARGUMENTS:
            if is_possible(method, robot.model):
                yield against_pinocchio("single", robot, method)
    for robot in robots:
        yield from (against_pinocchio("batch", robot, method, batch) for method in BASIC)
        yield from (threads(robot, method, large) for method in ("rnea", "aba"))
        yield from (simulation(robot, count) for count in (1, SIMULATORS))
    for robot in others:
        yield from (against_pinocchio("robots", robot, method) for method in BASIC)
    for count in links:
        robot = Robot(f"{count} links", chain(count))
        yield from (against_pinocchio("chain", robot, method) for method in ("rnea", "aba"))


def is_possible(method: str, model: fr.Model) -> bool:
    """Whether a method has a result for the model."""
    if method == "operational_space_inertia":
        return model.nv >= 6
    return method != "articulated_inertias" or not model.mimics


def missing() -> list[str]:
    """Return what is not installed, what would help, and what is left out."""
    found = [
        f"{peer} is not installed (pip install {package}): nothing is compared with it"
        for peer, (module, package) in PACKAGES.items()
        if not find_spec(module)
    ]
    if not example_files():
        found.append(f"{EXAMPLES} is not installed (pip install {EXAMPLES}): only the Panda")
    return found


def is_comparable(robot: Robot) -> bool:
    """Tell whether Pinocchio has the same robot, in so much memory as there may be."""
    return robot.simple and robot.model.n <= MAX_JOINTS


def against_pinocchio(section: str, robot: Robot, method: str, *batch: int) -> Case:
    """Return a case of a method of Dynamics: one state, or of a batch each."""

    def ours() -> Call:
        names = {"dynamics": fr.Dynamics(robot.model), **robot.state(*batch)}
        first = (lambda result: result[0]) if batch else (lambda result: result)
        return Call("", f"dynamics.{method}({ARGUMENTS[method]})", names, first, *batch)

    def theirs() -> Call:
        state = robot.state(*batch)
        if batch:
            state |= {name: state[name][0] for name in ("q", "qd", "qdd", "tau")}
        return Call(*peers.pinocchio_call(robot, method, state))

    differs = robot.base == "fixed" and method.startswith(peers.WITHOUT_FIXED_BASE)
    if method in peers.PINOCCHIO and not differs and is_comparable(robot):
        return Case(section, robot.name, method, ours, "Pinocchio", theirs)
    return Case(section, robot.name, method, ours)


def threads(robot: Robot, method: str, batch: int) -> Case:
    """Return a case of two threads against one."""

    def make(count: int) -> Call:
        names = {"fr": fr, "dynamics": fr.Dynamics(robot.model), **robot.state(batch)}
        call = f"dynamics.{method}({ARGUMENTS[method]})"
        return Call(f"fr.set_num_threads({count})", call, names, units=batch)

    return Case(
        "threads", robot.name, method, partial(make, 2), "one thread", partial(make, 1)
    )  # fmt: skip


def simulation(robot: Robot, count: int) -> Case:
    """Return a case of a simulator's loop, of one robot or of many, against MuJoCo."""
    q, qd = (robot.state()[name] for name in ("q", "qd"))
    qd = 0.1 * qd
    tau = fr.Dynamics(robot.model).gravity(q)

    def ours() -> Call:
        states = [np.tile(x, (count, 1)) if count > 1 else x for x in (q, qd, tau)]
        names = dict(zip(("q", "qd", "tau"), states, strict=True))
        names["simulator"] = fr.Simulator(
            robot.model, TIME_STEP, "semi_implicit_euler", damping=0.0, friction=0.0
        )
        steps = f"simulator.reset(q, qd); simulator.step(tau, steps={STEPS})"
        last = "[-1]" if count > 1 else ""
        result = f"(simulator.q{last}, simulator.qd{last})"
        return Call(steps, result, names, units=STEPS * count)

    def theirs() -> Call:
        return Call(*peers.mujoco_call(robot, TIME_STEP, STEPS, q, qd, tau), STEPS)

    method = f"step, batch of {count}" if count > 1 else "step"
    peer = ("MuJoCo", theirs) if robot.simple else ("", None)
    return Case("simulation", robot.name, method, ours, *peer)


def chain(links: int) -> str:
    """Return the URDF of a serial chain of revolute joints in general position."""
    inside = "".join(
        f'<joint name="joint{k:04}" type="revolute"><parent link="link{k - 1}"/>'
        f'<child link="link{k}"/><origin xyz="0.1 0.05 0.2" rpy="0.4 -0.3 0.9"/>'
        '<axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="99" velocity="3"/></joint>'
        f'<link name="link{k}"><inertial><origin xyz="0.02 -0.03 0.1"/><mass value="1.5"/>'
        '<inertia ixx="0.02" iyy="0.018" izz="0.008" ixy="0.001" ixz="-0.002" iyz="0.0005"/>'
        "</inertial></link>"
        for k in range(1, links + 1)
    )
    return f'<robot name="chain"><link name="link0"/>{inside}</robot>'
