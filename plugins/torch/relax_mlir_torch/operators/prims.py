# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive operators of torch._prims, by the converters of ATen's operators with the same meaning.

Decompositions of torch._refs consist of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relax_mlir.dialects.core.infos import is_float

from ..fx_operators import listed
from ..inner_node import InnerNode
from ..prelude import Convert, Outputs, TorchNode, cast, like, register_torch, relax, sizes, wide_float
from ..registry import converted, register_complex
from .complex import alike

# Operators with the same argument names in ATen's overload.
_SAME = {
    "": "abs acos acosh asin asinh atan atanh bitwise_not ceil clone conj_physical cos cosh digamma erf erfc exp exp2 "
        "expm1 floor isfinite lgamma log log10 log1p log2 neg reciprocal round rsqrt sign sin sinh sqrt tan "
        "tanh trunc hypot atan2 fmax fmin gcd igamma igammac maximum minimum nextafter as_strided_scatter real imag",
    "Tensor": "add bitwise_and bitwise_or bitwise_xor eq fmod frexp ge gt le lt mul ne remainder sub",
    "Scalar": "fill",
}  # fmt: skip

_REDUCED = {"inp": "self", "dims": "dim"}

#: ATen's overload and its names of the arguments.
_RENAMED: dict[str, tuple[str, Mapping[str, str]]] = {
    "amax": ("amax", _REDUCED),
    "amin": ("amin", _REDUCED),
    "bessel_i0": ("i0", {}),
    "bessel_i0e": ("special_i0e", {}),
    "bessel_i1": ("special_i1", {}),
    "bessel_i1e": ("special_i1e", {}),
    "bessel_j0": ("special_bessel_j0", {}),
    "bessel_j1": ("special_bessel_j1", {}),
    "cat": ("cat", {}),
    "conj": ("_conj", {"a": "self"}),
    "copy_strided": ("clone", {"a": "self"}),
    "device_put": ("clone", {"a": "self"}),
    "erf_inv": ("erfinv", {}),
    "erfcx": ("special_erfcx", {}),
    "full": ("full", {"shape": "size"}),
    "full_like": ("full_like", {"a": "self"}),
    "iota": ("arange.start_step", {}),
    "item": ("item", {"a": "self"}),
    "ndtri": ("special_ndtri", {}),
    "normal": ("normal.float_float", {}),
    "pow": ("pow.Tensor_Tensor", {"other": "exponent"}),
    "prod": ("prod.dim_int", _REDUCED),
    "rev": ("flip", {"a": "self"}),
    "scalar_tensor": ("scalar_tensor", {}),
    "shift_left": ("bitwise_left_shift.Tensor", {}),
    "shift_right_arithmetic": ("bitwise_right_shift.Tensor", {}),
    "spherical_bessel_j0": ("special_spherical_bessel_j0", {"self": "x"}),
    "sum": ("sum.dim_IntList", _REDUCED),
    "svd": ("linalg_svd", {}),
    "transpose": ("permute", {"a": "self", "permutation": "dims"}),
    "uniform": ("uniform", {"low": "from", "high": "to"}),
    "var": ("var.correction", _REDUCED),
    "view_of": ("alias", {"a": "self"}),
    "view_of_dtype": ("view.dtype", {"a": "self"}),
    "where": ("where.self", {"pred": "condition", "a": "self", "b": "other"}),
    "zeta": ("special_zeta", {}),
}


def _make_aten_converter(overload: str, names: Mapping[str, str]) -> Convert:
    def convert(node: TorchNode) -> Outputs:
        return _convert(
            node, overload, {names.get(name, name): argument for name, argument in node.arguments.items()}, names
        )

    return convert


def _convert(node: TorchNode, overload: str, given: Mapping[str, Any], names: Mapping[str, str]) -> Outputs:
    target = _overload(overload)
    defaults = {argument.name: argument.default_value for argument in target._schema.arguments}
    metas = {names.get(name, name): meta for name, meta in node.metas.items()}
    name = f"aten::{overload if '.' in overload else f'{overload}.default'}"
    return converted(InnerNode(node, name, {**defaults, **given}, listed(node.fx.meta["val"]), metas), target)


def _overload(name: str) -> Any:
    import torch

    operator, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, operator), overload or "default")


def _register(name: str, convert: Convert) -> None:
    register_torch(f"prims::{name}")(convert)
    register_complex(f"prims::{name}")(convert)


for _overload_name, _names in _SAME.items():
    for _name in _names.split():
        _register(_name, _make_aten_converter(f"{_name}.{_overload_name}" if _overload_name else _name, {}))
for _name, (_aten, _arguments) in _RENAMED.items():
    _register(_name, _make_aten_converter(_aten, _arguments))


@register_torch("prims::fft_c2c", "prims::fft_c2r", "prims::fft_r2c")
@register_complex("prims::fft_c2c", "prims::fft_c2r", "prims::fft_r2c")
def fourier(node: TorchNode) -> Outputs:
    """Transform without a normalization."""
    name = node.op.removeprefix("prims::").partition(".")[0]
    return _convert(node, f"_{name}", {**node.arguments, "normalization": 0}, {})


@register_torch("prims::div")
@register_complex("prims::div")
def divide(node: TorchNode) -> Outputs:
    """Divide as C does: quotients of integers are truncated."""
    is_integer = not node.is_complex and not is_float(node.dtype)
    mode = "trunc" if is_integer else None
    return _convert(node, "div.Tensor_mode", {**node.arguments, "rounding_mode": mode}, {})


@register_torch("prims::fma")
def multiply_add(node: TorchNode) -> Outputs:
    a, b, c = (node.tensor(name, node.dtype) for name in "abc")
    return relax.add(relax.multiply(a, b), c)


@register_torch("prims::cbrt")
def cube_root(node: TorchNode) -> Outputs:
    x = node.tensor(0, wide_float(node.dtype))
    root = relax.power(relax.abs(x), like(x, 1 / 3))
    return cast(relax.where(relax.less(x, like(x, 0)), relax.negative(root), root), node.dtype)


@register_torch("prims::empty", "prims::empty_permuted", "prims::empty_strided")
def empty(node: TorchNode) -> Outputs:
    return _convert(node, "full", {"fill_value": 0}, {})


@register_torch("prims::collapse", "prims::collapse_view", "prims::reshape", "prims::split_dim", "prims::squeeze")
def reshape(node: TorchNode) -> Outputs:
    return sizes.reshaped(node.tensor(0), node.sizes_of_result)


@register_torch("prims::broadcast_in_dim")
def broadcast_in_dim(node: TorchNode) -> Outputs:
    """Convert broadcast_in_dim. `broadcast_dimensions` are the positions of the operand's dimensions in the result."""
    shape, kept = node.sizes_of_result, node.ints("broadcast_dimensions")
    own = dict(zip(kept, sizes.sizes_of(node.value(0)), strict=True))
    aligned = sizes.reshaped(node.tensor(0), [own.get(axis, 1) for axis in range(len(shape))])
    return sizes.broadcast(aligned, shape)


_SHAPES = ("collapse", "collapse_view", "reshape", "split_dim", "squeeze", "broadcast_in_dim")
register_complex(*(f"prims::{name}" for name in _SHAPES))(alike)
