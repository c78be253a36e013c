"""The floor in a process that has other Python to run."""

from featherstone_ros.tools.bench.nodes.busy_python import never_rest
from featherstone_ros.tools.bench.nodes.floor import main

if __name__ == "__main__":
    never_rest()
    main()
