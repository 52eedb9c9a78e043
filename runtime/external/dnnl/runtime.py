# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts for oneDNN where they are loaded and called."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import ClassVar
from weakref import WeakValueDictionary

from ....support.errors import RelaxError
from ....support.external_bytes import packed, unpacked
from ....support.external_runtime import ExternalRuntime, register_runtime
from ...foreign_types import Tensor
from ...native_calls import CallList, NativeFunction
from .call_sizes import bind
from .description import Argument, Function, Part, PostOp, Step, Value
from .library import DnnlError, library
from .plan_builder import Builder, Constants
from .primitive_plan import PrimitivePlan

#: Lists of calls that a function keeps: for other sizes, and for threads that call at once.
_MOST_PLANS = 32
_CLIP, _SOFTMAX = 47, 196608


@register_runtime("dnnl")
class DnnlRuntime(ExternalRuntime):
    """Makes functions of the bytes that the codegen `dnnl` has written."""

    version: ClassVar[str] = "2"

    def requires(self, data: memoryview) -> str:
        """Why this machine cannot run them; empty where it can."""
        try:
            part = unpacked("dnnl", memoryview(data), Part)
            found = library().instructions
        except RelaxError as error:
            return str(error)
        if part.needs and found not in part.needs:
            return f"oneDNN does not compute with the part's element types with {found}: {part.needs[0]} would do"
        return why_nan_stays() if part.drops_nan else ""

    def load(self, data: memoryview) -> Mapping[str, Callable[..., None]]:
        """By name: functions of inputs and outputs. Plans of fixed sizes are made now."""
        return {name: each.native() for name, each in self._planned(data, is_used=True).items()}

    def try_out(self, data: memoryview) -> None:
        """Raises what `load` would, without what it makes of constants."""
        self._planned(data, is_used=False)

    def _planned(self, data: memoryview, *, is_used: bool) -> dict[str, Planned]:
        refusal = self.requires(data)
        if refusal:
            raise DnnlError(refusal)
        part = unpacked("dnnl", memoryview(data), Part)
        constants = Constants(is_used=is_used)
        return {function.name: Planned(function, constants, part) for function in part.functions}


class Planned:
    """A function, with a plan for each set of sizes that it has been called with lately."""

    def __init__(self, function: Function, constants: Constants, part: Part):
        self._function, self._constants, self._threads = function, constants, part.threads
        self._passed = [function.values[each] for each in (*function.inputs, *function.outputs)]
        #: Of sizes that lists of calls are there for.
        self._plans: WeakValueDictionary[tuple[int, ...], PrimitivePlan] = WeakValueDictionary()
        self._making = threading.Lock()
        is_symbolic = any(isinstance(size, str) for value in self._passed for size in value.dims)
        self.only = None if is_symbolic else self._made({})

    def native(self) -> NativeFunction:
        """What programs call."""
        return NativeFunction(self._listed, len(self._passed), _MOST_PLANS)

    def _listed(self, *tensors: Tensor) -> CallList:
        """The calls for these sizes, whose plan is made when the first thread needs it."""
        strided = next((place for place, each in enumerate(tensors) if not each.is_contiguous()), None)
        if strided is not None:
            raise RelaxError(
                f"argument {strided} has strides {tuple(tensors[strided].strides)}: it has to be row-major"
            )
        shapes = [tuple(tensor.shape) for tensor in tensors]
        symbols = bind(self._passed, shapes)
        key = tuple(size for shape in shapes for size in shape)
        with self._making:
            plan = self.only or self._plans.get(key)
            if plan is None:
                plan = self._plans[key] = self._made(symbols)
        return plan.listed(self._threads)

    def _made(self, symbols: Mapping[str, int]) -> PrimitivePlan:
        with library().threads(self._threads):
            return Builder(self._function, self._constants, symbols).build()


@functools.lru_cache(maxsize=1)
def why_nan_stays() -> str:
    """Why no clip makes 0 of NaN here, alone or behind a softmax: oneDNN says nothing of it, so it is tried out."""
    import numpy

    from ...ffi import tvm_ffi

    source = numpy.full((37, 37), numpy.nan, "float32")
    results = numpy.full((3, *source.shape), 1.0, "float32")
    clip = {"algorithm": _CLIP, "alpha": 0.0, "beta": 1.0}
    steps = [Step("eltwise", {"src": Argument(0)}, Argument(1), clip)]
    for axis in (0, 1):
        attributes = {"algorithm": _SOFTMAX, "axis": axis}
        after = (PostOp("eltwise", _CLIP, 0.0, 1.0),)
        steps.append(Step("softmax", {"src": Argument(0)}, Argument(2 + axis), attributes, after))
    tried = Part((Function("tried", (Value(source.shape, "f32"),) * 4, (0,), (1, 2, 3), tuple(steps)),))
    function = DnnlRuntime().load(memoryview(packed("dnnl", tried)))["tried"]
    function(*map(tvm_ffi.from_dlpack, (source, *results)))
    return "its oneDNN does not make 0 of NaN by a clip, which the part counts on" if results.any() else ""
