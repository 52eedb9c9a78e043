# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of operators with effects in functional form.

Tokens state the order of effects, which node order keeps.
"""

from __future__ import annotations

import itertools
import string

from relax_mlir.frontends.core.values import as_values

from ..fx_operators import functional_name, listed
from ..inner_node import InnerNode
from ..prelude import Outputs, TorchNode, Value, register_rows, register_torch, relax
from ..registry import converted, register_complex
from .control_flow import as_value, by_name


@register_torch("aten::_make_dep_token", "prims::_make_token")
def make_token(node: TorchNode) -> Outputs:
    import numpy

    return Value(array=numpy.zeros(node.sizes_of_result, "float32"))


@register_torch("higher_order::with_effects")
@register_complex("higher_order::with_effects")
def with_effects(node: TorchNode) -> Outputs:
    """Convert with_effects: a token, then an operator and its arguments."""
    token, operator, *given = by_name(node)[0]
    named = by_name(node)[1]
    schema = getattr(operator, "_schema", None)
    names = (
        [str(place) for place in range(len(given))]
        if schema is None
        else [argument.name for argument in schema.arguments]
    )
    defaults = {} if schema is None else {argument.name: argument.default_value for argument in schema.arguments}
    arguments = {**defaults, **dict(zip(names, given, strict=False)), **named}
    like = listed(node.fx.meta["val"])[1:]
    return [token, *as_values(converted(InnerNode(node, functional_name(operator), arguments, like), operator))]


@register_torch("higher_order::print")
def print_by_format(node: TorchNode) -> Outputs:
    """Convert print with Python's str.format.

    Fields of relax.print are numbers, so fields by name come behind fields by position.
    """
    (text, *given), named = by_name(node)
    names = list(named)
    places, parts = itertools.count(), []
    for literal, field, specification, conversion in string.Formatter().parse(text):
        parts.append(literal.replace("{", "{{").replace("}", "}}"))
        if field is None:
            continue
        place = str(next(places)) if not field else field if field.isdecimal() else ""
        if field in names:
            place = str(len(given) + names.index(field))
        if not place or conversion:
            raise node.fail(f"field '{field}' of its format is neither a position nor the name of an argument")
        parts.append(f"{{{place}:{specification}}}" if specification else f"{{{place}}}")
    relax.print([as_value(each).ssa for each in (*given, *named.values())], format="".join(parts))
    return None


@register_torch("aten::_print")
def print_text(node: TorchNode) -> Outputs:
    relax.print([], format=node.string("s").replace("{", "{{").replace("}", "}}"))
    return None


register_rows({"prims::_sink_tokens": lambda node: None})
