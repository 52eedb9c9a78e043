# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of the steps of schedules: conversion for primitives, and text."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import partial
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from ....support.errors import RelaxError
from .handles import BlockRV, IndexMap, LoopRV, Sampled
from .primitives import Primitive
from .scheduled_functions import ScheduledFunctions
from .trace import is_plain


def bind_arguments(
    functions: ScheduledFunctions, primitive: Primitive, arguments: Sequence[object], options: Mapping[str, object]
) -> inspect.BoundArguments:
    """Return the arguments of a step by name, as its primitive takes them. Raise RelaxError for others."""
    try:
        bound = primitive.signature.bind(*arguments, **options)
    except TypeError as error:
        raise RelaxError(f"{primitive.usage}: {error}") from None
    for name, value in bound.arguments.items():
        taken = partial(_converted, functions, f"{primitive.name}: '{name}'", primitive.hints[name])
        is_several = primitive.signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
        bound.arguments[name] = tuple(map(taken, value)) if is_several else taken(value)
    return bound


def _converted(functions: ScheduledFunctions, what: str, hint: object, value: object) -> Any:
    """Convert an argument for a primitive: a name to the block, a function to an index map."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if value is None and NoneType in kinds:
        return None
    others = [each for each in kinds if each is not NoneType]
    kind = others[0] if len(others) == 1 else None
    if kind is BlockRV and isinstance(value, str):
        return BlockRV(functions.with_block(value), value)
    if IndexMap in kinds and callable(value):
        return IndexMap.of(value)
    if kind is IndexMap and not isinstance(value, IndexMap):
        raise RelaxError(f"{what} must be an index map (a function of indices), not {value!r}")
    if kind is str and not isinstance(value, str):
        raise RelaxError(f"{what} must be a string, not {value!r}")
    if not is_plain(value):
        raise RelaxError(f"{what} cannot be {value!r}: a schedule is text")
    return value


def text_of_step(primitive: Primitive, bound: inspect.BoundArguments) -> str:
    """Return a step as text for messages, with names of blocks and loops in place of handles."""

    def text(value: Any) -> str:
        if isinstance(value, (BlockRV, LoopRV)):
            return value.name
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(map(text, value))}]"
        return repr(value) if isinstance(value, str) else str(value)

    items = [text(arg) for arg in bound.args] + [f"{name}={text(kwarg)}" for name, kwarg in bound.kwargs.items()]
    return f"{primitive.name}({', '.join(items)})"


def plain_numbers(value: Any) -> Any:
    """Replace drawn numbers by plain integers."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain_numbers, value))
    return int(value) if isinstance(value, Sampled) else value


def plain_options(
    primitive: Primitive, bound: inspect.BoundArguments, function: str | None
) -> tuple[tuple[object, ...], tuple[tuple[str, object], ...]]:
    """Return the arguments of a step's text, without defaults."""
    arguments = dict(bound.arguments)
    if primitive.name == "get_block":
        arguments = {"name": arguments["name"], **({} if function is None else {"func_name": function})}
    positional, named = [], []
    for name, value in arguments.items():
        parameter = primitive.signature.parameters[name]
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            positional += value
        elif parameter.default is inspect.Parameter.empty:
            positional.append(value)
        elif value != parameter.default:
            named.append((name, value))
    return tuple(positional), tuple(named)
