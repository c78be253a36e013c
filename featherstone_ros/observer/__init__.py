"""The twin beside a real arm, without ROS: what its joint states say about model and contact.

What is done with every state is compiled (cython_core/observer/), to be run by a loop or from here.

- ``settings``: what can be chosen.
- ``effort_contract``: what the arm's effort field contains.
- ``rest_check``, ``friction_check``: does the effort field keep its contract?
- ``shadow``: a stream of joint states, and what each of them has brought.
- ``verdict``, ``lost_thread``: whether the effort field can be believed; why the shadow began anew.
"""

from featherstone_ros.observer.settings import ShadowSettings
from featherstone_ros.observer.shadow import Shadow

__all__ = ["Shadow", "ShadowSettings"]
