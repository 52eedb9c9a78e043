# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runtime of the codegen `cudnn`: convolutions, pools and softmax by cuDNN, on the caller's stream."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from relax_mlir.codegens import register_runtime
from relax_mlir.runtime import Call, CallArgument, CallList, Given, NativeFunction, Passed, Tensor, unpacked

from .libraries import WORKSPACE, Descriptors, Library, LibraryRuntime, NvidiaError, Product, device_of, ints, stream_of

_Item = TypeVar("_Item")

CUDNN = Product(
    title="cuDNN",
    place="RELAX_CUDNN_LIBRARY",
    files=("libcudnn.so.9",),
    wheels=("nvidia.cudnn",),
    install="pip install nvidia-cudnn-cu13",
    version="cudnnGetVersion",
    status_text="cudnnGetErrorString",
    oldest=(9, 0),
    functions={
        "cudnnGetVersion": ":n",
        "cudnnGetErrorString": "i:s",
        "cudnnCreate": "p",
        "cudnnSetStream": "pp",
        "cudnnCreateTensorDescriptor": "p",
        "cudnnDestroyTensorDescriptor": "p",
        "cudnnSetTensorNdDescriptor": "piipp",
        "cudnnCreateFilterDescriptor": "p",
        "cudnnDestroyFilterDescriptor": "p",
        "cudnnSetFilterNdDescriptor": "piiip",
        "cudnnCreateConvolutionDescriptor": "p",
        "cudnnDestroyConvolutionDescriptor": "p",
        "cudnnSetConvolutionNdDescriptor": "pipppii",
        "cudnnSetConvolutionGroupCount": "pi",
        "cudnnSetConvolutionMathType": "pi",
        "cudnnGetConvolutionForwardAlgorithm_v7": "pppppipp",
        "cudnnConvolutionForward": "pppppppipnppp",
        "cudnnConvolutionBiasActivationForward": "pppppppipnpppppppp",
        "cudnnCreateActivationDescriptor": "p",
        "cudnnDestroyActivationDescriptor": "p",
        "cudnnSetActivationDescriptor": "piid",
        "cudnnCreatePoolingDescriptor": "p",
        "cudnnDestroyPoolingDescriptor": "p",
        "cudnnSetPoolingNdDescriptor": "piiippp",
        "cudnnPoolingForward": "pppppppp",
        "cudnnSoftmaxForward": "piipppppp",
    },
)

#: cudnnDataType_t
_DATA = {"f32": 0, "f16": 2, "bf16": 9}
_FLOAT = 0
#: cudnnTensorFormat_t of weights
_NCHW, _NHWC = 0, 1
_CROSS_CORRELATION = 1
#: cudnnMathType_t: permission to use tensor cores. With f32 tensor cores lose bits.
_DEFAULT_MATH, _TENSOR_OP_MATH, _WITH_CONVERSION, _FMA_MATH = range(4)
#: cudnnConvolutionFwdAlgo_t: the number of algorithms, and the only algorithm for a bias without an activation.
_ALGORITHMS, _PRECOMPUTED = 8, 1
_RELU, _IDENTITY, _PROPAGATE_NAN = 1, 5, 1
#: cudnnPoolingMode_t
POOLS = {"max": 0, "mean": 1, "mean_inside": 2}
#: cudnnSoftmaxAlgorithm_t
SOFTMAX = {"softmax": 1, "log_softmax": 2}
_OF_CHANNELS = 1
_MOST_ELEMENTS = 2**31 - 1


@dataclass(frozen=True)
class Windows:
    """Window along a dimension: size (for pools only), stride, dilation, and padding on each side."""

    taps: int
    stride: int
    gap: int
    padding: int


@dataclass(frozen=True)
class CudnnStep:
    """Computation of a part's function. Inputs have numbers."""

    #: "convolution", or one of POOLS or SOFTMAX.
    kind: str
    inputs: int
    element: str
    data: int
    weight: int | None = None
    #: One number per channel.
    bias: int | None = None
    #: Tensor of the result's shape, added after the bias.
    residual: int | None = None
    relu: bool = False
    channels_last: bool = False
    windows: Sequence[Windows] = ()
    groups: int = 1
    axis: int = 0
    tf32: bool = False
    #: True if a workspace follows the result in the arguments.
    workspace: bool = False


@register_runtime("cudnn")
class CudnnRuntime(LibraryRuntime):
    """Runtime of functions that call cuDNN."""

    product = CUDNN

    def functions(self, data: memoryview, library: Library) -> Mapping[str, Callable[..., None]]:
        steps = unpacked("cudnn", data, dict[str, CudnnStep])
        counts = {name: step.inputs + 1 + step.workspace for name, step in steps.items()}
        return {name: NativeFunction(partial(_list_calls, step, library), counts[name]) for name, step in steps.items()}


def _list_calls(step: CudnnStep, library: Library, *tensors: Tensor) -> CallList:
    """Return the calls for tensors of these shapes. They lock the handle, because its stream is state of the handle."""
    device, shapes = device_of(tensors), [tuple(tensor.shape) for tensor in tensors]
    if 0 in shapes[step.inputs]:
        return CallList([])
    for shape in shapes:
        if math.prod(shape) > _MOST_ELEMENTS:
            raise NvidiaError(f"cuDNN supports tensors of at most {_MOST_ELEMENTS} elements, got one of shape {shape}")
    handle = library.handle("cudnnCreate", device)
    described = _StepDescriptors(step, shapes, library)
    with library.alone(device):
        function, arguments = described.call(handle)
    called = Call(library.function(function), [handle, *arguments], is_status=True)
    locked, unlocked = library.locking(device)
    stream = Call(library.function("cudnnSetStream"), [handle, Given(0)], is_status=True)
    return CallList([stream_of(device), locked, stream, called, unlocked], keeps=described)


class _Performance(ctypes.Structure):
    """cudnnConvolutionFwdAlgoPerf_t"""

    _fields_ = [("algorithm", ctypes.c_int), ("status", ctypes.c_int), ("time", ctypes.c_float),
                ("memory", ctypes.c_size_t), ("determinism", ctypes.c_int), ("math", ctypes.c_int),
                ("reserved", ctypes.c_int * 3)]  # fmt: skip


class _StepDescriptors:
    """Descriptors of a step, and the call that uses them."""

    def __init__(self, step: CudnnStep, shapes: Sequence[tuple[int, ...]], library: Library) -> None:
        self._step, self._shapes, self._library = step, shapes, library
        self._descriptors = Descriptors(library)
        self._one, self._zero = (ctypes.c_float * 1)(1), (ctypes.c_float * 1)(0)

    def call(self, handle: int) -> tuple[str, list[CallArgument]]:
        """Return the function's name and its arguments after the handle."""
        step = self._step
        if step.kind == "convolution":
            return self._convolution(handle)
        if step.kind in SOFTMAX:
            return self._softmax()
        pool = self._create("Pooling")
        windows = _two(step.windows, Windows(1, 1, 1, 0))
        columns = [ints(*(getattr(window, name) for window in windows)) for name in ("taps", "padding", "stride")]
        self._set("PoolingNd", pool, POOLS[step.kind], _PROPAGATE_NAN, len(windows), *columns)
        x, y = (self._image(self._shapes[number]) for number in (step.data, step.inputs))
        return "cudnnPoolingForward", [pool, self._one, x, Passed(step.data), self._zero, y, Passed(step.inputs)]

    def _create(self, noun: str) -> int:
        return self._descriptors.make(f"cudnnCreate{noun}Descriptor", f"cudnnDestroy{noun}Descriptor")

    def _set(self, noun: str, *arguments: object) -> None:
        self._library.call(f"cudnnSet{noun}Descriptor", *arguments)

    def _tensor(self, dims: Sequence[int], strides: Sequence[int]) -> int:
        tensor = self._create("Tensor")
        self._set("TensorNd", tensor, _DATA[self._step.element], len(dims), ints(*dims), ints(*strides))
        return tensor

    def _image(self, shape: Sequence[int]) -> int:
        """Create the descriptor of a tensor in the order batch, channels, spatial dimensions.

        A single spatial dimension becomes two, as in the descriptors of windows.
        """
        strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        order = self._order(len(shape))
        dims, steps = ([each[axis] for axis in order] for each in (shape, strides))
        return self._tensor(*(
            [*each[:2], more, *each[2:]] if len(each) == 3 else each
            for each, more in ((dims, 1), (steps, steps[2] * dims[2]))
        ))  # fmt: skip

    def _order(self, rank: int) -> list[int]:
        """Return the axis of each dimension in the order batch, channels, spatial dimensions."""
        return [0, rank - 1, *range(1, rank - 1)] if self._step.channels_last else [*range(rank)]

    def _softmax(self) -> tuple[str, list[CallArgument]]:
        step, shape = self._step, self._shapes[self._step.data]
        inner = math.prod(shape[step.axis + 1 :])
        dims = math.prod(shape[: step.axis]), shape[step.axis], inner, 1
        tensor = self._tensor(dims, (dims[1] * inner, inner, 1, 1))
        places: list[CallArgument] = [self._one, tensor, Passed(step.data), self._zero, tensor, Passed(step.inputs)]
        return "cudnnSoftmaxForward", [SOFTMAX[step.kind], _OF_CHANNELS, *places]

    def _convolution(self, handle: int) -> tuple[str, list[CallArgument]]:
        step = self._step
        assert step.weight is not None
        x, y = (self._image(self._shapes[number]) for number in (step.data, step.inputs))
        weight, windows = self._filter(self._shapes[step.weight]), _two(step.windows, Windows(1, 1, 1, 0))
        described = self._create("Convolution")
        columns = [ints(*(getattr(window, name) for window in windows)) for name in ("padding", "stride", "gap")]
        self._set("ConvolutionNd", described, len(windows), *columns, _CROSS_CORRELATION, _FLOAT)
        self._library.call("cudnnSetConvolutionGroupCount", described, step.groups)
        chosen = self._algorithm(handle, x, weight, described, y)
        space = (Passed(step.inputs + 1), WORKSPACE) if step.workspace else (0, 0)
        read = [self._one, x, Passed(step.data), weight, Passed(step.weight), described, chosen, *space]
        out: list[CallArgument] = [y, Passed(step.inputs)]
        if step.bias is None:
            return "cudnnConvolutionForward", [*read, self._zero, *out]
        after, shape = self._create("Activation"), self._shapes[step.inputs]
        self._set("Activation", after, _RELU if step.relu else _IDENTITY, _PROPAGATE_NAN, 0.0)
        channels = shape[self._order(len(shape))[1]]
        ones = (1,) * len(windows)
        bias = self._tensor((1, channels, *ones), (channels, 1, *ones))
        # Without a residual the call adds the result times 0.
        added = self._zero if step.residual is None else self._one
        residual: list[CallArgument] = out if step.residual is None else [y, Passed(step.residual)]
        whole = [*read, added, *residual, bias, Passed(step.bias), after, *out]
        return "cudnnConvolutionBiasActivationForward", whole

    def _filter(self, shape: Sequence[int]) -> int:
        made = self._create("Filter")
        dims = _two([shape[axis] for axis in self._order(len(shape))], 1, behind=2)
        layout = _NHWC if self._step.channels_last else _NCHW
        self._set("FilterNd", made, _DATA[self._step.element], layout, len(dims), ints(*dims))
        return made

    def _algorithm(self, handle: int, x: int, weight: int, described: int, y: int) -> int:
        """Return the algorithm that cuDNN ranks first among the ones that fit the workspace and the precision.

        Raise NvidiaError if there is none.
        """
        step = self._step
        is_exact = step.element == "f32" and not step.tf32
        usual = _FMA_MATH if is_exact else _DEFAULT_MATH if step.element == "f32" else _TENSOR_OP_MATH
        self._library.call("cudnnSetConvolutionMathType", described, usual)
        found, count = (_Performance * (2 * _ALGORITHMS))(), ctypes.c_int()
        places = len(found), ctypes.byref(count), ctypes.byref(found)
        self._library.call("cudnnGetConvolutionForwardAlgorithm_v7", handle, x, weight, described, y, *places)
        space = WORKSPACE if step.workspace else 0
        for each in found[: count.value]:
            loses = is_exact and each.math in (_TENSOR_OP_MATH, _WITH_CONVERSION)
            knows_bias = step.bias is None or step.relu or each.algorithm == _PRECOMPUTED
            if each.status == 0 and each.memory <= space and knows_bias and not loses:
                self._library.call("cudnnSetConvolutionMathType", described, _FMA_MATH if is_exact else each.math)
                return int(each.algorithm)
        sizes = [self._shapes[number] for number in (step.data, step.weight or 0)]
        raise NvidiaError(f"cuDNN has no algorithm for a convolution of {sizes[0]} with {sizes[1]} in {step.element}")


def _two(items: Sequence[_Item], one: _Item, behind: int = 0) -> list[_Item]:
    """Extend the items of one spatial dimension to two. `one` is the item of an added dimension of size 1."""
    missing = behind + 2 - len(items)
    return [*items[:behind], *[one] * missing, *items[behind:]]
