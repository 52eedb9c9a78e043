# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that ONNX has, but that onnxruntime's kernels lack or compute with other results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from relax_mlir.dialects.core.dialect import row_of
from relax_mlir.dialects.core.infos import is_int
from relax_mlir.dialects.core.opdef import Call
from relax_mlir.dialects.core.symbols import Dim
from relax_mlir.dialects.core.verifier import call_of
from relax_mlir.dialects.relax.infer.layouts import layouts_of, sizes_in_layout
from relax_mlir.dialects.relax.infer.windows import windows_of
from relax_mlir.dialects.relax.values import normal_axis, shape_of, tensor_info
from relax_mlir.rewriting import Operation

#: Deviations of kernels for NaN and infinities, by operator.
DEVIATIONS = {
    f"relax.{name}": f"onnxruntime's {name.rpartition('.')[2]} {why}"
    for names, why in (
        ("max min nn.max_pool1d nn.max_pool2d nn.max_pool3d scatter_nd scatter_elements vision.roi_pool",
         "hands on the number that NaN is compared with"),
        ("mean variance std nn.batch_norm", "of no elements is 0, not NaN"),
        ("argmax argmin sort topk bucketize", "has another order for NaN"),
        ("image.resize2d image.resize3d image.grid_sample vision.roi_align",
         "reads other neighbours by whose weight, 0, infinity is NaN"),
        ("nn.prelu", "leaves out slopes by which 0 is NaN"),
    )
    for name in names.split()
}  # fmt: skip


def why_not_run(operation: Operation) -> str:
    """Return the reason why onnxruntime cannot compute an operation correctly, or an empty text."""
    row = row_of(operation)
    shapes = [shape_of(result) for result in operation.results]
    if shapes and all(shape is not None and 0 in shape for shape in shapes):
        return "the result has no elements"
    if row is None or operation.name not in _CHECKS:
        return ""
    return _CHECKS[operation.name](operation, call_of(row, operation))


def _is_known(sizes: Sequence[Dim]) -> bool:
    """Check whether all sizes are positive numbers."""
    return all(isinstance(size, int) and size > 0 for size in sizes)


def _spatial(call: Call) -> Sequence[Dim]:
    """Return the sizes of the spatial dimensions."""
    return sizes_in_layout(call, "data", layouts_of(call)["data"])[2:]


def _refuse_pool(op: Operation, call: Call) -> str:
    """Return the reason to refuse a pool, or an empty text. onnxruntime refuses windows that contain padding only."""
    windows = windows_of(call).values()
    reaches_over = any(
        not isinstance(window.reach, int) or call.ceil_mode or window.before + window.after >= window.reach
        for window in windows
    )
    is_padded = any(window.before or window.after for window in windows)
    if not (reaches_over and is_padded) or _is_known(_spatial(call)):
        return ""
    return "these sizes allow images without elements, which onnxruntime cannot pool"


def _refuse_resize(op: Operation, call: Call) -> str:
    if _is_known(_spatial(call)) or not _is_known((shape_of(op.results[0]) or ())[2:]):
        return ""
    return "these sizes allow images without elements, which onnxruntime cannot resize"


def _refuse_roi_align(op: Operation, call: Call) -> str:
    return (
        ""
        if _is_known(_spatial(call))
        else "these sizes allow images without elements, which onnxruntime reads out of bounds"
    )


def _refuse_pad(op: Operation, call: Call) -> str:
    if call.pad_mode not in ("reflect", "circular"):
        return ""
    pairs = zip(call.pad_width[::2], call.pad_width[1::2], strict=True)
    for size, (before, after) in zip(call.data.shape, pairs, strict=True):
        if not before and not after:
            continue
        if not _is_known([size]):
            return f"these sizes allow tensors without elements, which onnxruntime cannot pad in mode {call.pad_mode}"
        if call.pad_mode == "reflect" and max(before, after) >= size:
            return f"onnxruntime reflects at most {size - 1} of {size} elements, not {max(before, after)}"
    return ""


def _refuse_take(op: Operation, call: Call) -> str:
    shape = call.x.shape
    sizes = shape if call.axis is None else [shape[normal_axis(call.axis, len(shape))]]
    return (
        ""
        if call.mode != "nan" or _is_known(sizes)
        else "these sizes allow an axis without elements, which onnxruntime cannot gather from"
    )


def _refuse_instance_norm(op: Operation, call: Call) -> str:
    sizes = [call.data.shape[normal_axis(axis, len(call.data.shape))] for axis in call.axes]
    if _is_known(sizes) and prod(size for size in sizes if isinstance(size, int)) > 1:
        return ""
    return "onnxruntime subtracts the mean last, which leaves a rounding error instead of 0 for single elements"


def _refuse_median(op: Operation, call: Call) -> str:
    return "onnxruntime's TopK selects another index among equal elements, and orders NaN as the largest"


def _refuse_product(op: Operation, call: Call) -> str:
    """Return the reason to refuse a product of integers. onnxruntime saturates larger results instead of wrapping."""
    dtype = tensor_info(op.results[0]).dtype
    return f"onnxruntime computes products of {dtype} in floats" if is_int(dtype) else ""


_CHECKS: Mapping[str, Callable[[Operation, Call], str]] = {
    **{f"relax.nn.{kind}_pool{rank}d": _refuse_pool for kind in ("max", "avg") for rank in (1, 2, 3)},
    "relax.image.resize2d": _refuse_resize,
    "relax.image.resize3d": _refuse_resize,
    "relax.vision.roi_align": _refuse_roi_align,
    "relax.nn.pad": _refuse_pad,
    "relax.take": _refuse_take,
    "relax.nn.instance_norm": _refuse_instance_norm,
    "relax.median": _refuse_median,
    "relax.prod": _refuse_product,
    "relax.cumprod": _refuse_product,
}
