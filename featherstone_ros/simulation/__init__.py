"""The digital twin without ROS, and a loop of controller and arm. Callers pass the time.

- ``simulator_settings``; ``twin_parameters``: how the node's parameters become them.
- ``twin``: the simulated arm, and the gains of its drives that follow positions; its compiled part
  is in ``cython_core/simulation``.
- ``closed_loop``: an arm that moves under its controller, simulated or on a bus.
- ``simulated_arm``: the simulated one.
"""

from .simulator_settings import Noise, SimulatorSettings
from .twin import Twin

__all__ = ["Noise", "SimulatorSettings", "Twin"]
