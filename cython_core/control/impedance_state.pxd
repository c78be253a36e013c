# Cartesian impedance control (cartesian_impedance.pxd): its settings, its state, and the model's
# values for the hand.

from libc.string cimport memcpy

cdef enum:
    WALLS = 64

cdef struct Wall:            # keeps  normal . position >= offset
    double[3] normal         # unit, base axes
    double offset            # [m]
    double stiffness         # [N/m]
    double damping           # [N s/m]

cdef struct Approach:        # limits of the desired pose, linear and angular
    double[2] rate           # [1/s] at which an error decays
    double[2] speed          # [m/s, rad/s]
    double[2] acceleration   # [m/s^2, rad/s^2]

cdef struct ImpedanceSettings:
    bint tip_axes
    double[6] stiffness      # [N/m, N m/rad]
    double[6] damping_ratio
    double[6] damping        # additional, for axes without stiffness [N s/m, N m s/rad]
    double[2] largest        # force [N] and moment [N m] of the spring, and again of D V_d + feed-
                             # forward
    double[6] largest_inertia    # [kg, kg m^2]
    bint inertia_shaping
    double[6] shaped_inertia     # M_d [kg, kg m^2]
    double transition_time   # of a change of stiffness [s]
    double tank              # [J]
    double delay             # that every spring and damper has to bear [s]; 0: none
    Approach approach
    Py_ssize_t walls
    Wall[WALLS] wall
    double* posture          # (n,) each
    double* posture_stiffness
    double* posture_damping_ratio
    double* lower
    double* upper
    double* margin           # before a stop where repulsion begins; 0: none
    double* repulsion        # at the stop [N m, N]
    double* speed            # limits of the joints [rad/s, m/s]

cdef struct Hand:            # the model's values for the hand
    const double* pose       # (16) in the base frame
    const double* J          # (6, n) at its origin, base axes, linear rows first
    const double* velocity   # (6) J qd
    const double* Minv       # (n, n)

cdef struct Impedance:       # state, and results of the last step
    Py_ssize_t n
    double[16] target        # asked for, base frame
    double[6] target_velocity
    double[6] feedforward    # wrench, base axes
    double[16] desired       # pose on the way to the target
    double[6] desired_velocity
    double[6] way            # error between target and desired pose
    double[6] error          # of the hand, base axes
    double[6] stiffness, old_stiffness
    double elapsed           # since the stiffness changed [s]
    double tank              # [J]
    double[6] wrench         # F, base axes
    double[36] L             # of rule 3
    double[36] A             # L L^T
    double[6] shaped_spring  # f of each mode (rule 7)
    double[6] shaped_damper
    double[6] mode_frequency # w [rad/s]
    double[6] mode_damping   # 2 zeta w
    double[6] softened       # share of each mode's spring that is left (rule 9)
    double[36] modes         # U, columns; begins as 1
    double* T                # (6, n) J M^-1, in compliance axes
    double* Jc               # (6, n) J in compliance axes
    double* x                # (n,) scratch
    double* y                # (n,)


cdef inline Py_ssize_t memory_size(Py_ssize_t n) noexcept nogil:
    """How many numbers a law for n joints needs."""
    return 22 * n


cdef inline void lay_out(Impedance* its, ImpedanceSettings* settings, Py_ssize_t n,
                         double* memory) noexcept nogil:
    """Take memory_size(n) numbers for the arrays of a state and its settings."""
    its.n = n
    its.T, its.Jc = memory, memory + 6 * n
    its.x, its.y = memory + 12 * n, memory + 13 * n
    settings.posture = memory + 14 * n
    settings.posture_stiffness = memory + 15 * n
    settings.posture_damping_ratio = memory + 16 * n
    settings.lower, settings.upper = memory + 17 * n, memory + 18 * n
    settings.margin, settings.repulsion, settings.speed = (
        memory + 19 * n, memory + 20 * n, memory + 21 * n)


cdef inline void start_impedance(Impedance* its, const ImpedanceSettings* settings,
                                 const double* pose) noexcept nogil:
    """Begin at rest, the target being where the hand is."""
    cdef Py_ssize_t k
    memcpy(its.target, pose, 16 * sizeof(double))
    memcpy(its.desired, pose, 16 * sizeof(double))
    for k in range(6):
        its.target_velocity[k] = its.feedforward[k] = its.desired_velocity[k] = 0.0
        its.way[k] = its.error[k] = 0.0
        its.stiffness[k] = its.old_stiffness[k] = settings.stiffness[k]
    for k in range(36):
        its.modes[k] = 1.0 if k % 7 == 0 else 0.0
    its.elapsed = settings.transition_time
    its.tank = settings.tank
