# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step as a primitive: the layouts that it is asked for with, and those that it wants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .description import Argument, Step
from .library import DnnlError, library
from .objects import ARGUMENTS, POST_OP, Attributes, Layout, PostOps
from .primitive_plan import Held
from .primitives import KINDS

if TYPE_CHECKING:
    from .plan_builder import Builder


class Described:
    """A primitive that oneDNN has for a step. Raises DnnlError where it has none."""

    def __init__(self, builder: Builder, step: Step, is_plain: bool):
        """With `is_plain` what is read and written is row-major as far as the primitive does not choose."""
        self.step, self._kind = step, KINDS[step.kind]
        self._held = {name: builder.read(each) for name, each in step.arguments.items()}
        self._others = [None if each.other is None else builder.read(each.other) for each in step.post_ops]
        asked = {name: self._asked(name, held, is_plain) for name, held in self._held.items()}
        _align(step, asked)
        plain = _viewed(builder, step.result)
        is_free = "dst" in self._kind.free and not is_plain
        asked["dst"] = Layout.any(plain.dims, plain.dtype) if is_free else plain
        others = [_asked_other(held, plain, is_plain) for held in self._others]
        self.description = self._kind.describe(step, asked, _attributes(step, others))
        self._layouts = {name: self._wanted(ARGUMENTS[name], layout) for name, layout in asked.items()}
        self._other_layouts = [each and self._wanted(_other(index), each) for index, each in enumerate(others)]
        self.result = self._layouts["dst"]
        #: The result as its value has it.
        self.stored = _stored(builder, step.result, self.result)

    def arguments(self) -> Iterator[tuple[int, Held, Layout]]:
        """By oneDNN's numbers: where each tensor is, and the layout that it has to have."""
        for name, held in self._held.items():
            yield ARGUMENTS[name], held, self._layouts[name]
        for index, (other, layout) in enumerate(zip(self._others, self._other_layouts, strict=True)):
            if other is not None and layout is not None:
                yield _other(index), other, layout

    def _asked(self, name: str, held: Held, is_plain: bool) -> Layout:
        layout = held.layout
        # oneDNN 3.2 forgets zero points of some sizes where it reorders dimensions as well: 512 channels of 7x7.
        is_shifted = self.step.kind == "reorder" and any(
            each.zero_point is not None for each in self.step.quantized.values()
        )
        if is_shifted or name in self._kind.plain or (is_plain and name not in self._kind.free):
            return Layout.strided(layout.dims, layout.dtype)
        is_weight = name == "weights" and held.buffer.is_constant and self.step.kind == "matmul"
        return Layout.any(layout.dims, layout.dtype) if name in self._kind.free or is_weight else layout

    def _wanted(self, argument: int, asked: Layout) -> Layout:
        return self.description.layout(argument, asked.dims, asked.dtype) if asked.is_any else asked


def _other(index: int) -> int:
    """The argument of a binary post-op."""
    return POST_OP * (index + 1) | ARGUMENTS["src1"]


def _align(step: Step, asked: dict[str, Layout]) -> None:
    """Two tensors of one shape are read in one layout, that of the one in blocks."""
    if step.kind != "binary" or asked["src"].dims != asked["src1"].dims:
        return
    leading, other = ("src1", "src") if asked["src1"].is_blocked else ("src", "src1")
    if asked[leading].dtype == asked[other].dtype:
        asked[other] = asked[leading]


def _asked_other(held: Held | None, result: Layout, is_plain: bool) -> Layout | None:
    if held is None:
        return None
    dims, dtype = held.layout.dims, held.layout.dtype
    return Layout.any(dims, dtype) if dims == result.dims and not is_plain else Layout.strided(dims, dtype)


def _viewed(builder: Builder, argument: Argument) -> Layout:
    """The layout of a result that is row-major as its value; as it is seen, where no strides say that."""
    layout = builder.plain(argument.value)
    for (kind, given), dims in zip(argument.views, builder.viewed_dims(argument)[1:], strict=True):
        seen = layout.permuted([int(axis) for axis in given]) if kind == "permute" else layout.reshaped(dims)
        if seen is None:
            return Layout.strided(builder.viewed_dims(argument)[-1], layout.dtype)
        layout = seen
    return layout


def _stored(builder: Builder, argument: Argument, layout: Layout) -> Layout:
    """The layout that a value has whose view has this one."""
    shapes = builder.viewed_dims(argument)
    for (kind, given), dims in zip(reversed(argument.views), reversed(shapes[:-1]), strict=True):
        axes = [int(axis) for axis in given] if kind == "permute" else []
        back = layout.permuted([axes.index(axis) for axis in range(len(axes))]) if axes else layout.reshaped(dims)
        if back is None:
            raise DnnlError(f"a result of {layout.dims} in blocks is not {dims}")
        layout = back
    return layout


def _attributes(step: Step, others: Sequence[Layout | None]) -> Attributes:
    attributes = Attributes()
    for name, quantized in step.quantized.items():
        library().call("primitive_attr_set_scales_mask", attributes.handle, ARGUMENTS[name], quantized.mask)
        if quantized.zero_point is not None:
            library().call("primitive_attr_set_zero_points_mask", attributes.handle, ARGUMENTS[name], 0)
    if step.post_ops:
        post_ops = PostOps()
        for each, other in zip(step.post_ops, others, strict=True):
            parameters = (each.algorithm, each.alpha, each.beta) if other is None else (each.algorithm, other.handle)
            library().call(f"post_ops_append_{each.kind}", post_ops.handle, *parameters)
        library().call("primitive_attr_set_post_ops", attributes.handle, post_ops.handle)
    return attributes
