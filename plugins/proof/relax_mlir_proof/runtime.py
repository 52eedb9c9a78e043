# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runtime for programs of the target reference, which store their module as bytecode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

import numpy
from relax_mlir.bindings.navigation import operations_named
from relax_mlir.dialects.core.infos import Info, TensorInfo
from relax_mlir.frontends.module import Module
from relax_mlir.runtime.arrays import tensor, to_numpy
from relax_mlir.runtime.ffi import tvm_ffi
from relax_mlir.support.external_runtime import ExternalRuntime, register_runtime

from .interpreter.held_values import stored
from .interpreter.reference import reference


@register_runtime("reference")
class ReferenceRuntime(ExternalRuntime):
    """Interpreted functions. Each returns a list of its results."""

    def load(self, data: memoryview) -> Mapping[str, Callable[..., object]]:
        module = Module.parse(bytes(data), "the program's module")
        interpreted, lock = reference(module), Lock()
        writes = bool(operations_named(module.operation, "relax.call_packed"))
        return {name: _function(interpreted[name], lock, writes) for name in interpreted}


def _function(function: Any, lock: Lock, writes: bool) -> Callable[..., object]:
    def call(*arguments: Any) -> object:
        given = [_argument(*each) for each in zip(function.inputs, arguments, strict=True)]
        with lock:  # a machine runs one call at a time
            results = function.run(given)
        for argument, array in zip(arguments, given, strict=True) if writes else ():
            if isinstance(array, numpy.ndarray):
                to_numpy(argument, array.dtype)[...] = array
        return tvm_ffi.convert([_result(result) for result in results])

    return tvm_ffi.convert(call)


def _argument(info: Info, value: Any) -> object:
    """Copy an argument, because the caller's memory is valid only during the call.

    Sub-byte elements arrive as bytes.
    """
    return to_numpy(value, stored(info.dtype)).copy() if isinstance(info, TensorInfo) else value


def _result(value: object) -> object:
    if isinstance(value, tuple):
        return tvm_ffi.Shape(value)
    return tensor(numpy.array(value, order="C")) if isinstance(value, numpy.ndarray) else value
