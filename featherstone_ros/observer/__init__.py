"""The twin beside a real arm, without ROS: model errors and contact from joint states.

The processing of a state is compiled (cython_core/observer/); a loop runs it, or Python.

- ``shadow``: processes a stream of joint states.
- ``shadow_settings``: its settings.
- ``effort_contract``: the meaning of the arm's effort field, and whether it agrees with it.
"""

from featherstone_ros.observer.shadow import Shadow
from featherstone_ros.observer.shadow_settings import ShadowSettings

__all__ = ["Shadow", "ShadowSettings"]
