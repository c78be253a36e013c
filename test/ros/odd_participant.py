"""A publisher on joint_states whose node has a name that is not UTF-8, as no library would allow.

odd_participant.py FOLDER      compiles what it needs there, and runs until it is killed
"""

import os
import subprocess
import sys
import time
from pathlib import Path

# Instead of the middleware's check of names. rcl calls it first, and makes a logger of that name;
# then the middleware does, and by then the name is another.
INTERPOSER = r"""
#include <string.h>
int rmw_validate_node_name(const char * name, int * result, unsigned long * index)
{
    static int times = 0;
    if (strcmp(name, "odd_node") == 0 && ++times == 2)
        ((char *) name)[0] = (char) 0xff;
    *result = 0;
    return 0;
}
"""


def main() -> None:
    """Become such a process."""
    if "ODD" not in os.environ:
        library = Path(sys.argv[1], "odd.so")
        source = library.with_suffix(".c")
        source.write_text(INTERPOSER)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        os.execve(
            sys.executable,
            [sys.executable, *sys.argv],
            {**os.environ, "ODD": "1", "LD_PRELOAD": str(library)},
        )
    import rclpy
    from rclpy.node import Node
    from rclpy.parameter import Parameter
    from sensor_msgs.msg import JointState

    class OddNode(Node):
        """Goes by its intended name."""

        def get_name(self) -> str:
            return "odd_node"

    rclpy.init()
    no_services = [Parameter("start_type_description_service", value=False)]
    node = OddNode(
        "odd_node",
        start_parameter_services=False,
        enable_rosout=False,
        parameter_overrides=no_services,
    )
    node.create_publisher(JointState, "/joint_states", 10)
    print("there", flush=True)
    time.sleep(1e6)


if __name__ == "__main__":
    main()
