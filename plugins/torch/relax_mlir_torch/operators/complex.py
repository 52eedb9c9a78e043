# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of operators on complex numbers, as pairs of real tensors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.core.infos import is_float
from relax_mlir.frontends.core.complex_numbers import (
    Pair,
    Unary,
    added,
    angle,
    conjugate,
    cosh,
    divided,
    each_part,
    exponential,
    from_polar,
    in_pairs,
    logarithm,
    magnitude,
    minus_turned,
    multiplied,
    of_pairs,
    reciprocal,
    root,
    sigmoid,
    sign,
    sinh,
    tanh,
    turned,
)
from relax_mlir.frontends.core.values import ComplexValue

from ..prelude import Outputs, Tensor, TorchNode, Value, cast, const, like, register_torch, relax, sizes
from ..registry import find_converter, register_complex


def pair(node: TorchNode, key: str | int, dtype: str = "") -> Pair:
    """Return an argument, a tensor or a number, in `dtype`, by default the element type of the result's parts."""
    dtype = dtype or node.dtype
    if isinstance(held := node.held(key), ComplexValue):
        return Pair(cast(held.real.ssa, dtype), cast(held.imag.ssa, dtype))
    if isinstance(held, complex):
        return Pair(const(held.real, dtype), const(held.imag, dtype))
    return Pair(node.operand(key, dtype), None)


def matrix_of(node: TorchNode, key: str | int = 0) -> Tensor:
    """Return an argument of matrices. Complex ones have pairs of real numbers in a last dimension."""
    held = node.held(key)
    return in_pairs(held) if isinstance(held, ComplexValue) else node.tensor(key)


def numbers_of(node: TorchNode, matrix: Tensor) -> Tensor | ComplexValue:
    """Return a result of matrices, as complex numbers if the node is complex."""
    return of_pairs(matrix) if node.is_complex else matrix


def each_number(numbers: Tensor | ComplexValue, change: Callable[[Tensor], Tensor]) -> Tensor | ComplexValue:
    """Return real numbers, or both parts of complex ones, after a change."""
    if not isinstance(numbers, ComplexValue):
        return change(numbers)
    return ComplexValue(Value(ssa=change(numbers.real.ssa)), Value(ssa=change(numbers.imag.ssa)))


def _parts_of(node: TorchNode, key: str | int = 0) -> Pair:
    """Return an argument in its own element type."""
    if isinstance(held := node.held(key), ComplexValue):
        return Pair(held.real.ssa, held.imag.ssa)
    return Pair(node.tensor(key), None)


_UNARY: dict[str, Unary] = {
    "aten::neg aten::negative": lambda x: Pair(relax.negative(x.real), relax.negative(x.whole_imag)),
    "aten::_conj aten::conj aten::_conj_physical aten::conj_physical": conjugate,
    "aten::exp": exponential,
    "aten::log": logarithm,
    "aten::sqrt": root,
    "aten::rsqrt": lambda x: reciprocal(root(x)),
    "aten::square": lambda x: multiplied(x, x),
    "aten::reciprocal": reciprocal,
    "aten::sgn": sign,
    "aten::cosh": cosh,
    "aten::sinh": sinh,
    "aten::tanh": tanh,
    "aten::cos": lambda x: cosh(turned(x)),
    "aten::sin": lambda x: minus_turned(sinh(turned(x))),
    "aten::tan": lambda x: minus_turned(tanh(turned(x))),
    "aten::sigmoid": sigmoid,
    "aten::silu": lambda x: multiplied(x, sigmoid(x)),
}


def _register(names: str, convert: Callable[[TorchNode], Outputs]) -> None:
    register_complex(*names.split())(convert)


def _unary(function: Unary) -> Callable[[TorchNode], Outputs]:
    return lambda node: function(pair(node, 0)).value()


for _names, _function in _UNARY.items():
    _register(_names, _unary(_function))


def _times_alpha(node: TorchNode, x: Pair) -> Pair:
    return x if node.get("alpha", 1) == 1 else multiplied(x, pair(node, "alpha"))


@register_complex("aten::add")
def add(node: TorchNode) -> Outputs:
    return _broadcast_parts(node, added(pair(node, "self"), _times_alpha(node, pair(node, "other"))))


@register_complex("aten::sub", "aten::subtract")
def subtract(node: TorchNode) -> Outputs:
    return _broadcast_parts(node, added(pair(node, "self"), _times_alpha(node, pair(node, "other")), relax.subtract))


@register_complex("aten::rsub")
def reversed_subtract(node: TorchNode) -> Outputs:
    return _broadcast_parts(node, added(pair(node, "other"), _times_alpha(node, pair(node, "self")), relax.subtract))


@register_complex("aten::mul", "aten::multiply")
def multiply(node: TorchNode) -> Outputs:
    return _broadcast_parts(node, multiplied(pair(node, "self"), pair(node, "other")))


@register_complex("aten::div", "aten::divide", "aten::true_divide")
def divide(node: TorchNode) -> Outputs:
    return _broadcast_parts(node, divided(pair(node, "self"), pair(node, "other")))


@register_complex("aten::addcmul", "aten::addcdiv")
def add_joined(node: TorchNode) -> Outputs:
    join = multiplied if "addcmul" in node.op else divided
    made = join(pair(node, "tensor1"), pair(node, "tensor2"))
    if node.get("value", 1) != 1:
        made = multiplied(made, pair(node, "value"))
    return _broadcast_parts(node, added(pair(node, "self"), made))


def _broadcast_parts(node: TorchNode, x: Pair) -> ComplexValue:
    """Broadcast both parts to the result's shape. A part from a smaller operand has the operand's shape."""
    shape = node.sizes_of_result
    return each_part(x, lambda each: each if _shape(each) == shape else sizes.broadcast(each, shape)).value()


def _shape(x: Tensor) -> list[Any]:
    return list(Value(ssa=x).shape or ())


@register_complex("aten::pow")
def power(node: TorchNode) -> Outputs:
    """Convert pow. Small integer exponents are products; 0 to a nonzero power is 0."""
    x, exponent = pair(node, "self"), node.get("exponent")
    if isinstance(exponent, (int, float)) and exponent == int(exponent) and 1 <= abs(exponent) <= 8:
        made = x
        for _ in range(abs(int(exponent)) - 1):
            made = multiplied(made, x)
        return (made if exponent > 0 else reciprocal(made)).value()
    by = pair(node, "exponent")
    made = exponential(multiplied(logarithm(x), by))
    is_nothing = relax.logical_and(relax.equal(x.real, like(x.real, 0)), relax.equal(x.whole_imag, like(x.real, 0)))
    is_one = relax.logical_and(relax.equal(by.real, like(by.real, 0)), relax.equal(by.whole_imag, like(by.real, 0)))
    real = relax.where(is_nothing, relax.where(is_one, like(x.real, 1), like(x.real, 0)), made.real)
    return _broadcast_parts(node, Pair(real, relax.where(is_nothing, like(x.real, 0), made.whole_imag)))


# ---- products of matrices ----


def _product(left: str | int, right: str | int, added_to: str = "") -> Callable[[TorchNode], Outputs]:
    def convert(node: TorchNode) -> Outputs:
        made = multiplied(pair(node, left), pair(node, right), relax.matmul)
        if not added_to:
            return made.value()
        if node.get("alpha", 1) != 1:
            made = multiplied(made, pair(node, "alpha"))
        own = pair(node, added_to)
        if node.get("beta", 1) != 1:
            own = multiplied(own, pair(node, "beta"))
        return _broadcast_parts(node, added(made, own))

    return convert


_register("aten::matmul aten::mm aten::bmm aten::mv aten::dot", _product(0, 1))
_register("aten::addmm", _product("mat1", "mat2", "self"))
_register("aten::addmv", _product("mat", "vec", "self"))
_register("aten::baddbmm", _product("batch1", "batch2", "self"))


@register_complex("aten::vdot")
def vdot(node: TorchNode) -> Outputs:
    return multiplied(conjugate(pair(node, 0)), pair(node, 1), relax.matmul).value()


@register_complex("aten::linear")
def linear(node: TorchNode) -> Outputs:
    weight = pair(node, "weight")
    if len(_shape(weight.real)) == 2:
        weight = each_part(weight, lambda each: relax.permute_dims(each, axes=[1, 0]))
    made = multiplied(pair(node, "input"), weight, relax.matmul)
    return _broadcast_parts(node, added(made, pair(node, "bias")) if node.has("bias") else made)


@register_complex("aten::einsum")
def einsum(node: TorchNode) -> Outputs:
    """Sum over the choices of a real or imaginary part of each operand, with i times i = -1."""
    subscripts = node.string("equation").replace(" ", "")
    pairs = [_held_pair(each, node.dtype) for each in node.get("tensors")]
    halves: list[Tensor | None] = [None, None]
    for sides in itertools.product(*([0] if each.imag is None else [0, 1] for each in pairs)):
        parts = [each.whole_imag if side else each.real for each, side in zip(pairs, sides, strict=True)]
        made = relax.einsum(parts, subscripts=subscripts)
        made = relax.negative(made) if sum(sides) % 4 >= 2 else made
        tensor = halves[sum(sides) % 2]
        halves[sum(sides) % 2] = made if tensor is None else relax.add(tensor, made)
    assert halves[0] is not None
    return Pair(halves[0], halves[1]).value()


def _held_pair(held: Any, dtype: str) -> Pair:
    if isinstance(held, ComplexValue):
        return Pair(cast(held.real.ssa, dtype), cast(held.imag.ssa, dtype))
    return Pair(cast(held.ssa, dtype), None)


# ---- conversion from and to real tensors ----


@register_torch("aten::complex")
@register_complex("aten::complex")
def from_parts(node: TorchNode) -> Outputs:
    return _broadcast_parts(node, Pair(node.tensor("real"), node.tensor("imag")))


@register_torch("aten::polar")
@register_complex("aten::polar")
def polar(node: TorchNode) -> Outputs:
    return _broadcast_parts(node, from_polar(node.tensor("abs"), node.tensor("angle")))


@register_torch("aten::view_as_complex")
@register_complex("aten::view_as_complex", "aten::view_as_complex_copy")
def view_as_complex(node: TorchNode) -> Outputs:
    return of_pairs(node.tensor(0))


@register_torch("aten::view_as_real")
@register_complex("aten::view_as_real", "aten::view_as_real_copy")
def view_as_real(node: TorchNode) -> Outputs:
    return in_pairs(_parts_of(node).value())


@register_complex("aten::abs")
def absolute(node: TorchNode) -> Outputs:
    return magnitude(_parts_of(node))


@register_complex("aten::angle")
def angle_of(node: TorchNode) -> Outputs:
    return angle(_parts_of(node))


_register("aten::real", lambda node: _parts_of(node).real)
_register("aten::imag", lambda node: _parts_of(node).whole_imag)


@register_complex("aten::eq", "aten::ne")
def equal(node: TorchNode) -> Outputs:
    wide = "f64" if any(str(getattr(meta, "dtype", "")).endswith("128") for meta in node.metas.values()) else "f32"
    x, y = pair(node, "self", wide), pair(node, "other", wide)
    same = relax.logical_and(relax.equal(x.real, y.real), relax.equal(x.whole_imag, y.whole_imag))
    return relax.logical_not(same) if node.op.startswith("aten::ne") else same


@register_complex("aten::isnan", "aten::isinf", "aten::isfinite")
def special_values(node: TorchNode) -> Outputs:
    x, name = _parts_of(node), node.op.partition("::")[2].partition(".")[0]
    join = relax.logical_and if name == "isfinite" else relax.logical_or
    return join(relax.dialect.ops[name](x.real), relax.dialect.ops[name](x.whole_imag))


@register_complex("aten::_to_copy", "aten::to", "aten::type_as", "prims::convert_element_type")
def converted(node: TorchNode) -> Outputs:
    """Convert from real or complex numbers. A conversion to real numbers drops the imaginary part, as in torch."""
    is_complex = node.fx.meta["val"].dtype.is_complex
    x = pair(node, 0)
    return x.value() if is_complex else x.real


@register_complex("aten::full", "aten::full_like", "aten::new_full", "aten::scalar_tensor", "aten::fill")
def full(node: TorchNode) -> Outputs:
    value = pair(node, next(key for key in ("fill_value", "value", "s") if node.has(key)))
    return _broadcast_parts(node, value)


@register_complex("aten::ones", "aten::ones_like", "aten::new_ones")
def ones(node: TorchNode) -> Outputs:
    return _broadcast_parts(node, Pair(const(1, node.dtype), None))


@register_complex("aten::where", "aten::masked_fill")
def where(node: TorchNode) -> Outputs:
    keys = ("mask", "value", "self") if "masked_fill" in node.op else ("condition", "self", "other")
    condition, one, other = node.tensor(keys[0]), pair(node, keys[1]), pair(node, keys[2])
    real = relax.where(condition, one.real, other.real)
    return _broadcast_parts(node, Pair(real, relax.where(condition, one.whole_imag, other.whole_imag)))


# ---- operators that apply to both parts separately ----


_ALIKE = """
view view_copy _unsafe_view reshape _reshape_copy _reshape_alias flatten unflatten ravel view_as reshape_as squeeze
squeeze_copy unsqueeze unsqueeze_copy atleast_1d atleast_2d atleast_3d permute permute_copy transpose transpose_copy
swapaxes swapdims t t_copy mT numpy_T movedim moveaxis flip expand expand_copy expand_as broadcast_to slice slice_copy
narrow narrow_copy select select_copy cat concat concatenate stack split split_with_sizes chunk tensor_split unbind
unbind_copy unsafe_split unsafe_split_with_sizes unsafe_chunk split_copy split_with_sizes_copy index _unsafe_index
index_select gather take take_along_dim roll repeat tile diagonal diagonal_copy diag_embed tril triu unfold unfold_copy
as_strided constant_pad_nd pad fliplr flipud rot90 select_scatter slice_scatter diagonal_scatter index_put
_unsafe_index_put index_add index_copy scatter scatter_add sum cumsum mean trace zeros zeros_like new_zeros empty
empty_like new_empty clone alias detach contiguous lift_fresh_copy lift_fresh resolve_conj resolve_neg _neg_view
repeat_interleave masked_select trapezoid
""".split()


@register_complex(*(f"aten::{name}" for name in _ALIKE))
def alike(node: TorchNode) -> Outputs:
    """Apply the converter for real tensors to each part. Real floats have an imaginary part of 0."""
    if (converter := find_converter(node.op)) is None:
        raise node.fail("no converter of this operator")
    halves = [converter.function(node.part(each)) for each in (_real, _imag)]
    lists = [list(half) if isinstance(half, (list, tuple)) else [half] for half in halves]
    values = [ComplexValue(_as_value(one), _as_value(other)) for one, other in zip(*lists, strict=True)]
    return values if isinstance(halves[0], (list, tuple)) else values[0]


def _as_value(held: Any) -> Value:
    return held if isinstance(held, Value) else Value(ssa=held)


def _real(held: object) -> Any:
    return held.real if isinstance(held, (ComplexValue, complex)) else held


def _imag(held: object) -> Any:
    if isinstance(held, Value) and is_float(held.dtype):
        return Value(ssa=relax.zeros_like(held.ssa))
    return held.imag if isinstance(held, (ComplexValue, complex)) else held


@register_complex("aten::mH", "aten::adjoint", "aten::matrix_H")
def adjoint(node: TorchNode) -> Outputs:
    made = alike(node)
    assert isinstance(made, ComplexValue)
    return conjugate(Pair(made.real.ssa, made.imag.ssa)).value()


@register_complex("aten::copy")
def copy(node: TorchNode) -> Outputs:
    """Convert copy: return `src` in the shape of the result."""
    return _broadcast_parts(node, pair(node, "src"))
