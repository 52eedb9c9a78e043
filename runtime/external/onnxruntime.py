# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs parts that are ONNX models: a session of onnxruntime for each function, which writes results in place."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...support.errors import RelaxError
from ...support.external_bytes import Data, unpacked
from ...support.external_runtime import ExternalRuntime, register_runtime
from ..foreign_types import ArrayOrTensor, Tensor

if TYPE_CHECKING:
    import onnxruntime

#: The first that runs the version of ONNX's operators that parts are written for.
LEAST_VERSION = (1, 18)
#: Of its vectors.
_ALIGNMENT = 16

# ONNX's numbers of element types, by onnxruntime's names of them.
_TYPES = {
    "float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
    "double": 11, "uint32": 12, "uint64": 13, "bfloat16": 16,
}  # fmt: skip
_TENSOR = re.compile(r"tensor\((\w+)\)")


@dataclass(frozen=True)
class Part:
    """What the bytes of a part hold: models by the names of functions."""

    threads: int
    models: Mapping[str, Data]


@register_runtime("onnxruntime")
class OnnxRuntime(ExternalRuntime):
    """Sessions for the functions of a part."""

    version = "2"

    def requires(self, data: memoryview) -> str:
        """The package onnxruntime, not older than the models."""
        del data
        try:
            import onnxruntime
        except ImportError:
            return "it needs the package onnxruntime (pip install onnxruntime)"
        found = tuple(map(int, re.findall(r"\d+", onnxruntime.__version__)[:2]))
        least = ".".join(map(str, LEAST_VERSION))
        needed = f"it needs onnxruntime {least} or newer, here is {onnxruntime.__version__}"
        return "" if found >= LEAST_VERSION else needed

    def load(self, data: memoryview) -> Mapping[str, Callable[..., None]]:
        part = unpacked("onnxruntime", data, Part)
        return {name: _Function(name, bytes(model), part.threads) for name, model in part.models.items()}


class _Function:
    """One model: called with inputs, then with the tensors that results are to be written to."""

    def __init__(self, name: str, model: bytes, threads: int):
        self._name = name
        self._session = _session(name, model, threads)
        self._inputs = [_Border(each) for each in self._session.get_inputs()]
        self._outputs = [_Border(each) for each in self._session.get_outputs()]

    def __call__(self, *arguments: Tensor | float) -> None:
        count = len(self._inputs)
        if len(arguments) != count + len(self._outputs):
            wanted = f"{count} inputs and {len(self._outputs)} outputs"
            raise RelaxError(f"{self._name} takes {wanted}, got {len(arguments)} tensors")
        binding = self._session.io_binding()
        inputs = [border.placed(each) for border, each in zip(self._inputs, arguments, strict=False)]
        results = [border.placed(each) for border, each in zip(self._outputs, arguments[count:], strict=True)]
        if results and all(0 in each.shape for each in results):
            return  # some kernels divide by sizes that are 0
        for border, each in zip(self._inputs, inputs, strict=True):
            each.fetch()
            border.bind(binding.bind_input, each)
        for border, each in zip(self._outputs, results, strict=True):
            border.bind(binding.bind_output, each)
        self._session.run_with_iobinding(binding)
        for each in results:
            each.move()


class _Border:
    """An input or output of a session."""

    def __init__(self, about: onnxruntime.NodeArg):
        self._name: str = about.name
        found = _TENSOR.fullmatch(about.type)
        if found is None or found[1] not in _TYPES:
            raise RelaxError(f"'{about.name}' is of type {about.type}, which is not passed")
        self._dtype, self._number = found[1], _TYPES[found[1]]

    def bind(self, bind: Callable[..., None], placed: _Placed) -> None:
        """Says where the elements are."""
        # Of nothing at all there is no address, which has to be another one than 0.
        bind(self._name, "cpu", 0, self._number, placed.shape, placed.address or 1)

    def placed(self, argument: ArrayOrTensor | float) -> _Placed:
        """A tensor, or a number in memory of its own."""
        from ..ffi import tvm_ffi

        if isinstance(argument, (bool, int, float)):
            import numpy

            argument = numpy.array(argument, {"float": "float32", "double": "float64"}.get(self._dtype, self._dtype))
        tensor = argument if isinstance(argument, tvm_ffi.Tensor) else tvm_ffi.from_dlpack(argument)
        if not tensor.is_contiguous():
            raise RelaxError(f"'{self._name}' has to lie in one piece, its strides are {tuple(tensor.strides)}")
        return _Placed(tensor)


class _Placed:
    """A tensor in aligned memory, another one where its own is not: the last bits of onnxruntime's sums and functions
    hang on that.
    """

    def __init__(self, tensor: Tensor):
        self._tensor, self.shape = tensor, list(tensor.shape)
        self.address = self._own = tensor.data_ptr()
        if self._own % _ALIGNMENT:
            self._size = tensor.numel() * tensor.dtype.itemsize
            self._memory = (ctypes.c_char * (self._size + _ALIGNMENT))()
            address = ctypes.addressof(self._memory)
            self.address = address + -address % _ALIGNMENT

    def fetch(self) -> None:
        """Brings an input there."""
        if self.address != self._own:
            ctypes.memmove(self.address, self._own, self._size)

    def move(self) -> None:
        """Brings a result to its own place."""
        if self.address != self._own:
            ctypes.memmove(self._own, self.address, self._size)


def _session(name: str, model: bytes, threads: int) -> onnxruntime.InferenceSession:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    try:
        # Of opset 21 on it puts QuantizeLinear of another type than its zero point next to pools, and refuses that.
        off, providers = ["QDQPropagationTransformer"], ["CPUExecutionProvider"]
        return onnxruntime.InferenceSession(model, options, providers=providers, disabled_optimizers=off)
    except Exception as error:  # of onnxruntime's own classes, which have no public base
        raise RelaxError(f"onnxruntime {onnxruntime.__version__} refuses the model of {name}: {error}") from error
