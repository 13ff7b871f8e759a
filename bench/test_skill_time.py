"""How long a folder of skills takes: to be read, to be looked at for changes, and to be written to a server.

Compare figures of one run only. `make bench` runs them; `make test` only sees that they work.
"""

from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from support import running_server
from toolsearch import Client
from toolsearch.skills import folder_stamp, read_folder

SKILLS = 100
FILES = 5


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Each about as large as public ones are."""
    for number in range(SKILLS):
        skill = tmp_path / f"skill-{number}"
        (skill / "scripts").mkdir(parents=True)
        members = (
            f"name: skill-{number}\ndescription: Does thing {number}. Use when asked for {number}.\nlicense: MIT\ntags: [a, b]"
        )
        (skill / "SKILL.md").write_text(f"---\n{members}\n---\n# Skill {number}\n\n" + "How it is done, step by step.\n" * 150)
        for file in range(FILES):
            (skill / "scripts" / f"{file}.py").write_text(f"print({number * FILES + file})\n" * 100)
    return tmp_path


def test_reading(benchmark: BenchmarkFixture, folder: Path) -> None:
    read = benchmark(read_folder, folder)
    assert (len(read.found), read.problems) == (SKILLS, ())


def test_looking_for_changes(benchmark: BenchmarkFixture, folder: Path) -> None:
    assert benchmark(folder_stamp, folder)


def test_reading_and_writing(benchmark: BenchmarkFixture, folder: Path) -> None:
    with running_server("--store", "memory:", "--embeddings", "off") as (_, address), Client(address) as client:

        def load() -> int:
            client.sync_server("skills", [])
            return len(client.sync_server("skills", read_folder(folder).entries).added)

        assert benchmark(load) == SKILLS
