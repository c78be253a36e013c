cdef class CompiledModel:
    """A kinematic tree in the form that the recursions read: constant after construction, shared by all workspaces.

    Args (keywords):
        n: Degrees of freedom, the length of q.
        parent: (N,) index of the parent body of each body, -1 for the base; parents come first.
        rotation, translation: (N, 3, 3), (N, 3) [m] pose of joint i's frame, at position 0, in the parent body's frame.
        axis: (N, 3) unit vector in the joint's frame, which is the body's frame.
        motion: (N, 2) rotation about and translation along the axis per unit of joint position.
        dof: (N,) index into q of the joint that drives body i; multiplier, offset: (N,), joint position =
            multiplier * q[dof] + offset.
        mass: (N + 1,) [kg], first_moment: (N + 1, 3) [kg m], inertia: (N + 1, 3, 3) [kg m^2] about the body frame's
            origin; entry 0 is the base.
        gravity: (3,) [m/s^2] in the base frame.
        joint_names, body_names: n and N + 1 names, for messages.
        link_names, link_body, link_rotation, link_translation: (L) named frames, the body that carries each (-1 for
            the base) and their pose in that body's frame.
    """

    cdef System system
    cdef Py_ssize_t links
    cdef Py_ssize_t* link_slot         # (L,)
    cdef double* link_pose             # (L, 12): orientation row by row, then origin, in the slot's frame
    cdef dict link_index
    cdef readonly tuple joint_names
    cdef readonly tuple body_names

    def __cinit__(self, *, Py_ssize_t n, parent, rotation, translation, axis, motion, dof, multiplier, offset, mass,
                  first_moment, inertia, gravity, joint_names, body_names, link_names, link_body, link_rotation,
                  link_translation):
        cdef Py_ssize_t N = len(parent), i, k
        cdef Body* b
        parent = np.asarray(parent, dtype=np.intp) + 1
        if not all(0 <= parent[i] <= i for i in range(N)):
            raise ValueError("parent: a body must come after its parent")
        rotation, translation, axis = (np.asarray(x, dtype=float) for x in (rotation, translation, axis))
        first_moment, inertia = np.asarray(first_moment, dtype=float), np.asarray(inertia, dtype=float)
        link_body = np.asarray(link_body, dtype=np.intp)
        link_rotation, link_translation = np.asarray(link_rotation, dtype=float), np.asarray(link_translation, dtype=float)
        self.joint_names, self.body_names = tuple(joint_names), tuple(body_names)
        self.link_index = {name: i for i, name in enumerate(link_names)}
        self.links = len(link_body)
        self.system.N, self.system.n = N, n
        self.system.body = <Body*> calloc(N + 1, sizeof(Body))
        self.link_slot = <Py_ssize_t*> calloc(self.links + 1, sizeof(Py_ssize_t))
        self.link_pose = <double*> calloc(12 * self.links + 1, sizeof(double))
        if self.system.body == NULL or self.link_slot == NULL or self.link_pose == NULL:
            raise MemoryError
        for k in range(3):
            self.system.gravity[k] = gravity[k]

        orientation, origin = _choose_frames(parent, rotation, translation, axis)
        for i in range(N + 1):
            b = &self.system.body[i]
            h, about = _shifted_inertia(mass[i], first_moment[i], inertia[i], orientation[i], origin[i])
            sigma = np.trace(about) / 2 * np.eye(3) - about
            b.mass = mass[i]
            for k in range(3):
                b.h[k] = h[k]
            for k, (row, column) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
                b.inertia[k] = about[row, column]
                b.Sigma[k] = sigma[row, column]
        for i in range(1, N + 1):
            b = &self.system.body[i]
            b.parent, b.dof = parent[i - 1], dof[i - 1]
            b.multiplier, b.offset = multiplier[i - 1], offset[i - 1]
            b.angular, b.linear = motion[i - 1]
            Q = orientation[b.parent]
            E = Q.T @ rotation[i - 1] @ orientation[i]
            p = Q.T @ (translation[i - 1] + rotation[i - 1] @ origin[i] - origin[b.parent])
            b.cos_gamma, b.sin_gamma, b.cos_alpha, b.sin_alpha, b.theta0 = _twist_angles(E)
            b.turned = (b.cos_gamma, b.sin_gamma) != (1, 0)
            b.twist = (TWIST_NONE if (b.cos_alpha, b.sin_alpha) == (1, 0) else TWIST_GENERAL if b.cos_alpha != 0
                       else TWIST_PLUS_90 if b.sin_alpha > 0 else TWIST_MINUS_90)
            for k in range(3):
                b.p[k] = p[k] if abs(p[k]) > ROUNDING else 0.0
                b.slide[k] = b.linear * E[k, 2]
        self.system.coupled = N != n or sorted(dof) != list(range(n)) or any(m != 1 for m in multiplier)

        for i in range(self.links):
            k = link_body[i] + 1
            self.link_slot[i] = k
            E = orientation[k].T @ link_rotation[i]
            p = orientation[k].T @ (link_translation[i] - origin[k])
            for k in range(9):
                self.link_pose[12 * i + k] = E[k // 3, k % 3]
            for k in range(3):
                self.link_pose[12 * i + 9 + k] = p[k]

    def __dealloc__(self):
        free(self.system.body)
        free(self.link_slot)
        free(self.link_pose)

    @property
    def n(self) -> int:
        """Degrees of freedom."""
        return self.system.n

    cdef Py_ssize_t link(self, name) except -1:
        """Index of a link; raises UnknownNameError."""
        index = self.link_index.get(name)
        if index is None:
            raise UnknownNameError("link", name, self.link_index)
        return index


cdef CompiledModel compiled_of(model):
    compiled = getattr(model, "compiled", None)
    if not isinstance(compiled, CompiledModel):
        raise TypeError(f"model: expected a Model, got {type(model).__name__}")
    return compiled


cdef int allocate(Workspace* work, const System* system) except -1:
    """One block for all rows, NaN but for what the base's slot and the unset forces hold."""
    cdef Py_ssize_t slots = system.N + 1, H = system.n * system.n if system.coupled else 0, size, k
    cdef double* at
    size = slots * (2 + 3 * 5 + 9 * 2 + 3 + 6 * 4 + 21 + 2) + system.n + H
    at = <double*> malloc(size * sizeof(double))
    if at == NULL:
        raise MemoryError
    for k in range(size):
        at[k] = NAN
    work.memory = at
    work.cos_sin = at; at += 2 * slots
    work.p = at; at += 3 * slots
    work.w = at; at += 3 * slots
    work.w_dot = at; at += 3 * slots
    work.v = at; at += 3 * slots
    work.U = at; at += 9 * slots
    work.a = at; at += 3 * slots
    work.f = at; at += 6 * slots
    work.f_ext = at; at += 6 * slots
    work.inertia = at; at += 21 * slots
    work.force_set = at; at += 6 * slots
    work.D = at; at += slots
    work.u = at; at += slots
    work.motion = at; at += 6 * slots
    work.R = at; at += 9 * slots
    work.r = at; at += 3 * slots
    work.tau = at; at += system.n
    work.H = at if H else NULL
    for k in range(3):
        work.w[k] = work.w_dot[k] = work.v[k] = work.r[k] = 0.0
        work.a[k] = -system.gravity[k]                          # RBDA section 5.3: gravity as the base's acceleration
    for k in range(9):
        work.U[k] = 0.0
        work.R[k] = 1.0 if k % 4 == 0 else 0.0
    return 0
