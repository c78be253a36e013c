"""This Python's own build settings with the names of ARM64's modules, for cross-compiling.

sysconfig reads this file where _PYTHON_SYSCONFIGDATA_NAME names it. Headers are the same.
"""

import importlib
import sys

_HERE = importlib.import_module(
    f"_sysconfigdata_{sys.abiflags}_{sys.platform}_{sys.implementation._multiarch}"
)
build_time_vars = {
    **_HERE.build_time_vars,
    **{
        name: _HERE.build_time_vars[name].replace("x86_64", "aarch64")
        for name in ("EXT_SUFFIX", "MULTIARCH", "SOABI")
    },
}
