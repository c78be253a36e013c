"""Command line of the fuzzer: `make fuzz ARGS="--executions 10000000 --seed 1"`."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).resolve().parents[1]))  # for compiled

from compiled import codec
from fuzzer import LastInput, Outcome, fuzz
from targets import TARGETS

FOLDER = Path("build/fuzz")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--executions", type=int, default=200_000, help="in all (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the random changes (%(default)s)")
    parser.add_argument("--only", choices=[t.name for t in TARGETS], help="one target only")
    return parser.parse_args()


def save(name: str, seed: int, outcome: Outcome) -> None:
    """Show the findings and keep their inputs."""
    for number, (kind, (trace, data)) in enumerate(outcome.findings.items()):
        path = FOLDER / f"{name}-{seed}-finding-{number}"
        path.write_bytes(data)
        print(f"{name}: {kind}; the input is in {path}\n{trace}")


def main() -> int:
    """Fuzz the targets in turn; the status is 1 if there are findings."""
    options = arguments()
    logging.disable(logging.WARNING)  # oddities of URDFs
    FOLDER.mkdir(parents=True, exist_ok=True)
    sanitized = b"__asan_init" in Path(codec.module().__file__).read_bytes()
    print(f"sanitizers: {'on' if sanitized else 'off'}; seed {options.seed}")
    found = 0
    for target in TARGETS:
        if options.only not in (None, target.name):
            continue
        count = round(options.executions * (1 if options.only else target.share))
        path = FOLDER / f"{target.name}-{options.seed}-last"
        print(f"{target.name}: should the process end here, the input is in {path}", flush=True)
        outcome = fuzz(target, count, Random(options.seed), LastInput(path, target.longest))
        save(target.name, options.seed, outcome)
        found += len(outcome.findings)
        print(
            f"  {outcome.executions:,} executions, {outcome.refused:,} refused in "
            f"{len(outcome.answers)} ways, slowest {1e3 * outcome.slowest:.1f} ms, "
            f"{outcome.seconds:.0f} s, {len(outcome.findings)} findings"
        )
        if outcome.executions < count:  # interrupted
            break
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
