"""A node whose arm takes a second to come to rest, with faults on request.

STAND: how many seconds after ``begin_rest`` the arm stands, unless it is told to by ``~/stand``.
PATIENCE: for how many seconds the node waits for that.
LEFT: which joints move in the end.
"""

import os
import sys
import time

from std_msgs.msg import String
from std_srvs.srv import Trigger

from featherstone_ros.nodes.execution import run
from featherstone_ros.nodes.lifecycle import ModelNode


class RestlessNode(ModelNode):
    """Moves while active."""

    def __init__(self, context=None):
        self._stands_at = 0.0
        super().__init__("restless", (), context)

    def configure(self):
        self._orders = self.create_subscription(String, "~/order", self._obey, 10)
        self._stop = self.create_service(Trigger, "~/stand", self._stand)
        self._question = self.create_service(Trigger, "~/question", self._answer)

    def activate(self):
        self._stands_at = float("inf")

    def deactivate(self):
        self._stands_at = time.monotonic() + float(os.environ.get("STAND", "1"))

    def cleanup(self):
        print(f"cleanup, stands: {time.monotonic() >= self._stands_at}", flush=True)

    @property
    def rest_patience(self):
        return float(os.environ.get("PATIENCE") or super().rest_patience)

    def is_at_rest(self):
        return time.monotonic() >= self._stands_at

    def motion_left(self):
        return os.environ.get("LEFT", "")

    def diagnose(self):
        raise ZeroDivisionError("built into the diagnosis")

    def _obey(self, message):
        raise ZeroDivisionError(f"built into the callback: {message.data}")

    def _stand(self, request, response):
        self._stands_at = time.monotonic()
        response.success = True
        return response

    def _answer(self, request, response):
        response.success = True
        return response


if __name__ == "__main__":
    sys.exit(run("__main__:RestlessNode"))
