"""What models can do: a table, ahead of which comes what a caller's configuration says. The first row that fits counts."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import resources

from toolsearch.tool_search import ModelSupport


def _table() -> tuple[ModelSupport, ...]:
    rows = json.loads(resources.files(__package__).joinpath("models.json").read_text(encoding="utf-8"))
    return tuple(ModelSupport.from_dict(row, f"models.json[{index}]") for index, row in enumerate(rows))


TABLE = _table()


@dataclass(frozen=True, slots=True)
class Abilities:
    """`tool_search`: definitions can be deferred, and found by search. `context_window` is in tokens."""

    tool_search: bool
    context_window: int


def abilities(provider: str, model: str, known: Sequence[ModelSupport] = ()) -> Abilities:
    fitting = [row for row in (*known, *TABLE) if row.provider in ("", provider) and fnmatchcase(model, row.model)]
    return Abilities(
        tool_search=next(row.tool_search for row in fitting if row.tool_search is not None),
        context_window=next(row.context_window for row in fitting if row.context_window is not None),
    )
