# Settings of a shadow, constant while in use. Arrays are (n,) in joint order.

from drive_units cimport DriveUnits
from joint_drives cimport JointDrives
from ros.messages cimport Template
from simulator_interface cimport SimulatorInterface

cdef struct ShadowSettings:
    int number               # identifies these settings in records
    const SimulatorInterface* simulator
    double time_step         # of predictions [s]
    double horizon           # of the published prediction [s]
    bint commanded           # predict under the last commanded torque, not the measured one
    double max_gap           # longest time between consecutive states [s]
    bint behind_gears        # efforts are torques without friction
    double displacement      # presliding [rad or m]
    Py_ssize_t link          # on which the wrench is estimated, index in model.link_names
    double wrench_damping    # of the pseudo-inverse
    Template wrench          # message with the estimate
    JointDrives drives
    const double* gain       # of the observer [1/s]
    DriveUnits units         # of the efforts
    const double* begin      # external torque above which contact begins
    const double* end        # below which it ends
