# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Description of a step as a primitive: the requested layouts, and the layouts that oneDNN chooses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .description import Argument, PrimitiveStep
from .library import DnnlError, library
from .objects import ARGUMENTS, POST_OP, Attributes, Layout, PostOps
from .plan_values import PlanValues
from .primitive_plan import PlacedTensor
from .primitives import KINDS


class Described:
    """Description of a step as a primitive. The constructor raises DnnlError if oneDNN has no such primitive."""

    def __init__(self, builder: PlanValues, step: PrimitiveStep, is_plain: bool):
        """Describe the step.

        With `is_plain`, the result is row-major, and so are all arguments with layouts that oneDNN may not choose.
        """
        self.step, self._kind = step, KINDS[step.kind]
        self._tensors = {name: builder.read(argument) for name, argument in step.arguments.items()}
        self._others = [None if op.other is None else builder.read(op.other) for op in step.post_ops]
        requested = {name: self._requested_layout(name, tensor, is_plain) for name, tensor in self._tensors.items()}
        _align(step, requested)
        plain = _result_layout(builder, step.result)
        is_free = "dst" in self._kind.free and not is_plain
        requested["dst"] = Layout.any(plain.dims, plain.dtype) if is_free else plain
        others = [_request_other(tensor, plain, is_plain) for tensor in self._others]
        self.description = self._kind.describe(step, requested, _attributes(step, others))
        self._layouts = {name: self._chosen_layout(ARGUMENTS[name], layout) for name, layout in requested.items()}
        self._other_layouts = [
            layout and self._chosen_layout(_other(index), layout) for index, layout in enumerate(others)
        ]
        self.result = self._layouts["dst"]
        #: Layout of the result's value, without the views of the step.
        self.stored = _value_layout(builder, step.result, self.result)

    def arguments(self) -> Iterator[tuple[int, PlacedTensor, Layout]]:
        """Yield each argument's number in oneDNN, the tensor, and the layout that the primitive expects."""
        for name, tensor in self._tensors.items():
            yield ARGUMENTS[name], tensor, self._layouts[name]
        for index, (other, layout) in enumerate(zip(self._others, self._other_layouts, strict=True)):
            if other is not None and layout is not None:
                yield _other(index), other, layout

    def _requested_layout(self, name: str, tensor: PlacedTensor, is_plain: bool) -> Layout:
        layout = tensor.layout
        # oneDNN 3.2 ignores zero points in some reorders that also move dimensions: 512 channels of 7x7.
        is_shifted = self.step.kind == "reorder" and any(
            each.zero_point is not None for each in self.step.quantized.values()
        )
        if is_shifted or name in self._kind.plain or (is_plain and name not in self._kind.free):
            return Layout.strided(layout.dims, layout.dtype)
        is_weight = name == "weights" and tensor.buffer.is_constant and self.step.kind == "matmul"
        return Layout.any(layout.dims, layout.dtype) if name in self._kind.free or is_weight else layout

    def _chosen_layout(self, argument: int, requested: Layout) -> Layout:
        return self.description.layout(argument, requested.dims, requested.dtype) if requested.is_any else requested


def _other(index: int) -> int:
    """Return the argument number of the other operand of the binary post-op at an index."""
    return POST_OP * (index + 1) | ARGUMENTS["src1"]


def _align(step: PrimitiveStep, requested: dict[str, Layout]) -> None:
    """Request one layout for both operands of one shape: that of `src1` if it is blocked, otherwise that of `src`."""
    if step.kind != "binary" or requested["src"].dims != requested["src1"].dims:
        return
    leading, other = ("src1", "src") if requested["src1"].is_blocked else ("src", "src1")
    if requested[leading].dtype == requested[other].dtype:
        requested[other] = requested[leading]


def _request_other(tensor: PlacedTensor | None, result: Layout, is_plain: bool) -> Layout | None:
    if tensor is None:
        return None
    dims, dtype = tensor.layout.dims, tensor.layout.dtype
    return Layout.any(dims, dtype) if dims == result.dims and not is_plain else Layout.strided(dims, dtype)


def _result_layout(builder: PlanValues, argument: Argument) -> Layout:
    """Return a layout of a step's result, through its views, for which the value is row-major.

    If no layout expresses the views, return the row-major layout of the result.
    """
    layout = builder.plain(argument.value)
    for (kind, parameters), dims in zip(argument.views, builder.viewed_dims(argument)[1:], strict=True):
        viewed = layout.permuted([int(axis) for axis in parameters]) if kind == "permute" else layout.reshaped(dims)
        if viewed is None:
            return Layout.strided(builder.viewed_dims(argument)[-1], layout.dtype)
        layout = viewed
    return layout


def _value_layout(builder: PlanValues, argument: Argument, layout: Layout) -> Layout:
    """Return the layout of a value for the layout of its view. Raise DnnlError if there is none."""
    shapes = builder.viewed_dims(argument)
    for (kind, parameters), dims in zip(reversed(argument.views), reversed(shapes[:-1]), strict=True):
        axes = [int(axis) for axis in parameters] if kind == "permute" else []
        back = layout.permuted([axes.index(axis) for axis in range(len(axes))]) if axes else layout.reshaped(dims)
        if back is None:
            raise DnnlError(f"a blocked result of shape {layout.dims} has no view of shape {dims}")
        layout = back
    return layout


def _attributes(step: PrimitiveStep, others: Sequence[Layout | None]) -> Attributes:
    attributes = Attributes()
    for name, quantized in step.quantized.items():
        library().call("primitive_attr_set_scales_mask", attributes.handle, ARGUMENTS[name], quantized.mask)
        if quantized.zero_point is not None:
            library().call("primitive_attr_set_zero_points_mask", attributes.handle, ARGUMENTS[name], 0)
    if step.post_ops:
        post_ops = PostOps()
        for op, other in zip(step.post_ops, others, strict=True):
            parameters = (op.algorithm, op.alpha, op.beta) if other is None else (op.algorithm, other.handle)
            library().call(f"post_ops_append_{op.kind}", post_ops.handle, *parameters)
        library().call("primitive_attr_set_post_ops", attributes.handle, post_ops.handle)
    return attributes
