"""The compiled core: Featherstone's recursions on arrays. It knows neither ROS nor XML.

An algorithm is one function in a file of its own (rnea.pxd, aba.pxd, crba.pxd, ...), works on the
structures of system.pxd, and touches no Python object. The classes below own memory, check
arguments and call it.
"""

cimport cython
cimport numpy as cnp
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_New
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.math cimport NAN, fabs, isfinite
from libc.string cimport memcpy

from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject* o)
    int PyErr_CheckSignals()

cdef extern from "numpy/arrayobject.h":
    ctypedef struct PyArrayObject_fields:
        PyObject* weakreflist

from system cimport (SHIFT_ALONG_X, SHIFT_GENERAL, SHIFT_NONE, Body, FollowedJoint, System,
                     TWIST_GENERAL, TWIST_MINUS_90, TWIST_NONE, TWIST_PLUS_90, Workspace)
from dynamics_interface cimport DynamicsInterface
from spatial cimport (LANES, NO_TURN, add_cross, any_nonzero, broadcast, lanes, less_lanes, load,
                      load_rows, real, store_rows, unlikely)
from joint cimport jcalc
from rnea cimport rnea
from crba cimport crba
from base_coordinates cimport base_axes, base_coordinates
from centroidal cimport centroidal_momentum_matrix, momentum
from coriolis cimport coriolis
from derivatives cimport aba_derivatives, rnea_derivatives
from displacement cimport difference, displace
from drives cimport IMPLICIT, RK4, SEMI_IMPLICIT_EULER, Drives
from external_forces cimport add_external_stiffness, external_torque, geometric_stiffness
from forward_dynamics cimport forward_dynamics, impulse_response
from hybrid cimport hybrid
from followed_joints cimport place_body, place_locked
from joint_wrenches cimport joint_wrenches
from link_inertias cimport articulated_link_inertias, composite_link_inertias
from log_determinant cimport log_determinant
from minv cimport minv
from operational_space cimport operational_space_inertia
from regressor cimport regressor
from smooth_friction cimport RELEASE_TIME, after_motion, after_rest
from simulator_interface cimport SIMULATOR_INTERFACE, Loads, Prescribed, SimulatorInterface
from time_stepping cimport advance, instants
from kinematics cimport (first_moment, jacobian, jacobian_derivative, kinetic_energy, link_origin,
                         link_pose, point_acceleration, point_velocity, poses)

import copyreg
import os
from collections.abc import Mapping
from numbers import Real

import numpy as np

from featherstone_ros.errors import (DivergenceError, SingularInertiaError, SingularJacobianError,
                                     UnknownNameError)
from featherstone_ros.operational_space import TOLERANCE, operational_space

cnp.import_array()

# What is compiled stands before what uses it. All use CompiledModel of compiled_model.pxi.
include "memory.pxi"
include "frames.pxi"
include "compiled_model.pxi"     # uses memory.pxi and frames.pxi
include "arrays.pxi"
include "configurations.pxi"     # uses compiled_model.pxi and arrays.pxi
include "algorithms.pxi"         # uses arrays.pxi
include "calls.pxi"              # uses algorithms.pxi
include "threads.pxi"            # uses calls.pxi
include "workspaces.pxi"         # uses arrays.pxi, calls.pxi and threads.pxi
include "dynamics.pxi"           # uses arrays.pxi, calls.pxi and workspaces.pxi
include "prescribed.pxi"         # uses arrays.pxi
include "simulator.pxi"          # uses arrays.pxi, calls.pxi, workspaces.pxi and prescribed.pxi
include "interface.pxi"          # uses arrays.pxi
include "presliding.pxi"

states_per_register = LANES
