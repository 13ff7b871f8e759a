"""`toolsearch load DIR`: folders of skills and agents, from the command line to the catalog."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from client.test_cli import Run, run
from support import running_server, wait_for
from toolsearch import Client, cli

__all__ = ["run"]


def skill(root: Path, name: str, text: str = "", **files: bytes) -> None:
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text or f"---\nname: {name}\ndescription: About {name}.\n---\n# {name}\n")
    for path, content in files.items():
        (folder / path).write_bytes(content)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "team"
    skill(root, "code-reviewer", checklist=b"1. read it")
    skill(root, "deploy", "---\nname: deploy\ndescription: Ships it: to production\n---\nText\n")
    (root / "agents").mkdir()
    (root / "agents" / "tester.md").write_text("---\nname: tester\ndescription: Tests\nmodel: sonnet\n---\nYou test.\n")
    return root


def names(run: Run) -> list[str]:
    return [json.loads(line)["name"] for line in run("--json", "list")[1].splitlines()]


def wait_for_names(run: Run, *wanted: str) -> None:
    """Each command is a client of its own, which does not know what the others wrote."""
    wait_for(lambda: names(run) == sorted(wanted), what=f"the names {wanted}")


def test_a_folder_is_loaded_with_a_table_and_its_problems(run: Run, folder: Path) -> None:
    code, out, err = run("load", str(folder))
    assert code == 0
    assert out.splitlines() == [
        "tester         agent  agents/tester.md",
        "code-reviewer  skill  code-reviewer/SKILL.md",
        "deploy         skill  deploy/SKILL.md",
        "3 of server team: 3 added, 0 updated, 0 deleted, 0 unchanged, revision 1",
    ]
    assert err == (
        f"{folder}/deploy/SKILL.md:3: warning: not YAML (mapping values are not allowed here), it is read line by line: "
        "put values with : or # in quotes\n"
    )
    wait_for_names(run, "task.code_reviewer", "task.deploy", "task.tester")


def test_level_one_is_the_summary_and_level_two_the_text(run: Run, folder: Path) -> None:
    run("load", str(folder))
    wait_for_names(run, "task.code_reviewer", "task.deploy", "task.tester")
    [match] = json.loads(run("--json", "search", "-n", "1", "code reviewer")[1])["matches"]
    assert (match["name"], match["summary"], match["definition"]) == ("task.code_reviewer", "About code-reviewer.", None)
    [entry] = json.loads(run("--json", "describe", "task.code_reviewer")[1])["entries"]
    assert entry["definition"]["content"] == "# code-reviewer"
    assert "checklist  10 bytes, application/octet-stream" in run("describe", "task.code_reviewer")[1]


def test_a_bundled_file_is_read(address: str, tenant: str, run: Run, folder: Path, tmp_path: Path) -> None:
    skill(folder, "binary", blob=bytes(range(256)))
    run("load", str(folder))
    wait_for_names(run, "task.binary", "task.code_reviewer", "task.deploy", "task.tester")
    assert json.loads(run("--json", "resource", "task.code_reviewer", "checklist")[1])["content_base64"] == "MS4gcmVhZCBpdA=="
    assert run("resource", "task.binary", "blob", "-o", str(tmp_path / "blob"))[0] == 0
    assert (tmp_path / "blob").read_bytes() == bytes(range(256))
    code, _, err = run("resource", "task.binary", "nothing")
    assert (code, err) == (1, "toolsearch: the entry has no resource 'nothing'\n")
    program = "import sys; from toolsearch.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", program, "--target", address, "--tenant", tenant]
    shown = subprocess.run([*command, "resource", "task.binary", "blob"], capture_output=True, check=True)
    assert shown.stdout == bytes(range(256))


def test_json_tells_all_of_it(run: Run, folder: Path) -> None:
    told = json.loads(run("--json", "load", str(folder), "--server", "mine")[1])
    assert told["server"] == "mine"
    assert told["entries"][0] == {"kind": "agent", "name": "tester", "path": "agents/tester.md"}
    assert [(each["path"], each["line"], each["level"]) for each in told["problems"]] == [("deploy/SKILL.md", 3, "warning")]
    assert sorted(told["added"]) == ["task.code_reviewer", "task.deploy", "task.tester"]


def test_without_prune_nothing_is_deleted(run: Run, folder: Path) -> None:
    run("load", str(folder))
    (folder / "deploy" / "SKILL.md").unlink()
    assert run("load", str(folder))[0] == 0
    assert "task.deploy" in names(run)


def test_prune_deletes_what_the_folder_has_no_more_and_nothing_of_others(run: Run, folder: Path, tmp_path: Path) -> None:
    skill(tmp_path / "teams", "other")
    run("load", str(folder))
    run("load", str(tmp_path / "teams"))
    (folder / "deploy" / "SKILL.md").unlink()
    code, out, _ = run("load", "--prune", str(folder))
    assert (code, out.splitlines()[-1]) == (0, "2 of server team: 0 added, 0 updated, 1 deleted, 2 unchanged, revision 3")
    wait_for_names(run, "task.code_reviewer", "task.other", "task.tester")


def test_prune_deletes_nothing_while_a_file_cannot_be_read(run: Run, folder: Path) -> None:
    run("load", str(folder))
    (folder / "deploy" / "SKILL.md").write_bytes(b"\x00")
    code, _, err = run("load", "--prune", str(folder))
    assert code == 1
    assert f"{folder}/deploy/SKILL.md:1: error: is not text: it has zero bytes" in err
    assert f"toolsearch: {folder}: nothing was deleted: 1 files could not be read" in err
    assert "task.deploy" in names(run)


def test_a_folder_without_skills_is_a_failure(run: Run, tmp_path: Path) -> None:
    code, _, err = run("load", "--prune", str(tmp_path))
    assert code == 1
    assert "no skills (SKILL.md) and no agents (agents/*.md) to load" in err


def test_what_the_service_refuses_by_itself_is_left_out_and_the_others_are_loaded(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    skill(folder, "long", "---\nname: long\ndescription: d\n---\n" + "x" * 300)
    with running_server("--store", "memory:", "--embeddings", "off", "--limit", "definition_bytes=300") as (_, address):
        code = cli.run(["load", str(folder)], {"TOOLSEARCH_TARGET": address})
        with Client(address) as client:
            loaded = {entry.name for entry in client.list_tools(min_revision=1)}
    assert code == 0
    assert loaded == {"task.code_reviewer", "task.deploy", "task.tester"}
    told = r"long/SKILL.md:1: error: the service refuses it: upserts\[3\].definition has \d+ bytes, at most 300 are allowed"
    assert re.search(told, capsys.readouterr().err)


def test_files_and_folders_at_once_are_refused(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text("[]")
    assert run("load", str(folder), str(tmp_path / "tools.json"))[0] == 1
    assert run("load", "--prune", str(tmp_path / "tools.json"))[0] == 1
    assert run("load", "--server", "x", str(folder), str(folder))[0] == 1


def test_without_pyyaml_it_is_said_what_to_install(folder: Path) -> None:
    program = "import sys; sys.modules['yaml'] = None; from toolsearch.cli import main; main(sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", program, "load", str(folder)], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"toolsearch: {folder}: reading skills needs PyYAML: pip install 'toolsearch[skills]'\n"
