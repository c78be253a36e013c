"""The benchmarks, ``make bench``: calls against Pinocchio and MuJoCo, nodes against minimal ones.

``cases`` says which calls are timed, ``peers`` how the others are called; pytest-benchmark times
them (``test_calls``). ``nodes`` measures the latency of running nodes.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "test"))  # for compiled
