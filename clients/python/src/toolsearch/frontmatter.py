"""Frontmatter: the YAML on top of a markdown file. Read as leniently as people write it, and within limits: it is others' text.

Needs the extra `skills`, and is therefore imported only where it is used.
"""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

try:
    import yaml
except ImportError:  # pragma: no cover - told by an installation without it
    raise ImportError("reading skills needs PyYAML: pip install 'toolsearch[skills]'") from None

Yaml = Any
"""Text, booleans, None, lists and mappings of these. Numbers stay as they are spelled: a version 1.10 is not 1.1."""

MAX_BYTES = 64 * 1024
"""frontmatter_bytes"""
MAX_DEPTH = 32
"""yaml_depth"""
MAX_ALIASES = 32
"""yaml_aliases"""
MAX_VALUES = 10_000
"""yaml_values: counted as often as aliases repeat them."""

_FENCE = re.compile(r"---[ \t]*")
_END = re.compile(r"(?:---|\.\.\.)[ \t]*")
_KEY = re.compile(r"([A-Za-z][\w.-]*)[ \t]*:(?:[ \t]+(.*))?")
_SPOKEN = frozenset({"Context", "Example", "Examples", "User", "user", "Assistant", "assistant"})
"""What looks like a member in the descriptions of agents, where conversations are told as examples."""
_BLOCK = re.compile(r"([|>])[-+0-9]*(?:[ \t]+#.*)?")
_UNPRINTABLE = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Note:
    """Something to tell whoever wrote the file. `line` counts from 1."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Frontmatter:
    members: dict[str, Yaml] = field(default_factory=dict)
    body: str = ""
    body_line: int = 1
    notes: tuple[Note, ...] = ()
    """What was wrong and is read all the same."""
    lines: dict[str, int] = field(default_factory=dict)
    """On which line each member begins."""
    present: bool = False

    def line_of(self, *keys: str) -> int:
        return next((self.lines[key] for key in keys if key in self.lines), 1)


class _TooMuch(yaml.YAMLError):
    """Within the rules of YAML, and over ours."""


class _Loader(yaml.SafeLoader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._aliases = 0

    # The scanner looks at every open level for each token: deep nesting has to be stopped there, before it is quadratic.
    def fetch_flow_collection_start(self, token: Any) -> None:
        if self.flow_level >= MAX_DEPTH:
            raise _TooMuch(f"is nested more than {MAX_DEPTH} levels deep (yaml_depth)")
        super().fetch_flow_collection_start(token)

    def add_indent(self, column: int) -> bool:
        if len(self.indents) > MAX_DEPTH:
            raise _TooMuch(f"is nested more than {MAX_DEPTH} levels deep (yaml_depth)")
        return bool(super().add_indent(column))

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            self._aliases += 1
            if self._aliases > MAX_ALIASES:
                raise _TooMuch(f"has more than {MAX_ALIASES} aliases (yaml_aliases)")
        return super().compose_node(parent, index)


_Loader.yaml_implicit_resolvers = {}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""])


def split(text: str) -> Frontmatter:
    """A markdown file in two. Never raises: what cannot be read is in `notes`."""
    lines = text.split("\n")
    start = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if not _FENCE.fullmatch(lines[start]):
        return Frontmatter(body=text)
    end = next((number for number in range(start + 1, len(lines)) if _END.fullmatch(lines[number])), None)
    if end is None:
        return Frontmatter(body=text, notes=(Note(start + 1, "the frontmatter is begun with --- and never ended"),))
    members, notes = parse("\n".join(lines[start + 1 : end]), first_line=start + 2)
    body = "\n".join(lines[end + 1 :])
    keys = {match[1]: number + 1 for number in range(start + 1, end) if (match := _KEY.fullmatch(lines[number]))}
    return Frontmatter(members, body, end + 2, tuple(notes), keys, present=True)


def parse(text: str, first_line: int = 1) -> tuple[dict[str, Yaml], list[Note]]:
    """The members of a YAML mapping; what is not YAML is read line by line. Never raises."""
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        return {}, [Note(first_line, f"the YAML has more than {MAX_BYTES} bytes (frontmatter_bytes), none of it is used")]
    text = _UNPRINTABLE.sub("\ufffd", text)
    try:
        value = _load(text)
    except _TooMuch as error:
        return {}, [Note(first_line, f"the YAML {error}, none of it is used")]
    except Exception as error:  # whatever a parser makes of others' text
        members = _by_lines(text)
        line, what = _located(error)
        told = "it is read line by line" if members else "none of it is used"
        return members, [Note(first_line + line, f"not YAML ({what}), {told}: put values with : or # in quotes")]
    if value is None:
        return {}, []
    if not isinstance(value, dict):
        return {}, [Note(first_line, "the YAML is not a mapping of names to values, none of it is used")]
    return value, []


def _load(text: str) -> Yaml:
    loader = _Loader(text)
    try:
        return _Plain().value(loader.get_single_data(), 0)
    finally:
        loader.dispose()


class _Plain:
    """Values as JSON has them. What aliases share is counted each time: a few lines can stand for billions of values."""

    def __init__(self) -> None:
        self._values = 0

    def value(self, value: Yaml, depth: int) -> Yaml:
        self._values += 1
        if self._values > MAX_VALUES:
            raise _TooMuch(f"has more than {MAX_VALUES} values (yaml_values)")
        if depth > MAX_DEPTH:
            raise _TooMuch(f"is nested more than {MAX_DEPTH} levels deep (yaml_depth)")
        if isinstance(value, dict):
            return {_key(key): self.value(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple | set):
            return [self.value(item, depth + 1) for item in value]
        return value if isinstance(value, bool | None) else str(value)


def _key(key: Yaml) -> str:
    return str(key).strip()


def _by_lines(text: str) -> dict[str, Yaml]:
    """Each member by itself, as YAML if it is, else as the text that it plainly is."""
    members: dict[str, Yaml] = {}
    for key, lines in _blocks(text.split("\n")):
        try:
            value = _load("\n".join(lines))
            members[key] = value[key]
        except Exception:  # as above
            members[key] = _text_of(lines)
    return members


def _blocks(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Members with the lines that belong to them: those that do not begin another one."""
    key, block = "", list[str]()
    for line in lines:
        begun = _KEY.fullmatch(line)
        if begun and not (key == "description" and begun[1] in _SPOKEN):
            if key:
                yield key, block
            key, block = begun[1], [line]
        else:
            block.append(line)
    if key:
        yield key, block


def _text_of(lines: list[str]) -> Yaml:
    matched = _KEY.fullmatch(lines[0])
    first = (matched[2] or "").strip() if matched else ""
    rest = [line for line in lines[1:] if line.strip() and not line.lstrip().startswith("#")]
    block = _BLOCK.fullmatch(first)
    if block:
        dedented = textwrap.dedent("\n".join(lines[1:])).strip("\n")
        return dedented if block[1] == "|" else " ".join(dedented.split())
    if not first and rest and all(line.lstrip().startswith("- ") for line in rest):
        return [_unquoted(line.lstrip()[2:].strip()) for line in rest]
    return _unquoted(" ".join([first, *(line.strip() for line in rest)]).strip())


def _unquoted(text: str) -> str:
    quoted = len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if quoted else text


def _located(error: Exception) -> tuple[int, str]:
    """On which line, counted from 0, and what. The parser's own words may quote the text, so only the problem is repeated."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    what = getattr(error, "problem", None) or type(error).__name__
    return (mark.line if mark else 0), " ".join(str(what).split())[:100]
