"""What is built is what should be installed, and no more."""

import importlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = os.environ.get("UV") or shutil.which("uv")


def built(project: Path, into: Path, target: str = "wheel") -> Path:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(into)],
        cwd=project,
        check=True,
        capture_output=True,
    )
    (distribution,) = into.iterdir()
    return distribution


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


KERNEL = "toolsearch_server/libkernel.so"


def test_the_server_wheel_has_the_kernel_and_says_for_which_machines(server_wheel: Path) -> None:
    with zipfile.ZipFile(server_wheel) as archive:
        assert [name for name in archive.namelist() if "libkernel" in name] == [KERNEL]
    assert server_wheel.name.endswith(f"-py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}.whl")


def test_a_source_distribution_has_the_kernel_s_source_and_a_wheel_can_be_built_of_it(
    server_wheel: Path, tmp_path: Path
) -> None:
    source = built(ROOT, tmp_path / "source", "sdist")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        archive.extractall(tmp_path, filter="data")
    assert {"hatch_build.py", "service/toolsearch_server/kernel.c"} <= names
    assert not any(name.endswith(".so") for name in names)
    wheel = built(tmp_path / source.name.removesuffix(".tar.gz"), tmp_path / "wheel")
    with zipfile.ZipFile(wheel) as ours, zipfile.ZipFile(server_wheel) as other:
        assert set(ours.namelist()) == set(other.namelist())


def test_a_kernel_whose_compilation_was_cut_off_is_in_no_distribution(tmp_path: Path) -> None:
    folder = ROOT / "service" / "toolsearch_server"
    left = folder / "libkernel.0.so"
    left.touch()
    try:
        with (
            zipfile.ZipFile(built(ROOT, tmp_path / "wheel")) as wheel,
            tarfile.open(built(ROOT, tmp_path / "s", "sdist")) as source,
        ):
            assert [name for name in (*wheel.namelist(), *source.getnames()) if "libkernel" in name] == [KERNEL]
    finally:
        left.unlink()


def test_without_a_compiler_one_comes_from_pypi_and_compiles_for_more_than_this_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(ROOT)
    hook = importlib.import_module("hatch_build")
    commands: list[list[str]] = []

    def run(command: list[str], **_: object) -> None:
        commands.append(command)
        Path(command[command.index("-o") + 1]).touch()

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    hook._compile(tmp_path / "kernel.c", tmp_path / "libkernel.so")
    assert commands[0][1:5] == ["-m", "ziglang", "cc", "-mcpu=baseline"]
    assert [file.name for file in tmp_path.iterdir()] == ["libkernel.so"]


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
