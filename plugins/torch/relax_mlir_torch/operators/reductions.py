# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of reductions over dimensions: sums, means, variances, extremes and their positions, norms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from relax_mlir.dialects.core.infos import is_float
from relax_mlir.frontends.core.tensors import all_of, any_of

from ..prelude import (
    Outputs,
    Tensor,
    TorchNode,
    cast,
    const,
    info_of,
    like,
    register_rows,
    register_torch,
    relax,
    sizes,
    wide_float,
)
from .elementwise import truth

Axes = Sequence[int]


def axes_of(node: TorchNode) -> list[int]:
    """Return the reduced dimensions, none for a 0-D tensor."""
    rank = node.rank("self")
    return node.axes("dim", rank) if rank else []


def reduced(name: str, x: Tensor, axes: Axes, keepdims: bool = False) -> Tensor:
    return relax.dialect.ops[name](x, axis=list(axes), keepdims=keepdims)


def _make_typed_converter(name: str) -> Callable[[TorchNode], Outputs]:
    """Return a converter that reduces in the result's type: booleans as integers, unless the result is boolean."""
    return lambda node: reduced(name, node.tensor("self", node.dtype), axes_of(node), node.bool("keepdim"))


def _make_truth_converter(function: Callable[..., Tensor]) -> Callable[[TorchNode], Outputs]:
    return lambda node: cast(function(truth(node), axes_of(node), node.bool("keepdim")), node.dtype)


register_rows(
    {
        "aten::sum": _make_typed_converter("sum"),
        "aten::prod": _make_typed_converter("prod"),
        "aten::mean": _make_typed_converter("mean"),
        "aten::amax aten::max.default": _make_typed_converter("max"),
        "aten::amin aten::min.default": _make_typed_converter("min"),
        "aten::any aten::_is_any_true": _make_truth_converter(any_of),
        "aten::all aten::_is_all_true": _make_truth_converter(all_of),
        "aten::argmax": lambda node: _place(node, "argmax"),
        "aten::argmin": lambda node: _place(node, "argmin"),
        "aten::max.dim": lambda node: _with_place(node, "max"),
        "aten::min.dim": lambda node: _with_place(node, "min"),
        "aten::aminmax": lambda node: [
            reduced(name, node.tensor("self"), axes_of(node), node.bool("keepdim")) for name in ("min", "max")
        ],
        "aten::count_nonzero": lambda node: reduced("sum", cast(truth(node), "i64"), axes_of(node)),
        "aten::nansum": lambda node: _sum_without_nan(node),
    }
)  # fmt: skip


def _sum_without_nan(node: TorchNode) -> Tensor:
    x = node.tensor("self", node.dtype)
    if is_float(node.dtype):
        x = relax.where(relax.isnan(x), like(x, 0), x)
    return reduced("sum", x, axes_of(node), node.bool("keepdim"))


# ---- positions ----


def _place(node: TorchNode, name: str) -> Tensor:
    """Return the index of the first extreme, along a dimension or in all elements."""
    x, rank, keepdims = node.tensor("self"), node.rank("self"), node.bool("keepdim")
    if rank == 0:
        return relax.zeros((), "i64")
    axis = node.axis("dim", rank) if node.has("dim") else None
    return relax.dialect.ops[name](x, axis=axis, keepdims=keepdims)


def _with_place(node: TorchNode, name: str) -> list[Tensor]:
    return [reduced(name, node.tensor("self"), axes_of(node), node.bool("keepdim")), _place(node, f"arg{name}")]


# ---- variances ----


def _count(node: TorchNode, axes: Axes) -> sizes.Size:
    """Return the number of elements that one element of the result combines."""
    every = sizes.sizes_of(node.value("self"))
    return sizes.product([every[axis] for axis in axes])


def _correction(node: TorchNode) -> float:
    """Return the correction, which is subtracted from the number of elements in the divisor."""
    return float(node.float("correction")) if node.has("correction") else float(node.bool("unbiased", True))


def _variance(node: TorchNode) -> Tensor:
    """Return the variance in the type of the computation."""
    wide, axes, correction = wide_float(node.dtype), axes_of(node), _correction(node)
    made = reduced("variance", node.tensor("self", wide), axes, node.bool("keepdim"))
    return made if correction == 0 else relax.multiply(made, _correct_variance(_count(node, axes), correction, wide))


def _correct_variance(count: sizes.Size, correction: float, dtype: str) -> Tensor:
    """Return count / (count - correction), or infinity if the divisor is not positive."""
    if isinstance(count, int):
        divisor = max(count - correction, 0)
        return const(count / divisor if divisor else math.inf, dtype)
    number = cast(relax.reshape(sizes.as_tensor([count]), ()), dtype)
    left = relax.maximum(relax.subtract(number, const(correction, dtype)), const(0, dtype))
    return relax.divide(number, left)


def _moments(root: bool, with_mean: bool) -> Callable[[TorchNode], Outputs]:
    def convert(node: TorchNode) -> Outputs:
        made = _variance(node)
        result = cast(relax.sqrt(made) if root else made, node.dtype)
        if not with_mean:
            return result
        mean = reduced("mean", node.tensor("self", wide_float(node.dtype)), axes_of(node), node.bool("keepdim"))
        return [result, cast(mean, node.dtype)]

    return convert


register_rows(
    {
        "aten::var": _moments(root=False, with_mean=False),
        "aten::std": _moments(root=True, with_mean=False),
        "aten::var_mean": _moments(root=False, with_mean=True),
        "aten::std_mean": _moments(root=True, with_mean=True),
    }
)


# ---- logarithms and norms ----


@register_torch("aten::logsumexp", "aten::special_logsumexp")
def log_sum_exp(node: TorchNode) -> Outputs:
    """Return log(sum(exp(x))), computed from the distances to the largest element to prevent overflow.

    An infinite largest element is not subtracted.
    """
    wide, axes = wide_float(node.dtype), axes_of(node)
    x = node.tensor("self", wide)
    largest = reduced("max", x, axes, keepdims=True)
    shift = relax.where(relax.isfinite(largest), largest, like(largest, 0))
    total = reduced("sum", relax.exp(relax.subtract(x, shift)), axes, keepdims=True)
    result = relax.add(relax.log(total), shift)
    return cast(result if node.bool("keepdim") else _drop(result, axes), node.dtype)


def _drop(x: Tensor, axes: Axes) -> Tensor:
    return relax.squeeze(x, axis=list(axes)) if axes else x


@register_torch("aten::linalg_vector_norm")
def vector_norm(node: TorchNode) -> Outputs:
    order, keepdims, axes = node.float("ord", 2.0), node.bool("keepdim"), axes_of(node)
    return cast(norm(relax.abs(node.tensor("self", wide_float(node.dtype))), order, axes, keepdims), node.dtype)


def norm(magnitudes: Tensor, order: float, axes: Axes, keepdims: bool) -> Tensor:
    if math.isinf(order):
        return reduced("max" if order > 0 else "min", magnitudes, axes, keepdims)
    if order == 0:
        is_other = relax.not_equal(magnitudes, like(magnitudes, 0))
        return reduced("sum", cast(is_other, info_of(magnitudes).dtype), axes, keepdims)
    if order == 1:
        return reduced("sum", magnitudes, axes, keepdims)
    if order == 2:
        return relax.sqrt(reduced("sum", relax.square(magnitudes), axes, keepdims))
    total = reduced("sum", relax.power(magnitudes, like(magnitudes, order)), axes, keepdims)
    return relax.power(total, like(total, 1 / order))
