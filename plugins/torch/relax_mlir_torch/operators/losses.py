# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of losses of classes. torch decomposes other losses to elementwise operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from relax_mlir.dialects.core.infos import is_float
from relax_mlir_training.gradient.reverse import gradients_at

from ..prelude import (
    Outputs,
    Tensor,
    TorchNode,
    along_axis,
    cast,
    info_of,
    like,
    register_rows,
    register_torch,
    relax,
    sizes,
    wide_float,
)

Reduction: TypeAlias = Literal["none", "mean", "sum"]

_REDUCTIONS: Sequence[Reduction] = ("none", "mean", "sum")


class Weighed(NamedTuple):
    """Weight of each class, ignored class, and reduction of losses."""

    weight: Tensor | None
    ignored: int
    reduction: Reduction


def _weighing(node: TorchNode) -> Weighed:
    reduction = node.get("reduction", 0)
    # One of torch's operators has the name of the reduction.
    name = _REDUCTIONS[_REDUCTIONS.index(reduction) if isinstance(reduction, str) else reduction]
    return Weighed(node.optional("weight", wide_float(node.dtype)), node.int("ignore_index"), name)


def _likelihood(logs: Tensor, target: Tensor, how: Weighed, reduction: Reduction | None = None) -> Tensor:
    return relax.nn.nll_loss(logs, target, how.weight, reduction=reduction or how.reduction, ignore_index=how.ignored)


def _total_weight(logs: Tensor, target: Tensor, how: Weighed) -> Tensor:
    """Return the sum of weights of targets that are not ignored: the loss with logarithms of -1."""
    return _likelihood(relax.full_like(logs, like(logs, -1)), target, how, "sum")


def nll_loss(node: TorchNode) -> Tensor:
    logs = node.tensor("self", wide_float(node.dtype))
    return cast(_likelihood(logs, node.tensor("target"), _weighing(node)), node.dtype)


@register_torch("aten::nll_loss_forward", "aten::nll_loss2d_forward")
def nll_loss_forward(node: TorchNode) -> Outputs:
    """Return the loss, and the sum of weights by which a mean divides."""
    logs, how = node.tensor("self", wide_float(node.dtype)), _weighing(node)
    total = relax.zeros((), info_of(logs).dtype)
    if how.reduction != "none":
        total = _total_weight(logs, node.tensor("target"), how)
    return [nll_loss(node), cast(total, node.dtype)]


def cross_entropy(node: TorchNode, logits: Tensor) -> Tensor:
    """Return the cross entropy of targets that are classes, or probabilities of all classes."""
    axis = min(1, logits.type.rank - 1)
    logs, target, how = relax.nn.log_softmax(logits, axis=axis), node.tensor("target"), _weighing(node)
    smoothing = node.float("label_smoothing", 0.0)
    weighed = logs
    if how.weight is not None:
        weighed = relax.multiply(logs, along_axis(how.weight, axis, logits.type.rank))
    # Smoothing makes all classes equally likely with a share of the weight.
    smooth = relax.negative(relax.mean(weighed, axis=[axis]))
    if is_float(info_of(target).dtype):
        own = relax.negative(relax.sum(relax.multiply(weighed, cast(target, info_of(logs).dtype)), axis=[axis]))
        tensor = _reduce(_mix(own, smooth, smoothing), how.reduction)
    else:
        own = _likelihood(logs, target, how)
        tensor = _mix(own, _smooth_of_classes(smooth, logs, target, how), smoothing) if smoothing else own
    return cast(tensor, node.dtype)


def _mix(own: Tensor, smooth: Tensor, share: float) -> Tensor:
    if not share:
        return own
    return relax.add(relax.multiply(own, like(own, 1 - share)), relax.multiply(smooth, like(own, share)))


def _smooth_of_classes(smooth: Tensor, logs: Tensor, target: Tensor, how: Weighed) -> Tensor:
    kept = relax.where(relax.equal(target, like(target, how.ignored)), like(smooth, 0), smooth)
    if how.reduction != "mean":
        return _reduce(kept, how.reduction)
    return relax.divide(_reduce(kept, "sum"), _total_weight(logs, target, how))


def _reduce(x: Tensor, reduction: Reduction) -> Tensor:
    return x if reduction == "none" or x.type.rank == 0 else relax.dialect.ops[reduction](x)


register_rows(
    {
        "aten::nll_loss aten::nll_loss2d aten::nll_loss_nd": nll_loss,
        "aten::cross_entropy_loss": lambda node: cross_entropy(node, node.tensor("self", wide_float(node.dtype))),
    }
)


_LINEAR = ("input", "linear_weight", "linear_bias")


@register_torch("torch_nn::_linear_cross_entropy_batch_chunked",
                "torch_nn::_linear_cross_entropy_batch_chunked_no_reduction")  # fmt: skip
def linear_cross_entropy(node: TorchNode) -> Outputs:
    """Convert a linear layer with its loss, which torch computes in chunks, and the requested gradients."""
    dtype = wide_float(node.dtype)
    given = {name: node.tensor(name, dtype) for name in _LINEAR if node.has(name)}
    names = [name for name in _LINEAR if node.bool(f"compute_{name}_grad")]

    def loss(*tensors: Tensor) -> Tensor:
        return _linear_loss(node, {**given, **dict(zip(names, tensors, strict=True))})

    made = dict(zip(names, gradients_at([given[name] for name in names], loss), strict=True)) if names else {}
    gradients = [
        cast(made[name], info.dtype) if name in made else sizes.zeros(info.shape or (), info.dtype)
        for name, info in zip(_LINEAR, node.results[1:], strict=False)
        if info is not None
    ]
    return [loss(*(given[name] for name in names)), *gradients]


def _linear_loss(node: TorchNode, tensors: Mapping[str, Tensor]) -> Tensor:
    logits = relax.matmul(tensors["input"], relax.permute_dims(tensors["linear_weight"]))
    if "linear_bias" in tensors:
        logits = relax.add(logits, tensors["linear_bias"])
    return cross_entropy(node, logits)
