"""Skills and agents in folders: read as entries, one by one, and never from outside the folder."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolsearch import EntryInput, Kind
from toolsearch.skills import SkillFolder, SkillLimits, _read_beneath, folder_stamp, read_folder

REVIEWER = """---
name: code-reviewer
description: Reviews changes for mistakes. Use before a merge.
version: 1.10
author: Ada
license: MIT
tags: review, quality, "pull requests"
capabilities: [diff-reading]
constraints:
  - never edits files
allowed-tools: Read, Grep, Bash(git diff:*)
argument-hint: "[file]"
---
# Code Review

## Before a merge

Read the diff first.
"""


def write(root: Path, files: dict[str, str | bytes]) -> Path:
    for path, content in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def only(folder: SkillFolder) -> EntryInput:
    (found,) = folder.found
    return found.entry


def told(folder: SkillFolder) -> list[str]:
    return list(map(str, folder.problems))


def test_a_skill_is_an_entry_with_all_that_its_frontmatter_says(tmp_path: Path) -> None:
    folder = read_folder(write(tmp_path, {"code-reviewer/SKILL.md": REVIEWER}))
    entry = only(folder)
    assert (entry.kind, entry.namespace) == (Kind.SKILL, "task")
    assert entry.tags == ["review", "quality", "pull requests"]
    assert entry.capabilities == ["diff-reading"]
    assert entry.definition == {
        "name": "code-reviewer",
        "title": "Code Review",
        "description": "Reviews changes for mistakes. Use before a merge.",
        "version": "1.10",
        "author": "Ada",
        "license": "MIT",
        "tags": ["review", "quality", "pull requests"],
        "capabilities": ["diff-reading"],
        "constraints": ["never edits files"],
        "tools": ["Read", "Grep", "Bash(git diff:*)"],
        "metadata": {"argument-hint": "[file]"},
        "content": "# Code Review\n\n## Before a merge\n\nRead the diff first.",
    }
    assert folder.problems == ()


def test_metadata_in_the_frontmatter_counts_where_the_frontmatter_is_silent(tmp_path: Path) -> None:
    text = "---\nname: x\ndescription: d\nversion: 2\nmetadata:\n  version: 1\n  author: Bo\n  tags: [t]\n  owner: me\n---\n"
    definition = only(read_folder(write(tmp_path, {"x/SKILL.md": text}))).definition
    assert (definition["version"], definition["author"], definition["tags"]) == ("2", "Bo", ["t"])
    assert definition["metadata"] == {"owner": "me"}


def test_metadata_yaml_is_merged_under_the_frontmatter(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "x/SKILL.md": "---\nname: x\ndescription: from the frontmatter\n---\n",
        "x/metadata.yaml": "description: from the file\nauthor: Bo\ntags: [t]\n",
    }
    entry = only(read_folder(write(tmp_path, files)))
    assert entry.definition["description"] == "from the frontmatter"
    assert (entry.definition["author"], entry.tags, entry.resources) == ("Bo", ["t"], ())


def test_an_agent_is_an_entry_of_its_own_kind(tmp_path: Path) -> None:
    text = "---\nname: tester\ndescription: Tests\\n\\nand runs them\ntools: Read Bash(make *)\nmodel: sonnet\n---\nYou test."
    entry = only(read_folder(write(tmp_path, {".claude/agents/team/tester.md": text})))
    assert entry.kind is Kind.AGENT
    assert entry.definition == {
        "name": "tester",
        "description": "Tests\n\nand runs them",
        "model": "sonnet",
        "tools": ["Read", "Bash(make *)"],
        "content": "You test.",
    }


def test_a_folder_that_is_itself_named_agents_has_agents(tmp_path: Path) -> None:
    root = write(tmp_path / "agents", {"a.md": "---\nname: a\ndescription: d\n---\n", "README.md": "# About"})
    assert only(read_folder(root)).definition["name"] == "a"


def test_what_is_no_agent_below_a_folder_of_agents_is_left_out_without_an_error(tmp_path: Path) -> None:
    front = "---\nname: a\ndescription: d\n---\n"
    root = write(tmp_path / "agents", {"a.md": front, "x/commands/b.md": front, "notes.md": "# Notes\n"})
    folder = read_folder(root)
    assert [found.path for found in folder.found] == ["a.md"]
    assert [(problem.path, problem.level) for problem in folder.problems] == [("notes.md", "warning")]


def test_markdown_elsewhere_is_nothing(tmp_path: Path) -> None:
    folder = read_folder(write(tmp_path, {"docs/a.md": "---\nname: a\n---\n", "README.md": "x"}))
    assert (folder.found, folder.problems) == ((), ())


def test_an_agents_folder_inside_a_skill_is_the_skills_own(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"s/SKILL.md": REVIEWER, "s/agents/grader.md": "---\nname: grader\n---\n"}
    entry = only(read_folder(write(tmp_path, files)))
    assert [resource.path for resource in entry.resources] == ["agents/grader.md"]


def test_bundled_files_are_resources_of_the_nearest_skill(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "outer/SKILL.md": "---\nname: outer\ndescription: d\n---\n",
        "outer/scripts/run.py": "print()",
        "outer/z/SKILL.md": "---\nname: inner\ndescription: d\n---\n",
        "outer/z/logo.png": b"\x89PNG",
        "outer/.env": "SECRET=1",
        "outer/__pycache__/run.pyc": b"x",
    }
    outer, inner = read_folder(write(tmp_path, files)).entries
    assert [(each.path, each.content, each.media_type) for each in outer.resources] == [
        ("scripts/run.py", b"print()", "text/x-python")
    ]
    assert inner.definition["resources"] == [{"path": "logo.png", "mediaType": "image/png", "bytes": 4}]


def test_a_skill_without_frontmatter_has_the_folders_name_and_its_first_paragraph(tmp_path: Path) -> None:
    text = "# Deploying\n\n```\ncode\n```\n\nHow we deploy\nto production.\n\nMore.\n"
    folder = read_folder(write(tmp_path, {"deploy-app/SKILL.md": text}))
    definition = only(folder).definition
    assert (definition["name"], definition["title"]) == ("deploy-app", "Deploying")
    assert definition["description"] == "How we deploy to production."
    assert told(folder) == [
        "deploy-app/SKILL.md:1: no frontmatter: the name is the folder's, the description the first paragraph"
    ]


def test_what_the_frontmatter_lacks_is_told_with_the_file_and_line(tmp_path: Path) -> None:
    folder = read_folder(write(tmp_path, {"a/skill.md": "---\nname:\nlicense: MIT\n---\nText.\n"}))
    assert only(folder).definition["name"] == "a"
    assert [(problem.path, problem.line, problem.level) for problem in folder.problems] == [
        ("a/skill.md", 1, "warning"),
        ("a/skill.md", 2, "warning"),
    ]


@pytest.mark.parametrize("name", ["", "[", "---", "{}"])
def test_what_is_no_name_is_replaced_by_the_folders(tmp_path: Path, name: str) -> None:
    folder = read_folder(write(tmp_path, {"a-b/SKILL.md": f"---\nname: {name}\ndescription: d\n---\n"}))
    assert only(folder).definition["name"] == "a-b"
    assert [line for line in told(folder) if "a-b/SKILL.md:2: no name" in line]


@pytest.mark.parametrize(
    ("encoding", "guessed"), [("utf-8-sig", False), ("utf-16", False), ("utf-32", False), ("cp1252", True)]
)
def test_other_encodings_and_line_ends_are_read(tmp_path: Path, encoding: str, guessed: bool) -> None:
    text = "---\r\nname: café\r\ndescription: Größe\r\n---\r\nBody\r\n"
    folder = read_folder(write(tmp_path, {"x/SKILL.md": text.encode(encoding)}))
    definition = only(folder).definition
    assert (definition["name"], definition["description"], definition["content"]) == ("café", "Größe", "Body")
    assert bool(folder.problems) is guessed


def test_what_is_not_text_stops_nothing_else(tmp_path: Path) -> None:
    folder = read_folder(write(tmp_path, {"a/SKILL.md": b"\x00\x01", "b/SKILL.md": REVIEWER}))
    assert only(folder).definition["name"] == "code-reviewer"
    assert told(folder) == ["a/SKILL.md:1: is not text: it has zero bytes"]


def test_of_two_with_one_name_the_first_is_kept(tmp_path: Path) -> None:
    folder = read_folder(write(tmp_path, {"a/SKILL.md": REVIEWER, "b/SKILL.md": REVIEWER}))
    assert folder.found[0].path == "a/SKILL.md"
    assert told(folder) == ["b/SKILL.md:2: is named 'code-reviewer' as a/SKILL.md is, which is kept"]


def test_large_files_leave_no_text_unread(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"{name}/{file}": "x" * 40 for name in "ab" for file in ("SKILL.md", "f", "g")}
    folder = read_folder(write(tmp_path, files), SkillLimits(folder_bytes=130))
    assert [[each.path for each in entry.resources] for entry in folder.entries] == [["f"], []]
    assert [problem.path for problem in folder.problems if "folder_bytes" in problem.message] == ["a/SKILL.md", "b/SKILL.md"]


def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    secret = write(tmp_path / "outside", {"SKILL.md": REVIEWER, "secret.txt": "s3cret"})
    root = write(tmp_path / "root", {"a/SKILL.md": REVIEWER})
    (root / "linked").symlink_to(secret)
    (root / "a" / "notes.txt").symlink_to("../../outside/secret.txt")
    folder = read_folder(root)
    assert only(folder).resources == ()
    assert told(folder) == [
        "a/notes.txt:1: is a link that leads out of the folder, it is left out",
        "linked:1: is a link that leads out of the folder, it is left out",
    ]


@pytest.mark.parametrize("swapped", ["a", "a/f"])
def test_a_link_put_in_place_of_what_was_found_leads_nowhere(tmp_path: Path, swapped: str) -> None:
    outside = write(tmp_path / "outside", {"a/f": "s3cret"})
    root = write(tmp_path / "root", {"a/f": "fine"})
    assert _read_beneath(root, ("a", "f"), 100) == b"fine"
    (root / swapped).rename(tmp_path / "old")
    (root / swapped).symlink_to(outside / swapped)
    with pytest.raises(OSError, match=r"Not a directory|Too many levels of symbolic links"):
        _read_beneath(root, ("a", "f"), 100)


def test_a_link_inside_is_followed_once(tmp_path: Path) -> None:
    root = write(tmp_path, {"..data/SKILL.md": REVIEWER, "a/b.txt": "x"})
    (root / "SKILL.md").symlink_to("..data/SKILL.md")
    (root / "a" / "loop").symlink_to("..")
    entry = only(read_folder(root))
    assert [resource.path for resource in entry.resources] == ["a/b.txt"]


def test_a_root_that_is_a_link_is_what_it_leads_to(tmp_path: Path) -> None:
    write(tmp_path / "real", {"a/SKILL.md": REVIEWER})
    (tmp_path / "link").symlink_to("real")
    assert only(read_folder(tmp_path / "link")).definition["name"] == "code-reviewer"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(write(tmp_path, {"a/SKILL.md": REVIEWER}) / "a" / "pipe")
    assert only(read_folder(tmp_path)).resources == ()


def test_a_folder_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        read_folder(tmp_path / "missing")
    with pytest.raises(OSError, match="Not a directory"):
        read_folder(write(tmp_path, {"file": "x"}) / "file")


LIMITED = {
    "skill_bytes": ({"a/SKILL.md": "x" * 101}, 101, 100),
    "definition_bytes": ({"a/SKILL.md": "x"}, 44, 43),
    "resource_bytes": ({"a/SKILL.md": "x", "a/f": "x" * 11}, 11, 10),
    "resources_per_entry": ({"a/SKILL.md": "x", "a/f": "", "a/g": ""}, 2, 1),
    "resource_bytes_per_entry": ({"a/SKILL.md": "x", "a/f": "12345", "a/g": "12345"}, 10, 9),
    "resource_path_length": ({"a/SKILL.md": "x", "a/folder/file": ""}, 11, 10),
    "folder_depth": ({"a/b/c/SKILL.md": "x"}, 3, 2),
    "folder_files": ({"a/SKILL.md": "x", "a/f": "x"}, 3, 2),
    "folder_bytes": ({"a/SKILL.md": "12345", "a/f": "12345"}, 10, 9),
    "name_length": ({"a/SKILL.md": "---\nname: abcdef\ndescription: d\n---\n"}, 6, 5),
    "description_length": ({"a/SKILL.md": "---\nname: a\ndescription: abcdef\n---\n"}, 6, 5),
    "label_length": ({"a/SKILL.md": "---\nname: a\ndescription: d\ntags: abcdef, b\n---\n"}, 6, 5),
    "labels": ({"a/SKILL.md": "---\nname: a\ndescription: d\ntags: a, b\n---\n"}, 2, 1),
}


@pytest.mark.parametrize("limit", LIMITED)
def test_a_limit_is_told_by_its_name_from_its_edge_on(tmp_path: Path, limit: str) -> None:
    files, enough, too_little = LIMITED[limit]
    write(tmp_path, dict(files))
    assert not [line for line in told(read_folder(tmp_path, SkillLimits(**{limit: enough}))) if limit in line]
    assert [line for line in told(read_folder(tmp_path, SkillLimits(**{limit: too_little}))) if limit in line]


def test_the_stamp_changes_with_any_file_and_only_then(tmp_path: Path) -> None:
    write(tmp_path, {"a/SKILL.md": REVIEWER, "a/f": "1"})
    stamps = [folder_stamp(tmp_path), folder_stamp(tmp_path)]
    write(tmp_path, {"a/f": "22"})
    stamps.append(folder_stamp(tmp_path))
    (tmp_path / "a" / "f").unlink()
    stamps.append(folder_stamp(tmp_path))
    assert stamps[0] == stamps[1]
    assert len(set(stamps)) == 3


PARTS = st.sampled_from(["a", "SKILL.md", "skill.md", "agents", "x.md", "metadata.yaml", ".hidden", "f.txt", "..data"])
CONTENTS = st.one_of(
    st.binary(max_size=60), st.sampled_from([REVIEWER.encode(), b"---\nname: [\n---\n", b"---\nname: ../x\n---\n"])
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    files=st.lists(st.tuples(st.lists(PARTS, min_size=1, max_size=4), CONTENTS), max_size=6),
    links=st.lists(
        st.tuples(st.lists(PARTS, min_size=1, max_size=3), st.sampled_from([".", "..", "../..", "/", "a", "{outside}"])),
        max_size=3,
    ),
)
def test_whatever_is_in_a_folder_nothing_outside_is_read(
    tmp_path_factory: pytest.TempPathFactory, files: list[tuple[list[str], bytes]], links: list[tuple[list[str], str]]
) -> None:
    base = tmp_path_factory.mktemp("any")
    outside = write(base / "outside", {"SKILL.md": "---\nname: TOPSECRET\ndescription: TOPSECRET\n---\n", "f.txt": "TOPSECRET"})
    root = base / "root"
    root.mkdir()
    for parts, content in files:
        path = root.joinpath(*parts)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError:
            continue  # a file where a folder should be
    for parts, target in links:
        path = root.joinpath(*parts)
        taken = path.exists() or path.is_symlink()
        if path.parent.is_dir() and not taken and path.parent.resolve().is_relative_to(root):
            path.symlink_to(target.format(outside=outside))
    folder = read_folder(root)
    assert "TOPSECRET" not in repr(
        [(found.entry.definition, [each.content for each in found.entry.resources]) for found in folder.found]
    )
