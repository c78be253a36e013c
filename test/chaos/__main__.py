"""`make chaos`: seeded faults between and in the two nodes, and whether the arm stayed safe."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "ros"))  # the node tests' tools

import campaign
import report
from rich.console import Console
from rich.progress import track

import featherstone_ros
from featherstone_ros.model.robots import robot_names


def main() -> int:
    """Run the episodes; return 1 if one has failed."""
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--episodes", type=int, default=500, help="default: 500")
    parser.add_argument("--seed", type=int, default=0, help="of the first episode; default: 0")
    parser.add_argument("--robot", choices=robot_names(), default="panda", help="default: panda")
    parser.add_argument("--workers", type=int, default=2, help="pairs of nodes; default: 2")
    parser.add_argument("--output", type=Path, default=Path("chaos"), help="default: chaos/")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    console = Console(width=max(Console().width, 120))
    console.print(f"package: {Path(featherstone_ros.__file__).parent}", style="dim")
    seeds = list(range(arguments.seed, arguments.seed + arguments.episodes))
    episodes = campaign.run(arguments.robot, seeds, arguments.workers, arguments.output)
    outcomes = []
    try:
        for outcome in track(episodes, "Episodes", len(seeds), console=console, transient=True):
            outcomes.append(outcome)
            if outcome.figures.faults:
                what = "; ".join(outcome.figures.faults)
                console.print(f"seed {outcome.seed} ({outcome.fault}): {what}", markup=False)
    except KeyboardInterrupt:
        console.print(f"stopped after {len(outcomes)} of {len(seeds)} episodes")
    outcomes.sort(key=lambda outcome: outcome.seed)
    starved = [outcome for outcome in outcomes if outcome.figures.starved]
    if starved:
        numbers = ", ".join(str(outcome.seed) for outcome in starved)
        console.print(f"too busy a machine for {len(starved)} of these to say it: seeds {numbers}")
        outcomes = [outcome for outcome in outcomes if not outcome.figures.starved]
    if not outcomes:
        return 1
    report.write_csv(outcomes, arguments.output / "episodes.csv")
    report.draw(outcomes, arguments.output / "chaos.png")
    by_kind = sorted(outcomes, key=lambda outcome: outcome.seed % len(campaign.KINDS))
    console.print(report.table(by_kind))
    failed = [outcome for outcome in outcomes if outcome.figures.faults]
    console.print(f"every episode: {arguments.output}/episodes.csv, picture: chaos.png")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
