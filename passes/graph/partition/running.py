# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation of an external module by its codegen."""

from __future__ import annotations

import functools
import importlib
import reprlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

from ....bindings.ir import Attribute, Operation
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, function_type_of, functions_in, operations_in, symbol_name
from ....dialects.core.codec import decode
from ....dialects.core.infos import TensorInfo
from ....support.blaming import blaming, called_from, is_ours, place_of
from ....support.errors import RefusalError, RelaxError, message_of
from ....support.external_part import ExternalPart
from ....support.external_runtime import find_runtime
from ....targets.core.code import stages_of
from ...core.external import external_attribute
from ...core.facts import origins_of
from ...core.pipeline import Pipeline
from ...core.working import means
from .codegen import SYMBOLS, ChosenCodegen, Codegen, ObjectCode, version_of
from .keeping import Place, place_of_code
from .steps import StepRefusal
from .time_limit import TooLong, limit_of, limit_time, problem_of

_BYTES = (bytes, bytearray, memoryview)


class Made(NamedTuple):
    """Result of a codegen: bytes, which its runtime loads, or objects, which are linked."""

    data: bytes | None
    objects: tuple[bytes, ...]
    #: Constants that follow the inputs of each function, by name.
    constants: Mapping[str, Sequence[Attribute]] = MappingProxyType({})
    #: Duration of the compilation.
    seconds: float = 0.0
    #: True if the code is from the cache.
    is_kept: bool = False

    @property
    def bytes(self) -> int:
        return len(self.data or b"") + sum(map(len, self.objects))


class Declined(Exception):
    """Reason why a codegen has not made code."""

    #: Description of the codegen's action for messages.
    verb = "declined"
    #: Composite function of the only step that was declined, or "" for the whole part.
    function = ""


class Failed(Declined):
    """Failure by an exception other than a refusal, usually a bug in the codegen."""

    verb = "failed to compile"


class _NoRefusal(RelaxError):
    """Error that `blaming` raises for other exceptions."""


class Making:
    """Compilation of parts by codegens, in threads if codegens return functions."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(max_workers=means().jobs, thread_name_prefix="codegen")
        self._slots = threading.Semaphore(means().jobs)

    def __enter__(self) -> Making:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)

    def _submit(self, given: Callable[[], object], limit: float | None) -> Future[tuple[object, float]]:
        """Run a codegen's function in a thread. The program does not wait for the thread of a function with a limit."""
        if limit is None:
            return self._threads.submit(_measure, given)
        future: Future[tuple[object, float]] = Future()

        def run() -> None:
            with self._slots:
                try:
                    future.set_result(_measure(given))
                except BaseException as error:  # `finish` raises it
                    future.set_exception(error)

        threading.Thread(target=run, name="codegen", daemon=True).start()
        return future

    def begin(self, module: Operation, chosen: ChosenCodegen) -> Callable[[], Made]:
        """Run the codegen on a copy of the module, and return a function that waits for the code.

        That function raises Declined for any exception of the codegen.
        """
        started = time.perf_counter()
        limit = limit_of(chosen.codegen.compile_limit)
        name, part = chosen.codegen.name, symbol_name(module)
        try:
            with _declining(chosen.codegen.compile):
                _check_results(module)
                place = place_of_code(module, chosen)
                found = place.found() if place is not None else None
                if found is None:
                    with limit_time(name, part, limit):
                        given = _compile(module, chosen.codegen, chosen.values)
                else:
                    given = found
        except Declined as refusal:
            return functools.partial(_raise, refusal)
        except TooLong:
            assert limit is not None
            return functools.partial(_raise, Failed(problem_of(name, part, limit)))
        seconds = time.perf_counter() - started
        if found is not None or not callable(given):
            return lambda: _checked_result(module, chosen.codegen, given, place, seconds, is_kept=found is not None)
        waiting = self._submit(given, limit)

        def finish() -> Made:
            if limit is not None and wait([waiting], limit).not_done:
                raise Failed(problem_of(name, part, limit))
            with _declining(given):
                code, more = waiting.result()
            return _checked_result(module, chosen.codegen, code, place, seconds + more)

        return finish


def _check_results(module: Operation) -> None:
    """Check that results have static sizes: programs allocate results before a call."""
    for function in Codegen.functions(module).values():
        for info in map(decode, function_type_of(function).results):
            if not isinstance(info, TensorInfo):
                raise RefusalError(f"a result is not a tensor: {info}")
            if info.shape is None or None in info.shape:
                problem = (
                    "the sizes of a result are known at run time only, but its memory is allocated before the call"
                )
                raise RefusalError(problem)


def _raise(error: Exception) -> Made:
    raise error


def _measure(make: Callable[[], object]) -> tuple[object, float]:
    started = time.perf_counter()
    return make(), time.perf_counter() - started


@contextmanager
def _declining(function: Callable[..., object]) -> Iterator[None]:
    """Convert any exception of a codegen's function to Declined.

    The message of a RelaxError is the reason. Other exceptions add the line that raised them.
    """
    try:
        with blaming("compile()", function, make=_NoRefusal):
            yield
    except RelaxError as error:
        place, kind = called_from(error, function), Failed if isinstance(error, _NoRefusal) else Declined
        declined = kind((error.message or type(error).__name__) + (f" (at {place})" if place else ""))
        declined.function = error.function if isinstance(error, StepRefusal) else ""
        raise declined from error
    except (Exception, SystemExit) as error:  # a bug of one of this project's codegens
        raise Failed(message_of(error)) from error


def _checked_result(
    module: Operation, codegen: type[Codegen], code: Any, place: Place | None, seconds: float, *, is_kept: bool = False
) -> Made:
    """Return the checked result of a codegen. Raises Declined if it is no code."""
    try:
        return _result_of(module, code, place, seconds, is_kept=is_kept)
    except Declined as refusal:
        at = "" if is_ours(codegen.compile) else f" (at {place_of(codegen.compile)})"
        raise Declined(f"{refusal}{at}") from refusal


def _result_of(module: Operation, code: Any, place: Place | None, seconds: float, *, is_kept: bool) -> Made:
    if isinstance(code, ObjectCode):
        result = Made(None, _objects_of(code, module), _constants_of(code, module), seconds, is_kept)
    elif isinstance(code, _BYTES):
        result = Made(bytes(code), (), seconds=seconds, is_kept=is_kept)
    else:
        raise Declined(f"compile() returned a {type(code).__name__}, expected bytes or rx.codegens.ObjectCode")
    if place is not None and not is_kept:
        place.keep(code)
    return result


def _objects_of(object_code: ObjectCode, module: Operation) -> tuple[bytes, ...]:
    """Return the objects to link. Object files of all formats contain symbols' names verbatim, which is checked."""
    objects: Any = object_code.objects
    if not (isinstance(objects, (list, tuple)) and objects and all(isinstance(each, _BYTES) for each in objects)):
        raise Declined(
            f"compile() returned rx.codegens.ObjectCode({reprlib.repr(objects)}), expected a tuple of objects, each as "
            "bytes"
        )
    found = tuple(map(bytes, objects))
    symbols = [f"{SYMBOLS}{symbol_name(module)}.{name}" for name in Codegen.functions(module)]
    if missing := [name for name in symbols if not any(name.encode() in each for each in found)]:
        raise Declined(f"its objects have no symbol {', '.join(missing)}")
    return found


def _constants_of(object_code: ObjectCode, module: Operation) -> Mapping[str, Sequence[Attribute]]:
    constants: Any = object_code.constants
    if not isinstance(constants, Mapping):
        raise Declined(
            f"compile() returned constants {reprlib.repr(constants)}, expected a mapping of functions' names to "
            "attributes"
        )
    functions = Codegen.functions(module)
    for name, values in constants.items():
        if name not in functions:
            raise Declined(f"compile() returned constants of '{name}'; the part's functions are {', '.join(functions)}")
        if wrong := [value for value in values if not isinstance(value, ir.Attribute)]:
            raise Declined(
                f"compile() returned a {type(wrong[0]).__name__} as a constant of '{name}', expected an ir.Attribute"
            )
    return object_code.constants


def _compile(module: Operation, codegen: type[Codegen], options: Mapping[str, object]) -> Any:
    copied = _module_of(module)
    if codegen.pipeline:
        Pipeline(codegen.pipeline).run(copied._owner)
    if codegen.target:
        stages = stages_of(codegen.target)
        stages.until(codegen.stage or stages.names[-1]).run(copied._owner, codegen.target)
    return codegen().compile(copied, options)


def _module_of(operation: Operation) -> Any:
    """Return an rx.Module, imported by name: codegens see the users' API, which is in a layer above the passes."""
    return importlib.import_module(__name__.partition(".")[0]).Module.of(operation)


def missing_here(codegen: type[Codegen], made: Made) -> str:
    """Return what this machine lacks to run the code, according to its runtime before loading, or ""."""
    if made.data is None:
        return ""
    try:
        missing: object = find_runtime(codegen.name)().requires(memoryview(made.data))
        is_text = isinstance(missing, str)
        return str(missing) if is_text else f"requires() returned a {type(missing).__name__}, expected text"
    except RelaxError as error:
        return error.message
    except (Exception, SystemExit) as error:
        return f"requires(): {message_of(error)}"


def nodes_of(module: Operation) -> list[str]:
    """Return the names of the model's nodes in a module, without duplicates."""
    named = (name for function in functions_in(module) for op in operations_in(function) for name in origins_of(op))
    return list(dict.fromkeys(named))


def code_attribute(module: Operation, codegen: type[Codegen], made: Made) -> Attribute:
    """Return the attribute that stores the code on the program's module."""
    functions = codegen.functions(module)
    data = None if made.data is None else memoryview(made.data)
    inputs = tuple(len(body_of(function).arguments) for function in functions.values())
    version = "" if data is None else version_of(codegen)
    nodes = tuple(nodes_of(module))
    name, same_bits = symbol_name(module), codegen.same_bits
    part = ExternalPart(codegen.name, name, version, tuple(functions), nodes, data, inputs, same_bits)
    return external_attribute(part, made.objects)
