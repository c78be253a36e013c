"""The compiled core: Featherstone's recursions on arrays. It knows neither ROS nor XML.

An algorithm is one function in a file of its own (rnea.pxd, aba.pxd, crba.pxd, ...), works on the structures of
system.pxd, and touches no Python object. The classes below own memory, check arguments and call it.
"""

cimport numpy as cnp
from libc.math cimport NAN, fabs, fmax, fmin, isfinite
from libc.stdlib cimport calloc, free, malloc

from system cimport (Body, System, Workspace, TWIST_GENERAL, TWIST_MINUS_90, TWIST_NONE, TWIST_PLUS_90)
from spatial cimport add_cross
from joint cimport jcalc
from rnea cimport rnea
from crba cimport crba
from forward_dynamics cimport forward_dynamics
from kinematics cimport first_moment, jacobian, kinetic_energy, point_velocity, poses, rotate_to_base

from collections.abc import Mapping

import numpy as np

from featherstone_ros.errors import SingularInertiaError, UnknownNameError

cnp.import_array()

include "frames.pxi"
include "compiled_model.pxi"
include "arrays.pxi"
include "dynamics.pxi"
include "simulator.pxi"
