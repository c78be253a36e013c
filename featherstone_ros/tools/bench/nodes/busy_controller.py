"""The controller in a process that has other Python to run."""

from featherstone_ros.feedforward_controller import main
from featherstone_ros.tools.bench.nodes.busy_python import never_rest

if __name__ == "__main__":
    never_rest()
    main()
