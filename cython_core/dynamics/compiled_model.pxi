def _indices(name, values, count, first, beyond):
    """Return an array of indices, checked."""
    found = np.asarray(values, dtype=np.intp)
    if found.shape != (count,) or (count and not first <= found.min() <= found.max() < beyond):
        raise ValueError(f"{name}: expected {count} indices from {first} to {beyond - 1}")
    return found


cdef class CompiledModel:
    """A kinematic tree in the form that the recursions read: constant, shared by all workspaces.

    Args:
        tree: A ``featherstone_ros.model.body_tree.BodyTree``; None: no joints.
        gravity: (3,) [m/s^2] in the base frame, or in the world's if the base floats.
        floating: Whether the base is a free body, with six more degrees of freedom.

    Raises:
        ValueError: A body comes before its parent, or an index is out of range: no array may lead
            the recursions out of their memory, whoever made the tree (a damaged pickle, too).
    """

    cdef System system
    cdef Memory memory                  # what that points to
    cdef dict link_index
    cdef readonly tuple joint_names
    cdef readonly tuple body_names

    def __cinit__(self, tree=None, gravity=None, bint floating=False):
        cdef Py_ssize_t N, n, free = 6 if floating else 0, i, k
        if tree is None:
            self.joint_names, self.body_names, self.link_index = (), ("",), {}
            self.make_room(0)
            return
        N, n = len(tree.parent), len(tree.joint_names)
        parent = _indices("parent", tree.parent, N, -1, N) + 1
        if not all(parent[i] <= i for i in range(N)):
            raise ValueError("parent: a body must come after its parent")
        dof = _indices("dof", tree.dof, N, 0, n)
        joint_body = _indices("joint_body", tree.joint_body, n, 0, N)
        link_body = _indices("link_body", tree.link_body, len(tree.link_names), -1, N)
        rotation, translation, axis, link_rotation, link_translation = (
            np.asarray(x, dtype=EXTENDED)
            for x in (tree.rotation, tree.translation, tree.axis, tree.link_rotation,
                      tree.link_translation))
        first_moment = tree.first_moment + tree.first_moment_rest.astype(EXTENDED)
        inertia = tree.inertia + tree.inertia_rest.astype(EXTENDED)
        motion = np.asarray(tree.motion, dtype=float)
        self.joint_names, self.body_names = tree.joint_names, tree.body_names
        self.link_index = {name: i for i, name in enumerate(tree.link_names)}
        self.system.N, self.system.links = N, len(link_body)
        self.system.n, self.system.nq = n + free, n + free + floating
        self.system.floating, self.system.ground = floating, -1 if floating else 0
        self.make_room(n)
        for k in range(3):
            self.system.gravity[k] = gravity[k]
        orientation, origin = _choose_frames(parent, rotation, translation, axis)
        self.system.body[0].forks = floating
        followed = {joint.body for joint in tree.followed}
        for i in range(N + 1):
            self.put_inertia(i, tree.mass[i], first_moment[i], inertia[i], orientation[i],
                             origin[i])
        for i in range(1, N + 1):
            k = parent[i - 1]
            Q = orientation[k].T
            self.put_joint(i, k, free + dof[i - 1],
                           tree.multiplier[i - 1] * motion[i - 1])
            self.put_transform(i, Q @ rotation[i - 1] @ orientation[i],
                               Q @ (translation[i - 1] + rotation[i - 1] @ origin[i] - origin[k]),
                               (i - 1 not in followed) * tree.offset[i - 1] * motion[i - 1])
        self.list_followed(tree, orientation, rotation, motion)
        self.system.coupled = (N != n or sorted(dof) != list(range(n))
                               or any(m != 1 for m in tree.multiplier))
        self.find_reach()
        for i in range(n):
            self.system.joint_link[i] = self.link_index[tree.body_names[joint_body[i] + 1]]
        for i in range(self.system.links):
            k = link_body[i] + 1
            Q = orientation[k].T
            self.put_link(i, k, Q @ link_rotation[i], Q @ (link_translation[i] - origin[k]))

    cdef int make_room(self, Py_ssize_t n) except -1:
        """Allocate the arrays of the system for n joints, all zero."""
        cdef System* its = &self.system
        cdef Memory m = Memory()
        cdef Py_ssize_t slots = its.N + 1 + LANES
        self.memory = m
        its.body = <Body*> m.block((its.N + 1) * sizeof(Body), np.uint8)
        its.link_slot, its.joint_link = m.indices(its.links), m.indices(n)
        its.dof, its.reach = m.indices(slots), m.indices(2 * its.n)
        its.link_pose = m.doubles(12 * its.links)
        its.angular, its.theta0, its.turn = m.doubles(slots), m.doubles(slots), m.doubles(slots)
        return 0

    cdef int put_inertia(self, Py_ssize_t i, mass, first_moment, inertia, Q, origin) except -1:
        """Inertia of body i in its chosen frame: axes Q (columns) and origin in the given one."""
        cdef Body* b = &self.system.body[i]
        cdef Py_ssize_t k
        h, about = _inertia_about(mass, first_moment, inertia, Q, origin @ Q[:, 2])
        sigma = np.trace(about) / 2 * np.eye(3) - about
        b.mass = mass
        for k in range(3):
            b.h[k] = h[k]
        for k, (row, column) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
            b.inertia[k] = about[row, column]
            b.Sigma[k] = sigma[row, column]
        return 0

    cdef int put_joint(self, Py_ssize_t i, Py_ssize_t parent, Py_ssize_t dof, motion) except -1:
        """Place of body i in the tree, and its S."""
        cdef Body* b = &self.system.body[i]
        b.parent, b.dof = parent, dof
        b.root = 1 if self.system.floating else self.system.body[parent].root if parent else i
        b.grounded = not (parent or self.system.floating)
        b.follows = parent == i - 1 > 0
        b.angular, b.linear = motion
        b.revolute = b.angular == 1 and b.linear == 0
        self.system.dof[i], self.system.angular[i] = b.dof, b.angular
        self.system.slides = self.system.slides or b.linear != 0
        if parent != i - 1:
            self.system.body[parent].forks = True
        return 0

    cdef int put_transform(self, Py_ssize_t i, E, p, at_zero) except -1:
        """iXp of body i, from axes E and origin p of its frame in the parent's at joint position 0.

        at_zero: rotation and translation of a mimic joint at q = 0, from its offset.
        """
        cdef Body* b = &self.system.body[i]
        cdef Py_ssize_t k
        b.cos_gamma, b.sin_gamma, b.cos_alpha, b.sin_alpha, theta0 = _twist_angles(E)
        b.turned = (b.cos_gamma, b.sin_gamma) != (1, 0)
        b.twist = (TWIST_NONE if (b.cos_alpha, b.sin_alpha) == (1, 0) else TWIST_GENERAL
                   if b.cos_alpha != 0 else TWIST_PLUS_90 if b.sin_alpha > 0 else TWIST_MINUS_90)
        p = p + at_zero[1] * E[:, 2]
        for k in range(3):
            b.p[k] = p[k] if abs(p[k]) > ROUNDING else 0.0
            b.slide[k] = b.linear * E[k, 2]
        if not b.grounded:
            b.d, s = _offset_and_shift(p, E)
            b.offset = b.d != 0 or b.linear != 0
            b.shift = (SHIFT_NONE if not s.any() else SHIFT_ALONG_X if not s[1:].any()
                       else SHIFT_GENERAL)
            for k in range(3):
                b.s[k] = s[k]
        quarters, self.system.theta0[i] = _quarter_turns(theta0 + at_zero[0])
        self.system.turn[i] = NO_TURN + quarters
        return 0

    cdef int list_followed(self, tree, orientation, rotation, motion) except -1:
        """The joints in ``tree.followed``, whose transforms are those at position 0."""
        cdef System* its = &self.system
        cdef FollowedJoint* joint
        cdef Body* b
        cdef Py_ssize_t j, k
        its.followed_joints = len(tree.followed)
        its.followed = <FollowedJoint*> self.memory.block(
            its.followed_joints * sizeof(FollowedJoint), np.uint8)
        for j, (body, source, multiplier, offset) in enumerate(tree.followed):
            joint = &its.followed[j]
            joint.slot, joint.source = body + 1, source
            joint.multiplier, joint.offset = multiplier, offset
            joint.angular, joint.linear = motion[body]
            b = &its.body[joint.slot]
            b.offset = b.offset or joint.linear != 0
            joint.theta0, joint.turn, joint.d = its.theta0[body + 1], its.turn[body + 1], b.d
            z = orientation[b.parent].T @ rotation[body] @ tree.axis[body]
            for k in range(3):
                joint.p[k], joint.z[k] = b.p[k], z[k]
            place_body(its, joint, tree.offset[body])
        return 0

    cdef int find_reach(self) except -1:
        """Fill ``reach``: all joints, if some are coupled or the base floats."""
        cdef System* its = &self.system
        cdef Py_ssize_t i, root
        for i in range(its.n):
            its.reach[2 * i], its.reach[2 * i + 1] = 0, its.n
        if its.coupled or its.floating:
            return 0
        for root in {its.body[i].root for i in range(1, its.N + 1)}:
            joints = [its.body[i].dof for i in range(1, its.N + 1) if its.body[i].root == root]
            for i in joints:
                its.reach[2 * i], its.reach[2 * i + 1] = min(joints), max(joints) + 1
        return 0

    cdef int put_link(self, Py_ssize_t i, Py_ssize_t slot, E, p) except -1:
        """Link i, with its axes E and origin p in the frame of the body in that slot."""
        cdef double* pose = self.system.link_pose + 12 * i
        cdef Py_ssize_t k
        self.system.link_slot[i] = slot
        for k in range(9):
            pose[k] = E[k // 3, k % 3]
        for k in range(3):
            pose[9 + k] = p[k]
        return 0

    cdef object owner(self, Py_ssize_t freedom):
        """Name of the joint, or of the floating base's link, with this degree of freedom."""
        cdef Py_ssize_t joint = freedom - 6 if self.system.floating else freedom
        return self.joint_names[joint] if joint >= 0 else self.body_names[0]

    cdef object kind(self, Py_ssize_t freedom):
        """What ``owner`` names: a joint or a floating base."""
        return "floating base" if self.system.floating and freedom < 6 else "joint"

    cdef object singular(self, Py_ssize_t freedom):
        """The error that names this degree of freedom."""
        return SingularInertiaError(self.owner(freedom), self.kind(freedom))

    cdef Py_ssize_t link(self, name) except -1:
        """Index of a link; raises UnknownNameError."""
        index = self.link_index.get(name)
        if index is None:
            raise UnknownNameError("link", name, self.link_index)
        return index


cdef CompiledModel NO_MODEL = CompiledModel()   # of a WorkspaceOwner before ``adopt``


cdef CompiledModel compiled_of(model):
    compiled = getattr(model, "compiled", None)
    if not isinstance(compiled, CompiledModel):
        raise TypeError(f"model: expected a Model, got {type(model).__name__}")
    return compiled


cdef double* room(double* memory, Py_ssize_t* taken, Py_ssize_t numbers) noexcept:
    """The next ``numbers`` of the memory, NULL if there is none yet; counts them in ``taken``."""
    cdef double* here = NULL
    if memory != NULL:
        here = memory + taken[0]
    taken[0] += numbers
    return here


cdef Py_ssize_t lay_out_workspace(Workspace* work, const System* system, Py_ssize_t width,
                                  double* memory) noexcept:
    """Place the rows in memory, which may be NULL; returns how many numbers they take."""
    cdef Py_ssize_t slots = system.N + 1, rows = slots * width, taken = 0
    work.columns = room(memory, &taken, 14 * LANES * slots)
    work.cosine = room(memory, &taken, rows + LANES * width)  # jcalc writes LANES of them at a time
    work.sine = room(memory, &taken, rows + LANES * width)
    work.d = room(memory, &taken, rows)
    work.p = room(memory, &taken, 3 * rows)
    work.pose = room(memory, &taken, 12 * width)
    work.motion = room(memory, &taken, 9 * rows)
    work.f = room(memory, &taken, 6 * rows)
    work.f_ext = room(memory, &taken, 6 * rows)
    work.inertia = room(memory, &taken, 21 * rows)
    work.force_set = room(memory, &taken, 6 * rows)
    work.u = room(memory, &taken, rows)
    work.a = room(memory, &taken, 6 * rows)
    work.w = room(memory, &taken, 3 * rows)
    work.v = room(memory, &taken, 3 * rows)
    work.R = room(memory, &taken, 9 * rows)
    work.r = room(memory, &taken, 3 * rows)
    work.S = room(memory, &taken, 6 * rows)
    work.Psi_dot = room(memory, &taken, 6 * rows)
    work.velocity = room(memory, &taken, 6 * rows)
    work.acceleration = room(memory, &taken, 6 * rows)
    work.B = room(memory, &taken, 12 * rows)
    work.base_inertia = room(memory, &taken, 10 * rows)
    work.Psi_ddot = room(memory, &taken, 6 * rows)
    work.D = room(memory, &taken, rows)
    work.tau = room(memory, &taken, system.n * width)
    work.qdd = room(memory, &taken, system.n * width)
    work.J = room(memory, &taken, 6 * system.n * width)
    work.applied = room(memory, &taken, system.n * width)
    work.diagonal = room(memory, &taken, system.n * width)
    work.engaged = room(memory, &taken, system.n * width)
    work.slip = room(memory, &taken, system.n * width)
    work.sticks = room(memory, &taken, system.n * width)
    work.fixed = room(memory, &taken, system.n * width)
    work.given = room(memory, &taken, system.n * width)
    work.stage_q = room(memory, &taken, system.nq * width)
    work.stage_qd = room(memory, &taken, system.n * width)
    work.stage_qdd = room(memory, &taken, system.n * width)
    work.mean_qd = room(memory, &taken, system.n * width)
    work.mean_qdd = room(memory, &taken, system.n * width)
    work.prescribed_tau = room(memory, &taken, system.n * width)
    work.H = room(memory, &taken, system.n * system.n * width) if system.coupled else NULL
    return taken


cdef int allocate(Workspace* work, const System* system, Py_ssize_t width,
                  Memory owner) except -1:
    """Allocate the rows of a workspace of ``width`` states in one block, filled with NaN.

    What never changes is set: the motion of a fixed base, and d and p of joints that do not slide.
    """
    cdef Py_ssize_t slots = system.N + 1, size = lay_out_workspace(work, system, width, NULL), i, k
    work.memory = owner.cache_lines(size)
    for i in range(size):
        work.memory[i] = NAN
    lay_out_workspace(work, system, width, work.memory)
    for k in range(3):
        for i in range(width):
            work.w[k * width + i] = work.v[k * width + i] = work.r[k * width + i] = 0.0
            work.motion[k * width + i] = work.motion[(3 + k) * width + i] = 0.0
            # RBDA section 5.3: gravity as the base's acceleration
            work.motion[(6 + k) * width + i] = -system.gravity[k]
            work.velocity[k * width + i] = work.velocity[(3 + k) * width + i] = 0.0
            work.acceleration[k * width + i] = 0.0
            work.acceleration[(3 + k) * width + i] = -system.gravity[k]
    for k in range(9 * width):
        work.R[k] = 1.0 if k // width % 4 == 0 else 0.0
    for i in range(1, slots):
        for k in range(width):
            work.d[i * width + k] = system.body[i].d
        for k in range(3 * width):
            work.p[3 * i * width + k] = system.body[i].p[k // width]
    return 0
