# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules for convolutions, transposed convolutions and pools of two or three dimensions. 1-D operators run as 2-D."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from relax_mlir.dialects.core.facts import Window
from relax_mlir.dialects.core.opdef import Call
from relax_mlir.dialects.core.symbols import Dim, ceildiv, dim_add, dim_sub, equal
from relax_mlir.dialects.relax.infer.layouts import layouts_of
from relax_mlir.dialects.relax.infer.windows import each_dimension, windows_of
from relax_mlir.dialects.relax.values import shape_of
from relax_mlir.passes.graph.parts.operator_checks import is_static, order_of, refuse_quantized
from relax_mlir.rewriting import Operation

from .converter import Converter
from .rules import CHECKS, NetworkLayer, NetworkTensor, converts

if TYPE_CHECKING:
    from relax_mlir.passes.graph.parts.flat_graph import FlatNode


_CONVOLUTIONS = [f"nn.conv{rank}d" for rank in (1, 2, 3)]
_TRANSPOSED = [f"nn.conv{rank}d_transpose" for rank in (1, 2, 3)]
_POOLS = [f"nn.{kind}_pool{rank}d" for kind in ("max", "avg") for rank in (1, 2, 3)]
_ADAPTIVE = [f"nn.adaptive_avg_pool{rank}d" for rank in (1, 2, 3)]


def _refuse_convolution(op: Operation, call: Call) -> str:
    if not is_static(call.weight.shape):
        return "TensorRT needs static sizes of the weight"
    if call.out_dtype not in (None, call.data.dtype) or call.weight.dtype != call.data.dtype:
        types = f"{call.data.dtype}, {call.weight.dtype} and {call.out_dtype or call.data.dtype}"
        return f"TensorRT needs data, weight and result of one type, not {types}"
    reason = CHECKS.layouts(call) or refuse_quantized(op)
    if reason:
        return reason
    layout = layouts_of(call)["data"]
    channels = call.data.shape[order_of(layout)[1]]
    return "" if isinstance(channels, int) else "TensorRT needs a static number of channels"


class _Windows:
    """Windows of at least two dimensions. `missing` counts the added dimensions."""

    def __init__(self, windows: Sequence[Window]):
        self.missing = max(2 - len(windows), 0)
        self.windows = [Window(1)] * self.missing + [*windows]

    @staticmethod
    def of(call: Call) -> _Windows:
        return _Windows([*windows_of(call).values()])

    def values(self, name: str) -> tuple[int, ...]:
        return tuple(getattr(window, name) for window in self.windows)

    def lifted(self, converter: Converter, tensor: NetworkTensor, dims: Sequence[Dim]) -> NetworkTensor:
        """Return a tensor with the missing dimensions, of size 1, before the other spatial dimensions."""
        return converter.reshaped(tensor, self._more(dims)) if self.missing else tensor

    def lowered(self, converter: Converter, tensor: NetworkTensor, dims: Sequence[Dim]) -> NetworkTensor:
        if not self.missing:
            return tensor
        converter.know_sizes(tensor, self._more(dims))
        return converter.reshaped(tensor, dims)

    def _more(self, dims: Sequence[Dim]) -> list[Dim]:
        return [*dims[:2], *(1,) * self.missing, *dims[2:]]


def _source(converter: Converter, node: FlatNode, windows: _Windows) -> NetworkTensor:
    data, order = node.operands[0], order_of(layouts_of(node.call)["data"])
    tensor = converter.permuted(converter.tensor(data), order)
    return windows.lifted(converter, tensor, [data.dims[axis] for axis in order])


def _result(converter: Converter, node: FlatNode, windows: _Windows, layer: NetworkLayer) -> NetworkTensor:
    """Return the layer's result in the layout of the operator's result."""
    order, dims = order_of(layouts_of(node.call)["result"]), node.result.dims
    tensor = windows.lowered(converter, layer.get_output(0), [dims[axis] for axis in order])
    return converter.permuted(tensor, _inverse(order))


def _biasable(converter: Converter, node: FlatNode, windows: _Windows, layer: NetworkLayer) -> NetworkTensor:
    """Return the result. If it is the layer's output without changes, record the layer for a bias."""
    order = order_of(layouts_of(node.call)["result"])
    if not windows.missing and order == sorted(order):
        converter.remember(node, layer)
    return _result(converter, node, windows, layer)


def _inverse(order: Sequence[int]) -> list[int]:
    return sorted(range(len(order)), key=order.__getitem__)


def _add_weighted(
    converter: Converter, node: FlatNode, add: Callable[..., NetworkLayer], maps: int
) -> tuple[NetworkLayer, _Windows]:
    """Add a layer with a constant weight, or with a weight as its second input."""
    windows, weight = _Windows.of(node.call), node.operands[1]
    order = order_of(layouts_of(node.call)["weight"])
    dims = [weight.dims[axis] for axis in order]
    array = converter.array(weight)
    source = _source(converter, node, windows)
    kernel = (
        converter.trt.Weights(converter.dtype(weight.info.dtype))
        if array is None
        else converter.weights(array.transpose(order))
    )
    layer = add(source, maps, windows.values("taps"), kernel)
    if array is None:
        layer.set_input(1, windows.lifted(converter, converter.permuted(converter.tensor(weight), order), dims))
    layer.num_groups = node.call.groups
    layer.stride_nd, layer.dilation_nd = windows.values("stride"), windows.values("gap")
    layer.pre_padding = windows.values("before")
    return layer, windows


@converts(*_CONVOLUTIONS, refuse=_refuse_convolution)
def convolution(converter: Converter, node: FlatNode) -> NetworkTensor:
    maps = _weight_size(node, 0)
    layer, windows = _add_weighted(converter, node, converter.network.add_convolution_nd, maps)
    layer.post_padding = windows.values("after")
    return _biasable(converter, node, windows, layer)


def _weight_size(node: FlatNode, dimension: int) -> int:
    size = node.operands[1].dims[order_of(layouts_of(node.call)["weight"])[dimension]]
    assert isinstance(size, int)
    return size


def _compute_cut(call: Call) -> list[int]:
    """Return the padding after each dimension, which cuts the result. output_padding reduces the cut."""
    windows = windows_of(call).values()
    extra = each_dimension(call.output_padding, len(windows))
    return [window.after - more for window, more in zip(windows, extra, strict=True)]


def _refuse_transposed(op: Operation, call: Call) -> str:
    reason = _refuse_convolution(op, call)
    if not reason and min(_compute_cut(call)) < 0:
        return f"TensorRT does not support output_padding {tuple(call.output_padding)}, which exceeds the end padding"
    return reason


@converts(*_TRANSPOSED, refuse=_refuse_transposed)
def transposed(converter: Converter, node: FlatNode) -> NetworkTensor:
    maps = _weight_size(node, 1) * node.call.groups
    layer, windows = _add_weighted(converter, node, converter.network.add_deconvolution_nd, maps)
    layer.post_padding = (*(0,) * windows.missing, *_compute_cut(node.call))
    return _biasable(converter, node, windows, layer)


def _refuse_pool(op: Operation, call: Call) -> str:
    if reason := CHECKS.layouts(call):
        return reason
    windows = windows_of(call)
    for letter, window in windows.items():
        if window.gap != 1:
            return f"TensorRT's pools have no dilation, got {window.gap} along {letter}"
        if max(window.before, window.after) >= window.taps:
            padding = max(window.before, window.after)
            return f"padding {padding} along {letter} is not smaller than the window of {window.taps}"
    return _refuse_covering(op, call) if call.ceil_mode else ""


def _refuse_covering(op: Operation, call: Call) -> str:
    """Return the reason to refuse a pool with ceil_mode, or an empty text.

    The last window may extend past the end. Relax may drop this window or average other elements than TensorRT.
    """
    layouts = layouts_of(call)
    sizes, made = (
        dict(zip((axis.dimension for axis in layout.axes), shape, strict=True))
        for layout, shape in ((layouts["data"], call.data.shape), (layouts["result"], shape_of(op.results[0]) or ()))
    )
    for letter, window in windows_of(call).items():
        padded = dim_sub(dim_add(sizes[letter], window.before + window.after), window.taps)
        if equal(dim_add(ceildiv(padded, window.stride), 1), made[letter]) is not True:
            return f"relax drops a window along {letter} that starts past the end, and TensorRT does not"
        if call.definition.name.startswith("nn.avg") and not (isinstance(padded, int) and padded % window.stride == 0):
            return f"TensorRT may count other elements in the mean of a window past the end along {letter}"
    return ""


@converts(*_POOLS, refuse=_refuse_pool)
def pool(converter: Converter, node: FlatNode) -> NetworkTensor:
    call, windows = node.call, _Windows.of(node.call)
    layer = _add_pool(converter, node, windows, "MAX" if call.definition.name.startswith("nn.max") else "AVERAGE")
    layer.pre_padding, layer.post_padding = windows.values("before"), windows.values("after")
    layer.average_count_excludes_padding = not call.count_include_pad
    if call.ceil_mode:
        layer.padding_mode = converter.trt.PaddingMode.EXPLICIT_ROUND_UP
    return _result(converter, node, windows, layer)


def _add_pool(converter: Converter, node: FlatNode, windows: _Windows, kind: str) -> NetworkLayer:
    source = _source(converter, node, windows)
    layer = converter.network.add_pooling_nd(source, getattr(converter.trt.PoolingType, kind), windows.values("taps"))
    layer.stride_nd = windows.values("stride")
    return layer


def _spatial(call: Call) -> list[Dim]:
    return [call.data.shape[axis] for axis in order_of(layouts_of(call)["data"])[2:]]


def _adaptive_taps(call: Call) -> list[int] | None:
    """Return the window size of each dimension, or None if the windows of a dimension differ in size."""
    sizes = _spatial(call)
    wanted = each_dimension(call.output_size, len(sizes)) if call.output_size else sizes
    taps = [size // count if isinstance(size, int) and isinstance(count, int) and size % count == 0 else 0
            for size, count in zip(sizes, wanted, strict=True)]  # fmt: skip
    return taps if all(taps) else None


def _is_mean_of_all(call: Call) -> bool:
    return bool(call.output_size) and set(call.output_size) == {1}


def _refuse_adaptive(op: Operation, call: Call) -> str:
    if not _is_mean_of_all(call) and _adaptive_taps(call) is None:
        return f"windows of equal size do not split {_spatial(call)} into {call.output_size}"
    return CHECKS.layouts(call)


@converts(*_ADAPTIVE, refuse=_refuse_adaptive)
def adaptive_pool(converter: Converter, node: FlatNode) -> NetworkTensor:
    """Convert to a pool of adjacent windows of equal size. A single window is a mean reduction."""
    if _is_mean_of_all(node.call):
        layouts = layouts_of(node.call)
        data = converter.permuted(converter.tensor(node.operands[0]), order_of(layouts["data"]))
        mean = converter.reduce(data, "AVG", range(2, len(node.result.dims)))
        return converter.permuted(mean, _inverse(order_of(layouts["result"])))
    windows = _Windows([Window(tap, tap) for tap in _adaptive_taps(node.call) or []])
    return _result(converter, node, windows, _add_pool(converter, node, windows, "AVERAGE"))
