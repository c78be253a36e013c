# Cartesian impedance control for Python: its settings, and a law of its own.

cdef bint fill(double* to, values, Py_ssize_t count, str name) except -1:
    """Copy an array of so many numbers; returns whether there is one."""
    if values is None:
        return False
    memcpy(to, numbers(np.array(values, dtype=float, order="C"), count, name),
           count * sizeof(double))
    return True


cdef cnp.ndarray take_impedance(ImpedanceChange* change, Py_ssize_t n, dict given):
    """Take what ``cartesian_impedance.prepared`` gives; returns the memory of the rows."""
    cdef cnp.ndarray joints = np.array(given["joints"], dtype=float, order="C")
    cdef cnp.ndarray walls = np.array(given["walls"], dtype=float, order="C").reshape(-1, 6)
    change.settings = given
    place_rows(<double**> &change.joints, sizeof(JointImpedance),
               result(joints, JOINT_ARRAYS * n, "joints"), n)
    change.walls.count = min(len(walls), WALLS)
    memcpy(change.walls.wall, cnp.PyArray_DATA(walls), change.walls.count * sizeof(Wall))
    return joints


cdef class CompiledImpedance:
    """The law of featherstone_ros.control.CartesianImpedance, which checks the arguments.

    ``bound``: a ``BoundDynamics`` that nobody else uses; ``offset``: (4, 4) pose of the end
    effector's frame in that of the link with this index.
    """

    cdef Impedance law
    cdef const DynamicsInterface* arm
    cdef object bound
    cdef cnp.ndarray memory, armature

    def __cinit__(self, bound, Py_ssize_t link, offset):
        self.bound, self.arm = bound, interface_of(bound)
        self.memory = np.zeros(impedance_memory(self.arm.n))
        self.armature = np.zeros(self.arm.n)
        place_impedance(&self.law, floats(self.memory), self.arm.n)
        self.law.link = link
        fill(self.law.offset, offset, 16, "offset")

    def configure(self, dict settings):
        """Take settings; the stiffness is led there."""
        cdef ImpedanceChange change
        joints = take_impedance(&change, self.arm.n, settings)
        configure_impedance(&self.law, &change)

    def set_armature(self, cnp.ndarray armature not None):
        """Take the rotors' inertia (n,) that the law is to know of."""
        fill(floats(self.armature), armature, self.arm.n, "armature")

    def start(self, cnp.ndarray q not None, cnp.ndarray qd not None):
        """Begin at rest: the target is where the end effector is, the posture as set."""
        update_kinematics(&self.law, self.arm, numbers(q, self.arm.n, "q"),
                          numbers(qd, self.arm.n, "qd"))
        start_impedance(&self.law)

    def target(self, pose, velocity, wrench):
        """Set the target's pose (4, 4) and velocity (6,), and the feed-forward wrench (6,)."""
        fill(self.law.target, pose, 16, "pose")
        fill(self.law.target_velocity, velocity, 6, "velocity")
        fill(self.law.feedforward, wrench, 6, "wrench")

    def torque(self, cnp.ndarray q not None, cnp.ndarray qd not None, double dt,
               cnp.ndarray gravity not None, cnp.ndarray out not None):
        """The law's torque (n,) after dt, and gravity's; 1 + a joint of no inertia, or 0."""
        cdef Py_ssize_t n = self.arm.n
        cdef const double* q_ = numbers(q, n, "q")
        cdef const double* qd_ = numbers(qd, n, "qd")
        cdef double* gravity_ = result(gravity, n, "gravity")
        cdef double* tau = result(out, n, "out")
        with nogil:
            failure = cartesian_impedance(&self.law, self.arm, floats(self.armature), q_, qd_, dt,
                                          NULL, NULL, tau)
            self.arm.gravity(self.arm.self, q_, gravity_)
        return failure

    def report(self):
        """What ``CartesianImpedance.report`` tells of the last step, copies."""
        cdef Impedance* law = &self.law
        return {
            "pose": np.reshape(law.pose, (4, 4)),
            "velocity": np.array(law.velocity),
            "desired": np.reshape(law.desired, (4, 4)),
            "desired_velocity": np.array(law.desired_velocity),
            "error": np.array(law.error),
            "wrench": np.array(law.wrench),
            "jacobian": values(law.J, (6, law.n)),
            "stiffness": np.array(law.stiffness),
            "frequencies": np.array(law.mode_frequency),
            "delay_margin": delay_margin(law),
            "tank": law.tank,
        }
