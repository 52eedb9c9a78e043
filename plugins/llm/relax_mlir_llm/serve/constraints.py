# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grammars that requests ask for: JSON schemas, regular expressions, grammars, and choices of texts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from relax_mlir import RelaxError

from ..requests import TokenMask
from .bodies import Fields
from .errors import ApiError, invalid, shown
from .served_model import Grammars

#: vLLM's fields, and their names in `structured_outputs`.
_GUIDED = {"guided_json": "json", "guided_regex": "regex", "guided_grammar": "grammar", "guided_choice": "choice"}
#: llama.cpp's field of a grammar in GBNF. Its empty text is none.
_GBNF = "grammar"
CONSTRAINT_FIELDS = ("response_format", "structured_outputs", _GBNF, *_GUIDED)
#: Requests are parsed by several threads, and compilers of grammars have a cache.
_COMPILING = threading.Lock()
_FORMATS = ("text", "json_object", "json_schema", "regex", "grammar")


class Constraint(NamedTuple):
    """Grammar of an answer: its kind, its source, and the field with the source."""

    kind: str
    source: str
    field: str

    @classmethod
    def of_schema(cls, schema: object, field: str) -> Constraint:
        """Return the grammar of a JSON schema."""
        return cls("json", json.dumps(schema), field)

    def compile(self, grammars: Grammars | None) -> TokenMask:
        """Return a new grammar for one answer. Raise ApiError for an invalid source."""
        if grammars is None:
            raise invalid(f"{self.field}: this model has no tokenizer for grammars", self.field)
        makers: Mapping[str, Callable[[str], TokenMask]] = {
            "json": grammars.json_schema,
            "regex": grammars.regex,
            "grammar": grammars.lark,
            "gbnf": grammars.gbnf,
            "choice": lambda source: grammars.choice(json.loads(source)),
        }
        try:
            with _COMPILING:
                return makers[self.kind](self.source)
        except RelaxError as error:
            raise invalid(f"{self.field}: {error.message}", self.field) from None


def constraint_of(fields: Fields) -> Constraint | None:
    """Return the grammar that a request asks for, or None."""
    found = [_response_format(fields), *_structured_outputs(fields), *_read_guided(fields)]
    if gbnf := fields.text(_GBNF):
        found.append(Constraint("gbnf", gbnf, _GBNF))
    constraints = [constraint for constraint in found if constraint is not None]
    if len(constraints) > 1:
        names = " and ".join(constraint.field for constraint in constraints)
        raise invalid(f"{names} exclude each other: expected one grammar for an answer", constraints[1].field)
    return constraints[0] if constraints else None


def _response_format(fields: Fields) -> Constraint | None:
    if (form := fields.part("response_format")) is None:
        return None
    if (kind := form.choice("type", _FORMATS)) is None:
        raise form.refuse("type", f"one of {', '.join(_FORMATS)}")
    if kind == "json_object":
        return Constraint.of_schema({"type": "object"}, form.path("type"))
    if kind in ("regex", "grammar"):
        return Constraint(kind, form.needed_text(kind), form.path(kind))
    if kind == "text":
        return None
    described = form.part("json_schema")
    if described is None or not described.has("schema"):
        path = form.path("json_schema.schema")
        raise invalid(f"the field {path} is missing, expected a JSON schema", path)
    return schema_constraint(described.get("schema"), described.path("schema"))


def _structured_outputs(fields: Fields) -> list[Constraint]:
    if (part := fields.part("structured_outputs")) is None:
        return []
    part.refuse_unknown((*_GUIDED.values(), "json_object"))
    found = [_constraint(part, kind, kind) for kind in _GUIDED.values() if part.has(kind)]
    if part.flag("json_object"):
        found.append(Constraint.of_schema({"type": "object"}, part.path("json_object")))
    return found


def _read_guided(fields: Fields) -> list[Constraint]:
    return [_constraint(fields, name, kind) for name, kind in _GUIDED.items() if fields.has(name)]


def _constraint(fields: Fields, name: str, kind: str) -> Constraint:
    path = fields.path(name)
    if kind == "json":
        return schema_constraint(fields.get(name), path)
    if kind == "choice":
        texts = fields.items(name) or ()
        if not texts or not all(isinstance(text, str) and text for text in texts):
            raise fields.refuse(name, "a list of texts, each with at least one character")
        return Constraint(kind, json.dumps(texts), path)
    return Constraint(kind, fields.needed_text(name), path)


def schema_constraint(value: object, path: str) -> Constraint:
    """Return the grammar of a JSON schema, or of its text, in the field `path`."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise invalid(f"{path} is no valid JSON: {error}", path) from None
    if not isinstance(value, (dict, bool)):
        raise invalid(f"{path} is {shown(value)}, expected a JSON schema, an object", path)
    return Constraint.of_schema(value, path)


def call_schema(functions: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return the schema of a call of one of several functions."""
    return {"anyOf": [_one_call(index, function) for index, function in enumerate(functions)]}


def _one_call(index: int, function: Mapping[str, object]) -> dict[str, object]:
    place = f"#/anyOf/{index}/properties/arguments"
    return {
        "type": "object",
        "properties": {"name": {"const": function["name"]}, "arguments": _move_schema(parameters_of(function), place)},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def parameters_of(function: Mapping[str, object]) -> object:
    """Return the schema of a function's arguments. Without a schema, these are any object."""
    return function.get("parameters") or {"type": "object"}


def _move_schema(schema: object, place: str) -> object:
    """Return a schema for another place in a document: references to its root begin with the place."""
    if isinstance(schema, list):
        return [_move_schema(each, place) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _move_schema(value, place) for key, value in schema.items()}
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#"):
        found["$ref"] = place + reference[1:]
    return found


def refuse_both(constraint: Constraint | None) -> None:
    """Raise ApiError if a request has a grammar and a forced call of a tool."""
    if constraint is not None:
        raise ApiError(400, f"{constraint.field} and tool_choice exclude each other", param="tool_choice")
