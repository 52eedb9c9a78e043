# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runtime of the codegen `dnnl`, which loads and calls its parts."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import ClassVar
from weakref import WeakValueDictionary

from relax_mlir import RelaxError
from relax_mlir.codegens import ExternalRuntime, register_runtime
from relax_mlir.runtime import CallList, NativeFunction, Tensor, packed, unpacked

from .call_sizes import bind
from .description import Argument, DnnlFunction, DnnlPart, PostOp, PrimitiveStep, Value
from .library import DnnlError, library
from .plan_builder import Builder, Constants
from .primitive_plan import PrimitivePlan

#: Idle call lists that a function keeps, for different sizes and for concurrent threads.
_MOST_PLANS = 32
_CLIP, _SOFTMAX = 47, 196608


@register_runtime("dnnl")
class DnnlRuntime(ExternalRuntime):
    """Loader of the bytes that the codegen `dnnl` writes."""

    version: ClassVar[str] = "2"

    def requires(self, data: memoryview) -> str:
        """Return the reason why this machine cannot run the part, or ""."""
        try:
            part = unpacked("dnnl", memoryview(data), DnnlPart)
            current = library().instructions
        except RelaxError as error:
            return str(error)
        if part.needs and current not in part.needs:
            needed = ", ".join(part.needs)
            return f"the part's element types need one of the instruction sets {needed}, but oneDNN has {current} here"
        return why_nan_stays() if part.drops_nan else ""

    def load(self, data: memoryview) -> Mapping[str, Callable[..., None]]:
        """Return the functions of inputs and outputs by name. Functions with fixed sizes are planned now."""
        return {name: value.native() for name, value in self._plan(data, is_used=True).items()}

    def try_out(self, data: memoryview) -> None:
        """Raise the errors of `load`, without memory for reordered constants."""
        self._plan(data, is_used=False)

    def _plan(self, data: memoryview, *, is_used: bool) -> dict[str, Planned]:
        if refusal := self.requires(data):
            raise DnnlError(refusal)
        part = unpacked("dnnl", memoryview(data), DnnlPart)
        constants = Constants(is_used=is_used)
        return {function.name: Planned(function, constants, part) for function in part.functions}


class Planned:
    """Function with a plan for each set of sizes of its recent calls."""

    def __init__(self, function: DnnlFunction, constants: Constants, part: DnnlPart):
        self._function, self._constants, self._threads = function, constants, part.threads
        self._arguments = [function.values[value] for value in (*function.inputs, *function.outputs)]
        #: Plans by sizes, which live as long as their call lists.
        self._plans: WeakValueDictionary[tuple[int, ...], PrimitivePlan] = WeakValueDictionary()
        self._lock = threading.Lock()
        is_symbolic = any(isinstance(size, str) for value in self._arguments for size in value.dims)
        self.only = None if is_symbolic else self._build_plan({})

    def native(self) -> NativeFunction:
        """Return the function that programs call."""
        return NativeFunction(self._make_calls, len(self._arguments), _MOST_PLANS)

    def _make_calls(self, *tensors: Tensor) -> CallList:
        """Return the calls for the sizes of the tensors. The first thread that needs a plan builds it."""
        strided = next((place for place, tensor in enumerate(tensors) if not tensor.is_contiguous()), None)
        if strided is not None:
            strides = tuple(tensors[strided].strides)
            raise RelaxError(f"argument {strided} has strides {strides}, expected a row-major tensor: pass a copy")
        shapes = [tuple(tensor.shape) for tensor in tensors]
        symbols = bind(self._arguments, shapes)
        key = tuple(size for shape in shapes for size in shape)
        with self._lock:
            plan = self.only or self._plans.get(key)
            if plan is None:
                plan = self._plans[key] = self._build_plan(symbols)
        return plan.make_calls(self._threads)

    def _build_plan(self, symbols: Mapping[str, int]) -> PrimitivePlan:
        with library().threads(self._threads):
            return Builder(self._function, self._constants, symbols).build()


@functools.lru_cache(maxsize=1)
def why_nan_stays() -> str:
    """Return the reason why a clip does not replace NaN by 0 on this machine, or "".

    oneDNN does not document a clip's result for NaN, so this function runs a clip, and softmaxes with a clip.
    """
    import numpy
    from relax_mlir.runtime.ffi import tvm_ffi

    source = numpy.full((37, 37), numpy.nan, "float32")
    results = numpy.full((3, *source.shape), 1.0, "float32")
    clip = {"algorithm": _CLIP, "alpha": 0.0, "beta": 1.0}
    steps = [PrimitiveStep("eltwise", {"src": Argument(0)}, Argument(1), clip)]
    for axis in (0, 1):
        attributes = {"algorithm": _SOFTMAX, "axis": axis}
        after = (PostOp("eltwise", _CLIP, 0.0, 1.0),)
        steps.append(PrimitiveStep("softmax", {"src": Argument(0)}, Argument(2 + axis), attributes, after))
    tried = DnnlPart((DnnlFunction("tried", (Value(source.shape, "f32"),) * 4, (0,), (1, 2, 3), tuple(steps)),))
    function = DnnlRuntime().load(memoryview(packed("dnnl", tried)))["tried"]
    function(*map(tvm_ffi.from_dlpack, (source, *results)))
    return "the part needs a clip that replaces NaN by 0, unlike oneDNN's clip here" if results.any() else ""
