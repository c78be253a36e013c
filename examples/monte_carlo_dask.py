"""The same study as monte_carlo.py, on a Dask cluster: more processes, or more machines.

The function that drives a sample is mapped over the cluster as it is, and gives the same numbers
bit for bit. Without --scheduler, a cluster of processes on this machine is started and stopped.
With it, scheduler and workers need featherstone_ros installed; the study itself is sent to them.

Needs Dask: pip install 'featherstone_ros[examples]'

Examples:
  python examples/monte_carlo_dask.py
  python examples/monte_carlo_dask.py --workers 8 --states 24000
  dask scheduler                                              on one machine, called HOST here
  dask worker tcp://HOST:8786 --nworkers auto --nthreads 1    on every machine
  python examples/monte_carlo_dask.py --scheduler tcp://HOST:8786 --states 200000
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import monte_carlo
from dask.distributed import Client


def over(client: Client, function: Callable[..., Any], arguments: Iterable[Any]) -> Iterator[Any]:
    """Do what the builtin ``map`` does, on the cluster."""
    for future in client.map(function, arguments):
        yield future.result()


def main(argv: Sequence[str] | None = None) -> int:
    """Run a study on a cluster; returns the exit status."""
    parser = monte_carlo.arguments(__doc__)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--scheduler", metavar="ADDRESS", help="of a cluster that is running")
    where.add_argument(
        "--workers", type=int, metavar="N", help="processes on this machine (default: its cores)"
    )
    args = parser.parse_args(argv)
    here = {"n_workers": args.workers, "threads_per_worker": 1, "dashboard_address": None}
    with Client(**({"address": args.scheduler} if args.scheduler else here)) as client:
        client.upload_file(monte_carlo.__file__)
        return monte_carlo.run(args, partial(over, client))


if __name__ == "__main__":
    sys.exit(main())
