"""Service ``~/identify_payload`` of the shadow: finds a link's payload while the arm works.

The loop only stores states in a given buffer; a thread of the service, which lives as long as one
search, collects them and solves. The result is published as parameters for the controller: nothing
changes until somebody loads them there.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from threading import Event, Thread, current_thread
from typing import Any

from std_msgs.msg import String
from std_srvs.srv import Trigger

from featherstone_ros._shadow import StateBuffer
from featherstone_ros.errors import FeatherstoneError, needed
from featherstone_ros.model import Model
from featherstone_ros.model.drives import Drives
from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.nodes.topics import LATCHED
from featherstone_ros.observer.shadow_settings import default_link
from featherstone_ros.parameter import Parameter

POLL_PERIOD = 0.1  # [s] between two collections of the states received
WAITING = 32_768  # states at most in the buffer; further ones are dropped

PARAMETERS = (
    Parameter(
        "payload_link",
        "",
        "link whose load ~/identify_payload finds; empty: that of the last joint",
    ),
)


class PayloadService:
    """Collects states when asked to, and answers on ``~/payload`` and on the diagnostics."""

    def __init__(
        self,
        node: ModelNode,
        placed: Callable[[], Model],
        collect: Callable[[StateBuffer | None], None],
    ) -> None:
        """Offer the service.

        ``placed``: returns the arm as it stands. ``collect``: has states stored from now on; None:
        no longer.
        """
        self._node, self._placed, self._collect = node, placed, collect
        self._search: Thread | None = None
        self._ended = Event()
        self._destroyed = False
        self._said = "not asked for"
        self._publisher = node.create_publisher(String, "~/payload", LATCHED)
        self._service = node.create_service(Trigger, "~/identify_payload", self._on_request)

    def destroy(self) -> None:
        """End the search and take the service away."""
        self.stop()
        self._destroyed = True
        self._node.destroy_service(self._service)
        self._node.destroy_publisher(self._publisher)

    def stop(self) -> None:
        """End the search, if there is one; what was found is kept."""
        if self._search is not None:
            self._ended.set()
            self._search.join()
            self._search = None
            self._collect(None)

    @property
    def text(self) -> str:
        """The search's progress or result."""
        return self._said

    def _on_request(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        node = self._node
        if node.state_label != "active":
            response.message = f"the node is {node.state_label}, not active"
            return response
        self.stop()
        link = str(node.parameters["payload_link"]) or default_link(node.model)
        try:
            online = _online(node, self._placed(), link)
        except FeatherstoneError as error:
            response.message = str(error)
            return response
        states = StateBuffer(node.model.n, WAITING)
        self._ended.clear()
        self._said = f"collecting, 0%: turn {link} about several axes"
        self._collect(states)
        search = (online, states)
        self._search = Thread(target=self._find, args=search, name="payload", daemon=True)
        self._search.start()
        response.success = True
        response.message = (
            f"collecting: turn {link} about several axes; the answer comes on "
            f"{self._publisher.topic_name} and /diagnostics"
        )
        return response

    # In the thread of a search.

    def _find(self, online: Any, states: StateBuffer) -> None:
        try:
            while not self._add_states(online, states):
                if self._ended.wait(POLL_PERIOD):
                    self._said = "ended before there was an answer"
                    return
            self._said = "enough: solving"
            self._tell(online.answer())
        except FeatherstoneError as error:
            self._conclude(f"not found: {error}")
        except Exception:
            text = traceback.format_exc()
            self._node.defer(lambda: self._node.get_logger().error(f"payload:\n{text}"))
            self._conclude("not found: unexpected exception, see the log")

    def _add_states(self, online: Any, states: StateBuffer) -> bool:
        """Give the new states to the search; return whether it has enough."""
        while (state := states.take()) is not None:
            time = state[0]
            if time < online.latest:
                online.clear()  # the arm's clock was set back: it is another motion
            online.add(time, *state[1:].reshape(3, -1))
        self._said = f"collecting, {online.progress:.0%}: turn {online.link} about several axes"
        return online.enough

    def _tell(self, found: Any) -> None:
        from featherstone_ros.identification.payload import commented, in_short

        self._conclude(in_short(found), commented(found))

    def _conclude(self, said: str, text: str = "") -> None:
        """Have the executor's thread publish the result."""
        self._said = said
        search = current_thread()

        def publish() -> None:
            if self._destroyed:
                return
            if self._search is search:
                self._collect(None)
            self._node.get_logger().info(f"payload: {said}")
            if text:
                self._publisher.publish(String(data=text))
            self._node.publish_diagnostics()

        self._node.defer(publish)


def _online(node: ModelNode, model: Model, link: str) -> Any:
    """Return a search; imports scipy only now, which takes a while and may be missing."""
    from featherstone_ros.identification.arm import Arm
    from featherstone_ros.identification.payload import OnlinePayload

    needed("scipy.optimize")
    drives = Drives.of_parameters(node.parameters, model.joint_names)
    return OnlinePayload(Arm(model, drives), link)
