# What a shadow goes by; constant while in use. Arrays are (n,) in joint order.

from dynamics_interface cimport DynamicsInterface
from ros.messages cimport Template
from simulator_interface cimport SimulatorInterface

cdef enum Contract:          # what the effort of a joint state is, see effort.pxd; order of
                             # effort_contract.CONTRACTS
    FULL, WITHOUT_GRAVITY, WITHOUT_FRICTION, MOTOR_CURRENT

cdef struct Settings:
    int number               # of these settings
    const SimulatorInterface* simulator
    double time_step         # of predictions [s]
    double horizon           # of the prediction that is shown [s]
    bint commanded           # it assumes the torque that was commanded last
    double max_gap           # between two states that follow on each other [s]
    Contract contract
    double sliding_speed     # [rad/s or m/s]
    Py_ssize_t link          # on which a wrench is assumed, in model.link_names
    double wrench_damping    # of the pseudo-inverse
    Template wrench          # message about it
    const double* viscous
    const double* coulomb
    const double* offset     # constant friction
    const double* armature
    const double* gain       # of the observer [1/s]
    const double* effort_gain
    const double* begin      # external torque above which contact begins
    const double* end        # below which it ends
