"""What is raced: the cases of each section, and their targets."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec

import numpy as np

import featherstone_ros as fr
from featherstone_ros.arrays import Floats
from featherstone_ros.tools.bench.case import Case, comparison
from featherstone_ros.tools.bench.chain import chain
from featherstone_ros.tools.bench.race import TimedCall, disagreement, keeping
from featherstone_ros.tools.bench.results import Result, Target, median_and_quartiles
from featherstone_ros.tools.bench.robots import BenchRobot

STATEMENTS = {
    "rnea": "dynamics.rnea(q, qd, qdd)",
    "aba": "dynamics.aba(q, qd, tau)",
    "crba": "dynamics.crba(q)",
    "minv": "dynamics.minv(q)",
    "coriolis": "dynamics.coriolis(q, qd)",
    "rnea_derivatives": "dynamics.rnea_derivatives(q, qd, qdd)",
    "aba_derivatives": "dynamics.aba_derivatives(q, qd, tau)",
}
BASIC = ("rnea", "aba", "crba")
FURTHER = ("minv", "coriolis", "rnea_derivatives", "aba_derivatives")
INVERSES = ("minv", "aba_derivatives")  # which Pinocchio does not have where joints mimic others
HUMANOID = 25  # joints; the targets for humanoids apply from here on
SLOWER_LANES = {"x86-64-v4": 1, "x86-64-v3": 2}  # times the batch's target; others 4
TIME_STEP = 1e-3  # [s]
STEPS = 100
SIMULATORS = 256  # in a batch
CHAIN = (10, 30, 100, 300, 1000)
NODES = "nodes"  # the section that is measured in processes of its own

State = Mapping[str, Floats]


@dataclass(frozen=True)
class Workload:
    """What the sections take their cases from.

    Attributes:
        robots: Those that the targets are about.
        others: All of example-robot-data.
        batch: Number of states in a batch, as the targets have it.
        large_batch: A number of states that do not fit into the caches.
        instruction_set: What the core in use is compiled for.
    """

    robots: list[BenchRobot]
    others: list[BenchRobot] = field(default_factory=list)
    batch: int = 4096
    large_batch: int = 16384
    instruction_set: str = ""


def single_calls(setting: Workload) -> Iterator[Case]:
    """One state per call, the result returned, against Pinocchio."""
    yield from _singles("single", setting)


def kept_results(setting: Workload) -> Iterator[Case]:
    """The same by a caller who keeps the results: then we allocate, too, as Pinocchio does."""
    yield from _singles("kept", setting)


def batches(setting: Workload) -> Iterator[Case]:
    """Many states per call on one thread, against Pinocchio's call for one."""
    slower = SLOWER_LANES.get(setting.instruction_set, 4)
    for robot in setting.robots:
        for algorithm, bound in (("rnea", 0.025), ("aba", 0.030)):
            bound = 0.035 if is_humanoid(robot) else bound
            target = Target(slower * bound)
            yield _against_pinocchio("batch", robot, algorithm, target, setting.batch)


def floating_bases(setting: Workload) -> Iterator[Case]:
    """The same robots with a floating base, one state per call, against Pinocchio's free-flyer."""
    for robot in setting.robots:
        for algorithm in ("rnea", "aba"):
            yield _against_pinocchio("floating", robot.afloat(), algorithm, Target(0.25))


def further_algorithms(setting: Workload) -> Iterator[Case]:
    """Matrices and derivatives, one state per call, against Pinocchio."""
    for robot in setting.robots:
        for algorithm in FURTHER:
            if algorithm not in INVERSES or not robot.model.mimics:
                yield _against_pinocchio("further", robot, algorithm, Target(0.35))


def all_robots(setting: Workload) -> Iterator[Case]:
    """Every robot of example-robot-data, against Pinocchio."""
    for robot in setting.others:
        for algorithm in BASIC:
            yield _against_pinocchio("robots", robot, algorithm, Target(0.5))


def simulation(setting: Workload) -> Iterator[Case]:
    """Steps of 1 ms in compiled loops, one robot and a batch of them, against MuJoCo's mj_step."""
    from featherstone_ros.tools.bench.mujoco_peer import MujocoPeer

    for robot in setting.robots:
        if robot.model.mimics or robot.model.locked:
            continue  # MuJoCo has them as constraints, which are switched off
        q, qd = _random(robot.model.n, 2)
        qd *= 0.1
        tau = fr.Dynamics(robot.model).gravity(q)
        theirs = MujocoPeer(robot, TIME_STEP).timed_call(q, qd, tau, STEPS)
        compare = partial(
            comparison, section="simulation", robot=robot, peer="MuJoCo", theirs=theirs
        )
        yield compare(
            algorithm="step", unit="step", target=Target(0.15), ours=_simulator(robot, q, qd, tau)
        )
        states = [np.tile(x, (SIMULATORS, 1)) for x in (q, qd, tau)]
        yield compare(
            algorithm=f"step, batch of {SIMULATORS}", unit="state-step", target=None,
            ours=_simulator(robot, *states),
        )  # fmt: skip


def threads(setting: Workload) -> Iterator[Case]:
    """Two threads against one: throughput."""
    for robot in setting.robots:
        for algorithm in ("rnea", "aba"):
            for batch in (setting.batch, setting.large_batch):
                yield _two_threads(robot, algorithm, batch)


def growth(setting: Workload) -> Iterator[Case]:
    """Chains of 10 to 1,000 links: the time that each further link takes."""
    for algorithm in ("rnea", "aba"):
        yield _growing_chain(algorithm)


def no_races(_: Workload) -> Iterator[Case]:
    """No races in this process: ``bench.nodes`` measures processes."""
    return iter(())


@dataclass(frozen=True)
class Section:
    """A group of cases with a table of its own.

    Attributes:
        title: Of the table.
        cases: Makes the cases.
        peer: The module of the peer that the section needs, if any.
    """

    title: str
    cases: Callable[[Workload], Iterator[Case]]
    peer: str | None = None

    @property
    def lacks(self) -> str | None:
        """The name of the peer, if it is not installed."""
        return None if self.peer is None or find_spec(self.peer) else self.peer


SECTIONS = {
    "single": Section("One call from Python", single_calls, "pinocchio"),
    "kept": Section("One call from Python, every result kept", kept_results, "pinocchio"),
    "batch": Section("Per state in a batch, one thread", batches, "pinocchio"),
    "floating": Section("Floating base, one call", floating_bases, "pinocchio"),
    "threads": Section("Two threads against one: throughput", threads),
    "further": Section("Matrices and derivatives, one call", further_algorithms, "pinocchio"),
    "simulation": Section("Simulation, per step", simulation, "mujoco"),
    "growth": Section("Growth along a chain", growth),
    "robots": Section("Every robot of example-robot-data", all_robots, "pinocchio"),
    NODES: Section("Nodes over DDS", no_races, "rclpy"),
}


def is_humanoid(robot: BenchRobot) -> bool:
    """Tell whether the targets for humanoids apply."""
    return robot.model.n >= HUMANOID


def _random(*shape: int) -> Floats:
    """Return (shape[-1], *shape[:-1]) figures between -1 and 1, always the same."""
    return np.random.default_rng(0).uniform(-1, 1, (shape[-1], *shape[:-1]))


def _random_state(model: fr.Model, *batch: int) -> State:
    state = dict(zip(("q", "qd", "qdd", "tau"), _random(*batch, model.nv, 4), strict=True))
    if model.floating:
        x, y, z = np.moveaxis(state["q"][..., 3:6], -1, 0) / 2
        state["q"] = np.insert(state["q"], 6, np.sqrt(1 - x * x - y * y - z * z), axis=-1)
        state["q"][..., 3:6] /= 2
    return state


def _singles(section: str, setting: Workload) -> Iterator[Case]:
    for robot in setting.robots:
        for algorithm in BASIC:
            heavy = 0.35 if is_humanoid(robot) else 0.27
            target = Target(heavy if algorithm == "crba" else 0.20)
            yield _against_pinocchio(section, robot, algorithm, target)


def _against_pinocchio(
    section: str, robot: BenchRobot, algorithm: str, target: Target, batch: int | None = None
) -> Case:
    from featherstone_ros.tools.bench.pinocchio_peer import PinocchioPeer

    peer = PinocchioPeer(robot)
    state = _random_state(robot.model) if batch is None else _random_state(robot.model, batch)
    names = {"dynamics": fr.Dynamics(robot.model), **state}
    ours = TimedCall(STATEMENTS[algorithm], names, units=batch or 1)
    theirs = peer.timed_call(algorithm, state)
    if section == "kept":
        ours, theirs = keeping(ours), keeping(theirs)
    return comparison(
        section=section, robot=robot, algorithm=algorithm, target=target, peer="Pinocchio",
        unit="call" if batch is None else "state",
        ours=ours, theirs=theirs,
        remark="followers free in Pinocchio" if robot.model.mimics else "",
    )  # fmt: skip


def _simulator(robot: BenchRobot, q: Floats, qd: Floats, tau: Floats) -> TimedCall:
    """Return ours; all states of a batch are alike, so its last one is compared."""
    simulator = fr.Simulator(robot.model, TIME_STEP, damping=0.0, friction=0.0)

    def state(_: None) -> tuple[Floats, Floats]:
        last = (-1,) if q.ndim == 2 else ()
        return simulator.q[last], simulator.qd[last]

    return TimedCall(
        f"simulator.step(tau, steps={STEPS})",
        {"simulator": simulator, "q": q, "qd": qd, "tau": tau},
        units=STEPS * (len(q) if q.ndim == 2 else 1),
        setup="simulator.reset(q, qd)",
        read=state,
    )


def _two_threads(robot: BenchRobot, algorithm: str, batch: int) -> Case:
    """Race two threads against one, by wall-clock time; the best blocks are compared.

    Two threads need two processors at once: while another process has one of them, a block of two
    threads waits for it, and the median over the rounds would say how busy the machine is.
    """
    n = robot.model.n
    names = {"fr": fr, "dynamics": fr.Dynamics(robot.model), **_random_state(robot.model, batch)}
    call = STATEMENTS[algorithm], names, batch
    two = TimedCall(*call, "fr.set_num_threads(2)", time.perf_counter_ns)
    one = TimedCall(*call, "fr.set_num_threads(1)")

    def judge(seconds: Floats) -> list[Result]:
        _, quartiles = median_and_quartiles(seconds[:, 1] / seconds[:, 0])
        mine, its = (float(best) for best in seconds.min(axis=0))
        return [
            Result(
                "threads", robot.name, n, f"{algorithm}, batch of {batch}", "one thread", "state",
                mine / batch, its / batch, mine, its / mine, quartiles, len(seconds),
                Target(1.8, "at least"),
            )
        ]  # fmt: skip

    return Case(
        f"{robot.name} {algorithm} on two threads",
        (two, one),
        judge,
        lambda: [disagreement(two, one)],
    )


def _growing_chain(algorithm: str) -> Case:
    """Race chains of all lengths; a single link shows the fixed cost of a call.

    rnea and aba check each other: RNEA(q, qd, ABA(q, qd, tau)) = tau, both less the bias, since on
    a long chain tau is a small difference of large terms.
    """
    sizes = np.array([1, *CHAIN])
    dynamics = [fr.Dynamics(fr.Model.from_urdf(chain(links))) for links in sizes]
    states = [_random_state(each.model) for each in dynamics]
    timed_calls = tuple(
        TimedCall(STATEMENTS[algorithm], {"dynamics": it, **state})
        for it, state in zip(dynamics, states, strict=True)
    )

    there_and_back = "dynamics.rnea(q, qd, dynamics.aba(q, qd, tau))"

    def errors() -> list[float]:
        return [
            disagreement(
                TimedCall(f"{there_and_back} - dynamics.bias(q, qd)", timed_call.names),
                TimedCall("tau - dynamics.bias(q, qd)", timed_call.names),
            )
            for timed_call in timed_calls
        ]

    def judge(seconds: Floats) -> list[Result]:
        per_link = (seconds[:, 1:] - seconds[:, :1]) / (sizes[1:] - 1)
        results = []
        for k, links in enumerate(CHAIN):
            ratio, quartiles = median_and_quartiles(per_link[:, k] / per_link[:, 0])
            shortest, mine = np.median(per_link[:, 0]), np.median(per_link[:, k])
            results.append(
                Result(
                    "growth", f"chain of {links}", links, algorithm, f"{CHAIN[0]} links",
                    "added link", float(mine), float(shortest), float(np.median(seconds[:, k + 1])),
                    ratio, quartiles, len(seconds), Target(0.15, "within"),
                )
            )  # fmt: skip
        return results

    return Case(f"{algorithm} in a chain", timed_calls, judge, errors)
