# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Substitute for the package tensorrt: records networks with the names of TensorRT 10's Python API and evaluates them.

Names of methods, arguments, properties and enumerations are from NVIDIA/TensorRT's python/src/infer/*.cpp. The
substitute refuses unknown names, and the ranks and types that the layers' documentation excludes.
"""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Mapping, Sequence
from enum import Enum, IntEnum
from typing import Any

import numpy
from recording_tensorrt_layers import EVALUATE

__version__ = "10.3.0"


def _enum(name: str, members: str) -> Any:
    return Enum(name, members, module=__name__)


DataType = _enum("DataType", "FLOAT HALF INT8 INT32 BOOL UINT8 FP8 BF16 INT64 INT4")
ActivationType = _enum(
    "ActivationType",
    "RELU SIGMOID TANH LEAKY_RELU ELU SELU SOFTSIGN SOFTPLUS CLIP HARD_SIGMOID SCALED_TANH THRESHOLDED_RELU GELU_ERF "
    "GELU_TANH",
)
PoolingType = _enum("PoolingType", "MAX AVERAGE MAX_AVERAGE_BLEND")
PaddingMode = _enum("PaddingMode", "EXPLICIT_ROUND_DOWN EXPLICIT_ROUND_UP SAME_UPPER SAME_LOWER")
ScaleMode = _enum("ScaleMode", "UNIFORM CHANNEL ELEMENTWISE")
ElementWiseOperation = _enum(
    "ElementWiseOperation", "SUM PROD MAX MIN SUB DIV POW FLOOR_DIV AND OR XOR EQUAL GREATER LESS"
)
UnaryOperation = _enum(
    "UnaryOperation",
    "EXP LOG SQRT RECIP ABS NEG SIN COS TAN SINH COSH ASIN ACOS ATAN ASINH ACOSH ATANH CEIL FLOOR ERF NOT SIGN ROUND "
    "ISINF",
)
ReduceOperation = _enum("ReduceOperation", "SUM PROD MAX MIN AVG")
TopKOperation = _enum("TopKOperation", "MAX MIN")
MatrixOperation = _enum("MatrixOperation", "NONE TRANSPOSE VECTOR")
SampleMode = _enum("SampleMode", "STRICT_BOUNDS WRAP CLAMP FILL REFLECT")
InterpolationMode = _enum("InterpolationMode", "NEAREST LINEAR CUBIC")
ResizeCoordinateTransformation = _enum("ResizeCoordinateTransformation", "ALIGN_CORNERS ASYMMETRIC HALF_PIXEL")
ResizeRoundMode = _enum("ResizeRoundMode", "HALF_UP HALF_DOWN FLOOR CEIL")
BuilderFlag = _enum("BuilderFlag", "FP16 BF16 INT8 TF32")
MemoryPoolType = _enum("MemoryPoolType", "WORKSPACE DLA_MANAGED_SRAM TACTIC_DRAM")


class NetworkDefinitionCreationFlag(IntEnum):
    EXPLICIT_BATCH = 0
    STRONGLY_TYPED = 1


_NUMPY = {
    DataType.FLOAT: "float32", DataType.HALF: "float16", DataType.INT32: "int32", DataType.INT64: "int64",
    DataType.BOOL: "bool",
}  # fmt: skip


class Weights:
    """Weights that do not own their array, like TensorRT's weights."""

    def __init__(self, given: Any):
        self.array = array = None if isinstance(given, DataType) else given
        assert array is None or (array.flags["C_CONTIGUOUS"] and array.dtype.name in _NUMPY.values())


class Tensor:
    def __init__(self, layer: Layer | None, index: int, name: str = "", dtype: Any = None, shape: Any = None):
        self.layer, self.index, self.name, self.dtype, self.shape = layer, index, name, dtype, shape


#: Properties of a layer, in addition to the arguments of its constructor.
PROPERTIES = {
    "convolution": "num_groups stride_nd dilation_nd pre_padding post_padding padding_nd padding_mode bias",
    "deconvolution": "num_groups stride_nd dilation_nd pre_padding post_padding padding_nd padding_mode bias",
    "pooling": "stride_nd pre_padding post_padding padding_nd padding_mode average_count_excludes_padding blend_factor",
    "activation": "alpha beta",
    "softmax": "axes",
    "concatenation": "axis",
    "shuffle": "first_transpose reshape_dims second_transpose zero_is_placeholder",
    "slice": "mode",
    "resize": "shape scales resize_mode coordinate_transformation selector_for_single_pixel nearest_rounding",
    "normalization": "epsilon num_groups compute_precision",
    "gather": "mode num_elementwise_dims",
}


class Layer:
    """Layer with `inputs` by index, and `settings` by the name of an argument or property."""

    def __init__(self, kind: str, inputs: Sequence[Tensor], settings: Mapping[str, Any]):
        assert all(isinstance(each, Tensor) for each in inputs), (kind, inputs)
        state = {"kind": kind, "inputs": dict(enumerate(inputs)), "settings": dict(settings), "name": ""}
        self.__dict__.update(state, outputs=[Tensor(self, 0)] + ([Tensor(self, 1)] if kind == "topk" else []))

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "name":
            self.__dict__["name"] = value
            return
        assert name in PROPERTIES.get(self.kind, "").split(), f"ITensorRT {self.kind} layer has no property {name}"
        self.settings[name] = value

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{name} of a {self.__dict__.get('kind')} layer")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def get_output(self, index: int) -> Tensor:
        return self.outputs[index]

    def set_input(self, index: int, tensor: Tensor) -> None:
        assert self.kind in ("convolution", "deconvolution", "shuffle", "slice", "resize", "topk"), self.kind
        self.inputs[index] = tensor


#: Methods that add layers: the number of tensors, and the names of the other arguments.
_ADD = {
    "convolution_nd": (1, "num_output_maps kernel_shape kernel"),
    "deconvolution_nd": (1, "num_output_maps kernel_shape kernel"),
    "activation": (1, "type"),
    "pooling_nd": (1, "type window_size"),
    "scale_nd": (1, "mode shift scale power channel_axis"),
    "softmax": (1, ""),
    "elementwise": (2, "op"),
    "unary": (1, "op"),
    "shuffle": (1, ""),
    "slice": (1, "start shape stride"),
    "reduce": (1, "op axes keep_dims"),
    "topk": (1, "op k axes"),
    "gather": (2, "axis"),
    "constant": (0, "shape weights"),
    "identity": (1, ""),
    "cast": (1, "to_type"),
    "parametric_relu": (2, ""),
    "resize": (1, ""),
    "shape": (1, ""),
    "select": (3, ""),
    "normalization": (3, "axesMask"),
}


class Network:
    def __init__(self, flags: int = 0):
        self.flags, self.inputs, self.outputs, self.layers = flags, [], [], []
        self.kinds: list[str] = []

    def add_input(self, name: str, dtype: Any, shape: Any) -> Tensor:
        assert isinstance(dtype, DataType) and isinstance(shape, tuple)
        self.inputs.append(Tensor(None, 0, name, dtype, shape))
        return self.inputs[-1]

    def mark_output(self, tensor: Tensor) -> None:
        assert tensor not in self.outputs and tensor not in self.inputs and tensor.name, "an output of its own"
        self.outputs.append(tensor)

    @property
    def num_layers(self) -> int:
        return len(self.layers)

    @property
    def num_outputs(self) -> int:
        return len(self.outputs)

    def get_layer(self, index: int) -> Layer:
        return self.layers[index]

    def get_output(self, index: int) -> Tensor:
        return self.outputs[index]

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("add_") or name[4:] not in _ADD:
            raise AttributeError(f"INetworkDefinition has no {name}")
        count, names = _ADD[name[4:]]

        def add(*given: Any) -> Layer:
            settings = dict(zip(names.split(), given[count:], strict=True))
            return self._added(Layer(name[4:].removesuffix("_nd"), given[:count], settings))

        return add

    def add_concatenation(self, inputs: list[Tensor]) -> Layer:
        return self._added(Layer("concatenation", inputs, {}))

    def add_matrix_multiply(self, input0: Tensor, op0: Any, input1: Tensor, op1: Any) -> Layer:
        return self._added(Layer("matrix_multiply", [input0, input1], {"op0": op0, "op1": op1}))

    def _added(self, layer: Layer) -> Layer:
        self.layers.append(layer)
        return layer

    def evaluate(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """Return the network's outputs for input arrays. Both have names as keys."""
        known: dict[Tensor, Any] = {}
        for tensor in self.inputs:
            array = arrays[tensor.name]
            assert array.dtype.name == _NUMPY[tensor.dtype], (array.dtype, tensor.dtype)
            assert len(array.shape) == len(tensor.shape)
            assert all(size in (-1, given) for size, given in zip(tensor.shape, array.shape, strict=True))
            known[tensor] = array
        # Layers may read results of layers that were added later.
        waiting = self.layers
        while waiting:
            ready = [each for each in waiting if all(tensor in known for tensor in each.inputs.values())]
            assert ready, f"{waiting[0].name} reads what is not made"
            for layer in ready:
                self._compute(layer, known)
            waiting = [each for each in waiting if each not in ready]
        return {tensor.name: known[tensor] for tensor in self.outputs}

    @staticmethod
    def _compute(layer: Layer, known: dict[Tensor, Any]) -> None:
        inputs = {index: known[tensor] for index, tensor in layer.inputs.items()}
        made = EVALUATE[layer.kind](inputs, layer.settings)
        for tensor, array in zip(layer.outputs, made if isinstance(made, tuple) else (made,), strict=True):
            known[tensor] = numpy.asarray(array)


def as_numpy(dtype: Any) -> Any:
    return numpy.dtype(_NUMPY[dtype])


# ---- building and running ----


class Logger:
    WARNING = 2

    def __init__(self, severity: int):
        self.severity = severity


class Profile:
    def __init__(self) -> None:
        self.shapes: dict[str, Any] = {}

    def set_shape(self, input: str, min: Any, opt: Any, max: Any) -> None:
        assert all(a <= b <= c for a, b, c in zip(min, opt, max, strict=True))
        self.shapes[input] = (min, opt, max)


class Config:
    def __init__(self) -> None:
        self.settings: dict[str, Any] = {"flags": [BuilderFlag.TF32], "pools": {}, "profiles": []}

    def set_flag(self, flag: Any) -> None:
        self.settings["flags"].append(BuilderFlag(flag))

    def clear_flag(self, flag: Any) -> None:
        self.settings["flags"].remove(flag)

    def set_memory_pool_limit(self, pool: Any, size: int) -> None:
        self.settings["pools"][MemoryPoolType(pool)] = size

    def add_optimization_profile(self, profile: Profile) -> int:
        self.settings["profiles"].append(profile.shapes)
        return len(self.settings["profiles"]) - 1


class Builder:
    #: Last built network with its configuration, for tests to inspect, and a flag that makes the build fail.
    built: Any = None
    refuses = False

    def __init__(self, logger: Logger):
        assert isinstance(logger, Logger)

    def create_network(self, flags: int = 0) -> Network:
        return Network(flags)

    def create_builder_config(self) -> Config:
        return Config()

    def create_optimization_profile(self) -> Profile:
        return Profile()

    def build_serialized_network(self, network: Network, config: Config) -> Any:
        Builder.built = network, config.settings
        dynamic = any(-1 in each.shape for each in network.inputs)
        assert bool(config.settings["profiles"]) == dynamic
        return None if Builder.refuses else pickle.dumps((network, config.settings))


class Runtime:
    def __init__(self, logger: Logger):
        assert isinstance(logger, Logger)

    def deserialize_cuda_engine(self, plan: bytes) -> Any:
        return Engine(*pickle.loads(plan)) if plan[:1] == b"\x80" else None


class Engine:
    def __init__(self, network: Network, settings: Mapping[str, Any]):
        self.network, self.settings = network, settings

    def create_execution_context(self) -> Context:
        return Context(self)


class Context:
    def __init__(self, engine: Engine):
        self._engine = engine
        self._shapes: dict[str, Any] = {}
        self._addresses: dict[str, int] = {}

    def set_input_shape(self, name: str, shape: Any) -> bool:
        self._shapes[name] = tuple(shape)
        for ranges in self._engine.settings["profiles"]:
            least, _, most = ranges[name]
            return all(a <= b <= c for a, b, c in zip(least, shape, most, strict=True))
        return True

    def set_tensor_address(self, name: str, memory: int) -> bool:
        assert memory
        self._addresses[name] = memory
        return True

    def execute_async_v3(self, stream_handle: int) -> bool:
        assert stream_handle
        arrays = {}
        for tensor in self._engine.network.inputs:
            dtype, shape = as_numpy(tensor.dtype), self._shapes[tensor.name]
            size = int(numpy.prod(shape)) * dtype.itemsize
            memory = (ctypes.c_char * size).from_address(self._addresses[tensor.name])
            arrays[tensor.name] = numpy.frombuffer(memory, dtype).reshape(shape)
        for name, array in self._engine.network.evaluate(arrays).items():
            found = numpy.ascontiguousarray(array)
            ctypes.memmove(self._addresses[name], found.ctypes.data, found.nbytes)
        return True


class HostMemory:
    """Substitute for relax_mlir_tensorrt.cudart.Cuda, with host memory in place of GPU memory."""

    stream = 7

    def __init__(self) -> None:
        self.held: dict[int, Any] = {}

    def devices(self) -> int:
        return 1

    def allocate(self, size: int) -> int:
        memory = numpy.zeros(max(size, 1), "uint8")
        self.held[memory.ctypes.data] = memory
        return int(memory.ctypes.data)

    def free(self, address: int) -> None:
        del self.held[address]

    def to_device(self, address: int, host: int, size: int) -> None:
        assert self.held[address].nbytes >= size
        ctypes.memmove(address, host, size)

    def to_host(self, host: int, address: int, size: int) -> None:
        assert self.held[address].nbytes >= size
        ctypes.memmove(host, address, size)

    def wait(self) -> None:
        return
