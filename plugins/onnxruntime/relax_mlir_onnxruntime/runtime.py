# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runtime of the codegen `onnxruntime`: a session per function, which writes results to the caller's tensors."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from relax_mlir import RelaxError
from relax_mlir.codegens import ExternalRuntime, register_runtime
from relax_mlir.runtime import ArrayOrTensor, Data, Tensor, unpacked

if TYPE_CHECKING:
    import onnxruntime

#: First version that supports the opset of the parts.
LEAST_VERSION = (1, 18)
#: Alignment of onnxruntime's vector instructions in bytes.
_ALIGNMENT = 16

# ONNX's numbers of element types, by onnxruntime's names.
_TYPES = {
    "float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
    "double": 11, "uint32": 12, "uint64": 13, "bfloat16": 16,
}  # fmt: skip
_TENSOR = re.compile(r"tensor\((\w+)\)")


@dataclass(frozen=True)
class SessionPart:
    """Content of a part's bytes: threads per operator, and models by function name."""

    threads: int
    models: Mapping[str, Data]


@register_runtime("onnxruntime")
class OnnxRuntime(ExternalRuntime):
    """Runtime with a session for each function of a part."""

    version = "2"

    def requires(self, data: memoryview) -> str:
        """Return the reason why models cannot run: onnxruntime is missing or too old. Empty if they can."""
        del data
        try:
            import onnxruntime
        except ImportError:
            return "it needs the package onnxruntime (pip install onnxruntime)"
        found = tuple(map(int, re.findall(r"\d+", onnxruntime.__version__)[:2]))
        least = ".".join(map(str, LEAST_VERSION))
        needed = f"it needs onnxruntime {least} or newer, found {onnxruntime.__version__}"
        return "" if found >= LEAST_VERSION else needed

    def load(self, data: memoryview) -> Mapping[str, Callable[..., None]]:
        part = unpacked("onnxruntime", data, SessionPart)
        return {name: _Function(name, bytes(model), part.threads) for name, model in part.models.items()}


class _Function:
    """Function that runs a model. Its arguments are the inputs, then the tensors for the results."""

    def __init__(self, name: str, model: bytes, threads: int):
        self._name = name
        self._session = _session(name, model, threads)
        self._inputs = [_Border(input_) for input_ in self._session.get_inputs()]
        self._outputs = [_Border(output) for output in self._session.get_outputs()]

    def __call__(self, *arguments: Tensor | float) -> None:
        count = len(self._inputs)
        if len(arguments) != count + len(self._outputs):
            wanted = f"{count} inputs and {len(self._outputs)} outputs"
            raise RelaxError(f"{self._name} takes {wanted}, got {len(arguments)} tensors")
        binding = self._session.io_binding()
        inputs = [border.placed(argument) for border, argument in zip(self._inputs, arguments, strict=False)]
        results = [border.placed(argument) for border, argument in zip(self._outputs, arguments[count:], strict=True)]
        if results and all(0 in each.shape for each in results):
            return  # some kernels divide by sizes of 0
        for border, input_ in zip(self._inputs, inputs, strict=True):
            input_.fetch()
            border.bind(binding.bind_input, input_)
        for border, result in zip(self._outputs, results, strict=True):
            border.bind(binding.bind_output, result)
        self._session.run_with_iobinding(binding)
        for each in results:
            each.move()


class _Border:
    """Input or output of a session."""

    def __init__(self, about: onnxruntime.NodeArg):
        self._name: str = about.name
        if (match := _TENSOR.fullmatch(about.type)) is None or match[1] not in _TYPES:
            raise RelaxError(f"'{about.name}' has type {about.type}, which cannot be passed to onnxruntime")
        self._dtype, self._number = match[1], _TYPES[match[1]]

    def bind(self, bind: Callable[..., None], placed: _Placed) -> None:
        """Bind the address of the elements."""
        # An empty tensor may have the address 0, which onnxruntime refuses.
        bind(self._name, "cpu", 0, self._number, placed.shape, placed.address or 1)

    def placed(self, argument: ArrayOrTensor | float) -> _Placed:
        """Return an argument in aligned memory. A number receives memory of its own."""
        from relax_mlir.runtime.ffi import tvm_ffi

        if isinstance(argument, (bool, int, float)):
            import numpy

            argument = numpy.array(argument, {"float": "float32", "double": "float64"}.get(self._dtype, self._dtype))
        tensor = argument if isinstance(argument, tvm_ffi.Tensor) else tvm_ffi.from_dlpack(argument)
        if not tensor.is_contiguous():
            raise RelaxError(f"'{self._name}' must be contiguous, got strides {tuple(tensor.strides)}")
        return _Placed(tensor)


class _Placed:
    """Tensor in aligned memory: its own memory, or a copy if that is not aligned.

    The last bits of onnxruntime's sums and elementwise functions depend on the alignment.
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
        """Copy an input to the aligned memory."""
        if self.address != self._own:
            ctypes.memmove(self.address, self._own, self._size)

    def move(self) -> None:
        """Copy a result from the aligned memory to the caller's tensor."""
        if self.address != self._own:
            ctypes.memmove(self._own, self.address, self._size)


def _session(name: str, model: bytes, threads: int) -> onnxruntime.InferenceSession:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    # Without it, onnxruntime saturates sums of two products of bytes in 16 bits on processors without VNNI.
    options.add_session_config_entry("session.x64quantprecision", "1")
    try:
        # From opset 21 on, this optimizer puts a QuantizeLinear next to pools. Its type differs from the type of its
        # zero point, so the session refuses the model.
        off, providers = ["QDQPropagationTransformer"], ["CPUExecutionProvider"]
        return onnxruntime.InferenceSession(model, options, providers=providers, disabled_optimizers=off)
    except Exception as error:  # onnxruntime's exceptions have no public base class
        raise RelaxError(f"onnxruntime {onnxruntime.__version__} refuses the model of {name}: {error}") from error
