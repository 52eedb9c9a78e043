# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parts of a program that codegens have made, loaded by their runtimes."""

from __future__ import annotations

import ctypes
import functools
import math
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..support.errors import RelaxError, told
from ..support.external_runtime import ExternalRuntime, find_runtime
from .artifact import External
from .errors import ArtifactError
from .native_calls import NativeFunction

# Of a part in an error.
_MOST_NODES = 8


def runtimes_of(externals: Iterable[External]) -> list[tuple[External, ExternalRuntime]]:
    """The runtime of each part that has one, which this machine can run. Raises ArtifactError with all that is wrong.

    Nothing of the program has run before.
    """
    found, problems = [], []
    for external in externals:
        if external.data is None:
            continue
        try:
            found.append((external, _runtime_of(external)))
        except ArtifactError as error:
            problems.append(str(error))
    if problems:
        raise ArtifactError("\n".join(problems))
    return found


def _runtime_of(external: External) -> ExternalRuntime:
    try:
        cls = find_runtime(external.codegen)
    except RelaxError as error:
        raise ArtifactError(f"{external.label}: {error}") from error
    if cls.version != external.version:
        raise ArtifactError(f"{external.label}: its bytes are of version '{external.version}', here is '{cls.version}'")
    runtime: ExternalRuntime = _asked(external, cls)
    missing = _asked(external, runtime.requires, external.data)
    if not isinstance(missing, str):
        raise ArtifactError(
            f"{external.label}: requires() gave a {type(missing).__name__}, not what is missing as text"
        )
    if missing:
        raise ArtifactError(f"{external.label}: this machine cannot run it: {missing}")
    return runtime


def loaded_functions(
    parts: Iterable[tuple[External, ExternalRuntime]], native_function: Callable[..., Any] | None
) -> dict[str, Callable[..., Any]]:
    """What the runtimes make of the parts, as the program calls them: lists of C calls by its own function for them, if
    it has one. Raises ArtifactError.
    """
    return {
        f"{external.name}.{name}": _as_called(external, name, function, native_function)
        for external, runtime in parts
        for name, function in _loaded(external, runtime).items()
    }


def _loaded(external: External, runtime: ExternalRuntime) -> dict[str, Callable[..., Any]]:
    found = _asked(external, runtime.load, external.data)
    if not isinstance(found, Mapping):
        raise ArtifactError(f"{external.label}: load() gave a {type(found).__name__}, not functions by name")
    given = _asked(external, dict, found)
    missing = [name for name in external.functions if name not in given]
    unknown = [name for name in given if name not in external.functions]
    if missing or unknown:
        wrong = [f"lacks {', '.join(missing)}"] * bool(missing) + [f"has {', '.join(map(str, unknown))}"] * bool(
            unknown
        )
        raise ArtifactError(
            f"{external.label}: what load() gave {' and '.join(wrong)}; "
            f"the part's functions are {', '.join(external.functions)}"
        )
    for name, function in given.items():
        if not callable(function):
            raise ArtifactError(f"{external.label}: function '{name}' is a {type(function).__name__}")
    return dict(given)


def _asked(external: External, method: Callable[..., Any], *arguments: Any) -> Any:
    """A stranger's method, which may raise anything, or mean to end the program."""
    try:
        return method(*arguments)
    except RelaxError as error:
        raise ArtifactError(f"{external.label}: {error}") from error
    except (Exception, SystemExit) as error:
        raise ArtifactError(f"{external.label}: {method.__name__}(): {told(error)}") from error


def _as_called(
    external: External, name: str, function: Callable[..., Any], native_function: Callable[..., Any] | None
) -> Callable[..., Any]:
    """Code that is no Python stays what it is."""
    import tvm_ffi

    if isinstance(function, tvm_ffi.Function):
        return function
    nodes = external.nodes[:_MOST_NODES] + ("...",) * (len(external.nodes) > _MOST_NODES)
    where = f"{external.label} ({', '.join(nodes)})" if nodes else external.label
    named = functools.partial(_named, where)
    if isinstance(function, NativeFunction) and native_function is not None:
        return function.bound(native_function, where, named)
    inputs = dict(zip(external.functions, external.inputs, strict=False)).get(name, 0)
    return named(_watched(function, inputs))


def _watched(function: Callable[..., Any], inputs: int) -> Callable[..., Any]:
    """The function, which at its first call is refused where it has written into what it was to read, or where it
    gives its results instead of writing them.
    """
    is_known = False

    def watched(*arguments: Any) -> None:
        # What it gives is let go: an array of numpy's that was told where to write holds on to that.
        nonlocal is_known
        if is_known:
            function(*arguments)
            return
        results = arguments[inputs:]
        outputs = list(map(_span, results))
        read = [each for each in arguments[:inputs] if not any(_meet(_span(each), other) for other in outputs)]
        before, unwritten = list(map(_sum, read)), list(map(_sum, results))
        result = function(*arguments)
        if result is not None and not _is_in(result, outputs) and unwritten == list(map(_sum, results)):
            kind = type(result).__name__
            raise RelaxError(f"it has given a {kind}, and written nothing: results go to the outputs behind its inputs")
        changed = [number for number, each in enumerate(read) if _sum(each) != before[number]]
        if changed:
            raise RelaxError(f"it has written into input {changed[0]}, which is the caller's: results go to outputs")
        is_known = True

    return watched


def _span(argument: Any) -> tuple[int, int]:
    """Where a tensor of this machine's memory begins and ends; nowhere for anything else."""
    import tvm_ffi

    if not isinstance(argument, tvm_ffi.Tensor) or argument.device.type != "cpu" or not argument.is_contiguous():
        return 0, 0
    bits = math.prod(argument.shape) * argument.dtype.bits * argument.dtype.lanes
    return argument.data_ptr(), argument.data_ptr() + (bits + 7) // 8


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _is_in(array: Any, spans: list[tuple[int, int]]) -> bool:
    """Whether it is one of these, as numpy gives what it was told to write to."""
    told = getattr(array, "__array_interface__", {}).get("data", (0,))[0]
    return any(begin <= told < end for begin, end in spans)


def _sum(argument: Any) -> int:
    begin, end = _span(argument)
    return zlib.crc32((ctypes.c_char * (end - begin)).from_address(begin)) if begin < end else 0


def _named(where: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose errors say whose they are."""

    def named(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (Exception, SystemExit) as error:
            raise RuntimeError(f"{where}: {told(error)}") from error

    return named
