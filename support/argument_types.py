# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decorator that reports arguments of wrong types by name, for functions that users call.

The check costs nothing while calls succeed: annotations are read only after a function has failed. A value that fits
no annotation may still work.
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
    """Error that names an unknown argument, or an argument with its expected and actual type."""


#: Exceptions that Python raises for values of unexpected types. The outermost function is reported.
_RAISED = (TypeError, AttributeError, KeyError, ValueError, WrongType)
_MOST_SHOWN = 60


def types_checked(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Decorate a function to raise WrongType if the function fails and an argument has the wrong type."""

    @functools.wraps(function)
    def call(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Result:
        try:
            return function(*arguments, **options)
        except _RAISED as error:
            if (problem := _problem(function, arguments, options)) is None:
                raise
            raise WrongType(problem, notes=_said(error)) from error

    return call


def _said(error: Exception) -> list[str]:
    """Return the notes for a new error: the message of the failed code, which may be more precise."""
    return list(error.notes) if isinstance(error, WrongType) else [message_of(error)]


def _problem(function: Callable[..., object], arguments: tuple[object, ...], options: dict[str, object]) -> str | None:
    """Return a message about the first argument that does not match its annotation, or None if all match."""
    signature = inspect.signature(function)
    try:
        given = signature.bind(*arguments, **options).arguments
    except TypeError:  # too few or too many arguments: Python's own message is kept
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
    """Evaluate an annotation given as text. Return Any if the text uses names that only type checkers know."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, getattr(inspect.unwrap(function), "__globals__", {}))
    except (NameError, TypeError, AttributeError):
        return Any


def _fits(value: object, hint: object) -> bool:
    """Check whether a value fits a type hint. Return True for hints that are not understood."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if hint is None or hint is NoneType:
        return value is None
    if origin in (typing.Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if hint is float:
        return isinstance(value, (int, float)) or hasattr(value, "__float__")
    if hint is int:
        return hasattr(value, "__index__")
    kind = origin or hint
    return True if not isinstance(kind, type) else isinstance(value, kind) and _holds(value, kind, parts)


def _holds(value: object, kind: type, parts: tuple[object, ...]) -> bool:
    """Check whether the elements of a container have the expected types."""
    if isinstance(value, Mapping) and len(parts) == 2:
        return all(_fits(key, parts[0]) and _fits(each, parts[1]) for key, each in value.items())
    if not isinstance(value, Collection) or len(parts) != 1:
        return True
    if isinstance(value, str):  # the characters of a string are strings themselves
        return _fits("", parts[0])
    return all(_fits(each, parts[0]) for each in value)
