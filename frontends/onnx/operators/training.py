# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of losses and of optimizer steps (ai.onnx.preview.training)."""

from __future__ import annotations

from collections.abc import Callable

from ..prelude import OnnxNode, Outputs, Tensor, cast, const, info_of, like, register_onnx, relax

_DOMAIN = "ai.onnx.preview.training"


# ---- losses ----


@register_onnx("", "SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(node: OnnxNode) -> Outputs:
    """Convert SoftmaxCrossEntropyLoss: the loss, and the logarithms of the probabilities."""
    log_probabilities = relax.nn.log_softmax(node.tensor(0), axis=1)
    return [_nll_loss(node, log_probabilities), log_probabilities][: node.output_count]


def _nll_loss(node: OnnxNode, log_probabilities: Tensor) -> Tensor:
    reduction = node.choice("reduction", "mean", ("none", "sum", "mean"))
    operands = [log_probabilities, node.tensor(1), *([node.tensor(2)] if node.has(2) else [])]
    # Relax's default of ignore_index is not a class either.
    return relax.dialect.ops["nn.nll_loss"](*operands, reduction=reduction, ignore_index=node.int("ignore_index", -100))


register_onnx("", "NegativeLogLikelihoodLoss")(lambda node: _nll_loss(node, node.tensor(0)))


# ---- steps ----


class _TrainingStep:
    """Common part of a step for all tensors: learning rate, step count, attributes."""

    def __init__(self, node: OnnxNode):
        self.node = node
        self.rate, self.count = node.tensor(0), node.tensor(1)
        self.rate_dtype = node.value(0).dtype

    def number(self, name: str, default: float | None = None) -> float:
        if (value := self.node.float(name, default)) is None:
            raise self.node.fail(f"has no attribute '{name}'", name)
        return float(value)

    def scalar(self, value: float) -> Tensor:
        """Return a number of the learning rate's type."""
        return const(value, self.rate_dtype)

    def count_as_number(self) -> Tensor:
        return relax.astype(self.count, dtype=self.rate_dtype)

    def is_later(self) -> Tensor:
        """Return whether this is not the first step, as a tensor."""
        return relax.greater(self.count, const(0, self.node.value(1).dtype))


def _times(x: Tensor, factor: float) -> Tensor:
    return relax.multiply(x, like(x, factor))


def _regularize(x: Tensor, gradient: Tensor, coefficient: float) -> Tensor:
    return gradient if coefficient == 0.0 else relax.add(_times(x, coefficient), gradient)


def _cast_like(number: Tensor, x: Tensor) -> Tensor:
    return cast(number, info_of(x).dtype)


def _update_each(node: OnnxNode, kinds: int, update: Callable[..., list[Tensor]]) -> list[Tensor]:
    """Update each tensor.

    Behind rate and count, the inputs are all tensors, then all gradients, then each kind of history. The outputs have
    the same order.
    """
    if (given := len(node.inputs) - 2) < kinds or given % kinds:
        raise node.fail(f"has {given} tensors behind rate and count, expected a multiple of {kinds}")
    count = given // kinds
    results = []
    for place in range(count):
        results.append(update(*(node.tensor(2 + kind * count + place) for kind in range(kinds))))
    return [result for kind in zip(*results, strict=True) for result in kind]


@register_onnx(_DOMAIN, "Adagrad")
def adagrad(node: OnnxNode) -> Outputs:
    step = _TrainingStep(node)
    slowed = relax.add(relax.multiply(step.count_as_number(), step.scalar(step.number("decay_factor", 0.0))),
                          step.scalar(1.0))  # fmt: skip
    rate = relax.divide(step.rate, slowed)

    def update(x: Tensor, gradient: Tensor, squares: Tensor) -> list[Tensor]:
        gradient = _regularize(x, gradient, step.number("norm_coefficient", 0.0))
        squares = relax.add(squares, relax.square(gradient))
        scale = relax.add(relax.sqrt(squares), like(x, step.number("epsilon", 1e-6)))
        return [relax.subtract(x, relax.divide(relax.multiply(_cast_like(rate, x), gradient), scale)), squares]

    return _update_each(node, 3, update)


@register_onnx(_DOMAIN, "Adam")
def adam(node: OnnxNode) -> Outputs:
    step = _TrainingStep(node)
    alpha, beta = step.number("alpha", 0.9), step.number("beta", 0.999)
    rate = _adam_rate(step, alpha, beta)

    def update(x: Tensor, gradient: Tensor, mean: Tensor, squares: Tensor) -> list[Tensor]:
        gradient = _regularize(x, gradient, step.number("norm_coefficient", 0.0))
        mean = relax.add(_times(mean, alpha), _times(gradient, 1 - alpha))
        squares = relax.add(_times(squares, beta), _times(relax.square(gradient), 1 - beta))
        scale = relax.add(relax.sqrt(squares), like(x, step.number("epsilon", 1e-6)))
        change = relax.divide(relax.multiply(_cast_like(rate, x), mean), scale)
        after = step.number("norm_coefficient_post", 0.0)
        x = relax.subtract(x, change)
        return [x if after == 0.0 else _times(x, 1 - after), mean, squares]

    return _update_each(node, 4, update)


def _adam_rate(step: _TrainingStep, alpha: float, beta: float) -> Tensor:
    """Return the rate with Adam's correction for histories that start at zero, which step 0 does not use."""
    count, one = step.count_as_number(), step.scalar(1.0)
    of_mean, of_squares = (relax.subtract(one, relax.power(step.scalar(base), count)) for base in (alpha, beta))
    corrected = relax.divide(relax.multiply(step.rate, relax.sqrt(of_squares)), of_mean)
    return relax.where(step.is_later(), corrected, step.rate)


@register_onnx(_DOMAIN, "Momentum")
def momentum(node: OnnxNode) -> Outputs:
    step, mode = _TrainingStep(node), node.choice("mode", "", ("standard", "nesterov"))
    alpha = step.number("alpha")
    beta = relax.where(step.is_later(), step.scalar(step.number("beta")), step.scalar(1.0))

    def update(x: Tensor, gradient: Tensor, momentum: Tensor) -> list[Tensor]:
        gradient = _regularize(x, gradient, step.number("norm_coefficient"))
        scaled = relax.multiply(_cast_like(beta, x), gradient)
        momentum = relax.add(_times(momentum, alpha), scaled)
        direction = relax.add(gradient, _times(momentum, alpha)) if mode == "nesterov" else momentum
        return [relax.subtract(x, relax.multiply(_cast_like(step.rate, x), direction)), momentum]

    return _update_each(node, 3, update)
