"""The digital twin without ROS: given the time, it never reads a clock.

- ``settings``: the settings.
- ``twin``: the simulated arm and its run; compiled, in ``cython_core/simulation``.
- ``drive_gains``: gains of simulated drives that follow positions.
- ``refusals``: why a message was refused, in words.
"""

from .settings import Noise, TwinSettings
from .twin import Twin

__all__ = ["Noise", "Twin", "TwinSettings"]
