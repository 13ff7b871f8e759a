"""Skills and agents in a folder, as entries: `SKILL.md` with its bundled files, and markdown files below a folder `agents`.

    folder = read_folder(Path("skills"))
    client.sync_server("skills", [found.entry for found in folder.found])
    for problem in folder.problems:
        print(problem)

A skill that cannot be read is a problem of its own and stops nothing else. Nothing outside the folder is ever read: links that
lead out of it are refused, whatever is swapped meanwhile. Needs the extra `skills`.
"""

import hashlib
import json
import mimetypes
import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from toolsearch import frontmatter
from toolsearch._calls import to_json
from toolsearch.frontmatter import Frontmatter, Yaml
from toolsearch.types import EntryInput, Kind, ResourceInput

NAMESPACE = "task"
SKILL_FILE = "skill.md"
"""In small letters: many write it so."""
METADATA_FILES = ("metadata.yaml", "metadata.yml")
AGENTS_FOLDER = "agents"
OTHER_FOLDERS = frozenset({"commands", "docs", "references", "skills", "templates"})
"""Markdown below them is something else, also where they are below a folder of agents."""
NOT_AGENTS = frozenset({"readme.md", "changelog.md", "license.md", "contributing.md", "claude.md", "agents.md", "index.md"})
SKIPPED_FOLDERS = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", "venv"})

_WORDS = re.compile(r"(?:\([^()]*\)|[^\s(),])+")
_BETWEEN_COMMAS = re.compile(r"(?:\([^()]*\)|[^,(]|\((?![^()]*\)))+")
_TYPES = mimetypes.MimeTypes()
_OWN_TYPES = {".md": "text/markdown", ".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "application/toml"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillLimits:
    """What one folder may cost. Each is named in the problem that it causes."""

    folder_depth: int = 16
    folder_files: int = 20_000
    """Files and folders looked at."""
    folder_bytes: int = 64 * 1024 * 1024
    """Of all files that are read."""
    skill_bytes: int = 256 * 1024
    """Of SKILL.md, of an agent's file and of metadata.yaml."""
    definition_bytes: int = 256 * 1024
    """Of what becomes of it; the service takes no more by default."""
    resource_bytes: int = 4 * 1024 * 1024
    resources_per_entry: int = 200
    resource_bytes_per_entry: int = 12 * 1024 * 1024
    resource_path_length: int = 400
    name_length: int = 256
    description_length: int = 16_384
    label_length: int = 64
    labels: int = 32
    """Tags, and capabilities, of one entry."""


DEFAULT_LIMITS = SkillLimits()


@dataclass(frozen=True, slots=True)
class Problem:
    """`error`: the file is left out. `warning`: it is there, but not all as it was meant."""

    path: str
    """Relative to the folder."""
    line: int
    message: str
    level: Literal["error", "warning"] = "warning"

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True, slots=True)
class Found:
    """An entry and the file that it was read from."""

    path: str
    entry: EntryInput


@dataclass(frozen=True, slots=True)
class SkillFolder:
    found: tuple[Found, ...]
    problems: tuple[Problem, ...]

    @property
    def entries(self) -> list[EntryInput]:
        return [found.entry for found in self.found]


def read_folder(root: Path, limits: SkillLimits = DEFAULT_LIMITS) -> SkillFolder:
    """All skills and agents below `root`, by path. Raises OSError if `root` itself is no folder that can be read."""
    reading = _Reading(_Tree.of(root, limits), limits)
    return reading.folder()


def folder_stamp(root: Path, limits: SkillLimits = DEFAULT_LIMITS) -> str:
    """Tells one state of a folder from another without reading its files."""
    tree = _Tree.of(root, limits)
    facts = [(file.path, *file.stamp) for file in tree.files]
    return hashlib.blake2b(json.dumps([facts, [str(problem) for problem in tree.problems]]).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    """Relative to the folder, as it was found."""
    real: tuple[str, ...]
    """The parts of where it is, relative to where the folder is: without links."""
    size: int
    stamp: tuple[int, ...]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]


@dataclass(slots=True)
class _Tree:
    """The files of a folder, found without reading them."""

    root: Path
    """Without links."""
    limits: SkillLimits
    files: list[_File] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _looked_at: int = 0
    _visited: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, root: Path, limits: SkillLimits) -> "_Tree":
        tree = cls(Path(os.path.realpath(root, strict=True)), limits)
        os.scandir(tree.root).close()  # a root that cannot be read is an error, a folder below it a problem
        tree._walk("", tree.root, 0)
        tree.files.sort(key=lambda file: file.path)
        return tree

    def _walk(self, path: str, folder: Path, depth: int) -> None:
        self._visited.add(str(folder))
        if depth > self.limits.folder_depth:
            self._problem(path, f"is more than {self.limits.folder_depth} folders deep (folder_depth), it is left out")
            return
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            self._problem(path, f"cannot be read: {error.strerror}")
            return
        for entry in entries:
            self._looked_at += 1
            if self._looked_at > self.limits.folder_files:
                if self._looked_at == self.limits.folder_files + 1:
                    allowed = self.limits.folder_files
                    self._problem(path, f"more than {allowed} files and folders (folder_files), the rest is left out")
                return
            self._look_at(entry, f"{path}/{entry.name}" if path else entry.name, depth)

    def _look_at(self, entry: "os.DirEntry[str]", path: str, depth: int) -> None:
        try:
            real = Path(os.path.realpath(entry.path, strict=True)) if entry.is_symlink() else Path(entry.path)
            if not real.is_relative_to(self.root):
                self._problem(path, "is a link that leads out of the folder, it is left out", "error")
                return
            found = real.lstat()
        except OSError as error:
            self._problem(path, f"cannot be read: {error.strerror}")
            return
        if not _is_text(path):
            self._problem(ascii(path), "has a name that is not text, it is left out")
        elif stat.S_ISDIR(found.st_mode):
            # A Kubernetes volume has its files in folders that begin with two dots, and links to them.
            if entry.name not in SKIPPED_FOLDERS and not entry.name.startswith("..") and str(real) not in self._visited:
                self._walk(path, real, depth + 1)
        elif stat.S_ISREG(found.st_mode):
            stamp = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev)
            self.files.append(_File(path, real.relative_to(self.root).parts, found.st_size, stamp))

    def _problem(self, path: str, message: str, level: Literal["error", "warning"] = "warning") -> None:
        self.problems.append(Problem(path or ".", 1, message, level))


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Unreadable(Exception):
    """Why one skill or agent is left out, and the line."""

    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class _FolderFull(_Unreadable):
    pass


class _Reading:
    def __init__(self, tree: _Tree, limits: SkillLimits) -> None:
        self._tree = tree
        self._limits = limits
        self._problems = list(tree.problems)
        self._bytes = 0
        self._found: dict[tuple[Kind, str], Found] = {}

    def folder(self) -> SkillFolder:
        skills: dict[str, _File] = {}
        for file in self._tree.files:
            if file.name.lower() == SKILL_FILE:
                skills.setdefault(file.folder, file)  # SKILL.md comes before skill.md
        bundled = _bundled(self._tree.files, skills)
        described: dict[str, _Described] = {}
        for folder, file in skills.items():
            with self._one(file):
                described[folder] = self._skill(file, bundled[folder])
        for file in self._tree.files:
            if self._may_be_agent(file, skills):
                with self._one(file):
                    self._agent(file)
        # Last, so that large files leave no text unread.
        for folder, skill in described.items():
            file = skills[folder]
            with self._one(file):
                name = folder.rpartition("/")[2] or self._tree.root.name
                self._add(file, Kind.SKILL, skill, fallback=name, resources=self._resources(file, bundled[folder]))
        found = sorted(self._found.values(), key=lambda each: each.path)
        return SkillFolder(tuple(found), tuple(sorted(self._problems, key=lambda problem: (problem.path, problem.line))))

    @contextmanager
    def _one(self, file: _File) -> Iterator[None]:
        try:
            yield
        except _Unreadable as error:
            self._problems.append(Problem(file.path, error.line, error.message, "error"))
        except OSError as error:
            self._problems.append(Problem(file.path, 1, f"cannot be read: {error.strerror}", "error"))

    def _may_be_agent(self, file: _File, skills: Mapping[str, _File]) -> bool:
        if not file.name.lower().endswith(".md") or file.name.startswith(".") or file.name.lower() in NOT_AGENTS:
            return False
        if any(folder in skills for folder in _ancestors(file.folder)):
            return False
        above = [self._tree.root.name, *file.folder.split("/")]
        nearest = next((folder for folder in reversed(above) if folder == AGENTS_FOLDER or folder in OTHER_FOLDERS), "")
        return nearest == AGENTS_FOLDER

    def _skill(self, file: _File, bundled: list[_File]) -> "_Described":
        front = self._front(file)
        metadata = next((other for other in bundled if _is_metadata(other, file)), None)
        if not front.present:
            self._warn(file, 1, "no frontmatter: the name is the folder's, the description the first paragraph")
        return self._described(file, front, self._metadata(metadata))

    def _agent(self, file: _File) -> None:
        front = self._front(file)
        if not front.present:
            self._warn(file, 1, "no frontmatter, so it is not taken for an agent")
            return
        self._add(file, Kind.AGENT, self._described(file, front, {}), fallback=file.name[: -len(".md")], resources=[])

    def _front(self, file: _File) -> Frontmatter:
        front = frontmatter.split(self._text(file))
        for note in front.notes:
            self._warn(file, note.line, note.message)
        return front

    def _metadata(self, file: _File | None) -> dict[str, Yaml]:
        if file is None:
            return {}
        try:
            members, notes = frontmatter.parse(self._text(file))
        except (OSError, _Unreadable) as error:
            message = error.message if isinstance(error, _Unreadable) else f"cannot be read: {error.strerror}"
            self._warn(file, 1, message)
            return {}
        for note in notes:
            self._warn(file, note.line, note.message)
        return members

    def _described(self, file: _File, front: Frontmatter, metadata: Mapping[str, Yaml]) -> "_Described":
        return _Described(front, metadata, self._limits, lambda line, message: self._warn(file, line, message))

    def _add(self, file: _File, kind: Kind, described: "_Described", *, fallback: str, resources: list[ResourceInput]) -> None:
        definition = described.definition(fallback)
        if resources:
            definition["resources"] = [
                {"path": each.path, "mediaType": each.media_type, "bytes": len(each.content)} for each in resources
            ]
        size = len(to_json(definition).encode())
        if size > self._limits.definition_bytes:
            allowed = self._limits.definition_bytes
            raise _Unreadable(f"its definition has {size} bytes, at most {allowed} are allowed (definition_bytes)")
        same = self._found.get((kind, definition["name"]))
        if same is not None:
            line = described.front.line_of("name")
            raise _Unreadable(f"is named {definition['name']!r} as {same.path} is, which is kept", line)
        entry = EntryInput(
            definition=definition,
            kind=kind,
            namespace=NAMESPACE,
            tags=definition.get("tags", ()),
            capabilities=definition.get("capabilities", ()),
            resources=tuple(resources),
        )
        self._found[kind, definition["name"]] = Found(file.path, entry)

    def _resources(self, skill: _File, bundled: Iterable[_File]) -> list[ResourceInput]:
        resources: list[ResourceInput] = []
        total = 0
        limits = self._limits
        for file in bundled:
            if _is_metadata(file, skill):
                continue
            path = file.path.removeprefix(f"{skill.folder}/") if skill.folder else file.path
            if len(resources) == limits.resources_per_entry:
                allowed = limits.resources_per_entry
                self._warn(skill, 1, f"more than {allowed} bundled files (resources_per_entry), the rest is left out")
                break
            if not path.isprintable():
                self._warn(file, 1, "its name has control characters, it is not bundled")
                continue
            if len(path) > limits.resource_path_length:
                allowed = limits.resource_path_length
                self._warn(file, 1, f"its path has more than {allowed} characters (resource_path_length), it is not bundled")
                continue
            try:
                content = self._content(file, limits.resource_bytes, "resource_bytes")
            except _FolderFull as error:
                self._warn(skill, 1, f"{error.message}, with what else is bundled")
                break
            except (_Unreadable, OSError) as error:
                message = error.message if isinstance(error, _Unreadable) else f"cannot be read: {error.strerror}"
                self._warn(file, 1, f"{message}, it is not bundled")
                continue
            total += len(content)
            if total > limits.resource_bytes_per_entry:
                allowed = limits.resource_bytes_per_entry
                self._warn(
                    skill, 1, f"bundled files of more than {allowed} bytes (resource_bytes_per_entry), the rest is left out"
                )
                break
            resources.append(ResourceInput(path, content, _media_type(path)))
        return resources

    def _text(self, file: _File) -> str:
        text, guessed = _decoded(self._content(file, self._limits.skill_bytes, "skill_bytes"))
        if guessed:
            self._warn(file, 1, f"not UTF-8, it is read as {guessed}")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def _content(self, file: _File, allowed: int, limit: str) -> bytes:
        if file.size > allowed:
            raise _Unreadable(f"has {file.size} bytes, at most {allowed} are allowed ({limit})")
        content = _read_beneath(self._tree.root, file.real, allowed + 1)
        if len(content) > allowed:
            raise _Unreadable(f"has more than {allowed} bytes, which is all that is allowed ({limit})")
        self._bytes += len(content)
        if self._bytes > self._limits.folder_bytes:
            raise _FolderFull(f"the folder has more than {self._limits.folder_bytes} bytes (folder_bytes), this is left out")
        return content

    def _warn(self, file: _File, line: int, message: str) -> None:
        self._problems.append(Problem(file.path, line, message))


def _bundled(files: Iterable[_File], skills: Mapping[str, _File]) -> dict[str, list[_File]]:
    """The files of each skill: those whose nearest skill it is. Hidden ones are nobody's: they may hold secrets."""
    bundled: dict[str, list[_File]] = {folder: [] for folder in skills}
    for file in files:
        nearest = next((folder for folder in _ancestors(file.folder) if folder in skills), None)
        if nearest is None or file.name.lower() == SKILL_FILE:
            continue
        inside = file.path.removeprefix(nearest).lstrip("/")
        if not any(part.startswith(".") for part in inside.split("/")):
            bundled[nearest].append(file)
    return bundled


def _is_metadata(file: _File, skill: _File) -> bool:
    return file.folder == skill.folder and file.name in METADATA_FILES


def _ancestors(folder: str) -> Iterator[str]:
    """The folder and those above it, the nearest first; the root is empty."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""


def _read_beneath(root: Path, parts: tuple[str, ...], most: int) -> bytes:
    """Opened step by step without following links, so that one put there meanwhile leads nowhere."""
    if os.open not in os.supports_dir_fd:  # Windows
        with root.joinpath(*parts).open("rb") as stream:
            return stream.read(most)
    opened = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=opened)
            os.close(opened)
            opened = below
        # Without waiting: a pipe put there would be waited for until somebody writes to it.
        file = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=opened)
    finally:
        os.close(opened)
    with os.fdopen(file, "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise _Unreadable("is not a file any more")
        return stream.read(most)


def _decoded(data: bytes) -> tuple[str, str]:
    """The text, and the encoding if it had to be guessed."""
    guessed = ""
    if data.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        text = data.decode("utf-32", "replace")
    elif data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", "replace")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            guessed = "Windows-1252"
            text = data.decode("cp1252", "replace")
    if "\0" in text:
        raise _Unreadable("is not text: it has zero bytes")
    return text, guessed


def _media_type(path: str) -> str:
    suffix = os.path.splitext(path)[1].lower()  # noqa: PTH122 a path of the entry, not of this machine
    guessed = _OWN_TYPES.get(suffix) or _TYPES.guess_type(f"file{suffix}")[0]
    return guessed or "application/octet-stream"


class _Described:
    """What a file says about itself: its frontmatter, the `metadata` in it, then metadata.yaml."""

    def __init__(self, front: Frontmatter, metadata: Mapping[str, Yaml], limits: SkillLimits, warn: Any) -> None:
        self.front = front
        self._limits = limits
        self._warn = warn
        inner, outer_inner = front.members.get("metadata"), metadata.get("metadata")
        self._layers: list[Mapping[str, Yaml]] = [
            front.members,
            inner if isinstance(inner, dict) else {},
            metadata,
            outer_inner if isinstance(outer_inner, dict) else {},
        ]
        self._used: set[str] = {"metadata"}

    def definition(self, fallback: str) -> dict[str, Any]:
        body = self.front.body
        members: dict[str, Any] = {
            "name": self._name(fallback),
            "title": self._line("title", "display_name", "displayName") or _first_heading(body),
            "description": self._description(body),
            "version": self._line("version"),
            "author": self._author(),
            "license": self._line("license"),
            "model": self._line("model"),
            "compatibility": self._line("compatibility"),
            "tags": self._labels("tags", "keywords"),
            "capabilities": self._labels("capabilities"),
            "constraints": _texts(self._value("constraints"), commas=False),
            "tools": _texts(self._value("tools", "allowed-tools", "allowed_tools", "allowedTools"), spaced=True),
            "metadata": self._rest(),
            "content": body.strip("\n"),
        }
        return {key: _encodable(value) for key, value in members.items() if value or key in ("name", "content")}

    def _value(self, *keys: str) -> Yaml:
        self._used.update(keys)
        return next((layer[key] for layer in self._layers for key in keys if layer.get(key) not in (None, "")), None)

    def _line(self, *keys: str) -> str:
        value = self._value(*keys)
        return " ".join(str(value).split()) if isinstance(value, str | bool) else ""

    def _name(self, fallback: str) -> str:
        line = self.front.line_of("name")
        name = _clean(self._line("name"))
        if not any(map(str.isalnum, name)):
            name = _clean(fallback)
            if self.front.present:
                self._warn(line, f"no name that could be one: it is called {name} after its folder or file")
        if len(name) > self._limits.name_length:
            allowed = self._limits.name_length
            raise _Unreadable(f"its name has {len(name)} characters, at most {allowed} are allowed (name_length)", line)
        if not name:
            raise _Unreadable("has no name", line)
        return name

    def _description(self, body: str) -> str:
        value = self._value("description")
        text = "\n".join(map(str, value)) if isinstance(value, list) else "" if isinstance(value, dict) else str(value or "")
        line = self.front.line_of("description")
        if not text.strip():
            text = _first_paragraph(body)
            if self.front.present:
                self._warn(
                    line,
                    "no description: it is the first paragraph" if text else "no description, and no text to take one from",
                )
        text = text.replace("\\n", "\n").strip()
        if len(text) > self._limits.description_length:
            allowed = self._limits.description_length
            self._warn(line, f"a description of {len(text)} characters, cut at {allowed} (description_length)")
            text = text[:allowed]
        return text

    def _author(self) -> str:
        author = self._value("author", "authors")
        if isinstance(author, dict):
            author = author.get("name")
        return ", ".join(_texts(author, commas=False))

    def _labels(self, *keys: str) -> list[str]:
        line = self.front.line_of(*keys)
        given = [_clean(text) for text in _texts(self._value(*keys))]
        labels = list(dict.fromkeys(label for label in given if label and len(label) <= self._limits.label_length))
        if any(len(label) > self._limits.label_length for label in given):
            self._warn(line, f"{keys[0]} of more than {self._limits.label_length} characters are left out (label_length)")
        if len(labels) > self._limits.labels:
            self._warn(line, f"{len(labels)} {keys[0]}, the first {self._limits.labels} are kept (labels)")
        return labels[: self._limits.labels]

    def _rest(self) -> dict[str, Yaml]:
        """What has no place of its own; what is nearer to the text wins."""
        rest: dict[str, Yaml] = {}
        for layer in reversed(self._layers):
            rest |= {key: value for key, value in layer.items() if key not in self._used}
        return rest


def _texts(value: Yaml, *, commas: bool = True, spaced: bool = False) -> list[str]:
    """A list, or a text with commas between; where there are none and it is `spaced`, spaces: `Bash(git *) Read` are two."""
    if isinstance(value, list):
        return [text for item in value if not isinstance(item, dict | list) and (text := str(item).strip())]
    if isinstance(value, dict):
        return [str(key) for key, wanted in value.items() if wanted is not False]
    if not isinstance(value, str) or not value.strip():
        return []
    if not commas:
        return [value.strip()]
    text = value.strip().removeprefix("[").removesuffix("]")
    found = _WORDS.findall(text) if spaced and "," not in text else _BETWEEN_COMMAS.findall(text)
    return [part for each in found if (part := each.strip().strip("\"'"))]


def _clean(text: str) -> str:
    """Fit to be a name: one line of printable characters."""
    printable = "".join(" " if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") else char for char in text)
    return " ".join(printable.split())


def _encodable(value: Any) -> Any:
    """Half of a surrogate pair can be in nobody's file, but in an escape of YAML."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return value


def _first_heading(body: str) -> str:
    for line in _outside_code(body):
        if line.startswith("# "):
            return _clean(line[2:])[:200]
    return ""


def _first_paragraph(body: str) -> str:
    paragraph: list[str] = []
    for line in _outside_code(body):
        text = line.strip()
        if text and not text.startswith(("#", "<!--", "---", "===", "![")):
            paragraph.append(text)
        elif paragraph:
            break
    return " ".join(paragraph)[:1_000]


def _outside_code(body: str) -> Iterator[str]:
    fenced = False
    for line in body.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            yield ""
        elif not fenced:
            yield line
