cdef class CompiledModel:
    """A kinematic tree in the form that the recursions read: constant after construction, shared by all workspaces.

    Args (keywords):
        n: Degrees of freedom of the joints.
        parent: (N,) index of the parent body of each body, -1 for the base; parents come first.
        rotation, translation: (N, 3, 3), (N, 3) [m] pose of joint i's frame, at position 0, in the parent body's frame.
        axis: (N, 3) unit vector in the joint's frame, which is the body's frame.
        motion: (N, 2) rotation about and translation along the axis per unit of joint position.
        dof: (N,) index of the joint, of these n, that drives body i; multiplier, offset: (N,), joint position =
            multiplier * q[dof] + offset.
        mass: (N + 1,) [kg], first_moment: (N + 1, 3) [kg m], inertia: (N + 1, 3, 3) [kg m^2] about the body frame's
            origin; entry 0 is the base.
        gravity: (3,) [m/s^2] in the base frame, or the world's where the base floats.
        floating: Whether the base is a free body, with six more degrees of freedom.
        joint_names, body_names: n and N + 1 names, for messages.
        link_names, link_body, link_rotation, link_translation: (L) named frames, the body that carries each (-1 for
            the base) and their pose in that body's frame.
        joint_body: (n,) the body whose own joint each of q's is.
    """

    cdef System system
    cdef dict link_index
    cdef readonly tuple joint_names
    cdef readonly tuple body_names

    def __cinit__(self, *, Py_ssize_t n, parent, rotation, translation, axis, motion, dof, multiplier, offset, mass,
                  first_moment, inertia, gravity, bint floating, joint_names, body_names, link_names, link_body, link_rotation,
                  link_translation, joint_body):
        cdef Py_ssize_t N = len(parent), free = 6 if floating else 0, i, k
        cdef Body* b
        parent = np.asarray(parent, dtype=np.intp) + 1
        if not all(0 <= parent[i] <= i for i in range(N)):
            raise ValueError("parent: a body must come after its parent")
        rotation, translation, axis = (np.asarray(x, dtype=EXTENDED) for x in (rotation, translation, axis))
        first_moment, inertia = np.asarray(first_moment, dtype=EXTENDED), np.asarray(inertia, dtype=EXTENDED)
        link_body = np.asarray(link_body, dtype=np.intp)
        link_rotation, link_translation = (np.asarray(x, dtype=EXTENDED) for x in (link_rotation, link_translation))
        self.joint_names, self.body_names = tuple(joint_names), tuple(body_names)
        self.link_index = {name: i for i, name in enumerate(link_names)}
        self.system.N, self.system.links = N, len(link_body)
        self.system.n, self.system.nq = n + free, n + free + floating
        self.system.floating, self.system.ground = floating, -1 if floating else 0
        self.system.body = <Body*> calloc(N + 1, sizeof(Body))
        self.system.link_slot = <Py_ssize_t*> calloc(self.system.links + 1, sizeof(Py_ssize_t))
        self.system.link_pose = <double*> calloc(12 * self.system.links + 1, sizeof(double))
        self.system.joint_link = <Py_ssize_t*> calloc(n + 1, sizeof(Py_ssize_t))
        self.system.dof = <Py_ssize_t*> calloc(N + 1 + LANES, sizeof(Py_ssize_t))
        self.system.angular = <double*> calloc(3 * (N + 1 + LANES), sizeof(double))
        self.system.reach = <Py_ssize_t*> calloc(2 * self.system.n + 1, sizeof(Py_ssize_t))
        if (self.system.body == NULL or self.system.link_slot == NULL or self.system.link_pose == NULL
                or self.system.joint_link == NULL or self.system.dof == NULL or self.system.angular == NULL
                or self.system.reach == NULL):
            raise MemoryError
        self.system.theta0 = self.system.angular + N + 1 + LANES
        self.system.turn = self.system.theta0 + N + 1 + LANES
        for k in range(3):
            self.system.gravity[k] = gravity[k]

        self.system.body[0].forks = floating
        orientation, origin = _choose_frames(parent, rotation, translation, axis)
        for i in range(N + 1):
            b = &self.system.body[i]
            along = origin[i] @ orientation[i][:, 2]
            h, about = _inertia_about(mass[i], first_moment[i], inertia[i], orientation[i], along)
            sigma = np.trace(about) / 2 * np.eye(3) - about
            b.mass = mass[i]
            for k in range(3):
                b.h[k] = h[k]
            for k, (row, column) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
                b.inertia[k] = about[row, column]
                b.Sigma[k] = sigma[row, column]
        for i in range(1, N + 1):
            b = &self.system.body[i]
            b.parent, b.dof = parent[i - 1], free + dof[i - 1]
            b.root = 1 if floating else self.system.body[b.parent].root if b.parent else i
            b.grounded = not (b.parent or floating)
            b.follows = b.parent == i - 1 > 0
            b.angular, b.linear = multiplier[i - 1] * np.asarray(motion[i - 1])
            b.revolute = b.angular == 1 and b.linear == 0
            Q = orientation[b.parent]
            E = Q.T @ rotation[i - 1] @ orientation[i]
            p = Q.T @ (translation[i - 1] + rotation[i - 1] @ origin[i] - origin[b.parent])
            b.cos_gamma, b.sin_gamma, b.cos_alpha, b.sin_alpha, theta0 = _twist_angles(E)
            b.turned = (b.cos_gamma, b.sin_gamma) != (1, 0)
            b.twist = (TWIST_NONE if (b.cos_alpha, b.sin_alpha) == (1, 0) else TWIST_GENERAL if b.cos_alpha != 0
                       else TWIST_PLUS_90 if b.sin_alpha > 0 else TWIST_MINUS_90)
            at_zero = offset[i - 1] * np.asarray(motion[i - 1])         # a mimic joint's place at q = 0
            p = p + at_zero[1] * E[:, 2]
            for k in range(3):
                b.p[k] = p[k] if abs(p[k]) > ROUNDING else 0.0
                b.slide[k] = b.linear * E[k, 2]
            if not b.grounded:
                b.d, s = _offset_and_shift(p, E)
                b.offset = b.d != 0 or b.linear != 0
                b.shift = SHIFT_NONE if not s.any() else SHIFT_ALONG_X if not s[1:].any() else SHIFT_GENERAL
                for k in range(3):
                    b.s[k] = s[k]
            self.system.dof[i], self.system.angular[i] = b.dof, b.angular
            quarters, self.system.theta0[i] = _quarter_turns(theta0 + at_zero[0])
            self.system.turn[i] = NO_TURN + quarters
            self.system.slides = self.system.slides or b.linear != 0
            if b.parent != i - 1:
                self.system.body[b.parent].forks = True
        self.system.coupled = N != n or sorted(dof) != list(range(n)) or any(m != 1 for m in multiplier)
        for i in range(self.system.n):
            self.system.reach[2 * i], self.system.reach[2 * i + 1] = 0, self.system.n
        if not (self.system.coupled or floating):
            for root in {self.system.body[i].root for i in range(1, N + 1)}:
                joints = [self.system.body[i].dof for i in range(1, N + 1) if self.system.body[i].root == root]
                for i in joints:
                    self.system.reach[2 * i], self.system.reach[2 * i + 1] = min(joints), max(joints) + 1

        for i in range(n):
            self.system.joint_link[i] = self.link_index[body_names[joint_body[i] + 1]]
        for i in range(self.system.links):
            k = link_body[i] + 1
            self.system.link_slot[i] = k
            E = orientation[k].T @ link_rotation[i]
            p = orientation[k].T @ (link_translation[i] - origin[k])
            for k in range(9):
                self.system.link_pose[12 * i + k] = E[k // 3, k % 3]
            for k in range(3):
                self.system.link_pose[12 * i + 9 + k] = p[k]

    def __dealloc__(self):
        free(self.system.body)
        free(self.system.dof)
        free(self.system.angular)
        free(self.system.reach)
        free(self.system.link_slot)
        free(self.system.link_pose)
        free(self.system.joint_link)

    cdef object owner(self, Py_ssize_t freedom):
        """The joint, or the link that is a floating base, with this degree of freedom."""
        cdef Py_ssize_t joint = freedom - 6 if self.system.floating else freedom
        return self.joint_names[joint] if joint >= 0 else self.body_names[0]

    cdef object kind(self, Py_ssize_t freedom):
        """What its owner is."""
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


cdef CompiledModel _no_model():
    none, vectors, matrices = np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3, 3))
    return CompiledModel(
        n=0, parent=none, rotation=matrices, translation=vectors, axis=vectors, motion=np.zeros((0, 2)), dof=none,
        multiplier=none, offset=none, mass=np.zeros(1), first_moment=np.zeros((1, 3)), inertia=np.zeros((1, 3, 3)),
        gravity=np.zeros(3), floating=False, joint_names=(), body_names=("",), link_names=(), link_body=none, link_rotation=matrices,
        link_translation=vectors, joint_body=none)


cdef CompiledModel NO_MODEL = _no_model()   # of who has not been given one yet


cdef CompiledModel compiled_of(model):
    compiled = getattr(model, "compiled", None)
    if not isinstance(compiled, CompiledModel):
        raise TypeError(f"model: expected a Model, got {type(model).__name__}")
    return compiled


cdef int allocate(Workspace* work, const System* system, Py_ssize_t width) except -1:
    """One block for all rows of a workspace of ``width`` states: NaN but for what never changes.

    That is the base's motion, and the place of the joints that do not slide.
    """
    cdef Py_ssize_t slots = system.N + 1, H = system.n * system.n if system.coupled else 0, size, i, k
    cdef double* at
    size = slots * (2 + 1 + 3 + 9 + 6 + 6 + 21 + 6 + 1 + 6 + 3 + 3 + 9 + 3 + 5 * 6 + 12 + 2 * 10 + 1)
    size = (size + 12 + 15 * system.nq + H + 2 * LANES) * width + 14 * LANES * slots
    work.memory = malloc(size * sizeof(double) + 64)
    if work.memory == NULL:
        raise MemoryError
    at = <double*> ((<size_t> work.memory + 63) & ~<size_t> 63)
    for i in range(size):
        at[i] = NAN
    work.columns = at; at += 14 * LANES * slots
    work.cosine = at; at += (slots + LANES) * width             # jcalc writes LANES of them at a time
    work.sine = at; at += (slots + LANES) * width
    work.d = at; at += slots * width
    work.p = at; at += 3 * slots * width
    work.pose = at; at += 12 * width
    work.motion = at; at += 9 * slots * width
    work.f = at; at += 6 * slots * width
    work.f_ext = at; at += 6 * slots * width
    work.inertia = at; at += 21 * slots * width
    work.force_set = at; at += 6 * slots * width
    work.u = at; at += slots * width
    work.a = at; at += 6 * slots * width
    work.w = at; at += 3 * slots * width
    work.v = at; at += 3 * slots * width
    work.R = at; at += 9 * slots * width
    work.r = at; at += 3 * slots * width
    work.S = at; at += 6 * slots * width
    work.Psi_dot = at; at += 6 * slots * width
    work.velocity = at; at += 6 * slots * width
    work.acceleration = at; at += 6 * slots * width
    work.B = at; at += 12 * slots * width
    work.base_inertia = at; at += 10 * slots * width
    work.Psi_ddot = at; at += 6 * slots * width
    work.composite = at; at += 10 * slots * width
    work.D = at; at += slots * width
    work.tau = at; at += system.n * width
    work.qdd = at; at += system.n * width
    work.step = at; at += 12 * system.nq * width
    work.prescribed_tau = at; at += system.n * width
    work.H = at if H else NULL
    for k in range(3):
        for i in range(width):
            work.w[k * width + i] = work.v[k * width + i] = work.r[k * width + i] = 0.0
            work.motion[k * width + i] = work.motion[(3 + k) * width + i] = 0.0
            work.motion[(6 + k) * width + i] = -system.gravity[k]    # RBDA section 5.3: gravity as the base's acceleration
            work.velocity[k * width + i] = work.velocity[(3 + k) * width + i] = work.acceleration[k * width + i] = 0.0
            work.acceleration[(3 + k) * width + i] = -system.gravity[k]
    for k in range(9 * width):
        work.R[k] = 1.0 if k // width % 4 == 0 else 0.0
    for i in range(1, slots):
        for k in range(width):
            work.d[i * width + k] = system.body[i].d
        for k in range(3 * width):
            work.p[3 * i * width + k] = system.body[i].p[k // width]
    return 0
