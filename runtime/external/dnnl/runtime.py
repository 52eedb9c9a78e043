# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts for oneDNN where they are loaded and called."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from ....support.errors import RelaxError
from ....support.external_runtime import ExternalRuntime, register_runtime
from .build import Builder, Constants
from .description import VERSION, Argument, Blobs, Function, Part, PostOp, Step, Value, from_bytes, to_bytes
from .library import DnnlError, library
from .plan import Plan
from .sizes import bind

#: Plans that a function with symbolic sizes keeps.
_MOST_PLANS = 32
_CLIP, _SOFTMAX = 47, 196608


@register_runtime("dnnl")
class DnnlRuntime(ExternalRuntime):
    """Makes functions of the bytes that the codegen `dnnl` has written."""

    version: ClassVar[str] = VERSION

    def requires(self, data: memoryview) -> str:
        """Why this machine cannot run them; empty where it can."""
        try:
            part, _ = from_bytes(memoryview(data))
            found = library().instructions
        except RelaxError as error:
            return str(error)
        if part.needs and found not in part.needs:
            return f"oneDNN does not compute with the part's element types with {found}: {part.needs[0]} would do"
        return why_nan_stays() if part.drops_nan else ""

    def load(self, data: memoryview) -> Mapping[str, Callable[..., None]]:
        """By name: functions of inputs and outputs. Plans of fixed sizes are made now."""
        refusal = self.requires(data)
        if refusal:
            raise DnnlError(refusal)
        part, blobs = from_bytes(memoryview(data))
        constants = Constants(blobs)
        return {function.name: Planned(function, constants, part) for function in part.functions}


class Planned:
    """A function, with a plan for each set of sizes that it has been called with lately."""

    def __init__(self, function: Function, constants: Constants, part: Part):
        self._function, self._constants = function, constants
        self._library, self._threads = library(), part.threads
        self._passed = [function.values[each] for each in (*function.inputs, *function.outputs)]
        self._plans: OrderedDict[tuple[int, ...], Plan] = OrderedDict()
        self._making = threading.Lock()
        is_symbolic = any(isinstance(size, str) for value in self._passed for size in value.dims)
        self._only = None if is_symbolic else self._made(())

    def __call__(self, *tensors: Any) -> None:
        if len(tensors) != len(self._passed):
            name = self._function.name
            raise RelaxError(f"{name} takes {len(self._passed)} tensors, inputs and outputs, got {len(tensors)}")
        plan = self._only or self._plan_for(tensors)
        before = self._library.set_threads(self._threads)
        try:
            plan.run([tensor.data_ptr() for tensor in tensors])
        finally:
            self._library.set_threads(before)

    def _plan_for(self, tensors: tuple[Any, ...]) -> Plan:
        shapes = tuple(tuple(tensor.shape) for tensor in tensors)
        key = tuple(size for shape in shapes for size in shape)
        with self._making:
            plan = self._plans.get(key)
            if plan is None:
                plan = self._plans[key] = self._made(shapes)
            self._plans.move_to_end(key)
            while len(self._plans) > _MOST_PLANS:
                self._plans.popitem(last=False)
        return plan

    def _made(self, shapes: tuple[tuple[int, ...], ...]) -> Plan:
        symbols = bind(self._passed, shapes) if shapes else {}
        with library().threads(self._threads):
            return Builder(self._function, self._constants, symbols).build()


@functools.lru_cache(maxsize=1)
def why_nan_stays() -> str:
    """Why no clip makes 0 of NaN here, alone or behind a softmax: oneDNN says nothing of it, so it is tried out."""
    import numpy
    import tvm_ffi

    source = numpy.full((37, 37), numpy.nan, "float32")
    results = numpy.full((3, *source.shape), 1.0, "float32")
    clip = {"algorithm": _CLIP, "alpha": 0.0, "beta": 1.0}
    steps = [Step("eltwise", {"src": Argument(0)}, Argument(1), clip)]
    for axis in (0, 1):
        told = {"algorithm": _SOFTMAX, "axis": axis}
        after = (PostOp("eltwise", _CLIP, 0.0, 1.0),)
        steps.append(Step("softmax", {"src": Argument(0)}, Argument(2 + axis), told, after))
    tried = Part((Function("tried", (Value(source.shape, "f32"),) * 4, (0,), (1, 2, 3), tuple(steps)),))
    function = DnnlRuntime().load(memoryview(to_bytes(tried, Blobs())))["tried"]
    function(*map(tvm_ffi.from_dlpack, (source, *results)))
    return "its oneDNN does not make 0 of NaN by a clip, which the part counts on" if results.any() else ""
