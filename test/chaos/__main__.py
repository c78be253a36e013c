"""`make chaos`: seeded faults between and in the two nodes, and whether the arm stayed safe."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.append(str(Path(__file__).resolve().parents[1] / "ros"))  # the node tests' tools

import bench
import campaign
from episodes import KINDS

if __name__ == "__main__":
    parser = campaign.parser(__doc__, 500)
    parser.add_argument("--output", type=Path, default=Path("chaos"), help="default: chaos/")
    its = parser.parse_args()
    seeds = range(its.seed, its.seed + its.episodes)
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        options = its.robot, Path(folder), its.output
        outcomes = campaign.run(bench.outcome_of, seeds, its.workers, bench.prepare, options)
        end = campaign.tell(outcomes, len(seeds), list(KINDS), its.output / "episodes.csv")
    sys.exit(end)
