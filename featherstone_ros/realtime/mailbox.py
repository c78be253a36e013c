"""A queue of actions from one thread to another, which never waits for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

Result = TypeVar("Result")


class Mailbox:
    """Actions for a thread that runs them when it has time, in the order in which they came.

    The caller may wait; the thread that runs the actions never does: it takes no lock that another
    thread could hold.
    """

    def __init__(self) -> None:
        """Begin empty."""
        self._actions: deque[Callable[[], Any]] = deque()

    def post(self, action: Callable[[], Any]) -> None:
        """Have an action run; what it raises is raised in ``run``."""
        self._actions.append(action)

    def call(self, action: Callable[[], Result], timeout: float) -> Result:
        """Have an action run by the other thread, wait for it and return its result.

        Args:
            action: What it raises is raised here.
            timeout: [s].

        Raises:
            TimeoutError: It has not been begun until then, and will not be.
        """
        call = Call(action)
        self._actions.append(call)
        result: Result = call.wait(timeout)
        return result

    def run(self) -> None:
        """Run what is there now."""
        actions = self._actions
        for _ in range(len(actions)):
            actions.popleft()()


class Call:
    """An action whose caller waits."""

    def __init__(self, action: Callable[[], Any]) -> None:
        """Prepare the call."""
        self._action = action
        self._claim = Lock()  # held by the thread that decides about the call
        self._end = Lock()
        self._end.acquire()
        self._result: Any = None
        self._error: Exception | None = None

    def __call__(self) -> None:
        """Run the action, unless it has been given up."""
        if not self._claim.acquire(blocking=False):
            return
        try:
            self._result = self._action()
        except Exception as error:
            self._error = error
        self._end.release()

    def wait(self, timeout: float) -> Any:
        """Wait for the end, return the result or raise what the action raised.

        Raises:
            TimeoutError: It had not begun after ``timeout`` seconds; it is given up.
        """
        if not self._end.acquire(timeout=timeout):
            if self._claim.acquire(blocking=False):
                raise TimeoutError(f"no answer within {timeout:g} s")
            self._end.acquire()  # being run just now
        if self._error is not None:
            raise self._error
        return self._result
