# The data that every recursion reads (System, Body) and writes (Workspace).
#
# Notation: Featherstone, Rigid Body Dynamics Algorithms (RBDA), 2008. Angular part first, body coordinates, SI units.
# Slot 0 is the fixed base, slot i (1 <= i <= N) body i; a parent's slot is always smaller than its children's.
#
# Frames. Body i's frame has its z axis on joint i's axis (frames.pxi chooses them), so every joint is a screw about z:
#     S_i = [0 0 angular | 0 0 linear]        revolute (1, 0), prismatic (0, 1), helical (1, pitch)
# and the transform from the parent is    iXp = rot(Rz(theta)^T Rx(alpha)^T Rz(gamma)^T) xlt(p).

cdef enum Twist:         # alpha, decided once: the usual right angles become renamings of y and z
    TWIST_NONE, TWIST_PLUS_90, TWIST_MINUS_90, TWIST_GENERAL

cdef struct Body:
    Py_ssize_t parent    # lambda(i), a slot
    Py_ssize_t dof       # index into q of the joint that drives this one (itself, or a mimic's leader)
    double multiplier    # joint position = multiplier * q[dof] + offset
    double offset
    double angular       # S_i, angular and linear part along z
    double linear
    double theta0        # theta = angular * joint position + theta0
    bint turned          # gamma != 0
    double cos_gamma, sin_gamma
    Twist twist
    double cos_alpha, sin_alpha
    double[3] p          # origin of the frame at joint position 0, in the parent's frame [m]
    double[3] slide      # displacement of the origin per unit of joint position, in the parent's frame
    double mass          # [kg]
    double[3] h          # first moment, mass * centre of mass [kg m]
    double[6] inertia    # rotational inertia about the origin: xx xy xz yy yz zz [kg m^2]
    double[6] Sigma      # second moment of mass, tr(I)/2 1 - I: the integral of r r^T dm

cdef struct System:
    Py_ssize_t N         # bodies
    Py_ssize_t n         # degrees of freedom: columns of G in  joint positions = G q + offset
    bint coupled         # some joint mimics another: N > n, or a multiplier
    Body* body           # (N + 1,)
    double[3] gravity    # in the base frame [m/s^2]

cdef struct Workspace:   # rows of one value each per slot; NaN until first written
    double* cos_sin      # (2) of theta
    double* p            # (3) origin in the parent's frame, at the current position
    double* w            # (3) angular velocity
    double* w_dot        # (3) angular acceleration
    double* v            # (3) linear velocity of the origin
    double* U            # (9) [w_dot]x + [w]x [w]x
    double* a            # (3) acceleration of the origin, gravity included
    double* f            # (6) force across joint i: moment about the origin, then force
    double* f_ext        # (6) external force on body i, in its frame
    double* inertia      # (21) composite (10 used) or articulated-body inertia
    double* force_set    # (6) U = IA S of Table 7.1
    double* D            # (1) 1 / D of Table 7.1, D = S^T U
    double* u            # (1) tau - S^T pA
    double* motion       # (6) acceleration in the last pass of Table 7.1
    double* R            # (9) orientation in the base frame, row-major
    double* r            # (3) origin in the base frame
    double* tau          # (n,) scratch of one joint-space vector
    double* H            # (n, n) joint-space inertia of a coupled system, else NULL
    double* memory       # owns all of the above
