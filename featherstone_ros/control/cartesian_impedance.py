"""Cartesian impedance and admittance: the end effector as a mass on a spring and a damper.

The law, with its sources and guarantees, is ``cython_core/control/cartesian_impedance.pxd``, what
mode admittance makes of it ``cartesian_mode.pxd``; here are their settings, checked, and a class
that owns a law.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, fields, replace
from math import cos, hypot, inf, pi, sin, sqrt, tan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros._control import MAX_WALLS, VIRTUAL_STEP, CompiledImpedance
from featherstone_ros._core import BoundDynamics, Dynamics
from featherstone_ros.arrays import Floats, finite_array
from featherstone_ros.control.gains import postures
from featherstone_ros.errors import SingularInertiaError, UnknownNameError
from featherstone_ros.kinematics import as_transforms, pose_error
from featherstone_ros.model import Model
from featherstone_ros.parameter import declared

AXES = ("base", "tip")
APPROACH_RATE = 20.0  # [1/s] rate at which the desired pose approaches its target
DELAY_MARGIN = 1.8  # times the delay is borne: about what GAIN_MARGIN asks of gains
MIN_INERTIA = 1e-4  # smallest inertia that may be given [kg, kg m^2]
DAMPER_EDGE = 1.4  # rate times delay from which a damper swings up: pi / 2, less beside a spring
POSTURES = 100  # number of postures in which the delay margin is computed
REPULSION = 20.0  # [N m, N] at the stop of a joint without effort limit
PHASE_MARGIN = pi / 3  # of the loop of a contact
SHORTEST, LONGEST = 0.002, 0.15  # [s] between two poses of a stream: 500 to 7 Hz
OUTLASTS = 1.5  # periods without a pose until it is taken for ended: they come with jitter
PER_JOINT = ("posture_stiffness", "posture_damping_ratio")
MAY_BE_ZERO = ("transition_time", "delay", "contact_delay")


@dataclass(frozen=True)
class Wall:
    """A half-space that the tip keeps out of: it pushes where normal . position < offset.

    Attributes:
        normal: (3,) out of the wall, base axes; any length.
        offset: Of the surface along the unit normal, from the base's origin [m].
        stiffness: [N/m], added to the law's own.
        damping: [N s/m]; a wall pushes and never pulls.
    """

    normal: tuple[float, float, float]
    offset: float
    stiffness: float = 2000.0
    damping: float = 50.0


def box(
    lower: ArrayLike, upper: ArrayLike, stiffness: float = 2000.0, damping: float = 50.0
) -> tuple[Wall, ...]:
    """Return six walls that keep the tip inside a box along the base's axes.

    Args:
        lower: (3,) its lowest corner [m].
        upper: (3,) its greatest corner [m].
        stiffness: [N/m].
        damping: [N s/m].
    """
    inward = np.vstack([np.eye(3), -np.eye(3)])
    low, high = finite_array("lower", lower, (3,)), finite_array("upper", upper, (3,))
    if not (low < high).all():
        raise ValueError(f"box: expected lower < upper, got {lower!r} and {upper!r}")
    offsets = [*low, *-high]
    return tuple(
        Wall(tuple(normal), offset, stiffness, damping)
        for normal, offset in zip(inward, offsets, strict=True)
    )


@dataclass(frozen=True)
class CartesianSettings:
    """Settings that may change while the law runs. A scalar applies to all axes, or all joints.

    What a field is that is ``declared`` stands there.

    Attributes:
        posture: (n,) desired positions in the null space; None: the positions at start. In the
            controller's mode NaN means the same for one joint.
        posture_energy: The most that the posture's spring may put into the arm before damping has
            taken as much out [J].
        limit_margin: (n,) distance from a joint's stop at which repulsion begins [rad, m]; None: a
            twentieth of its range, at most 0.1; 0: none.
        limit_torque: (n,) of the repulsion at the stop [N m, N]; None: half the effort limit.
        largest_mass: Bound on the end effector's apparent mass near singular postures [kg].
        largest_inertia: The same for its apparent rotational inertia [kg m^2].
        transition_time: Time in which a new stiffness takes effect [s].
        delay: From a state to its torque, with half of a period [s]: whatever that makes unstable
            with ``DELAY_MARGIN`` is softened, as far as needed at each posture; 0: nothing.
        weight: (3,) of a payload that the sensor of mode admittance measures, base axes [N].
        weight_at: (3,) its centre of mass in the end effector's frame [m].
        walls: Half-spaces that the tip keeps out of, see ``Wall`` and ``box``.
    """

    stiffness: ArrayLike = declared(
        (400.0, 400.0, 400.0, 30.0, 30.0, 30.0),
        "stiffness of the spring, along and about x y z [N/m, N m/rad]; 0 frees an axis",
        0.0,
        1e6,
    )
    damping_ratio: ArrayLike = declared(
        (1.0,) * 6, "damping ratio on that spring, 1 is critical", 0.0, 10.0
    )
    damping: ArrayLike = declared(
        (0.0,) * 6,
        "additional damping, for axes without stiffness [N s/m, N m s/rad]",
        0.0,
        1e4,
        name="free_damping",
    )
    axes: str = declared(
        "base",
        "axes of stiffness and damping: of the base, or of the tip's desired pose",
        name="stiffness_frame",
        choices=AXES,
    )
    max_force: float = declared(
        60.0,
        "largest force of the spring, and of feed-forward and damping towards the target's "
        "velocity together [N]",
        1e-3,
        1e5,
    )
    max_torque: float = declared(15.0, "largest moment of the spring, likewise [N m]", 1e-3, 1e5)
    max_speed: float = declared(0.25, "largest speed on the way to a target [m/s]", 1e-4, 10.0)
    max_turn_rate: float = declared(
        1.0, "largest turning rate on the way to a target [rad/s]", 1e-4, 50.0
    )
    max_acceleration: float = declared(
        2.0, "largest acceleration on the way to a target [m/s^2]", 1e-3, 100.0
    )
    max_turn_acceleration: float = declared(
        8.0, "largest angular acceleration on the way to a target [rad/s^2]", 1e-3, 1e3
    )
    posture: ArrayLike | None = None
    posture_stiffness: ArrayLike = declared(
        5.0, "stiffness of the posture [N m/rad, N/m]", 0.0, 1e4, name="nullspace.stiffness"
    )
    posture_damping_ratio: ArrayLike = declared(
        1.0, "damping ratio of the posture", 0.0, 10.0, name="nullspace.damping_ratio"
    )
    posture_energy: float = 0.5
    limit_margin: ArrayLike | None = None
    limit_torque: ArrayLike | None = None
    largest_mass: float = 1e5
    largest_inertia: float = 1e4
    inertia_shaping: bool = declared(
        False,
        "give the end effector shaped_inertia, with decoupled axes; the arm is then not passive",
    )
    shaped_inertia: ArrayLike = declared(
        (4.0, 4.0, 4.0, 0.05, 0.05, 0.05),
        "inertia with inertia_shaping [kg, kg m^2]",
        MIN_INERTIA,
        1e4,
    )
    contact_stiffness: ArrayLike = declared(
        (1e4, 1e2),
        "stiffest contact along and about an axis that mode admittance bears: its least damping "
        "follows from that [N/m, N m/rad]",
        0.0,
        1e7,
    )
    contact_delay: float = declared(
        0.01,
        "time from a wrench to the motion that answers it: the sensor's, and until the drives "
        "have followed [s]",
        0.0,
        1.0,
    )
    force_axes: str = declared(
        "",
        "axes, of x, y and z, along which the force of ~/target_wrench is controlled by the one on "
        "~/wrench: their spring presses with it",
    )
    contact_speed: float = declared(
        0.03, "speed along force_axes on the way to contact [m/s]", 1e-4, 1.0
    )
    dead_zone: ArrayLike = declared(
        (1.0, 0.1),
        "measured force and moment that move nothing [N, N m]",
        0.0,
        1e4,
        name="wrench_dead_zone",
    )
    transition_time: float = 0.2
    delay: float = 0.0
    weight: ArrayLike = (0.0, 0.0, 0.0)
    weight_at: ArrayLike = (0.0, 0.0, 0.0)
    walls: tuple[Wall, ...] = ()


class CartesianImpedance:
    """Torques that make a link behave as a mass on a spring and a damper between it and a target.

    tau = J^T F + gravity + null space + repulsion from joint limits, with F = K e + D (V_d - V) +
    feed-forward + walls. It does not compensate friction and armature. One per thread.

    Example::

        law = CartesianImpedance(model, "panda_hand", stiffness=(600, 600, 100, 30, 30, 30))
        law.start(sim.q)
        law.set_target(pose)
        sim.step(law.torque(sim.q, sim.qd, 0.001))
    """

    def __init__(
        self,
        model: Model,
        tip: str,
        settings: CartesianSettings | None = None,
        offset: ArrayLike | None = None,
        **changes: Any,
    ) -> None:
        """Take the arm; call ``start`` next.

        Args:
            model: The arm.
            tip: The link that is led.
            settings: See ``CartesianSettings``.
            offset: (4, 4) or (7,) pose of the point that is led in the link's frame; None: origin.
            **changes: Single settings by name.

        Raises:
            UnknownNameError: The model has no such link.
            ValueError: No joint moves it, or a setting is out of range (named).
        """
        require_tip(model, tip)
        self.model, self.tip = model, tip
        offset_pose = as_transforms("offset", np.eye(4) if offset is None else offset)
        self._law = CompiledImpedance(
            BoundDynamics(model), model.link_names.index(tip), np.array(offset_pose, order="C")
        )
        self._gravity = np.zeros(model.n)
        self._start = np.zeros(model.n)
        self._started = False
        self.settings = settings or CartesianSettings()
        self.configure(**changes)

    def __repr__(self) -> str:
        """Return the link that is led, and the arm."""
        return f"<CartesianImpedance of {self.tip!r} of {self.model!r}>"

    def configure(self, **changes: Any) -> None:
        """Change settings by name; a new stiffness takes effect smoothly.

        Raises:
            ValueError: A setting is unknown or out of range (named); then nothing changes.
        """
        known = {field.name for field in fields(CartesianSettings)}
        if unknown := sorted(set(changes) - known):
            raise ValueError(f"no setting {unknown[0]!r}; settings: {', '.join(sorted(known))}")
        settings = replace(self.settings, **changes)
        if settings.force_axes:
            raise ValueError(
                f"force_axes: expected '', got {settings.force_axes!r}: no measured wrench comes "
                "here; TorqueController.take_wrench takes one"
            )
        self._law.configure(prepared(settings, self.model, self._start))
        self.settings = settings

    def start(self, q: ArrayLike, qd: ArrayLike | None = None) -> None:
        """Begin with the present pose as target, and the present posture if none is set.

        Args:
            q: (n,) position.
            qd: (n,) velocity, None at rest.
        """
        q = finite_array("q", q, (self.model.n,)).copy()
        qd = np.zeros(self.model.n) if qd is None else finite_array("qd", qd, (self.model.n,))
        self._start = q
        self._law.configure(prepared(self.settings, self.model, q))
        self._law.start(q, qd)
        self._started = True

    def set_target(
        self, pose: ArrayLike, twist: ArrayLike = (0.0,) * 6, wrench: ArrayLike = (0.0,) * 6
    ) -> None:
        """Set a target for the tip, which approaches it within the settings' speeds.

        Args:
            pose: (4, 4), or position and quaternion x y z w (7,), in the base frame.
            twist: (6,) velocity there, linear first, base axes [m/s, rad/s].
            wrench: (6,) to apply in addition, force first, base axes [N, N m].

        Raises:
            ValueError: An argument is not finite, or not a pose (named).
        """
        target = one_pose("pose", pose)
        velocity, force = finite_array("twist", twist, (6,)), finite_array("wrench", wrench, (6,))
        self._law.target(np.array(target, order="C"), velocity, force)

    def torque(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        dt: float,
        gravity: bool = True,
        out: Floats | None = None,
    ) -> Floats:
        """Return the torque for a state, a time step after the last one.

        Args:
            q: (n,) position.
            qd: (n,) velocity.
            dt: Time since the last call [s].
            gravity: Add the gravity torque; False for drives that add it themselves.
            out: (n,) array for the result, or None.

        Returns:
            (n,) [N m, N].

        Raises:
            RuntimeError: ``start`` has not been called.
            ValueError: Something is not finite, or not (n,).
            SingularInertiaError: A joint moves no inertia.
        """
        n = self.model.n
        if not self._started:
            raise RuntimeError("call start(q) first: it says where the end effector begins")
        q, qd = finite_array("q", q, (n,)), finite_array("qd", qd, (n,))
        if not 0 <= dt < inf:
            raise ValueError(f"dt: expected a time >= 0, got {dt}")
        tau = np.empty(n) if out is None else out
        if failure := self._law.torque(q, qd, dt, self._gravity, tau):
            raise SingularInertiaError(self.model.joint_names[failure - 1])
        if gravity:
            tau += self._gravity
        return tau

    @property
    def report(self) -> dict[str, Any]:
        """Copies of the last step's results.

        pose and desired (4, 4); velocity, desired_velocity, error and wrench F (6,), base axes;
        stiffness in force (6,); jacobian (6, n); tank: energy left to the posture's spring [J];
        frequencies (6,) of the modes on the spring [rad/s]; delay_margin: the delay from state to
        torque, half a sampling period included, at which the first of them becomes
        unstable [s];
        smallest_singular_value of the Jacobian and manipulability, the product of them all.
        """
        report = self._law.report()
        return report | dexterity(report["jacobian"])


def dexterity(J: Floats) -> dict[str, float]:
    """Return the smallest singular value of a Jacobian (6, n) and the product of all; 0: n < 6."""
    values = np.linalg.svd(J, compute_uv=False) if J.shape[1] >= 6 else np.zeros(6)
    return {
        "smallest_singular_value": float(values[-1]),
        "manipulability": float(np.prod(values)),
    }


def unsoftened(joints: Sequence[str], armature: Floats) -> str:
    """Return what keeps the spring of an arm with an armature (n,) from being softened."""
    unknown = [joint for joint, j in zip(joints, armature, strict=True) if j == 0.0]
    light = "all joints" if len(unknown) == len(joints) else ", ".join(unknown)
    rotors = f"set armature.<joint>, rotor times gear ratio squared (0 of {light}), or "
    return f"{rotors if light else ''}shorten gains.delay and gains.period"


def min_delay_margin(
    model: Model, tip: str, settings: CartesianSettings, armature: ArrayLike = 0.0
) -> float:
    """Return the smallest of ``report``'s delay_margin over ``POSTURES`` random postures [s]."""
    n = model.n
    law = CompiledImpedance(BoundDynamics(model), model.link_names.index(tip), np.eye(4))
    law.set_armature(broadcast("armature", armature, n))
    rest, torque, margin = np.zeros(n), np.empty(n), inf
    law.configure(prepared(replace(settings, posture=None, walls=(), delay=0.0), model, rest))
    for q in postures(model, POSTURES):
        law.start(q, rest)
        if not law.torque(q, rest, 0.0, np.empty(n), torque):
            margin = min(margin, law.report()["delay_margin"])
    return float(margin)


def fastest_damper(
    model: Model, tip: str, settings: CartesianSettings, armature: ArrayLike = 0.0
) -> float:
    """Return the largest eigenvalue of M^-1 J^T D J over ``POSTURES`` random postures [1/s].

    With inertia shaping that of D and the shaped inertia.
    """
    damping = broadcast("damping", settings.damping, 6)
    if settings.inertia_shaping:
        shaped = broadcast("shaped_inertia", settings.shaped_inertia, 6, MIN_INERTIA)
        return float((damping / shaped).max())
    dynamics, q, root = Dynamics(model), postures(model, POSTURES), np.sqrt(damping)
    inertia = dynamics.crba(q) + np.diag(broadcast("armature", armature, model.n))
    J = dynamics.jacobian(q, tip)
    if settings.axes == "tip":
        turn = np.swapaxes(dynamics.link_pose(q, tip)[:, :3, :3], 1, 2)
        J = np.concatenate([turn @ J[:, :3], turn @ J[:, 3:]], axis=1)
    mobility = J @ np.linalg.solve(inertia, np.swapaxes(J, 1, 2))
    return float(np.linalg.eigvalsh(mobility * np.outer(root, root)).max())


def require_tip(model: Model, tip: str) -> None:
    """Raise an error unless the model has a link, and joints move it."""
    if tip not in model.link_names:
        raise UnknownNameError("link", tip, model.link_names)
    if model.tree.link_body[model.link_names.index(tip)] < 0:
        joints = ", ".join(model.joint_names)
        raise ValueError(f"tip is {tip!r}, which none of the joints moves: {joints}")


def one_pose(name: str, value: ArrayLike) -> Floats:
    """Return a pose, (4, 4) or (7,), as a finite homogeneous transform (4, 4)."""
    pose = as_transforms(name, finite_array(name, value))
    if pose.shape != (4, 4):
        raise ValueError(f"{name}: expected shape (4, 4) or (7,), got {np.shape(value)}")
    return pose


def broadcast(name: str, value: ArrayLike, count: int, minimum: float = 0.0) -> Floats:
    """Return a scalar or (count,) numbers, none below ``minimum``, as (count,)."""
    array = finite_array(name, value)
    if array.shape == ():
        array = np.full(count, float(array))
    if array.shape != (count,):
        raise ValueError(f"{name}: expected a number or {count} of them, got {value!r}")
    if (array < minimum).any():
        raise ValueError(f"{name}: expected numbers >= {minimum:g}, got {value!r}")
    return np.ascontiguousarray(array)


def sensor_poses(model: Model, tip: str, offset: Floats) -> dict[str, Floats]:
    """Return the links that move as one with the end effector: a wrench may be measured on them."""
    if not tip:
        return {}
    dynamics, q, body = Dynamics(model), np.zeros(model.n), model.tree.link_body
    mine = body[model.link_names.index(tip)]
    to_tip = np.linalg.inv(dynamics.link_pose(q, tip) @ offset)
    return {
        link: to_tip @ dynamics.link_pose(q, link)
        for link, its in zip(model.link_names, body, strict=True)
        if its == mine
    }


def prepared(
    settings: CartesianSettings,
    model: Model,
    start: Floats | None = None,
    contact_delay: float | None = None,
) -> dict[str, Any]:
    """Return settings, checked, as the compiled law and ``ControllerSettings.impedance`` take them.

    ``start``: (n,) the posture where none is set; None: NaN, that at which the mode begins.
    ``contact_delay``: time from a wrench to the motion that answers it, of the virtual arm of mode
    admittance [s]; None: the law moves the arm itself.

    Raises:
        ValueError: One of them is out of range (named).
    """
    n, posture = model.n, settings.posture
    if settings.axes not in AXES:
        raise ValueError(f"axes: expected one of {', '.join(AXES)}, got {settings.axes!r}")
    law = {one.name: _checked(one, getattr(settings, one.name), n) for one in fields(settings)}
    if start is not None:
        posture = broadcast("posture", start if posture is None else posture, n, -inf)
    joints = np.empty((8, n))
    joints[0] = np.nan if posture is None else posture
    joints[1:] = law["posture_stiffness"], law["posture_damping_ratio"], *_limits(settings, model)
    law |= {
        "tip_axes": settings.axes == "tip",
        "min_damping": np.zeros(6),
        "max_wrench": np.array([law["max_force"], law["max_torque"]]),
        "max_inertia": np.repeat([law["largest_mass"], law["largest_inertia"]], 3),
        "inertia_shaping": bool(settings.inertia_shaping),
        "delay": DELAY_MARGIN * law["delay"],
        "tank": law["posture_energy"],
        "approach_rate": np.full(2, APPROACH_RATE),
        "max_speed": np.array([law["max_speed"], law["max_turn_rate"]]),
        "max_acceleration": np.array([law["max_acceleration"], law["max_turn_acceleration"]]),
        "force_axes": _force_axes(settings.force_axes, law["stiffness"]),
        "joints": joints,
        "walls": _walls(settings.walls),
    }
    return law if contact_delay is None else _of_virtual_arm(law, contact_delay)


def _checked(one: Field[Any], value: Any, n: int) -> Any:
    """Return a setting with as many numbers as its default or the arm has; others as given."""
    if one.name in PER_JOINT:
        return broadcast(one.name, value, n)
    if isinstance(one.default, tuple) and one.default:
        return broadcast(one.name, value, len(one.default), one.metadata.get("minimum", -inf))
    if isinstance(one.default, float):
        is_finite = np.ndim(value) == 0 and 0.0 <= float(value) < inf
        if one.name in MAY_BE_ZERO and not is_finite:
            raise ValueError(f"{one.name}: expected a time >= 0, got {value}")
        if one.name not in MAY_BE_ZERO and not (is_finite and value):
            raise ValueError(f"{one.name}: expected a number > 0, got {value}")
        return float(value)
    return value


def _force_axes(axes: str, stiffness: Floats) -> Floats:
    """Return 1 for each axis along which the force is controlled, (3,)."""
    if sorted(axes) != [axis for axis in "xyz" if axis in axes]:
        raise ValueError(f"force_axes: expected some of x, y, z, got {axes!r}")
    for axis, k in zip("xyz", stiffness[:3], strict=True):
        if axis in axes and k == 0.0:
            raise ValueError(
                f"force_axes: the stiffness along {axis} is 0, expected more: the spring presses"
            )
    return np.array([float(axis in axes) for axis in "xyz"])


def _of_virtual_arm(law: dict[str, Any], delay: float) -> dict[str, Any]:
    """Return the prepared settings of the law that moves the virtual arm of mode admittance."""
    inertia, contact = law["shaped_inertia"], np.repeat(law["contact_stiffness"], 3)
    minimum = [contact_damping(k, m, delay) for k, m in zip(contact, inertia, strict=True)]
    law = law | {"inertia_shaping": True, "delay": 0.0, "min_damping": np.array(minimum)}
    damping = damping_of(law)
    walls = np.repeat([law["walls"][:, 4].sum(), 0.0], 3)
    needed = np.maximum(damping * VIRTUAL_STEP, (law["stiffness"] + walls) * VIRTUAL_STEP**2)
    for axis in np.flatnonzero(inertia < needed):
        raise ValueError(
            f"shaped_inertia of axis {axis} is {inertia[axis]:g}, expected at least "
            f"{needed[axis]:.3g}: the damping for contact_stiffness and contact_delay is "
            f"{damping[axis]:.3g}"
        )
    for axis in np.flatnonzero(damping == 0.0):
        raise ValueError(
            f"axis {axis} has no damping and would never stop: expected free_damping, "
            "contact_stiffness, or stiffness with damping_ratio other than 0"
        )
    return law


def damping_of(law: Mapping[str, Floats]) -> Floats:
    """Return the damping (6,) of each axis with shaped inertia, by prepared settings."""
    of_spring = 2.0 * law["damping_ratio"] * np.sqrt(law["stiffness"] * law["shaped_inertia"])
    return np.maximum(of_spring + law["damping"], law["min_damping"])


def contact_damping(stiffness: float, inertia: float, delay: float) -> float:
    """Return the least damping [N s/m, N m s/rad] of a mass that is pressed on something stiff.

    The measured force k x [N/m, N m/rad], late by T [s], moves the mass M: the loop is k exp(-s T)
    / (s (M s + D)). Its phase margin is to be ``PHASE_MARGIN``; at the crossover frequency w that
    leaves a lag of atan(M w / D) + w T, and there k = w |M w i + D|.
    """
    lag = pi / 2 - PHASE_MARGIN
    bound = min(sqrt(stiffness / inertia * sin(lag)), lag / delay if delay > 0.0 else inf)
    w = bisect(lambda w: inertia * w * w - stiffness * sin(lag - w * delay), bound)
    return inertia * w / tan(lag - w * delay) if w > 0.0 else 0.0


def stiffest_contact(inertia: float, damping: float, delay: float) -> float:
    """Return the stiffness at which a contact is at the edge of stability, inf without delay."""
    if delay == 0.0:
        return inf
    w = bisect(lambda w: inertia * w * sin(w * delay) - damping * cos(w * delay), pi / (2 * delay))
    return w * hypot(inertia * w, damping)


def bisect(rising: Callable[[float], float], bound: float) -> float:
    """Return where a rising function is zero between 0 and ``bound``."""
    low, high = 0.0, bound
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if rising(middle) < 0.0 else (low, middle)
    return low


def _limits(settings: CartesianSettings, model: Model) -> list[Floats]:
    """Return stops, margins and strength of the repulsion there, and speed limits, (n,) each."""
    reach = model.upper - model.lower
    margin = (
        np.minimum(0.05 * reach, 0.1) if settings.limit_margin is None else settings.limit_margin
    )
    margin = np.minimum(broadcast("limit_margin", margin, model.n), 0.5 * reach)
    effort = np.where(np.isfinite(model.effort_limit), 0.5 * model.effort_limit, REPULSION)
    strength = effort if settings.limit_torque is None else settings.limit_torque
    return [
        model.lower,
        model.upper,
        margin,
        broadcast("limit_torque", strength, model.n),
        np.where(model.velocity_limit > 0, model.velocity_limit, inf),
    ]


def _walls(walls: tuple[Wall, ...]) -> Floats:
    """Return walls as (W, 6): unit normal, offset, stiffness, damping."""
    if len(walls) > MAX_WALLS:
        raise ValueError(f"walls: expected at most {MAX_WALLS}, got {len(walls)}")
    rows = np.empty((len(walls), 6))
    for row, wall in zip(rows, walls, strict=True):
        figures = (*wall.normal, wall.offset, wall.stiffness, wall.damping)
        row[:] = finite_array("walls: normal, offset, stiffness and damping", figures, (6,))
        if not (length := np.linalg.norm(row[:3])) > 0.0:
            raise ValueError(f"walls: expected a normal other than zero, got {wall}")
        if (row[4:] < 0.0).any():
            raise ValueError(f"walls: expected stiffness and damping >= 0, got {wall}")
        row[:3] /= length
    return rows


class PoseStream:
    """The last pose of a target and its time, as from teleoperation.

    Without the velocity the desired pose lags behind by the way in which it could stop.
    """

    def __init__(self) -> None:
        """Have none."""
        self._time, self._pose = 0.0, np.eye(4)

    def velocity(self, time: float, pose: Floats) -> tuple[Floats, float]:
        """Return the velocity (6,) from the last pose (4, 4) to this, and how long it lasts [s]."""
        since, change = time - self._time, pose_error(self._pose, pose)
        self._time, self._pose = time, pose
        if not SHORTEST <= since <= LONGEST:
            return np.zeros(6), 0.0
        return change / since, OUTLASTS * since
