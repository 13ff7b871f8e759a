"""Compiles the kernel when a wheel is built, and when this folder is installed as it is.

With the compiler in $CC, or cc; where there is none, with the one that the distribution ziglang brings.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path("service/toolsearch_server/kernel.c")
LIBRARY = SOURCE.with_name("libkernel.so")
FLAGS = ["-O3", "-shared", "-fPIC"]


class BuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        del version
        root = Path(self.root)
        # To another name first: a server that runs keeps the library that it has.
        made = root / LIBRARY.with_suffix(".new")
        command = [*_compiler(), *FLAGS, "-o", str(made), str(root / SOURCE), "-lm"]
        subprocess.run(command, check=True)  # noqa: S603
        made.replace(root / LIBRARY)
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["artifacts"].append(str(LIBRARY))


def _compiler() -> list[str]:
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    return ["cc"] if shutil.which("cc") else [sys.executable, "-m", "ziglang", "cc"]
