"""The same robots in Pinocchio and MuJoCo, from the same URDF; results in our order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

import numpy as np
from defusedxml.ElementTree import fromstring

from benchmarks.robots import Robot
from featherstone_ros.arrays import Floats
from featherstone_ros.model.body_tree import BodyTree

# How joints are numbered in a result.
ROWS, COLUMNS, SQUARE, NONE = "rows", "columns", "square", "none"
_OF_FRAME = "(model, data, frame, pin.LOCAL_WORLD_ALIGNED)"
_PLACE = "pin.updateFramePlacements(model, data)"
# Method of Dynamics -> what is called before, the expression of the result, its numbering.
PINOCCHIO = {
    "rnea": ("", "pin.rnea(model, data, q, qd, qdd)", ROWS),
    "aba": ("", "pin.aba(model, data, q, qd, tau)", ROWS),
    "crba": ("", "pin.crba(model, data, q)", SQUARE),
    "bias": ("", "pin.nonLinearEffects(model, data, q, qd)", ROWS),
    "gravity": ("", "pin.computeGeneralizedGravity(model, data, q)", ROWS),
    "coriolis": ("", "pin.computeCoriolisMatrix(model, data, q, qd)", SQUARE),
    "minv": ("", "pin.computeMinverse(model, data, q)", SQUARE),
    "rnea_derivatives": ("", "pin.computeRNEADerivatives(model, data, q, qd, qdd)", SQUARE),
    "aba_derivatives": ("", "pin.computeABADerivatives(model, data, q, qd, tau)", SQUARE),
    "link_pose": (
        "pin.framesForwardKinematics(model, data, q)",
        "data.oMf[frame].homogeneous",
        NONE,
    ),
    "link_velocity": (
        f"pin.forwardKinematics(model, data, q, qd); {_PLACE}",
        f"pin.getFrameVelocity{_OF_FRAME}.vector",
        NONE,
    ),
    "link_acceleration": (
        f"pin.forwardKinematics(model, data, q, qd, qdd); {_PLACE}",
        f"pin.getFrameClassicalAcceleration{_OF_FRAME}.vector",
        NONE,
    ),
    "jacobian": (
        "",
        "pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL_WORLD_ALIGNED)",
        COLUMNS,
    ),
    "jacobian_derivative": (
        "",
        "pin.frameJacobianTimeVariation(model, data, q, qd, frame, pin.LOCAL_WORLD_ALIGNED)",
        COLUMNS,
    ),
    "centre_of_mass": ("", "pin.centerOfMass(model, data, q)", NONE),
    "centre_of_mass_jacobian": ("", "pin.jacobianCenterOfMass(model, data, q)", COLUMNS),
    "momentum": ("", "pin.computeCentroidalMomentum(model, data, q, qd).vector", NONE),
    "centroidal_momentum_matrix": ("", "pin.computeCentroidalMap(model, data, q)", COLUMNS),
    "energy": (
        "kinetic = pin.computeKineticEnergy(model, data, q, qd)",
        "(kinetic, pin.computePotentialEnergy(model, data, q))",
        NONE,
    ),
}
# How the names begin of those in which Pinocchio leaves out a fixed base link's mass, unlike us.
WITHOUT_FIXED_BASE = ("centr", "momentum", "energy")


@lru_cache(1)
def _pinocchio_model(robot: Robot) -> Any:
    import pinocchio as pin

    root = [pin.JointModelFreeFlyer()] if robot.base == "floating" else []
    return pin.buildModelFromXML(robot.text, *root)


def pinocchio_call(
    robot: Robot, method: str, state: Mapping[str, Any]
) -> tuple[str, str, dict[str, Any], Callable[[Any], Any]]:
    """Return before, expression, names and reader of a Call; ``robot``: without mimic joints."""
    import pinocchio as pin

    model = _pinocchio_model(robot)
    base = robot.model.nv - robot.model.n  # numbers of the base in velocities, the same in both
    joints = [model.idx_vs[model.getJointId(name)] for name in robot.model.joint_names]
    order = np.array([*range(base), *joints])
    names = {name: np.empty(model.nv) for name in ("qd", "qdd", "tau")}
    for name, values in names.items():
        values[order] = state[name]
    angles = np.zeros(model.nv)
    angles[joints] = state["q"][robot.model.nq - robot.model.n :]
    # Continuous joints have cosine and sine there.
    q = pin.integrate(model, pin.neutral(model), angles)
    if base:
        q[:7] = state["q"][:7]
    frame = model.getFrameId(state["link"], pin.BODY)
    before, expression, numbering = PINOCCHIO[method]

    def renumber(array: Any) -> Any:
        if isinstance(array, tuple):
            return tuple(map(renumber, array))
        index: dict[str, Any] = {ROWS: order, SQUARE: np.ix_(order, order), COLUMNS: (..., order)}
        return np.asarray(array)[index.get(numbering, ...)]

    objects = {"pin": pin, "model": model, "data": model.createData(), "frame": frame}
    return before, expression, {**objects, "q": q, **names}, renumber


def mujoco_call(
    robot: Robot, time_step: float, steps: int, q: Floats, qd: Floats, tau: Floats
) -> tuple[str, str, dict[str, Any], Callable[[Any], Any]]:
    """Return before, expression, names and reader of a Call: steps under a constant torque.

    Semi-implicit Euler; no contacts and no constraints, which joint limits and dry friction are.
    """
    import mujoco

    model = mujoco_model(robot.text, robot.model.tree, time_step)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    model.dof_damping[:] = 0
    data = mujoco.MjData(model)
    order = np.array([model.joint(name).dofadr[0] for name in robot.model.joint_names])
    names: dict[str, Any] = {"mujoco": mujoco, "model": model, "data": data}
    for name, values in {"q": q, "qd": qd, "tau": tau}.items():
        names[name] = np.empty(model.nv)
        names[name][order] = values
    before = (
        "data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, qd, tau; "
        f"mujoco.mj_step(model, data, nstep={steps})"
    )
    return before, "data", names, lambda data: (data.qpos[order], data.qvel[order])


def mujoco_model(urdf: str, tree: BodyTree, time_step: float) -> Any:
    """Return MuJoCo's model of a robot with our inertias: semi-implicit Euler, no contacts."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(_without_shapes(urdf))
    model.opt.timestep = time_step
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    _take_inertia(model, tree)
    return model


def _without_shapes(urdf: str) -> str:
    """Return the URDF without visual and collision geometry: its mesh files are elsewhere."""
    robot = fromstring(urdf)
    for link in robot.iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    options = ElementTree.SubElement(robot, "mujoco")
    # MuJoCo refuses inertias that no rigid body has; _take_inertia sets the true ones.
    ElementTree.SubElement(options, "compiler", balanceinertia="true", fusestatic="true")
    return ElementTree.tostring(robot, encoding="unicode")


def _take_inertia(model: Any, tree: BodyTree) -> None:
    """Give the bodies our masses and inertias, along principal axes as MuJoCo expects."""
    import mujoco

    for k, name in enumerate(tree.body_names[1:], start=1):
        body = model.body(name).id
        mass, com = tree.mass[k], tree.first_moment[k] / tree.mass[k]
        about_com = tree.inertia[k] - mass * (com @ com * np.eye(3) - np.outer(com, com))
        model.body_inertia[body], axes = np.linalg.eigh(about_com)
        axes[:, 2] *= np.sign(np.linalg.det(axes))
        model.body_mass[body], model.body_ipos[body] = mass, com
        mujoco.mju_mat2Quat(model.body_iquat[body], axes.ravel())
    mujoco.mj_setConst(model, mujoco.MjData(model))
