# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loading of external parts: what codegens have made of a program, by their runtimes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from ..support.blaming import is_ours, message_at, place_of
from ..support.errors import RelaxError, message_of
from ..support.external_part import ExternalPart
from ..support.external_runtime import CallingRuntime, ExternalRuntime, find_runtime
from .errors import ArtifactError
from .native_calls import NativeFunction
from .part_steps import are_steps_wanted, part_call
from .watching import is_each_call_watched, watched

_Given = TypeVar("_Given")

# Of a part in an error.
_MOST_NODES = 8


def runtimes_of(externals: Iterable[ExternalPart]) -> list[tuple[ExternalPart, ExternalRuntime]]:
    """The runtime of each part that has one, which this machine can run. Raises ArtifactError with all that is wrong.

    Nothing of the program has run before.
    """
    runtimes, problems = [], []
    for external in externals:
        if external.data is None:
            continue
        try:
            runtimes.append((external, _runtime_of(external)))
        except ArtifactError as error:
            problems.append(str(error))
    if problems:
        raise ArtifactError("\n".join(problems))
    return runtimes


def _runtime_of(external: ExternalPart) -> ExternalRuntime:
    try:
        cls = find_runtime(external.codegen)
    except RelaxError as error:
        raise ArtifactError(f"{external.label}: {error}") from error
    if cls.version != external.version:
        raise ArtifactError(f"{external.label}: its bytes are of version '{external.version}', here is '{cls.version}'")
    runtime: ExternalRuntime = _ask(external, f"{cls.__name__}()", cls)
    if not isinstance(missing := _ask(external, "requires()", runtime.requires, external.data), str):
        raise ArtifactError(
            f"{external.label}: requires() gave a {type(missing).__name__}, not what is missing as text"
            f"{_place(runtime.requires)}"
        )
    if missing:
        raise ArtifactError(f"{external.label}: this machine cannot run it: {missing}")
    return runtime


def loaded_functions(
    parts: Iterable[tuple[ExternalPart, ExternalRuntime]], native_function: Callable[..., object] | None
) -> dict[str, Callable[..., object]]:
    """What the runtimes make of the parts, as the program calls them: lists of C calls by its own function for them, if
    it has one. Raises ArtifactError.
    """
    parts = list(parts)
    found = {
        f"{external.name}.{name}": _as_called(external, name, function, native_function)
        for external, runtime in parts
        for name, function in _load(external, runtime).items()
    }
    for _, runtime in parts:
        if isinstance(runtime, CallingRuntime):
            runtime.link(found)
    return found


def _load(external: ExternalPart, runtime: ExternalRuntime) -> dict[str, Callable[..., object]]:
    if not isinstance(found := _ask(external, "load()", runtime.load, external.data), Mapping):
        raise ArtifactError(
            f"{external.label}: load() gave a {type(found).__name__}, not functions by name{_place(runtime.load)}"
        )
    given: dict[str, Callable[..., object]] = _ask(external, "what load() gave", dict, found)
    missing = [name for name in external.functions if name not in given]
    unknown = [name for name in given if name not in external.functions]
    if missing or unknown:
        wrong = [f"lacks {', '.join(missing)}"] * bool(missing) + [f"has {', '.join(map(str, unknown))}"] * bool(
            unknown
        )
        raise ArtifactError(
            f"{external.label}: what load() gave {' and '.join(wrong)}; "
            f"the part's functions are {', '.join(external.functions)}{_place(runtime.load)}"
        )
    for name, function in given.items():
        if not callable(function):
            raise ArtifactError(
                f"{external.label}: function '{name}' is a {type(function).__name__}{_place(runtime.load)}"
            )
    return dict(given)


def _ask(external: ExternalPart, what: str, method: Callable[..., _Given], *arguments: object) -> _Given:
    """A stranger's method, which may raise anything, or mean to end the program."""
    try:
        return method(*arguments)
    except RelaxError as error:
        raise ArtifactError(f"{external.label}: {error}") from error
    except (Exception, SystemExit) as error:
        raise ArtifactError(f"{external.label}: {what}: {_message(error, method)}") from error


def _as_called(
    external: ExternalPart, name: str, function: Callable[..., object], native_function: Callable[..., object] | None
) -> Callable[..., object]:
    """Code that is no Python stays what it is, and so does what does not say how many inputs it has."""
    from .ffi import tvm_ffi

    inputs = dict(zip(external.functions, external.inputs, strict=False)).get(name)
    is_watched = is_each_call_watched() and inputs is not None
    if isinstance(function, tvm_ffi.Function) and not is_watched:
        return function
    nodes = external.nodes[:_MOST_NODES] + ("...",) * (len(external.nodes) > _MOST_NODES)
    where = f"{external.label} ({', '.join(nodes)})" if nodes else external.label
    if not isinstance(function, NativeFunction):
        return _named(where, function if inputs is None else watched(function, inputs), function)
    if is_watched and inputs is not None:
        return _named(where, watched(function, inputs), function.make)
    if native_function is None:
        return _named(where, function, function.make)
    return function.bound(native_function, where, functools.partial(_named, where, blamed=function.make))


def _named(where: str, function: Callable[..., object], blamed: Callable[..., object]) -> Callable[..., object]:
    """Wrap a function so that its errors name the part `where`, and the function `blamed`."""

    def named(*arguments: object) -> object:
        try:
            if not are_steps_wanted():
                return function(*arguments)
            with part_call(where):
                return function(*arguments)
        except (Exception, SystemExit) as error:
            kind = MemoryError if isinstance(error, MemoryError) else RuntimeError
            raise kind(f"{where}: {_message(error, blamed)}") from error

    return named


def _message(error: BaseException, function: object) -> str:
    """What a function has raised; with the line, where others have written it."""
    return message_of(error) if is_ours(function) else message_at(error, function)


def _place(function: object) -> str:
    return "" if is_ours(function) else f" (at {place_of(function)})"
