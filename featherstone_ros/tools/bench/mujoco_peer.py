"""MuJoCo as a peer: the same robot from the same URDF, without contacts and constraints."""

from xml.etree import ElementTree

import mujoco
import numpy as np
from defusedxml.ElementTree import fromstring

from featherstone_ros.arrays import Floats
from featherstone_ros.model.body_tree import BodyTree
from featherstone_ros.tools.bench.race import TimedCall
from featherstone_ros.tools.bench.robots import BenchRobot

# Dry friction and joint limits are constraints, too.
_SWITCHED_OFF = (mujoco.mjtDisableBit.mjDSBL_CONSTRAINT, mujoco.mjtDisableBit.mjDSBL_CONTACT)


class MujocoPeer:
    """A robot in MuJoCo: semi-implicit Euler, no damping, no dry friction, nothing to collide."""

    def __init__(self, robot: BenchRobot, time_step: float) -> None:
        """Compile the model.

        Args:
            robot: Without followers.
            time_step: [s].
        """
        model = mujoco.MjModel.from_xml_string(_without_shapes(robot.text))
        model.opt.timestep = time_step
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
        model.opt.gravity[:] = robot.model.gravity
        for flag in _SWITCHED_OFF:
            model.opt.disableflags |= flag
        model.dof_damping[:] = 0
        _take_inertia(model, robot.model.tree)
        self.model, self.data = model, mujoco.MjData(model)
        names = robot.model.joint_names
        self.order = np.array([model.joint(name).dofadr[0] for name in names])

    def timed_call(self, q: Floats, qd: Floats, tau: Floats, steps: int) -> TimedCall:
        """Return a call of many steps, from a state (n,) under a constant torque (n,)."""
        start = {"q": q, "qd": qd, "tau": tau}
        names = {name: np.empty(self.model.nv) for name in start}
        for name, values in start.items():
            names[name][self.order] = values
        return TimedCall(
            f"mujoco.mj_step(model, data, nstep={steps})",
            names | {"mujoco": mujoco, "model": self.model, "data": self.data},
            units=steps,
            setup="data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, qd, tau",
            read=lambda _: (self.data.qpos[self.order], self.data.qvel[self.order]),
        )


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


def _take_inertia(model: mujoco.MjModel, tree: BodyTree) -> None:
    """Give the bodies our masses and inertias, along principal axes as MuJoCo expects."""
    for k, name in enumerate(tree.body_names[1:], start=1):
        body = model.body(name).id
        mass, com = tree.mass[k], tree.first_moment[k] / tree.mass[k]
        about_com = tree.inertia[k] - mass * (com @ com * np.eye(3) - np.outer(com, com))
        moments, axes = np.linalg.eigh(about_com)
        axes[:, 2] *= np.sign(np.linalg.det(axes))
        model.body_mass[body], model.body_ipos[body] = mass, com
        model.body_inertia[body] = moments
        mujoco.mju_mat2Quat(model.body_iquat[body], axes.ravel())
    mujoco.mj_setConst(model, mujoco.MjData(model))
