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
ZIG = "ziglang>=0.15"
ANY_PROCESSOR = "-mcpu=baseline"
"""Of its kind. Left alone, zig compiles for the one that it runs on, and wheels go elsewhere."""


class BuildHook(BuildHookInterface[Any]):
    def dependencies(self) -> list[str]:
        return [] if _own_compiler() else [ZIG]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """`version` is `standard` for a wheel, and `editable`."""
        source, library = Path(self.root) / SOURCE, Path(self.root) / LIBRARY
        if version == "standard" or not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
            _compile(source, library)
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["artifacts"].append(str(LIBRARY))


def _compile(source: Path, library: Path) -> None:
    # Under another name first: a server that runs keeps the library that it has.
    made = library.with_suffix(f".{os.getpid()}.so")
    compiler = _own_compiler() or [sys.executable, "-m", "ziglang", "cc", ANY_PROCESSOR]
    try:
        subprocess.run([*compiler, *FLAGS, "-o", str(made), str(source), "-lm"], check=True)  # noqa: S603
        made.replace(library)
    finally:
        made.unlink(missing_ok=True)


def _own_compiler() -> list[str]:
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    return ["cc"] if shutil.which("cc") else []
