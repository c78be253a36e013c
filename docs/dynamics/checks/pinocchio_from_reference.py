"""The robot of the reference as a Pinocchio model: any joints, and a base that may float."""

import numpy as np

from reference import BASE, hinges
from reference.spatial import parts_of

# Pinocchio's joints have their linear velocities first.
LINEAR_FIRST = [3, 4, 5, 0, 1, 2]


class Peer:
    """A ``Robot``'s model in Pinocchio.

    Attributes:
        model, data: Pinocchio's.
        order: Pinocchio's velocities are ``stacked[order]``, ``stacked`` being the base's spatial
            velocity, if it floats, and those of the joints in the reference's order.
    """

    def __init__(self, pinocchio, robot, kinds=None, floats=False):
        """Build the model; ``kinds`` are hinges in place of the robot's joints."""
        self.pin, self.robot, self.kinds, self.floats = pinocchio, robot, kinds, floats
        self.model = pinocchio.Model()
        self.model.gravity.linear = robot.gravity
        self.ids, self.order = {BASE: 0}, []
        if floats:
            self.add(BASE, 0, pinocchio.JointModelFreeFlyer(), np.eye(3), np.zeros(3))
            self.order += LINEAR_FIRST
        joints = [self.joint(i) for i in range(robot.N)]
        first = np.cumsum([6 * floats, *(len(order) for _, order in joints)])
        self.outwards = self.depth_first(BASE)
        for i in self.outwards:
            E, r = parts_of(robot.Xtree[i])
            joint, order = joints[i]
            self.add(i, self.ids[robot.parent[i]], joint, E.T, r)
            self.order += [first[i] + k for k in order]
        self.data = self.model.createData()

    def depth_first(self, i):
        """Return the bodies beyond i branch by branch, as Pinocchio's algorithms expect them."""
        children = np.flatnonzero(self.robot.parent == i)
        return [body for j in children for body in (j, *self.depth_first(j))]

    def add(self, i, parent, joint, R, r):
        pin, robot = self.pin, self.robot
        self.ids[i] = self.model.addJoint(parent, joint, pin.SE3(R, r), f"joint {i}")
        body = pin.Inertia(robot.m[i], robot.c[i], robot.I_C[i])
        self.model.appendBodyToJoint(self.ids[i], body, pin.SE3.Identity())

    def joint(self, i):
        """Return Pinocchio's joint, and its velocities' places in the reference's."""
        pin, robot = self.pin, self.robot
        if self.kinds is None:
            (turn, slide), axis = robot.motion[i], robot.axis[i]
            if turn and slide:
                return pin.JointModelHelicalUnaligned(axis, slide), [0]
            kind = pin.JointModelRevoluteUnaligned if turn else pin.JointModelPrismaticUnaligned
            return kind(axis), [0]
        hinge = self.kinds[i]
        match hinge:
            case hinges.Universal():
                return self.composite(
                    pin.JointModelRevoluteUnaligned(np.array(hinge.first)),
                    pin.JointModelRevoluteUnaligned(np.array(hinge.second)),
                ), [0, 1]
            case hinges.Cylindrical():
                axis = np.array(hinge.axis)
                return self.composite(
                    pin.JointModelRevoluteUnaligned(axis), pin.JointModelPrismaticUnaligned(axis)
                ), [0, 1]
            case hinges.Planar():
                return pin.JointModelPlanar(), [1, 2, 0]
            case hinges.Spherical():
                return pin.JointModelSpherical(), [0, 1, 2]
            case hinges.Free():
                return pin.JointModelFreeFlyer(), LINEAR_FIRST

    def composite(self, *joints):
        composite = self.pin.JointModelComposite()
        for joint in joints:
            composite.addJoint(joint)
        return composite

    def position(self, q):
        """Return Pinocchio's configuration for the positions of the reference, base unturned."""
        parts = [[0, 0, 0, 0, 0, 0, 1]] if self.floats else []
        for i in self.outwards:
            planar = self.kinds is not None and isinstance(self.kinds[i], hinges.Planar)
            q_i = np.atleast_1d(q[i])
            parts.append([q_i[1], q_i[2], np.cos(q_i[0]), np.sin(q_i[0])] if planar else q_i)
        return np.concatenate(parts)

    def rnea(self, q, v, a):
        """Return the forces for stacked velocities and accelerations, in the reference's order."""
        tau = self.pin.rnea(self.model, self.data, self.position(q), v[self.order], a[self.order])
        return self.in_order(tau)

    def aba(self, q, v, tau):
        order = self.order
        return self.in_order(
            self.pin.aba(self.model, self.data, self.position(q), v[order], tau[order])
        )

    def crba(self, q):
        upper = np.triu(self.pin.crba(self.model, self.data, self.position(q)))
        back = np.argsort(self.order)
        return (upper + np.triu(upper, 1).T)[np.ix_(back, back)]

    def in_order(self, x):
        return np.asarray(x)[np.argsort(self.order)]
