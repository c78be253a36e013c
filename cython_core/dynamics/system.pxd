# The data that every recursion reads (System, Body) and writes (Workspace).
#
# Notation: Featherstone, Rigid Body Dynamics Algorithms (RBDA), 2008. Angular part first, body
# coordinates, SI units. What may fail returns 1 + the index of a freedom that moves no inertia, in
# any lane, or 0. Slot 0 is the base, slot i (1 <= i <= N) body i; a parent's slot is always
# smaller than its children's.
#
# A floating base (RBDA section 9.4) is a free body, whose six freedoms come before those of the
# joints:
#     q   = [position in the world (3), quaternion x y z w, joints]
#     qd  = [linear, angular velocity in its own axes, joints]
#     tau = [force, moment at its origin in its own axes, joints]
# It is not a joint: the outward passes begin with its motion instead of v_0 = 0 and a_0 = -gravity,
# and the inward passes end with a 6 x 6 system. A quaternion has four numbers for three freedoms,
# so the velocity of joint i is qd[dof], but its position (q + 1)[dof].
#
# Frames. Body i's frame has its z axis on joint i's axis (frames.pxi chooses them), so every joint
# is a screw about z:
#     S_i = [0 0 angular | 0 0 linear]        revolute (1, 0), prismatic (0, 1), helical (1, pitch)
# per unit of q[dof]. S of a mimic joint includes its multiplier; its offset is in theta0, d and p.
# The transform from the parent is
#     iXp = xlt(d z) rot(Rz(theta)^T Rx(alpha)^T Rz(gamma)^T) xlt(s),
# mostly with gamma = 0 and s = a x: the modified Denavit-Hartenberg parameters a, alpha, d, theta.

cdef enum Twist:         # kind of alpha: right angles, the usual case, only exchange y and z
    TWIST_NONE, TWIST_PLUS_90, TWIST_MINUS_90, TWIST_GENERAL

cdef enum Shift:         # s
    SHIFT_NONE, SHIFT_ALONG_X, SHIFT_GENERAL

cdef struct Body:
    Py_ssize_t parent    # lambda(i), a slot
    Py_ssize_t root      # the body next to the base on the path to this one; 1 in all where the
                         # base floats
    Py_ssize_t dof       # index into qd of the joint that drives this one (itself, or a mimic's
                         # leader)
    double angular       # S_i, angular and linear part along z
    double linear
    bint revolute        # S_i = (1, 0)
    bint grounded        # the parent is a base that does not move
    bint follows         # the parent is slot i - 1, and not the base
    bint forks           # has children other than slot i + 1 (a floating base: any children)
    bint turned          # gamma != 0
    double cos_gamma, sin_gamma
    Twist twist
    double cos_alpha, sin_alpha
    Shift shift
    double[3] s          # [m]; s and d are zero for children of a fixed base, which never moves
    bint offset          # d != 0, or not constant
    double d             # at q = 0 [m]
    double[3] p          # origin of the frame at q = 0, in the parent's frame: s and d together [m]
    double[3] slide      # displacement of the origin per unit of q[dof], in the parent's frame
    double mass          # [kg]
    double[3] h          # first moment, mass * centre of mass [kg m]
    double[6] inertia    # rotational inertia about the origin: xx xy xz yy yz zz [kg m^2]
    double[6] Sigma      # second moment of mass, tr(I)/2 1 - I: the integral of r r^T dm

cdef struct FollowedJoint:   # a locked joint whose position may change (followed_joints.pxd)
    Py_ssize_t slot      # its body
    Py_ssize_t source    # the locked joint whose position x it follows: it stands at
    double multiplier, offset    # multiplier x + offset
    double angular, linear       # rotation and translation per unit of its position; at 0 it has
    double theta0, turn, d
    double[3] p
    double[3] z          # its axis in the parent's frame

cdef struct System:
    Py_ssize_t N         # bodies
    Py_ssize_t n         # degrees of freedom: columns of G in  joint positions = G q + offset; six
                         # more of a floating base
    Py_ssize_t nq        # numbers in q: n, and one more with a floating base
    bint floating
    Py_ssize_t ground    # the slot that does not move: 0, the base; -1, none, where it floats
    bint coupled         # some joint mimics another: N > n, or a multiplier
    bint slides          # some joint is not revolute
    Body* body           # (N + 1,)
    Py_ssize_t* dof      # (N + 1,) and LANES more, as the next three: body[i].dof, in a row for
                         # jcalc
    double* angular      # body[i].angular
    double* theta0       # theta = angular * q[dof] + theta0 + k pi/2, |theta0| <= pi/4
    double* turn         # NO_TURN + k (lanes.h)
    Py_ssize_t* reach    # (n, 2): the joints that share a root with joint i are among reach[i, 0]
                         # .. reach[i, 1] - 1
    double[3] gravity    # in the frame of a fixed base, or the world's [m/s^2]
    Py_ssize_t links     # named frames
    Py_ssize_t* link_slot    # (links,) the body that carries each
    double* link_pose    # (links, 12) orientation row by row, then origin, in that body's frame
    Py_ssize_t* joint_link   # the link that each joint of q moves
    Py_ssize_t followed_joints
    FollowedJoint* followed  # (followed_joints,)

cdef struct Workspace:   # rows: (so many) numbers per slot; NaN until first written
    double* cosine       # (1) of theta
    double* sine         # (1)
    double* d            # (1) of the transform from the parent
    double* p            # (3) origin in the parent's frame, at the current position
    double* pose         # (12, no more) of a floating base: orientation in the world, row-major,
                         # and origin
    double* motion       # (9) of a body that forks: angular velocity w, angular acceleration w_dot,
                         # and acceleration a of the frame's origin, gravity included
    double* f            # (6) force across joint i: moment about the origin, then force
    double* f_ext        # (6) external force on body i, in its frame
    double* inertia      # (21) composite (10 used) or articulated-body inertia
    double* force_set    # (6) U / D of Table 7.1, U = IA S, D = S^T U
    double* u            # (1) (tau - S^T pA) / D
    double* a            # (6) acceleration in the last pass of Table 7.1
    double* w            # (3) angular velocity
    double* v            # (3) linear velocity of the origin
    double* R            # (9) orientation in the base frame, row-major
    double* r            # (3) origin in the base frame
    double* S            # (6) joint axis, in base coordinates as the rows up to B
                         # (base_coordinates.pxd)
    double* Psi_dot      # (6) v x S
    double* Psi_ddot     # (6) a x S + v x Psi_dot
    double* velocity     # (6)
    double* acceleration # (6) gravity included
    double* B            # (12) subtree's Coriolis operator: 9, then momentum
    double* base_inertia # (10) inertia: of the body, or of its subtree
    double* D            # (1) 1 / S^T U
    void* columns        # (14) registers: scratch of a pass over several columns (minv.pxd)
    double* J            # (6, n) scratch
    double* tau          # (n,) scratch
    double* qdd          # (n,) scratch
    # Of a time step:
    const void* external # f_ext of the step, NULL for none
    double* applied      # (n,) torque on each joint
    double* diagonal     # (n,) what the drives add to the diagonal of H
    double* engaged      # (n,) 1 where a stop acts, else 0
    double* slip         # (n,) direction in which a joint slips, 1 or -1; 0: it sticks, or has no
                         # friction
    double* sticks       # (n,) 1 for a joint that sticks, else 0
    double* fixed        # (n,) 1 for a joint whose acceleration is given, because it sticks or is
                         # prescribed
    double* given        # (n,) that acceleration
    double* stage_q      # (nq,) of Runge-Kutta
    double* stage_qd     # (n,)
    double* stage_qdd    # (n,)
    double* mean_qd      # (n,) weighted over the stages
    double* mean_qdd     # (n,)
    double* prescribed_tau   # (n,) forces of the joints whose motion is prescribed, in their order,
                             # at the beginning of a time step
    double* H            # (n, n) joint-space inertia of a coupled system, else NULL
    double* memory       # of all of the above
    void* packed         # the arrays of a tile of states, one register per number
    Py_ssize_t packed_size
    Py_ssize_t failure   # of a floating base: 1 + a freedom that is singular, or 0
    Py_ssize_t row       # in a batch: first row of the tile that the kernel was last called for
