"""The `tool_search` block of an agent's configuration: the same in YAML, JSON, Python and the contract.

```yaml
tool_search:
  scope: all
  eager_tools:
    github: [create_issue, "list_*"]
  min_tokens: 5000
```
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, Self, TypeVar

from toolsearch.types import Strategy
from toolsearch.v1 import plan_pb2

BLOCK = "tool_search"
MAX_RESULTS = 100
MAX_EAGER = 100
MAX_PATTERNS = 1_000
MAX_PATTERN_LENGTH = 400
MAX_MODELS = 100
MAX_TOKENS = 1_000_000_000_000
DEFAULT_MIN_TOKENS = 10_000
AUTO = "auto"
"""As `min_eager`: three to five entries, those that are used most."""


class Scope(StrEnum):
    """Which entries may be deferred."""

    MCP = "mcp"
    ALL = "all"


class Execution(StrEnum):
    """Who carries out the model's searches."""

    CLIENT = "client"
    PROVIDER = "provider"


class Fallback(StrEnum):
    """What to do where the provider or the model cannot defer tools."""

    SEARCH = "search"
    LOAD = "load"


PROVIDER_STRATEGIES = (Strategy.AUTO, Strategy.BM25, Strategy.REGEX)
"""Those that providers have searches for."""


class ConfigError(ValueError):
    """A value that is not allowed. `path` says where it stands, `given` what it is, `allowed` what it may be."""

    def __init__(self, path: str, given: object, allowed: str) -> None:
        super().__init__(f"{path} is {_shown(given)}, allowed is {allowed}")
        self.path = path
        self.given = given
        self.allowed = allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSupport:
    """What a model can do, where the service's own table is wrong or behind. `model` is a glob; an empty provider means any."""

    model: str
    provider: str = ""
    tool_search: bool | None = None
    context_window: int | None = None

    def __post_init__(self) -> None:
        _block({each.name: getattr(self, each.name) for each in fields(self)}, _MODEL_READERS, "models")

    @classmethod
    def from_dict(cls, block: object, path: str) -> Self:
        given = _block(block, _MODEL_READERS, path)
        if "model" not in given:
            raise ConfigError(f"{path}.model", None, "a glob on names of models")
        return cls(**given)

    def to_dict(self) -> dict[str, Any]:
        return _non_defaults(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSearchConfig:
    """What is loaded up front and what is found by search. `docs/plan.md` says what each setting does."""

    enabled: bool = True
    scope: Scope = Scope.MCP
    strategy: Strategy = Strategy.AUTO
    eager_tools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    max_results: int = 5
    always_load: bool = True
    min_tokens: int | None = None
    """None: 10,000, unless min_context_share is set."""
    min_context_share: float | None = None
    min_eager: int | str = 1
    """Or "auto"."""
    execution: Execution = Execution.CLIENT
    fallback: Fallback = Fallback.SEARCH
    search_tool_name: str = "find_tools"
    local_servers: tuple[str, ...] = ()
    preload_tokens: int = 2_000
    models: tuple[ModelSupport, ...] = ()

    def __post_init__(self) -> None:
        """What is given to the constructor is checked as strictly as what is read."""
        checked = _block({each.name: getattr(self, each.name) for each in fields(self)}, _READERS, BLOCK)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        _refuse_contradictions(self, BLOCK)

    @classmethod
    def from_dict(cls, block: object, path: str = BLOCK) -> Self:
        """Read the block as YAML or JSON give it; `true` and `false` alone mean `enabled`. Raises ConfigError."""
        if isinstance(block, bool):
            block = {"enabled": block}
        given = _block({} if block is None else block, _READERS, path)
        try:
            return cls(**given)
        except ConfigError as error:  # a contradiction: each value is allowed
            raise ConfigError(error.path.replace(BLOCK, path, 1), error.given, error.allowed) from None

    def to_dict(self) -> dict[str, Any]:
        """What differs from the defaults, ready for YAML or JSON; `from_dict` gives an equal value back."""
        return _non_defaults(self)

    def search_options(self) -> dict[str, Any]:
        """What of it an adapter takes: `attach(agent, client, tools, **config.search_options())`."""
        return {"max_results": self.max_results, "strategy": self.strategy}

    @classmethod
    def from_message(cls, message: plan_pb2.ToolSearchConfig, path: str) -> Self:
        block: dict[str, Any] = {}
        for name in _SCALARS:
            if message.HasField(name):
                block[name] = getattr(message, name)
        for name, prefix in _ENUMS.items():
            if number := getattr(message, name):
                known = _enum(name).values_by_number.get(number)
                block[name] = number if known is None else known.name.removeprefix(f"{prefix}_").lower()
        if message.auto_eager:
            if message.HasField("min_eager"):
                raise ConfigError(f"{path}.min_eager", message.min_eager, "nothing, where auto_eager is set")
            block["min_eager"] = AUTO
        if message.eager_tools:
            block["eager_tools"] = {server: list(globs.globs) for server, globs in message.eager_tools.items()}
        if message.local_servers:
            block["local_servers"] = list(message.local_servers)
        if message.models:
            block["models"] = [_model_block(model) for model in message.models]
        return cls.from_dict(block, path)

    def to_message(self) -> plan_pb2.ToolSearchConfig:
        block = self.to_dict()
        message = plan_pb2.ToolSearchConfig(auto_eager=block.get("min_eager") == AUTO)
        for name in _SCALARS:
            if name in block and block[name] != AUTO:
                setattr(message, name, block[name])
        for name, prefix in _ENUMS.items():
            if name in block:
                setattr(message, name, _enum(name).values_by_name[f"{prefix}_{block[name].upper()}"].number)
        for server, globs in self.eager_tools.items():
            message.eager_tools[server].globs.extend(globs)
        message.local_servers.extend(self.local_servers)
        message.models.extend(plan_pb2.ModelSupport(**model.to_dict()) for model in self.models)
        return message


def load_config(path: str | Path) -> ToolSearchConfig:
    """The `tool_search` block of a YAML or JSON file, or of an agent card: Markdown with YAML between `---` lines. A file
    that is nothing but the block will do. YAML needs the extra `yaml`. Raises ConfigError, OSError."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), str(error), "UTF-8 text") from None
    parsed = _parsed(text, str(path))
    if parsed is None:
        return ToolSearchConfig()
    if not isinstance(parsed, Mapping):
        raise ConfigError(str(path), parsed, "a mapping")
    if BLOCK in parsed:
        return ToolSearchConfig.from_dict(parsed[BLOCK])
    if any(key in _READERS for key in parsed):
        return ToolSearchConfig.from_dict(parsed, str(path))
    return ToolSearchConfig()


def _parsed(text: str, path: str) -> object:
    if Path(path).suffix == ".json":
        try:
            return json.loads(text)
        except ValueError as error:
            raise ConfigError(path, str(error), "JSON") from None
    try:
        import yaml
    except ModuleNotFoundError:
        raise ConfigError(path, "YAML", "JSON, or toolsearch[yaml] installed") from None
    if text.startswith("---"):
        _, _, rest = text.partition("\n")
        text, closed, _ = rest.partition("\n---")
        text = text if closed else rest
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(path, " ".join(str(error).split()), "YAML") from None


# Reading values: each reader takes a value and its path, and gives the value or raises ConfigError

Value = TypeVar("Value")
Reader = Callable[[object, str], Any]


def _block(block: object, readers: Mapping[str, Reader], path: str) -> dict[str, Any]:
    if not isinstance(block, Mapping):
        raise ConfigError(path, block, "a mapping")
    for key in block:
        if key not in readers:
            raise ConfigError(f"{path}.{_key(key)}", block[key], f"one of the keys {', '.join(readers)}")
    return {key: readers[key](value, f"{path}.{key}") for key, value in block.items()}


def _boolean(value: object, path: str) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(path, value, "true or false")
    return value


def _number(least: int, most: int) -> Callable[[object, str], int]:
    allowed = f"a whole number from {least:,} to {most:,}"

    def read(value: object, path: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ConfigError(path, value, allowed)
        return value

    return read


def _optional(reader: Callable[[object, str], Value]) -> Callable[[object, str], Value | None]:
    return lambda value, path: None if value is None else reader(value, path)


def _share(value: object, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise ConfigError(path, value, "a number above 0 up to 1")
    return float(value)


def _one_of(kind: type[StrEnum], members: Sequence[StrEnum]) -> Reader:
    def read(value: object, path: str) -> StrEnum:
        if not isinstance(value, str) or value not in members:
            raise ConfigError(path, value, ", ".join(members))
        return kind(value)

    return read


def _min_eager(value: object, path: str) -> int | str:
    if value == AUTO:
        return AUTO
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_EAGER:
        raise ConfigError(path, value, f"{AUTO}, or a whole number from 1 to {MAX_EAGER}")
    return value


def _text(value: object, path: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_PATTERN_LENGTH:
        raise ConfigError(path, value, f"text of at most {MAX_PATTERN_LENGTH} characters")
    return value


def _tool_name(value: object, path: str) -> str:
    allowed = "a name of 1 to 64 letters, digits, _ and -"
    if not isinstance(value, str) or not 1 <= len(value) <= 64:
        raise ConfigError(path, value, allowed)
    if not all(char.isascii() and (char.isalnum() or char in "_-") for char in value):
        raise ConfigError(path, value, allowed)
    return value


def _texts(value: object, path: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ConfigError(path, value, "a list of texts")
    if len(value) > MAX_PATTERNS:
        raise ConfigError(path, f"{len(value)} items", f"at most {MAX_PATTERNS}")
    return tuple(_text(each, f"{path}[{index}]") for index, each in enumerate(value))


def _patterns_by_server(value: object, path: str) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, Mapping):
        raise ConfigError(path, value, "a mapping from servers to lists of patterns")
    found = {_text(server, f"{path} (a key)"): _texts(globs, f"{path}.{server}") for server, globs in value.items()}
    count = sum(map(len, found.values()))
    if count > MAX_PATTERNS or len(found) > MAX_PATTERNS:
        raise ConfigError(path, f"{max(count, len(found))} items", f"at most {MAX_PATTERNS}")
    return found


def _models(value: object, path: str) -> tuple[ModelSupport, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ConfigError(path, value, "a list of mappings")
    if len(value) > MAX_MODELS:
        raise ConfigError(path, f"{len(value)} items", f"at most {MAX_MODELS}")
    return tuple(
        model if isinstance(model, ModelSupport) else ModelSupport.from_dict(model, f"{path}[{index}]")
        for index, model in enumerate(value)
    )


_MODEL_READERS: dict[str, Reader] = {
    "model": _text,
    "provider": _text,
    "tool_search": _optional(_boolean),
    "context_window": _optional(_number(1, MAX_TOKENS)),
}

_READERS: dict[str, Reader] = {
    "enabled": _boolean,
    "scope": _one_of(Scope, list(Scope)),
    "strategy": _one_of(Strategy, [each for each in Strategy if each is not Strategy.UNKNOWN]),
    "eager_tools": _patterns_by_server,
    "max_results": _number(1, MAX_RESULTS),
    "always_load": _boolean,
    "min_tokens": _optional(_number(0, MAX_TOKENS)),
    "min_context_share": _optional(_share),
    "min_eager": _min_eager,
    "execution": _one_of(Execution, list(Execution)),
    "fallback": _one_of(Fallback, list(Fallback)),
    "search_tool_name": _tool_name,
    "local_servers": _texts,
    "preload_tokens": _number(0, MAX_TOKENS),
    "models": _models,
}

_SCALARS = (
    "enabled",
    "max_results",
    "always_load",
    "min_tokens",
    "min_context_share",
    "min_eager",
    "search_tool_name",
    "preload_tokens",
)
_ENUMS = {
    "scope": "SEARCH_SCOPE",
    "strategy": "STRATEGY",
    "execution": "SEARCH_EXECUTION",
    "fallback": "SEARCH_FALLBACK",
}
"""Prefixes of the names of their values in the contract."""


def _enum(name: str) -> Any:
    return plan_pb2.ToolSearchConfig.DESCRIPTOR.fields_by_name[name].enum_type


def _refuse_contradictions(config: ToolSearchConfig, path: str) -> None:
    if config.min_tokens is not None and config.min_context_share is not None:
        raise ConfigError(f"{path}.min_context_share", config.min_context_share, "nothing, where min_tokens is set")
    if config.execution is Execution.PROVIDER and config.strategy not in PROVIDER_STRATEGIES:
        allowed = f"{', '.join(PROVIDER_STRATEGIES)} where the provider searches"
        raise ConfigError(f"{path}.strategy", str(config.strategy), allowed)


def _non_defaults(value: ToolSearchConfig | ModelSupport) -> dict[str, Any]:
    return {
        each.name: _plain(getattr(value, each.name)) for each in fields(value) if getattr(value, each.name) != _default(each)
    }


def _default(of: Any) -> Any:
    return of.default_factory() if callable(of.default_factory) else of.default


def _plain(value: Any) -> Any:
    match value:
        case StrEnum():
            return value.value
        case ModelSupport():
            return value.to_dict()
        case Mapping():
            return {key: _plain(each) for key, each in value.items()}
        case tuple():
            return [_plain(each) for each in value]
    return value


def _model_block(message: plan_pb2.ModelSupport) -> dict[str, Any]:
    block: dict[str, Any] = {"model": message.model} if message.model else {}
    if message.provider:
        block["provider"] = message.provider
    for name in ("tool_search", "context_window"):
        if message.HasField(name):
            block[name] = getattr(message, name)
    return block


def _key(key: object) -> str:
    return key if isinstance(key, str) and len(key) <= MAX_PATTERN_LENGTH else _shown(key)


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str) if not isinstance(value, StrEnum) else value.value
    return text if len(text) <= 100 else f"{text[:99]}…"
