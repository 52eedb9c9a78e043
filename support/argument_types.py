# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of wrong types, reported by name: a decorator for functions that users call.

What fits no annotation may work all the same, and costs nothing then: annotations are read when a function has failed.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Collection, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar

from .errors import OptionError, message_of

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


class WrongType(OptionError, TypeError):
    """Which argument of a function is of which type instead of its own."""


#: What Python raises where a value is of another type than code expects; the outermost function is to be named.
_RAISED = (TypeError, AttributeError, KeyError, ValueError, WrongType)
_MOST_SHOWN = 60


def types_checked(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Where the function fails and an argument is not of its annotated type, a RelaxError says so."""

    @functools.wraps(function)
    def call(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Result:
        try:
            return function(*arguments, **options)
        except _RAISED as error:
            problem = _problem(function, arguments, options)
            if problem is None:
                raise
            raise WrongType(problem, notes=_said(error)) from error

    return call


def _said(error: Exception) -> list[str]:
    """What the code said that failed; it may know better."""
    return list(error.notes) if isinstance(error, WrongType) else [message_of(error)]


def _problem(function: Callable[..., object], arguments: tuple[object, ...], options: dict[str, object]) -> str | None:
    """Which argument is not what its annotation says; None where all are."""
    signature = inspect.signature(function)
    try:
        given = signature.bind(*arguments, **options).arguments
    except TypeError:  # too few or too many: Python's own words
        return None
    for name, value in given.items():
        parameter = signature.parameters[name]
        if parameter.annotation is parameter.empty or parameter.kind in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            continue
        if not _fits(value, _hint(parameter.annotation, function)):
            what = function.__qualname__.removesuffix(".__init__")
            shown = repr(value)
            shown = shown if len(shown) <= _MOST_SHOWN else f"{shown[: _MOST_SHOWN - 3]}..."
            return f"{what}: '{name}' is {parameter.annotation}, got {type(value).__name__} {shown}"
    return None


def _hint(annotation: object, function: Callable[..., object]) -> object:
    """What an annotation's text means; anything where a name in it is known to type checkers alone."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, getattr(inspect.unwrap(function), "__globals__", {}))
    except (NameError, TypeError, AttributeError):
        return Any


def _fits(value: object, hint: object) -> bool:
    """Whether a value may be of a type; true where that is unknown."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if hint is None or hint is NoneType:
        return value is None
    if origin in (typing.Union, UnionType):
        return any(_fits(value, each) for each in parts)
    if origin is Literal:
        return value in parts
    if hint is float:
        return isinstance(value, (int, float)) or hasattr(value, "__float__")
    if hint is int:
        return hasattr(value, "__index__")
    kind = origin or hint
    if not isinstance(kind, type):
        return True
    return isinstance(value, kind) and _holds(value, kind, parts)


def _holds(value: object, kind: type, parts: tuple[object, ...]) -> bool:
    """Whether what is in a container is of the types that it should be."""
    if isinstance(value, Mapping) and len(parts) == 2:
        return all(_fits(key, parts[0]) and _fits(each, parts[1]) for key, each in value.items())
    if not isinstance(value, Collection) or len(parts) != 1:
        return True
    if isinstance(value, str):  # the letters of a text are texts themselves
        return _fits("", parts[0])
    return all(_fits(each, parts[0]) for each in value)
