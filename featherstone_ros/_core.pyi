"""Types of the compiled core. What the methods do, their shapes and units: help(Dynamics)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import disjoint_base

from featherstone_ros.model import Model
from featherstone_ros.operational_space import OperationalSpace

_Floats: TypeAlias = NDArray[np.float64]
_Wrenches: TypeAlias = Mapping[str, ArrayLike] | None
_Motion: TypeAlias = Callable[[float], tuple[float, float, float]] | ArrayLike

instruction_set: str
lanes: int
release_time: float
NEEDS: dict[str, set[str]]

def built() -> list[str]: ...
def supported() -> list[str]: ...
def lacking(name: str) -> list[str]: ...
def get_num_threads() -> int: ...
def set_num_threads(k: int) -> None: ...
def integrated(model: Model, q: ArrayLike, v: ArrayLike, dt: float) -> _Floats: ...
def difference_of(model: Model, q0: ArrayLike, q1: ArrayLike) -> _Floats: ...
def presliding_states(
    position: _Floats, displacement: float, start: _Floats, time: _Floats | None
) -> _Floats: ...

@disjoint_base
class CompiledModel:  # made by BodyTree.compile
    joint_names: Final[tuple[str, ...]]
    body_names: Final[tuple[str, ...]]
    def __new__(cls, *args: Any, **kwargs: Any) -> CompiledModel: ...

@disjoint_base
class BoundDynamics:
    model: Final[Model]
    capsule: Final[Any]
    def __new__(cls, model: Model) -> BoundDynamics: ...

@disjoint_base
class Dynamics:
    model: Final[Model]
    def __init__(self, model: Model) -> None: ...
    def rnea(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        f_ext: _Wrenches = None,
        out: _Floats | None = None,
    ) -> _Floats: ...
    def bias(
        self, q: ArrayLike, qd: ArrayLike, f_ext: _Wrenches = None, out: _Floats | None = None
    ) -> _Floats: ...
    def gravity(self, q: ArrayLike, out: _Floats | None = None) -> _Floats: ...
    def aba(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        f_ext: _Wrenches = None,
        out: _Floats | None = None,
    ) -> _Floats: ...
    def crba(self, q: ArrayLike, out: _Floats | None = None) -> _Floats: ...
    mass_matrix = crba
    def minv(self, q: ArrayLike, out: _Floats | None = None) -> _Floats: ...
    def rnea_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        f_ext: _Wrenches = None,
        out: Sequence[_Floats] | None = None,
    ) -> tuple[_Floats, _Floats, _Floats]: ...
    def aba_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        f_ext: _Wrenches = None,
        out: Sequence[_Floats] | None = None,
    ) -> tuple[_Floats, _Floats, _Floats]: ...
    def link_pose(self, q: ArrayLike, link: str) -> _Floats: ...
    forward_kinematics = link_pose
    def jacobian(self, q: ArrayLike, link: str, point: ArrayLike | None = None) -> _Floats: ...
    def jacobian_derivative(
        self, q: ArrayLike, qd: ArrayLike, link: str, point: ArrayLike | None = None
    ) -> _Floats: ...
    jacobian_dot = jacobian_derivative
    def link_velocity(self, q: ArrayLike, qd: ArrayLike, link: str) -> _Floats: ...
    def link_acceleration(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, link: str
    ) -> _Floats: ...
    def centre_of_mass(self, q: ArrayLike) -> _Floats: ...
    def centre_of_mass_jacobian(self, q: ArrayLike) -> _Floats: ...
    def energy(
        self, q: ArrayLike, qd: ArrayLike
    ) -> tuple[float, float] | tuple[_Floats, _Floats]: ...
    def coriolis(self, q: ArrayLike, qd: ArrayLike) -> _Floats: ...
    def hybrid(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tau: ArrayLike,
        prescribed: ArrayLike,
        f_ext: _Wrenches = None,
    ) -> tuple[_Floats, _Floats]: ...
    def joint_wrenches(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, f_ext: _Wrenches = None
    ) -> _Floats: ...
    def composite_inertias(self, q: ArrayLike) -> _Floats: ...
    def articulated_inertias(self, q: ArrayLike) -> _Floats: ...
    def log_det_inertia(self, q: ArrayLike) -> tuple[float | _Floats, _Floats]: ...
    def impulse_response(
        self, q: ArrayLike, f_ext: _Wrenches = None, out: _Floats | None = None
    ) -> _Floats: ...
    def momentum(self, q: ArrayLike, qd: ArrayLike) -> _Floats: ...
    def centroidal_momentum_matrix(self, q: ArrayLike) -> _Floats: ...
    def operational_space_inertia(
        self, q: ArrayLike, link: str, point: ArrayLike | None = None
    ) -> _Floats: ...
    def operational_space(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        link: str,
        point: ArrayLike | None = None,
        tolerance: float = 0.001,
    ) -> OperationalSpace: ...
    @overload
    def regressor(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        f_ext: None = None,
        out: _Floats | None = None,
    ) -> _Floats: ...
    @overload
    def regressor(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        f_ext: Mapping[str, ArrayLike],
        out: Sequence[_Floats] | None = None,
    ) -> tuple[_Floats, _Floats]: ...

@disjoint_base
class Simulator:
    model: Final[Model]
    time_step: Final[float]
    integrator: Final[str]
    damping: Final[_Floats]
    friction: Final[_Floats]
    armature: Final[_Floats]
    stop_stiffness: Final[_Floats]
    stop_damping: Final[_Floats]
    load: Final[_Floats]
    thinning: Final[_Floats]
    prescribed: Final[dict[str, _Motion]]
    q: Final[_Floats]
    qd: Final[_Floats]
    qdd: Final[_Floats]
    prescribed_tau: Final[_Floats]
    time: Final[float]
    _interface: Final[Any]
    def __init__(
        self,
        model: Model,
        time_step: float = 0.001,
        integrator: str = "semi_implicit_euler",
        damping: ArrayLike | None = None,
        friction: ArrayLike | None = None,
        armature: ArrayLike | None = None,
        stop_stiffness: ArrayLike | None = None,
        stop_damping: ArrayLike | None = None,
        prescribed: Mapping[str, _Motion] | None = None,
        load: ArrayLike | None = None,
        thinning: ArrayLike | None = None,
    ) -> None: ...
    def reset(self, q: ArrayLike | None = None, qd: ArrayLike | None = None) -> None: ...
    def set_state(self, q: ArrayLike, qd: ArrayLike | None = None) -> None: ...
    def set_momentum(self, momentum: ArrayLike) -> None: ...
    def step(self, tau: ArrayLike, steps: int = 1, f_ext: _Wrenches = None) -> None: ...
