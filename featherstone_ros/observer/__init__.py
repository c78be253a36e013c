"""The twin beside a real arm, without ROS: what its joint states say about model and contact.

- ``settings``: what can be chosen.
- ``timeline``: which joint states follow on which, and where the thread is lost.
- ``effort_contract``: what the arm's effort field contains, and joint torque from it.
- ``friction``: friction of the joints at measured speeds.
- ``prediction``: where the arm will be a little later.
- ``momentum_observer``: external joint torque by the generalised momentum.
- ``external_wrench``: the wrench on a link that would explain it.
- ``contact``: thresholds with hysteresis.
- ``rest_check``, ``friction_check``: does the effort field keep its contract?
- ``shadow``: all of them on one stream of joint states.
"""

from featherstone_ros.observer.settings import ShadowSettings
from featherstone_ros.observer.shadow import Shadow

__all__ = ["Shadow", "ShadowSettings"]
