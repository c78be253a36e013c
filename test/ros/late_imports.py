"""Runs a node and says what is imported after it has become active: `late_imports.py MODULE`."""

import importlib
import sys


def watch(event: str, arguments: tuple) -> None:
    """Print each module that is first imported while the node is active."""
    if event == "import" and active and not ending:
        sys.stdout.write(f"late import: {arguments[0]}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    active, ending = [], []
    from featherstone_ros.nodes import lifecycle

    def note(kind: type, name: str, what: list) -> None:
        """Take note when a method is called."""
        method = getattr(kind, name)

        def noted(self, *args):
            if name == "stop":
                what.append(name)
            result = method(self, *args)
            what.append(name)
            return result

        setattr(kind, name, noted)

    note(lifecycle.ModelNode, "_activate", active)
    note(lifecycle.ModelNode, "stop", ending)
    sys.addaudithook(watch)
    sys.exit(importlib.import_module(f"featherstone_ros.{sys.argv.pop(1)}").main())
