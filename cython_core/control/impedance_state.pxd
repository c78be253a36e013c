# Cartesian impedance control (cartesian_impedance.pxd): its settings, and all that it knows.

from libc.math cimport isnan
from libc.string cimport memcpy

from joint_drives cimport place_rows

cdef enum:
    WALLS = 64
    JOINT_ARRAYS = 8         # of JointImpedance

cdef struct Wall:            # keeps  normal . position >= offset
    double[3] normal         # unit, base axes
    double offset            # [m]
    double stiffness         # [N/m]
    double damping           # [N s/m]

cdef struct Walls:
    Py_ssize_t count
    Wall[WALLS] wall

cdef struct ImpedanceSettings:
    bint tip_axes            # the compliance axes are those of the desired pose, else the base's
    double[6] stiffness      # [N/m, N m/rad]
    double[6] damping_ratio
    double[6] damping        # additional, for axes without stiffness [N s/m, N m s/rad]
    double[6] min_damping    # with that of the modes, in mode admittance, for contact (rule 12)
    double[2] max_wrench     # force [N] and moment [N m] of the spring, and again of D V_d + feed-
                             # forward
    double[6] max_inertia    # [kg, kg m^2]
    bint inertia_shaping
    double[6] shaped_inertia     # M_d [kg, kg m^2]
    double transition_time   # of a change of stiffness [s]
    double tank              # [J]
    double delay             # that every spring and damper has to bear [s]; 0: none
    double[2] approach_rate  # [1/s] at which the desired pose's error decays; this and the next two
                             # linear and angular
    double[2] max_speed      # of the desired pose [m/s, rad/s]
    double[2] max_acceleration   # [m/s^2, rad/s^2]
    # Of the measured wrench (measured_wrench.pxd):
    double[2] dead_zone      # that moves nothing [N, N m]
    double[3] weight         # of the payload that the sensor feels, base axes [N]
    double[3] weight_at      # where it acts, in the end effector's frame [m]
    double[3] force_axes     # 1: along this compliance axis the force is controlled
    double contact_speed     # on the way to contact [m/s]

cdef struct JointImpedance:  # (n,) each: rows of one array
    double* posture          # of a request: NaN where it is that at which the mode begins
    double* stiffness        # towards the posture [N m/rad, N/m]
    double* damping_ratio
    double* lower            # stops
    double* upper
    double* margin           # before a stop where repulsion begins; 0: none
    double* repulsion        # at the stop [N m, N]
    double* max_speed        # [rad/s, m/s]

cdef struct ImpedanceChange: # settings that a request brings
    ImpedanceSettings settings
    Walls walls
    JointImpedance joints

cdef struct Impedance:
    Py_ssize_t n
    ImpedanceSettings settings
    Walls walls
    JointImpedance joints
    Py_ssize_t link          # that the end effector is part of; -1: the arm has no tip
    double[16] offset        # pose of the end effector in the link's frame
    # What the model says of the end effector: base frame, linear rows first.
    double[16] pose
    double[6] velocity       # J qd
    double* J                # (6, n) at its origin
    double* Minv             # (n, n) of links and drives together
    # State.
    double[16] target        # asked for, base frame
    double[6] target_velocity
    double[6] feedforward    # wrench, base axes
    double[6] sensed         # measured wrench without the payload's weight, base axes
    double[6] external       # what of it moves the virtual arm of mode admittance
    double[16] desired       # pose on the way to the target
    double[6] desired_velocity
    double[6] old_stiffness  # before it was last changed
    double elapsed           # since then [s]
    double tank              # [J]
    # Results of the last step.
    double[6] remaining      # error between target and desired pose
    double[6] error          # between desired pose and end effector, base axes
    double[6] stiffness
    double[6] load           # F without damping, base axes
    double[6] wrench         # F, base axes
    double[36] A             # Lambda^-1 of rule 3
    double[36] L             # A = L L^T
    double[36] U             # modes, columns; begins as 1
    double[36] V             # motion of each mode, columns: L U, or M_d^-1/2 U (rule 7)
    double[36] W             # V^-T
    double[6] mode_frequency # w [rad/s]
    double[6] mode_damping   # 2 zeta w
    double[6] softened       # share of each mode's spring that is left (rule 9)
    double[6] shaped_spring  # f of each mode (rule 7)
    double[6] shaped_damper
    double* T                # (6, n) J M^-1, in compliance axes
    double* Jc               # (6, n) J in compliance axes
    double* followed         # (n,) the joints' motion by which they follow V_d (rule 6)
    double* scratch          # (3, n)
    double* bending          # (n, n) geometric stiffness, in coordinates of mass 1 (rule 10)
    double* bending_modes    # (n, n) columns; begins as 1
    double* Lq               # (n, n) Minv = Lq Lq^T
    double* square           # (2, n, n) scratch


cdef inline Py_ssize_t impedance_memory(Py_ssize_t n) noexcept nogil:
    """How many numbers a law for n joints needs."""
    return (JOINT_ARRAYS + 6 + n + 6 + 6 + 1 + 3 + 5 * n) * n


cdef inline void place_impedance(Impedance* law, double* memory, Py_ssize_t n) noexcept nogil:
    """Take impedance_memory(n) numbers."""
    law.n = n
    place_rows(<double**> &law.joints, sizeof(JointImpedance), memory, n)
    law.J = memory + JOINT_ARRAYS * n
    law.Minv = law.J + 6 * n
    law.T = law.Minv + n * n
    law.Jc, law.followed, law.scratch = law.T + 6 * n, law.T + 12 * n, law.T + 13 * n
    law.bending = law.scratch + 3 * n
    law.bending_modes, law.Lq = law.bending + n * n, law.bending + 2 * n * n
    law.square = law.bending + 3 * n * n


cdef inline void configure_impedance(Impedance* law, const ImpedanceChange* change) noexcept nogil:
    """Take settings: the stiffness changes gradually; a posture that is not given stays."""
    memcpy(law.old_stiffness, law.stiffness, 6 * sizeof(double))
    law.elapsed = 0.0
    law.settings, law.walls = change.settings, change.walls
    for i in range(law.n):
        if not isnan(change.joints.posture[i]):
            law.joints.posture[i] = change.joints.posture[i]
    memcpy(law.joints.stiffness, change.joints.stiffness,
           (JOINT_ARRAYS - 1) * law.n * sizeof(double))


cdef inline void start_impedance(Impedance* law) noexcept nogil:
    """Begin at rest, the target being where the end effector is."""
    memcpy(law.target, law.pose, 16 * sizeof(double))
    memcpy(law.desired, law.pose, 16 * sizeof(double))
    for k in range(6):
        law.target_velocity[k] = law.feedforward[k] = law.desired_velocity[k] = 0.0
        law.remaining[k] = law.error[k] = 0.0
        law.stiffness[k] = law.old_stiffness[k] = law.settings.stiffness[k]
    for k in range(36):
        law.U[k] = 1.0 if k % 7 == 0 else 0.0
    for k in range(law.n * law.n):
        law.bending_modes[k] = 1.0 if k % (law.n + 1) == 0 else 0.0
    law.elapsed = law.settings.transition_time
    law.tank = law.settings.tank
