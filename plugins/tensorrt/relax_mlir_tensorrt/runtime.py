# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runtime of the codegen `tensorrt`: an engine per function, which works on addresses in GPU memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from relax_mlir import RelaxError
from relax_mlir.codegens import ExternalRuntime, register_runtime
from relax_mlir.runtime import Data, Tensor, unpacked

from .cudart import CUDA, Cuda, CudaError

if TYPE_CHECKING:
    import tensorrt


def input_name(number: int) -> str:
    return f"input{number}"


def output_name(number: int) -> str:
    return f"output{number}"


@dataclass(frozen=True)
class BuiltEngine:
    """Engine of a function in TensorRT's format, with the element sizes of inputs and outputs in bytes."""

    inputs: Sequence[int]
    outputs: Sequence[int]
    plan: Data


@dataclass(frozen=True)
class EnginePart:
    """Content of a part's bytes. `version` is the version of TensorRT that built the engines."""

    version: str
    engines: Mapping[str, BuiltEngine]


@register_runtime("tensorrt")
class TensorRtRuntime(ExternalRuntime):
    """Runtime with an execution context for each function of a part."""

    version = "2"

    def requires(self, data: memoryview) -> str:
        """Return the reason why engines cannot run: no TensorRT of their version, CUDA's library or GPU. Else empty."""
        version = unpacked("tensorrt", data, EnginePart).version
        try:
            import tensorrt
        except ImportError:
            return f"it needs the package tensorrt {version} (pip install tensorrt=={version})"
        if tensorrt.__version__ != version:
            return f"it needs TensorRT {version}, which built the engines, found {tensorrt.__version__}"
        try:
            return "" if Cuda().devices() else "it needs a GPU, and CUDA finds none"
        except CudaError as error:
            return f"it needs a GPU: {error}"

    def load(self, data: memoryview) -> Mapping[str, Callable[..., None]]:
        import tensorrt

        runtime = tensorrt.Runtime(tensorrt.Logger(tensorrt.Logger.WARNING))
        cuda, engines = Cuda(), unpacked("tensorrt", data, EnginePart).engines
        return {name: _Function(name, engine, runtime, cuda) for name, engine in engines.items()}


class _Function:
    """Function that runs an engine. Its arguments are the inputs, then the tensors for the results."""

    def __init__(self, name: str, engine: BuiltEngine, runtime: tensorrt.Runtime, cuda: Cuda):
        self._name, self._cuda, self._runtime = name, cuda, runtime
        self._inputs = [(input_name(number), size) for number, size in enumerate(engine.inputs)]
        self._outputs = [(output_name(number), size) for number, size in enumerate(engine.outputs)]
        self._engine = runtime.deserialize_cuda_engine(bytes(engine.plan))
        if self._engine is None:
            raise RelaxError(f"TensorRT refuses the engine of {name}; see TensorRT's messages for the reason")
        self._context = self._engine.create_execution_context()
        self._buffers: dict[str, _Buffer] = {}
        # A context supports one call at a time.
        self._lock = threading.Lock()

    def __call__(self, *arguments: Tensor) -> None:
        wanted = len(self._inputs) + len(self._outputs)
        if len(arguments) != wanted:
            counts = f"{len(self._inputs)} inputs and {len(self._outputs)} outputs"
            raise RelaxError(f"{self._name} takes {counts}, got {len(arguments)} tensors")
        with self._lock:
            self._run(arguments[: len(self._inputs)], arguments[len(self._inputs) :])

    def _run(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
        for (name, size), tensor in zip(self._inputs, inputs, strict=True):
            shape = tuple(tensor.shape)
            if not self._context.set_input_shape(name, shape):
                raise RelaxError(f"{self._name}: {name} has shape {shape}, which is outside of the engine's range")
            bytes_ = size * prod(shape)
            address = self._address(name, tensor, bytes_)
            if not _is_on_gpu(tensor):
                self._cuda.to_device(address, tensor.data_ptr(), bytes_)
            self._context.set_tensor_address(name, address)
        for (name, size), tensor in zip(self._outputs, outputs, strict=True):
            self._context.set_tensor_address(name, self._address(name, tensor, size * prod(tensor.shape)))
        if not self._context.execute_async_v3(self._cuda.stream):
            raise RelaxError(f"{self._name}: TensorRT did not run the engine; see TensorRT's messages for the reason")
        for (name, size), tensor in zip(self._outputs, outputs, strict=True):
            if not _is_on_gpu(tensor):
                self._cuda.to_host(tensor.data_ptr(), self._buffers[name].address, size * prod(tensor.shape))
        self._cuda.wait()

    def _address(self, name: str, tensor: Tensor, size: int) -> int:
        """Return a tensor's address on the GPU: its own, or the address of a buffer for a tensor on the CPU."""
        if _is_on_gpu(tensor):
            return tensor.data_ptr()
        if (found := self._buffers.get(name)) is None or found.size < size:
            self._buffers.pop(name, None)
            found = self._buffers[name] = _Buffer(self._cuda, size)
        return found.address


class _Buffer:
    """GPU memory, which is freed with its last reference."""

    def __init__(self, cuda: Cuda, size: int):
        self._cuda, self.size, self.address = cuda, size, cuda.allocate(size)

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self._cuda.free(self.address)


def _is_on_gpu(tensor: Tensor) -> bool:
    return tensor.__dlpack_device__()[0] == CUDA
