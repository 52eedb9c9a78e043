# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs parts that are engines of TensorRT: one for each function, by addresses in the memory of the GPU."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from ...support.errors import RelaxError
from ...support.external_bytes import Data, unpacked
from ...support.external_runtime import ExternalRuntime, register_runtime
from ..foreign_types import Tensor
from .cudart import Cuda, CudaError
from .nvidia import CUDA

if TYPE_CHECKING:
    import tensorrt


def input_name(number: int) -> str:
    return f"input{number}"


def output_name(number: int) -> str:
    return f"output{number}"


@dataclass(frozen=True)
class Engine:
    """A function: how many bytes an element of each input and output has, and the engine as TensorRT stores it."""

    inputs: Sequence[int]
    outputs: Sequence[int]
    plan: Data


@dataclass(frozen=True)
class Part:
    """What the bytes of a part hold. `version` is that of the TensorRT that has built the engines."""

    version: str
    engines: Mapping[str, Engine]


@register_runtime("tensorrt")
class TensorRtRuntime(ExternalRuntime):
    """Execution contexts for the functions of a part."""

    version = "2"

    def requires(self, data: memoryview) -> str:
        """The TensorRT that the engines were built by, a GPU, and CUDA's library."""
        version = unpacked("tensorrt", data, Part).version
        try:
            import tensorrt
        except ImportError:
            return f"it needs the package tensorrt {version} (pip install tensorrt=={version})"
        if tensorrt.__version__ != version:
            return f"its engines are run by TensorRT {version}, which built them, and here is {tensorrt.__version__}"
        try:
            return "" if Cuda().devices() else "it needs a GPU, and CUDA finds none"
        except CudaError as error:
            return f"it needs a GPU: {error}"

    def load(self, data: memoryview) -> Mapping[str, Callable[..., None]]:
        import tensorrt

        runtime = tensorrt.Runtime(tensorrt.Logger(tensorrt.Logger.WARNING))
        cuda, engines = Cuda(), unpacked("tensorrt", data, Part).engines
        return {name: _Function(name, engine, runtime, cuda) for name, engine in engines.items()}


class _Function:
    """One engine: called with inputs, then with the tensors that results are to be written to."""

    def __init__(self, name: str, engine: Engine, runtime: tensorrt.Runtime, cuda: Cuda):
        self._name, self._cuda, self._runtime = name, cuda, runtime
        self._inputs = [(input_name(number), size) for number, size in enumerate(engine.inputs)]
        self._outputs = [(output_name(number), size) for number, size in enumerate(engine.outputs)]
        self._engine = runtime.deserialize_cuda_engine(bytes(engine.plan))
        if self._engine is None:
            raise RelaxError(f"TensorRT refuses the engine of {name}, its messages say why")
        self._context = self._engine.create_execution_context()
        self._buffers: dict[str, _Buffer] = {}
        # A context is for one call at a time.
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
                raise RelaxError(f"{self._name}: {name} of sizes {shape} is outside of what the engine was built for")
            bytes_ = size * prod(shape)
            address = self._address(name, tensor, bytes_)
            if not _is_on_gpu(tensor):
                self._cuda.to_device(address, tensor.data_ptr(), bytes_)
            self._context.set_tensor_address(name, address)
        for (name, size), tensor in zip(self._outputs, outputs, strict=True):
            self._context.set_tensor_address(name, self._address(name, tensor, size * prod(tensor.shape)))
        if not self._context.execute_async_v3(self._cuda.stream):
            raise RelaxError(f"{self._name}: TensorRT did not run it, its messages say why")
        for (name, size), tensor in zip(self._outputs, outputs, strict=True):
            if not _is_on_gpu(tensor):
                self._cuda.to_host(tensor.data_ptr(), self._buffers[name].address, size * prod(tensor.shape))
        self._cuda.wait()

    def _address(self, name: str, tensor: Tensor, size: int) -> int:
        """Where a tensor is on the GPU: itself, or memory that is kept for it."""
        if _is_on_gpu(tensor):
            return tensor.data_ptr()
        found = self._buffers.get(name)
        if found is None or found.size < size:
            self._buffers.pop(name, None)
            found = self._buffers[name] = _Buffer(self._cuda, size)
        return found.address


class _Buffer:
    """Memory of the GPU that is freed with its last reference."""

    def __init__(self, cuda: Cuda, size: int):
        self._cuda, self.size, self.address = cuda, size, cuda.allocate(size)

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self._cuda.free(self.address)


def _is_on_gpu(tensor: Tensor) -> bool:
    return tensor.__dlpack_device__()[0] == CUDA
