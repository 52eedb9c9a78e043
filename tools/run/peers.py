# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Peers of --compare: a model in onnxruntime, LiteRT or torch, or the reference interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...frontends.front_end import front_end_named
from ...runtime import Executable
from ...runtime.arrays import to_numpy
from ...support.errors import OptionError, RelaxError
from ..common.models import MODULE_KINDS, ONNX, TORCH, kind_of, read_model
from .compare import Reference
from .inputs import Given, passed
from .options import REFERENCE
from .peer import Made, Peer, numbered


class Compared(NamedTuple):
    """Program under comparison: its file, and the called function."""

    path: str
    executable: Executable
    function: str


def peer_of(other: str, program: Compared, inputs: Mapping[str, Given], *, trust: bool) -> Peer:
    """Return the peer that --compare names, with its results for these inputs. Raise RelaxError if it fails."""
    threads = program.executable.threads
    if other == REFERENCE:
        return _by_definitions(program, inputs)
    kind = kind_of(other)
    if kind == ONNX:
        return Reference(other, inputs, threads)
    if kind == TORCH:
        from .torch_peer import torch_peer  # needs torch

        return torch_peer(other, inputs, threads, trust=trust)
    if kind in MODULE_KINDS:
        return _by_interpreter(other, program.function, inputs)
    front_end = front_end_named(kind)
    if front_end.peer is None:
        return _by_interpreter(other, program.function, inputs)
    with front_end.guarded():
        name, run = front_end.peer(other, inputs, threads)
        return Made(name, threads, run, run())


def _by_definitions(program: Compared, inputs: Mapping[str, Given]) -> Made:
    """Interpret the program's original model, which programs of --observe contain."""
    if program.executable.definitions is None:
        raise OptionError(
            f"--compare=reference interprets the model that {program.path} was made of, and the program does not hold "
            "it: compile with --observe, or name the file of a module, --compare=module.mlir"
        )
    from ...testing.program_values import RESULTS, ProgramValues  # needs the compiler

    values = ProgramValues(program.executable, program.function, list(inputs.values()), program.path)
    return _interpreted(lambda: values.of_model()[RESULTS][0])


def _by_interpreter(path: str, function: str, inputs: Mapping[str, Given]) -> Made:
    from ...interpreter.reference import reference  # needs the compiler

    called = reference(read_model(path))[function]
    return _interpreted(lambda: _flat(called(*map(_copied, inputs.values()))))


def _interpreted(run: Callable[[], Sequence[Any]]) -> Made:
    try:
        results = run()
    except RelaxError:
        raise
    except (ValueError, TypeError) as error:
        raise OptionError(f"the reference cannot run the module with these inputs: {error}") from None
    return Made("the reference", 1, run, numbered([each for each in results if each is not None]))


def _flat(returned: Any) -> list[Any]:
    if isinstance(returned, (list, tuple)):
        return [array for each in returned for array in _flat(each)]
    return [returned]


def _copied(value: Given) -> Any:
    """Return copies of arrays, because a function may write to its arguments."""
    if isinstance(value, list):
        return list(map(_copied, value))
    array: Any = passed(value)
    return to_numpy(array).copy() if hasattr(value, "shape") else value
