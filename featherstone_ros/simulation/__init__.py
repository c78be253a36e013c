"""The digital twin without ROS. It never reads a clock: callers pass the time.

- ``settings``: the settings.
- ``twin``: the simulated arm; its compiled part is in ``cython_core/simulation``.
- ``drive_gains``: gains and bounds of simulated drives that follow positions.
"""

from .settings import Noise, TwinSettings
from .twin import Twin

__all__ = ["Noise", "Twin", "TwinSettings"]
