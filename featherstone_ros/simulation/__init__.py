"""The digital twin without ROS: plain classes that are given the time and never read a clock.

- ``settings``: what can be chosen.
- ``brakes``: how the arm stops and holds when nobody commands it.
- ``sensors``: what is measured of the true state.
- ``twin``: the arm, its command and its wrenches, advanced period by period.
- ``pacing``: how many periods are due at a moment.
- ``run``: puts twin and pacing together: real time, pause, single steps, lockstep.
"""

from .settings import Noise, TwinSettings
from .twin import Twin

__all__ = ["Noise", "Twin", "TwinSettings"]
