"""Runs a node, ``python -m benchmarks.nodes.busy NODE``, beside Python that never rests."""

import runpy
import sys
import threading


def _build() -> None:
    while True:
        {number: str(number) for number in range(100)}


if __name__ == "__main__":
    threading.Thread(target=_build, daemon=True).start()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
