# The table of algorithms: which there are, what each needs of the position, and its call.

cdef enum Algorithm:
    # after jcalc
    RNEA, ABA, CRBA, HYBRID, JOINT_WRENCHES, COMPOSITE_INERTIAS
    # after poses
    CENTRE_OF_MASS, CENTRE_OF_MASS_JACOBIAN, CENTROIDAL_MOMENTUM_MATRIX, MOMENTUM, ENERGY
    LINK_POSE, LINK_VELOCITY, LINK_ACCELERATION, JACOBIAN, JACOBIAN_DERIVATIVE
    # after base_axes
    OPERATIONAL_SPACE_INERTIA, MINV, IMPULSE_RESPONSE, ARTICULATED_INERTIAS, LOG_DET_INERTIA
    # after base_coordinates
    CORIOLIS, RNEA_DERIVATIVES, ABA_DERIVATIVES, REGRESSOR, REGRESSOR_AND_REST
    ADVANCE                            # of a Simulator

cdef struct Call:
    Algorithm algorithm
    const System* system
    Py_ssize_t inputs, outputs
    const double* x[4]                 # (rows, width) each
    Py_ssize_t x_width[4]
    double* y[4]
    Py_ssize_t y_width[4]
    bint into                          # y are the caller's ``out``
    bint by_row                        # a batch goes row by row, on one thread
    const Wrenches* wrenches
    Py_ssize_t link, slot              # that the call is about, its body, and its frame there,
    double[12] pose                    # moved to the point in question
    Workspace* alone                   # of a single state
    const Drives* drives               # of ADVANCE
    Py_ssize_t repeats                 # how often it is to be repeated on its own results:
    Py_ssize_t fed_back                # number of outputs that become the first inputs
    Py_ssize_t count, done             # repeats of this run, and of earlier ones
    Py_ssize_t row                     # of a batch that failed: first row of its first such tile


cdef inline Py_ssize_t take_steps(const Call* call, Workspace* work, const real** x,
                                  const real* f_ext, real** y) noexcept nogil:
    # drives are shared by all threads; advance changes them only if motions are prescribed
    cdef Drives now = call.drives[0]
    cdef Py_ssize_t i, k, failure
    for k in range(3):                 # q, qd and the last qdd
        for i in range(call.system.n if k else call.system.nq):
            y[k][i] = x[k][i]
    work.external = f_ext
    now.instant += 3 * now.motions * instants(&now) * call.done
    failure = advance(call.system, work, &now, call.count, x[3], y[0], y[1], y[2])
    for i in range(now.motions):
        y[3][i] = (<real*> work.prescribed_tau)[i]
    return failure


cdef Py_ssize_t compute(const Call* call, Workspace* work, const real** x, const real* f_ext,
                        real** y) noexcept nogil:
    """One state, or LANES of them: x are q, then qd, then qdd or tau; y the results.

    Returns 0, 1 + the index of a singular joint, n + 1 where a link's Jacobian has lost rank, or a
    negative number that the caller interprets.
    """
    cdef const System* system = call.system
    cdef Algorithm algorithm = call.algorithm
    cdef real[3] point
    cdef double mass
    cdef Py_ssize_t k
    if algorithm <= COMPOSITE_INERTIAS:
        jcalc(system, work, x[0])
    elif algorithm <= JACOBIAN_DERIVATIVE:
        poses(system, work, x[0])
    elif algorithm <= LOG_DET_INERTIA:
        base_axes(system, work, x[0])
    elif algorithm <= REGRESSOR_AND_REST:
        base_coordinates(system, work, x[0])
    if LINK_VELOCITY <= algorithm <= OPERATIONAL_SPACE_INERTIA:
        link_origin(work, call.slot, call.pose, point)

    if algorithm == RNEA:
        rnea(system, work, x[1], x[2], f_ext, y[0])
    elif algorithm == ABA:
        return forward_dynamics(system, work, x[1], x[2], f_ext, <const real*> NULL, y[0])
    elif algorithm == CRBA:
        crba(system, work, y[0])
    elif algorithm == HYBRID:
        return hybrid(system, work, x[1], x[2], x[3], f_ext, y[0], y[1])
    elif algorithm == JOINT_WRENCHES:
        rnea(system, work, x[1], x[2], f_ext, <real*> work.tau)
        joint_wrenches(system, work, y[0])
    elif algorithm == COMPOSITE_INERTIAS:
        composite_link_inertias(system, work, y[0])
    elif algorithm == CENTRE_OF_MASS:
        mass = first_moment(system, work, y[0])
        for k in range(3):
            y[0][k] *= 1.0 / mass
    elif algorithm == CENTRE_OF_MASS_JACOBIAN:
        mass = centroidal_momentum_matrix(system, work, <real*> work.J)
        for k in range(3 * system.n):
            y[0][k] = (<real*> work.J)[k] * (1.0 / mass)
    elif algorithm == CENTROIDAL_MOMENTUM_MATRIX:
        centroidal_momentum_matrix(system, work, y[0])
    elif algorithm == MOMENTUM:
        momentum(system, work, x[1], y[0])
    elif algorithm == ENERGY:
        y[0][0] = kinetic_energy(system, work, x[1])
        first_moment(system, work, point)
        y[1][0] = -(system.gravity[0] * point[0] + system.gravity[1] * point[1]
                    + system.gravity[2] * point[2])
    elif algorithm == LINK_POSE:
        link_pose(work, call.slot, call.pose, y[0])
    elif algorithm == LINK_VELOCITY:
        point_velocity(system, work, call.slot, point, x[1], y[0])
    elif algorithm == LINK_ACCELERATION:
        point_acceleration(system, work, call.slot, point, x[1], x[2], y[0])
    elif algorithm == JACOBIAN:
        jacobian(system, work, call.slot, point, y[0])
    elif algorithm == JACOBIAN_DERIVATIVE:
        jacobian_derivative(system, work, call.slot, point, x[1], y[0])
    elif algorithm == OPERATIONAL_SPACE_INERTIA:
        return operational_space_inertia(system, work, call.slot, point, y[0])
    elif algorithm == MINV:
        return minv(system, work, y[0])
    elif algorithm == IMPULSE_RESPONSE:
        return impulse_response(system, work, f_ext, y[0])
    elif algorithm == ARTICULATED_INERTIAS:
        return articulated_link_inertias(system, work, y[0])
    elif algorithm == LOG_DET_INERTIA:
        return log_determinant(system, work, y[0], y[1])
    elif algorithm == CORIOLIS:
        coriolis(system, work, x[1], y[0])
    elif algorithm == RNEA_DERIVATIVES:
        rnea_derivatives(system, work, x[1], x[2], y[0], y[1], y[2])
        if f_ext != NULL:
            add_external_stiffness(system, work, f_ext, y[0])
    elif algorithm == ABA_DERIVATIVES:
        return aba_derivatives(system, work, x[1], x[2], f_ext, y[0], y[1], y[2])
    elif algorithm == REGRESSOR or algorithm == REGRESSOR_AND_REST:
        regressor(system, work, x[1], x[2], y[0])
        if algorithm == REGRESSOR_AND_REST:
            external_torque(system, work, f_ext, y[1])
    elif algorithm == ADVANCE:
        return take_steps(call, work, x, f_ext, y)
    return 0
