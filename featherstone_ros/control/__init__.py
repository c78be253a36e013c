"""The controller's logic: plain classes over arrays and given times, without ROS.

- ``motion``: piecewise polynomials, everything the arm can be asked to do.
- ``trajectory``: a JointTrajectory checked and turned into a motion.
- ``state``: which joint states are believed, and how much time has passed between two of them.
- ``dynamics_blend``: a change of model (payload, gravity) without a step of torque.
- ``loaded_model``: the arm with its payload, under the gravity of where it stands.
- ``laws``: the three control laws.
- ``governor``: what stands between the law and the drives.
- ``settings``: every setting, checked.
- ``feedforward``: the controller that joins them.

What every cycle works out joint by joint is compiled: ``cython_core/control.pyx``.
"""
