"""The digital twin without ROS, and a loop of controller and arm. Callers pass the time."""

from .simulator_settings import Noise, SimulatorSettings
from .twin import Twin

__all__ = ["Noise", "SimulatorSettings", "Twin"]
