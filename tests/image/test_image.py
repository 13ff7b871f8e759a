"""The Dockerfile's steps and what they make, run in a root of its own, read-only, as its user, without a shell."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from support import ServerProcess
from toolsearch import Client

ROOT = Path(__file__).parents[2]
RECIPE = Path(__file__).parent / "recipe.py"
FOLDER = Path(os.environ.get("TOOLSEARCH_IMAGE") or ROOT / ".cache" / "image")
IMAGE = FOLDER / "image"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change its root")


@pytest.fixture(scope="session", autouse=True)
def image() -> None:
    assert IMAGE.is_dir(), "there is no image: run make test-image, which builds it"


def settings() -> dict[str, object]:
    content: dict[str, object] = json.loads((FOLDER / "image.json").read_text(encoding="utf-8"))
    return content


def ran(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, RECIPE, "start", FOLDER, *command], capture_output=True, text=True, timeout=60, cwd="/"
    )


class InImage(ServerProcess):
    """The image's entry point, its log read line by line."""

    def __init__(self, *arguments: str) -> None:
        super().__init__(arguments, command="start", program=(str(RECIPE),))


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[InImage, str]]:
    server = InImage(str(FOLDER), "toolsearch-server", "serve", "--listen", "127.0.0.1:0", "--drain-delay", "0", *arguments)
    try:
        yield server, server.wait_until_listening()
    finally:
        server.kill() if server.process.poll() is None else server.wait()


def test_the_image_serves_searches_by_meaning_and_drains_on_a_read_only_root() -> None:
    with serving("--store", "memory:", "--sample", "--http", "127.0.0.1:0") as (server, address):
        assert '"embeddings": "static"' in server.log
        with Client(address) as client:
            assert client.search("open a bug report").matches[0].name == "github.open_issue"
        status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
        assert "Uid:\t65532\t65532\t65532\t65532" in status
        assert "NoNewPrivs:\t1" in status
        assert server.stop(signal.SIGTERM) == 0
        assert "Traceback" not in server.log


@pytest.mark.parametrize(
    "command",
    [("toolsearch-server", "watch", "--help"), ("toolsearch-server", "keys", "--help"), ("toolsearch", "--help")],
)
def test_the_image_has_every_program(command: tuple[str, ...]) -> None:
    result = ran(*command)
    assert result.returncode == 0, result.stderr
    assert "usage:" in result.stdout


def test_the_image_has_what_following_tokens_traces_and_endpoints_need() -> None:
    result = ran("python3", "-I", "-c", "import mcp, jwt, httpx2, opentelemetry.sdk, toolsearch_server.watch")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("place", ["/tmp/x", "/x", "/opt/toolsearch/x", "/home/x"])
def test_nothing_can_be_written(place: str) -> None:
    result = ran("python3", "-I", "-c", f"open({place!r}, 'w')")
    assert result.returncode == 1
    assert "Read-only file system" in result.stderr or "No such file" in result.stderr or "Permission" in result.stderr


def test_there_is_no_shell_and_no_package_manager() -> None:
    for name in ("sh", "bash", "dash", "apt-get", "dpkg", "perl", "pip"):
        found = [
            folder for folder in ("bin", "usr/bin", "usr/local/bin", "opt/toolsearch/bin") if (IMAGE / folder / name).exists()
        ]
        assert found == [], name


def test_nothing_in_it_gains_rights() -> None:
    gaining = [path for path in IMAGE.rglob("*") if not path.is_symlink() and path.is_file() and path.stat().st_mode & 0o6000]
    assert gaining == []


def test_the_user_is_the_charts() -> None:
    assert settings()["user"] == "65532:65532"
    rendered = (ROOT / "tests" / "helm" / "default.yaml").read_text(encoding="utf-8")
    for manifest in filter(None, yaml.safe_load_all(rendered)):
        if manifest["kind"] == "Deployment":
            assert manifest["spec"]["template"]["spec"]["securityContext"]["runAsUser"] == 65532
            return
    raise AssertionError("there is no Deployment")


def test_what_is_installed_is_what_is_locked_and_nothing_for_development() -> None:
    def pins(text: str) -> dict[str, str]:
        lines = [line.partition(" ")[0] for line in text.splitlines() if "==" in line and not line.startswith(" ")]
        return dict(line.lower().replace("_", "-").split("==") for line in lines)

    everything = pins((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    image = pins((ROOT / "requirements.image.lock").read_text(encoding="utf-8"))
    assert image.items() <= everything.items()
    listed = ran(
        "python3",
        "-I",
        "-c",
        "from importlib.metadata import distributions as d\nfor x in d(): print(x.name, x.version, sep='==')",
    )
    installed = pins(listed.stdout)
    assert {name for name in installed if name.startswith("toolsearch")} == {"toolsearch", "toolsearch-server"}
    assert {name: version for name, version in installed.items() if not name.startswith("toolsearch")}.items() <= image.items()
    assert "pytest" not in installed
