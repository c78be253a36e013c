"""The twin beside a real arm, without ROS: model errors and contact from joint states.

The processing of a state is compiled (cython_core/observer/), to be run by a loop or from here.

- ``settings``: the settings.
- ``effort_contract``: the meaning of the arm's effort field.
- ``rest_check``, ``friction_check``: does the effort field agree with its contract?
- ``shadow``: a stream of joint states, and the result of each.
- ``verdict``, ``lost_thread``: whether the effort field agrees with its contract; why the observer
restarted.
"""

from featherstone_ros.observer.settings import ShadowSettings
from featherstone_ros.observer.shadow import Shadow

__all__ = ["Shadow", "ShadowSettings"]
