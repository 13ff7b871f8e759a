"""What is built is what should be installed, and no more."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = os.environ.get("UV") or shutil.which("uv")


def built(project: Path, into: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(into)],
        cwd=project,
        check=True,
        capture_output=True,
    )
    (wheel,) = into.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def client_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT / "clients" / "python", tmp_path_factory.mktemp("client"))


@pytest.fixture(scope="module")
def server_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, tmp_path_factory.mktemp("server"))


def top_level(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name.split("/")[0] for name in archive.namelist() if ".dist-info/" not in name}


def test_a_wheel_installs_its_own_package_and_nothing_foreign(client_wheel: Path, server_wheel: Path) -> None:
    assert top_level(client_wheel) == {"toolsearch"}
    assert top_level(server_wheel) == {"toolsearch_server"}


def test_the_client_wheel_has_typed_stubs_and_the_marker(client_wheel: Path) -> None:
    with zipfile.ZipFile(client_wheel) as archive:
        names = set(archive.namelist())
    assert {"toolsearch/py.typed", "toolsearch/v1/search_service_pb2.pyi", "toolsearch/v1/search_service_pb2_grpc.pyi"} <= names


def test_the_server_wheel_has_the_sample(server_wheel: Path) -> None:
    with zipfile.ZipFile(server_wheel) as archive:
        assert "toolsearch_server/sample/github.jsonl" in archive.namelist()


def test_the_server_wheel_has_the_console_and_the_comments_of_the_contract(server_wheel: Path) -> None:
    folder = ROOT / "service" / "toolsearch_server" / "web"
    files = {f"console/{file.name}" for file in (folder / "console").iterdir() if file.is_file()} | {"comments.json"}
    with zipfile.ZipFile(server_wheel) as archive:
        assert {f"toolsearch_server/web/{name}" for name in files} <= set(archive.namelist())


@pytest.mark.skipif(UV is None, reason="uv is neither in $UV nor on PATH; make test provides it")
def test_installing_the_client_brings_grpc_and_protobuf_only(client_wheel: Path, tmp_path: Path) -> None:
    def uv(*arguments: str) -> str:
        return subprocess.run([str(UV), *arguments], check=True, capture_output=True, text=True, cwd=tmp_path).stdout

    uv("venv", "--quiet", "--python", sys.executable, "fresh")
    uv("pip", "install", "--quiet", "--python", "fresh", str(client_wheel))
    installed = {line.split("==")[0] for line in uv("pip", "freeze", "--python", "fresh").splitlines()}
    names = {line.split(" @")[0] for line in installed}
    assert names == {"grpcio", "protobuf", "toolsearch", "typing-extensions"}
    program = tmp_path / "fresh" / "bin" / "toolsearch"
    result = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
