# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ONNX has and onnxruntime's kernels do not do, or do otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from ....bindings.ir import Operation
from ....dialects.core.dialect import row_of
from ....dialects.core.infos import is_int
from ....dialects.core.opdef import Call
from ....dialects.core.symbols import Dim
from ....dialects.core.verifier import call_of
from ....dialects.relax.infer.layouts import layouts_of, sizes_in_layout
from ....dialects.relax.infer.windows import windows_of
from ....dialects.relax.values import normal_axis, shape_of, tensor_info

#: What kernels give for NaN and infinities.
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
    """Why onnxruntime does not compute an operation as it should; empty where it does."""
    row = row_of(operation)
    shapes = [shape_of(each) for each in operation.results]
    if shapes and all(shape is not None and 0 in shape for shape in shapes):
        return "its result has no elements"
    if row is None or operation.name not in _CHECKS:
        return ""
    return _CHECKS[operation.name](operation, call_of(row, operation))


def _is_known(sizes: Sequence[Dim]) -> bool:
    """Whether they are numbers, and not 0."""
    return all(isinstance(size, int) and size > 0 for size in sizes)


def _spatial(call: Call) -> Sequence[Dim]:
    """The sizes of images, without their number and channels."""
    return sizes_in_layout(call, "data", layouts_of(call)["data"])[2:]


def _refuse_pool(op: Operation, call: Call) -> str:
    """It has no windows of padding alone."""
    windows = windows_of(call).values()
    reaches_over = any(
        not isinstance(each.reach, int) or call.ceil_mode or each.before + each.after >= each.reach for each in windows
    )
    is_padded = any(each.before or each.after for each in windows)
    if not (reaches_over and is_padded) or _is_known(_spatial(call)):
        return ""
    return "onnxruntime pools no images without elements, which these sizes allow"


def _refuse_resize(op: Operation, call: Call) -> str:
    if _is_known(_spatial(call)) or not _is_known((shape_of(op.results[0]) or ())[2:]):
        return ""
    return "onnxruntime resizes no images without elements, which these sizes allow"


def _refuse_roi_align(op: Operation, call: Call) -> str:
    return "" if _is_known(_spatial(call)) else "onnxruntime reads outside of images without elements"


def _refuse_pad(op: Operation, call: Call) -> str:
    if call.pad_mode not in ("reflect", "circular"):
        return ""
    pairs = zip(call.pad_width[::2], call.pad_width[1::2], strict=True)
    for size, (before, after) in zip(call.data.shape, pairs, strict=True):
        if not before and not after:
            continue
        if not _is_known([size]):
            return f"onnxruntime pads by {call.pad_mode} no tensors without elements, which these sizes allow"
        if call.pad_mode == "reflect" and max(before, after) >= size:
            return f"onnxruntime reflects {size - 1} elements of {size} at most, not {max(before, after)}"
    return ""


def _refuse_take(op: Operation, call: Call) -> str:
    shape = call.x.shape
    sizes = shape if call.axis is None else [shape[normal_axis(call.axis, len(shape))]]
    return "" if call.mode != "nan" or _is_known(sizes) else "onnxruntime takes nothing of an axis without elements"


def _refuse_instance_norm(op: Operation, call: Call) -> str:
    sizes = [call.data.shape[normal_axis(axis, len(call.data.shape))] for axis in call.axes]
    if _is_known(sizes) and prod(size for size in sizes if isinstance(size, int)) > 1:
        return ""
    return "onnxruntime subtracts the mean last, which leaves rounding errors of single elements"


def _refuse_median(op: Operation, call: Call) -> str:
    return "onnxruntime's TopK gives another one of equal elements, and takes NaN for the largest"


def _refuse_product(op: Operation, call: Call) -> str:
    """It would give the largest integer where the product is larger."""
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
