# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rounding errors that right code makes. Added during interpretation, they show how well determined results are."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy
from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.navigation import made_by
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import TensorInfo, is_float

from ..interpreter.held_values import HeldValue, stored
from ..interpreter.sites import Frame, Step
from .agreement import STEPS

if TYPE_CHECKING:
    from numpy import ndarray

#: Operators that add no errors (moves, comparisons). floor and the like are exact, but an argument that is nearly an
#: integer may fall on either side. Earlier operators have already added that error.
EXACT = frozenset(
    f"relax.{name}"
    for name in "abs negative ceil floor round trunc sign isnan isinf isfinite equal not_equal less less_equal greater "
    "greater_equal logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not "
    "left_shift right_shift maximum minimum floor_divide floor_mod mod nn.relu where clip astype reshape flatten "
    "permute_dims expand_dims squeeze broadcast_to flip repeat tile concat stack split strided_slice take "
    "gather_elements gather_nd scatter_elements max min argmax argmin sort argsort topk tril triu full_like "
    "zeros_like ones_like nn.pad one_hot meshgrid nonzero unique size shape_of shape_to_tensor nn.max_pool1d "
    "nn.max_pool2d nn.max_pool3d index_tensor nn.batch_flatten nn.pixel_shuffle bitcast slice_scatter "
    "dynamic_strided_slice reverse_sequence index_put bucketize median eye_like vision.roi_pool full zeros ones "
    "arange eye layout_transform match_cast tensor_to_shape scalar_to_tensor".split()
)
#: Operators that subtract from 1 or add to 1. Their errors are relative to 1.
BY_ONE = frozenset(
    f"relax.{name}"
    for name in "nn.selu nn.softplus log_add_exp nn.log_softmax sigmoid nn.silu nn.gelu nn.gelu_tanh".split()
)
#: Operators with errors relative to the result's largest element.
BY_LARGEST = frozenset("relax.image.resize2d relax.image.grid_sample relax.vision.roi_align".split())
#: Positions of operands that are sizes, scales and bounds, by operator. They are never rounded.
FIXED: Mapping[str, frozenset[int]] = {
    "relax.image.resize2d": frozenset({1, 2}), "relax.image.resize3d": frozenset({1, 2}),
    "relax.clip": frozenset({1, 2}), "relax.quantize": frozenset({1, 2}), "relax.dequantize": frozenset({1, 2}),
    "relax.requantize": frozenset({1, 2, 3}),
}  # fmt: skip


#: Operators with an undefined integer result for NaN.
TO_INTEGERS = frozenset({"relax.quantize", "relax.astype"})


#: Operators in which NaN and infinity may change any result, by order or by neighbours with weight 0.
FAR_REACHING = frozenset(
    f"relax.{name}"
    for name in "sort argsort topk argmax argmin bucketize image.resize2d image.resize3d image.grid_sample "
    "vision.roi_align".split()
)
_SPECIAL = (numpy.nan, numpy.inf, -numpy.inf, 0.0, 1.0, -1.0)


class Noise:
    """Relative errors as large as an operator may make, on its operands and results.

    For `deviating` operators, NaN and infinity in operands or results allow any result.
    """

    def __init__(self, seed: int, deviating: Container[str] = ()) -> None:
        self._random = numpy.random.default_rng(seed)
        self._deviating = deviating

    def around(self, operation: Operation, run: Step) -> Step:
        """Return the step of an operator with errors."""
        name = operation.name
        types = (
            [decode(value.type) for value in operation.operands],
            [decode(value.type) for value in operation.results],
        )
        operands, results = ([_element(info) for info in type_] for type_ in types)
        if name in TO_INTEGERS and is_float(operands[0]) and not is_float(results[0]):
            run = self._with_any_for_nan(run)
        if name in self._deviating:
            run = self._with_any_for_special(run, is_whole=name in FAR_REACHING)
        if name in EXACT:
            return run
        fixed = FIXED.get(name, frozenset())
        if name in TO_INTEGERS and made_by(operation.operands[0]) is None:
            fixed = fixed | {0}  # halves in the program's inputs are exact

        def noisy(frame: Frame, *given: Any) -> list[HeldValue]:
            shaken = (
                value if index in fixed else self._shaken(value, dtype)
                for index, (value, dtype) in enumerate(zip(given, operands, strict=True))
            )  # fmt: skip
            found = run(frame, *shaken)
            listed = found if type(found) is list else [found]
            return [
                self._shaken(value, dtype, _unit(name, value, dtype))
                for value, dtype in zip(listed, results, strict=True)
            ]

        return noisy

    def _with_any_for_nan(self, run: Step) -> Step:
        """Return a step with a random integer for each NaN."""

        def with_any(frame: Frame, x: ndarray, *others: HeldValue) -> ndarray:
            (found,) = listed if type(listed := run(frame, x, *others)) is list else [listed]
            some = self._random.integers(0, 2, numpy.shape(x)).astype(found.dtype)
            return numpy.where(numpy.isnan(numpy.asarray(x, "float64")), some, found)

        return with_any

    def _with_any_for_special(self, run: Step, is_whole: bool) -> Step:
        """Return a step with random numbers where an element or its operands are NaN or infinite.

        With `is_whole`, one such element makes all results random.
        """

        def with_any(frame: Frame, *held_values: HeldValue) -> list[ndarray]:
            found = run(frame, *held_values)
            operands = [
                numpy.asarray(held_value, "float64")
                for held_value in held_values
                if isinstance(held_value, numpy.ndarray)
            ]
            return [
                self._any_for_special(each, operands, is_whole) for each in (found if type(found) is list else [found])
            ]

        return with_any

    def _any_for_special(self, found: ndarray, operands: Sequence[ndarray], is_whole: bool) -> ndarray:
        is_special = numpy.full(found.shape, is_whole and not all(numpy.isfinite(array).all() for array in operands))
        for operand in (numpy.asarray(found, "float64"), *operands):
            if operand.shape == found.shape:
                is_special = is_special | ~numpy.isfinite(operand)
        among = _SPECIAL if found.dtype.name in STEPS else [0, 1]
        return numpy.where(is_special, self._random.choice(among, found.shape).astype(found.dtype), found)

    def _shaken(self, value: ndarray, dtype: str, unit: float = 0.0) -> ndarray:
        step = STEPS.get(stored(dtype).name, 0.0) if dtype else 0.0
        if not step:
            return value
        wide = numpy.asarray(value, "float64")
        signs = self._random.choice([-step, step], wide.shape)
        with numpy.errstate(all="ignore"):
            noisy = wide + signs * (wide + unit * numpy.isfinite(wide)) + signs / step * _underflow(wide, dtype)
            return numpy.asarray(noisy).astype(value.dtype)


def _element(info: object) -> str:
    return info.dtype if isinstance(info, TensorInfo) else ""


def _unit(name: str, result: ndarray, dtype: str) -> float:
    """Return the absolute unit of errors, in addition to the element itself."""
    if name in BY_ONE:
        return 1.0
    if name not in BY_LARGEST or stored(dtype).name not in STEPS:
        return 0.0
    wide = numpy.asarray(result, "float64")
    return float(abs(wide[numpy.isfinite(wide)]).max(initial=0.0))


def _underflow(wide: ndarray, dtype: str) -> ndarray | float:
    """Return an absolute error if some elements are subnormal: another order of products underflows elsewhere."""
    import ml_dtypes

    tiny = float(ml_dtypes.finfo(stored(dtype)).tiny)
    is_small = abs(wide) < tiny
    return tiny * is_small if (is_small & (wide != 0)).any() else 0.0
