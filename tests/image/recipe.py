"""A Dockerfile, carried out without a container engine: stages are folders, steps run in them by chroot. For root, on Debian.

    python recipe.py build DOCKERFILE CONTEXT FOLDER      builds all stages below FOLDER
    python recipe.py start FOLDER COMMAND...              starts the image, as its user, on a read-only root

What is not like a container engine: the base image is a debootstrapped Debian instead of the published one, layers are not kept
apart, .dockerignore is not read, and steps share this machine's network and process table.
"""

import ctypes
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

PR_SET_NO_NEW_PRIVS = 38
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
IMAGE = "image"


@dataclass
class Stage:
    base: str
    name: str
    steps: list[tuple[str, str]] = field(default_factory=list)


def parse(text: str) -> list[Stage]:
    """Stages with their steps. Raises ValueError at an instruction that is not carried out here."""
    stages: list[Stage] = []
    for line in re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines():
        if not line.strip():
            continue
        instruction, _, rest = line.strip().partition(" ")
        if instruction == "FROM":
            base, _, name = rest.partition(" AS ")
            stages.append(Stage(base, name or IMAGE))
        elif instruction in ("RUN", "COPY", "ENV", "WORKDIR", "USER", "EXPOSE", "ENTRYPOINT", "CMD"):
            stages[-1].steps.append((instruction, rest.strip()))
        else:
            raise ValueError(f"{instruction} is not known here")
    return stages


@dataclass
class Settings:
    """What an image says about how it is started."""

    environment: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "0:0"
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)


def build(dockerfile: Path, context: Path, folder: Path) -> None:
    for stage in parse(dockerfile.read_text(encoding="utf-8")):
        root = folder / stage.name
        shutil.rmtree(root, ignore_errors=True)
        _lay(stage.base, root, folder)
        settings = Settings(environment={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"})
        for instruction, rest in stage.steps:
            _carry_out(instruction, rest, root, settings, context, folder)
        (folder / f"{stage.name}.json").write_text(json.dumps(vars(settings)), encoding="utf-8")


def _lay(base: str, root: Path, folder: Path) -> None:
    if base == "scratch":
        root.mkdir(parents=True)
        return
    matched = re.fullmatch(r"debian:([a-z]+)-slim", base)
    if matched is None:
        raise ValueError(f"{base} cannot be made here: only Debian can")
    kept = folder / base.replace(":", "-")
    if not kept.exists():
        partial = kept.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        subprocess.run(["debootstrap", "--variant=minbase", matched[1], partial], check=True, stdout=subprocess.DEVNULL)
        partial.rename(kept)
    subprocess.run(["cp", "--archive", kept, root], check=True)


def _carry_out(instruction: str, rest: str, root: Path, settings: Settings, context: Path, folder: Path) -> None:
    match instruction:
        case "RUN":
            _run(rest, root, settings)
        case "COPY":
            _copy(rest, root, settings, context, folder)
        case "ENV":
            settings.environment |= dict(each.split("=", 1) for each in shlex.split(rest))
        case "WORKDIR":
            settings.folder = rest
            (root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        case "USER":
            settings.user = rest
        case "ENTRYPOINT":
            settings.entrypoint = json.loads(rest)
        case "CMD":
            settings.command = json.loads(rest)


def _run(command: str, root: Path, settings: Settings) -> None:
    """As a container engine would, but for the network, and this machine's authorities beside the root's own."""
    environment = dict(settings.environment)
    mounts = [f"mount --rbind /proc {root}/proc", f"mount --rbind /dev {root}/dev", f"touch {root}/etc/resolv.conf"]
    mounts.append(f"mount --bind -o ro /etc/resolv.conf {root}/etc/resolv.conf")
    if AUTHORITIES.is_file():
        mounts.append(f"mount -t tmpfs tmpfs {root}/run && cp {AUTHORITIES} {root}/run/authorities.crt")
        environment |= dict.fromkeys(("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE"), "/run/authorities.crt")
    inside = f"cd {shlex.quote(settings.folder)} && {command}"
    script = " && ".join([*mounts, f"exec chroot {root} /bin/sh -c {shlex.quote(inside)}"])
    variables = {"DEBIAN_FRONTEND": "noninteractive", "HOME": "/root", **environment}
    done = subprocess.run(["unshare", "--mount", "/bin/sh", "-c", script], env=variables, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"RUN {command}\nended with {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")


def _copy(rest: str, root: Path, settings: Settings, context: Path, folder: Path) -> None:
    words = shlex.split(rest)
    source = context
    if words[0].startswith("--from="):
        source = folder / words.pop(0).removeprefix("--from=")
    *names, target = words
    destination = root / settings.folder.lstrip("/") / target if not target.startswith("/") else root / target.lstrip("/")
    for name in names:
        origin = source / name.lstrip("/")
        if not origin.is_dir():
            destination.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "--archive", origin, destination], check=True)
            continue
        # What is in a folder is copied, not the folder.
        destination.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "--archive", f"{origin}/.", destination], check=True)


def start(folder: Path, command: list[str]) -> None:
    """Becomes the program: on a read-only root, as the image's user, without the right to gain any."""
    settings = Settings(**json.loads((folder / f"{IMAGE}.json").read_text(encoding="utf-8")))
    root = folder / IMAGE
    for arguments in (
        ["--make-rprivate", "/"],
        ["--bind", str(root), str(root)],
        ["--bind", "/proc", str(root / "proc")],
        ["--bind", "/dev", str(root / "dev")],
        ["-o", "remount,ro,bind", str(root)],
    ):
        subprocess.run(["mount", *arguments], check=True)
    user, group = map(int, settings.user.split(":"))
    os.chroot(root)
    os.chdir(settings.folder)
    os.setgroups([])
    os.setgid(group)
    os.setuid(user)
    if ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise SystemExit("cannot give up the right to gain rights")
    given = {name: value for name, value in os.environ.items() if name.startswith("TOOLSEARCH_")}
    os.execvpe(command[0], command, settings.environment | given)


if __name__ == "__main__":
    if sys.argv[1] == "build":
        build(*(Path(each).resolve() for each in sys.argv[2:5]))
    elif os.environ.get("RECIPE_UNSHARED"):
        start(Path(sys.argv[2]).resolve(), sys.argv[3:])
    else:
        os.environ["RECIPE_UNSHARED"] = "1"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])
