"""Arguments of a call, compared with the schema that its tool has.

Schemas are other people's. What they can make this process do is bounded: no reference leaves the schema, patterns are matched
in linear time, and a schema that takes too long or is no schema checks nothing, for the server checks its arguments itself.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache
from itertools import islice
from typing import Any

import re2
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend, validator_for
from referencing import Registry

from toolsearch_server.errors import shorten

CHECK_SECONDS = 0.25
PROBLEMS_SHOWN = 5
PATTERN_MEMORY = 1 << 20

Json = Any
Keyword = Callable[[Any, Any, Json, Json], Iterator[ValidationError]]

_until: ContextVar[float] = ContextVar("until")
_pattern_options = re2.Options()
_pattern_options.log_errors = False
_pattern_options.max_mem = PATTERN_MEMORY


class TooCostly(Exception):
    pass


class ArgumentCheck:
    """Made once for each schema: to prepare it takes longer than to use it."""

    def __init__(self, schema: Json) -> None:
        self._validator = _validator(schema)

    def problems(self, arguments: Mapping[str, Json]) -> list[str]:
        """What is wrong with the arguments, one line each; nothing if they fit, or if the schema cannot tell."""
        if self._validator is None:
            return []
        _until.set(time.monotonic() + CHECK_SECONDS)
        try:
            return [_line(error) for error in islice(self._validator.iter_errors(dict(arguments)), PROBLEMS_SHOWN)]
        except Exception:  # a schema can be wrong in more ways than can be listed
            return []


def _validator(schema: Json) -> Any:
    """None for what is no schema."""
    if not isinstance(schema, dict):
        return None
    try:
        bounded = _bounded_class(validator_for(schema, default=Draft202012Validator))
        checked = _without_property_patterns(schema)
        bounded.check_schema(checked)
        return bounded(checked, registry=Registry())
    except Exception:
        return None


@cache
def _bounded_class(base: Any) -> Any:
    rules = {name: _bounded(rule) for name, rule in base.VALIDATORS.items()}
    return extend(base, {**rules, "pattern": _pattern})


def _bounded(rule: Keyword) -> Keyword:
    """References that double at every step need no large schema to take for ever."""

    def timed(validator: Any, value: Any, instance: Json, schema: Json) -> Iterator[ValidationError]:
        if time.monotonic() > _until.get():
            raise TooCostly
        yield from rule(validator, value, instance, schema) or ()

    return timed


def _pattern(validator: Any, pattern: str, instance: Json, _: Json) -> Iterator[ValidationError]:
    """With RE2. What it cannot compile, such as lookaround, is left to the server."""
    if not validator.is_type(instance, "string"):
        return
    try:
        matches = re2.compile(pattern, _pattern_options).search(instance.encode())
    except (re2.error, UnicodeEncodeError):
        return
    if matches is None:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _without_property_patterns(schema: Json) -> Json:
    """Patterns of property names are matched by the validator in ways that cannot be replaced; they are left to the server."""
    if isinstance(schema, list):
        return [_without_property_patterns(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    left_out = ("patternProperties", "additionalProperties", "unevaluatedProperties") if "patternProperties" in schema else ()
    return {key: _without_property_patterns(value) for key, value in schema.items() if key not in left_out}


def _line(error: ValidationError) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    return f"arguments{shorten(path)}: {shorten(error.message)}"
