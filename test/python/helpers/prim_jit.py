# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of relax operators on arrays: built, compiled for llvm by the whole pipeline, and called like by users."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import spirv_validation
from emulated_gpu import run_emulated
from relax_mlir.bindings.mlir import as_list
from relax_mlir.dialects.core.infos import DTYPE_BY_NAME, ScalarInfo, TensorInfo
from relax_mlir.runtime import Executable, tensor, to_numpy

import relax_mlir as rx

#: Target of the tests of operators: `make gpu` and `suite.py gpu-emulated` run the same tests for another target. With
#: "reference" functions are interpreted, and the tests check rx.reference.
TARGET = os.environ.get("RELAX_MLIR_TEST_TARGET", "llvm")


def dtype_name(array: Any) -> str:
    """Return the dialects' name of numpy's element type."""
    return DTYPE_BY_NAME[array.dtype.name]


def run_op(
    name: str,
    *arguments: Any,
    symbols: Sequence[Sequence[str | int]] = (),
    target: str = TARGET,
    default_rules: bool = False,
    **attributes: Any,
) -> Any:
    """Return the operator's result, an array or a tuple of arrays.

    Arrays are passed at run time; other arguments are constants in the module. `symbols` are the arrays' shapes for the
    compiler, by default their own. With `default_rules` the default target's rules apply where the target would leave
    the operator unchanged.
    """
    arrays = [argument for argument in arguments if isinstance(argument, numpy.ndarray)]
    shapes = tuple(tuple(shape) for shape in symbols) or tuple(array.shape for array in arrays)
    infos = tuple(rx.tensor(shape, dtype_name(array)) for shape, array in zip(shapes, arrays, strict=True))
    literals = tuple(None if isinstance(argument, numpy.ndarray) else (argument,) for argument in arguments)
    executable = compiled(name, infos, literals, tuple(attributes.items()), target, default_rules)
    return called(executable, *arrays)


def called(executable: Executable, *arguments: Any) -> Any:
    """Return the results of `main` with their element types: an array, or a tuple of arrays."""
    given = [tensor(each) if isinstance(each, numpy.ndarray) else each for each in arguments]
    results = _called(executable, given)
    # Of less than a byte, in bytes.
    held = [output.get("holds") for output in executable.signature("main")["outputs"]]
    if len(held) == 1:
        return to_numpy(results, held[0])
    return tuple(to_numpy(each, dtype) for each, dtype in zip(results, held, strict=True))


def _called(executable: Executable, given: Sequence[Any]) -> Any:
    name = TARGET.partition("{")[0]
    if name == "cuda":
        return run_emulated(executable, *given)
    if name in ("vulkan", "opencl"):
        spirv_validation.check(executable)
        return executable.copying()["main"](*given)
    return executable["main"](*given)


@functools.lru_cache(maxsize=256)
def compiled(
    name: str,
    infos: tuple[TensorInfo, ...],
    literals: tuple[Any, ...],
    attributes: tuple[tuple[str, Any], ...],
    target: str = TARGET,
    default_rules: bool = False,
) -> Executable:
    module = rx.Module()
    with module.function("main", infos) as f:
        tensors = iter(f)
        operands = [next(tensors) if literal is None else literal[0] for literal in literals]
        made = rx.find_op(name)(*operands, **dict(attributes))
        f.returns(*as_list(made))
    module.verify()
    return _executable(module, target, default_rules)


def _executable(module: rx.Module, target: str, default_rules: bool = False) -> Any:
    stages = rx.stages(target)
    if default_rules and target != "reference":
        stages = stages.insert_before("legalize", "default-rules", "relax-legalize-ops{target=default}")
    return rx.compile(module, target=target, pipeline=stages)


def run_built(build: Callable[..., Any], *arguments: Any, symbols: Sequence[Sequence[str | int]] = ()) -> Any:
    """Return the array that `build(*parameters)` computes for arrays and numbers, which are i64 or f64.

    It is for operands that `run_op` cannot distinguish. `symbols` are the arrays' shapes, as for `run_op`.
    """
    shapes = iter(symbols or [array.shape for array in arguments if isinstance(array, numpy.ndarray)])
    infos = [
        rx.tensor(next(shapes), dtype_name(argument))
        if isinstance(argument, numpy.ndarray)
        else ScalarInfo("f64" if isinstance(argument, float) else "i64")
        for argument in arguments
    ]
    module = rx.Module()
    with module.function("main", infos) as f:
        f.returns(build(*f))
    return called(_executable(module, TARGET), *arguments)
