"""The node tests' tools stand in the folder beside this one."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "ros"))
