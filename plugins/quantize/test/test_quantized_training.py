# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantization-aware training: accuracy, equality of the trained and the deployed model, and wrong use."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from quantizing import accuracy, biased, module_of, recipe, run
from relax_mlir import relax
from relax_mlir.runtime import to_numpy
from small_nets import digits, network, trained


def _cross_entropy(scores: Any, labels: Any) -> Any:
    return relax.nn.nll_loss(relax.nn.log_softmax(scores, axis=1), labels)


def _trainer(training: rx.Trainable, optimizer: Any) -> rx.Trainer:
    rx.append_loss(training.module, _cross_entropy, {"labels": rx.tensor(("n",), "int64")})
    return rx.Trainer(training.module, "main_loss", optimizer, training.weights)


def _layers(depth: int = 32) -> rx.Module:
    generator = numpy.random.default_rng(0)
    first, second = (generator.normal(size=shape).astype("float32") for shape in ((depth, 12), (12, 5)))
    bias = generator.normal(size=12).astype("float32")
    return module_of(
        lambda x: relax.matmul(relax.nn.relu(biased(relax.matmul(x, relax.const(first)), bias)), relax.const(second)),
        ("n", depth),
    )


def _samples(depth: int = 32) -> Any:
    return numpy.random.default_rng(1).normal(size=(24, depth)).astype("float32")


@pytest.mark.parametrize("weights", ["i4 symmetric", "i4@channel symmetric"])
def test_training_gains_back_half_of_the_drop(weights: str) -> None:
    pictures, labels = digits("training")
    unseen, expected = digits("digits")
    model = network("mobile", trained("mobile"))
    quantized = rx.quantize(model, {"pictures": pictures[:64]}, recipe(weights))
    trainer = _trainer(quantized.trainable(), rx.optim.Adam(lr=None))
    generator = numpy.random.default_rng(0)
    epochs = 3
    for epoch in range(epochs):
        order = generator.permutation(len(labels))
        for part in (order[begin : begin + 64] for begin in range(0, len(order), 64)):
            trainer.step(pictures[part], labels[part], lr=1e-3 * (1 - epoch / epochs))
    before, after = quantized.module, quantized.with_weights(trainer.parameters)
    real, dropped, found = (accuracy(run(each, unseen), expected) for each in (model, before, after))
    print(f"{weights}: {real:.2f} in floating point, {dropped:.2f} quantized, {found:.2f} trained")
    assert dropped < real
    assert found >= (real + dropped) / 2


@pytest.mark.parametrize(
    ("weights", "depth"),
    [("i4 symmetric", 32), ("i4@channel symmetric", 32), ("i4@channel symmetric narrow", 32), ("u4@channel", 32),
     ("i4@block32", 72), ("i4@block32 symmetric", 64), ("i8@channel symmetric power_of_two", 32),
     ("e4m3@channel", 32)],
)  # fmt: skip
def test_trained_fake_quantization_equals_deployed_integers(weights: str, depth: int) -> None:
    """Train a few steps, and compare the fake quantization with the integers."""
    samples = _samples(depth)
    quantized = rx.quantize(_layers(depth), {"x": samples}, recipe(weights, None), clip_weights=True)
    training = quantized.trainable()
    forward = rx.compile(training.module)["main"]
    numpy.testing.assert_allclose(
        to_numpy(forward(samples, **training.weights)), run(quantized.module, samples), rtol=1e-4, atol=1e-4
    )
    trainer = _trainer(training, rx.optim.SGD(lr=0.05))
    labels = numpy.arange(24) % 5
    losses = [float(trainer.step(samples, labels)) for _ in range(20)]
    assert losses[-1] < losses[0]
    deployed = run(quantized.with_weights(trainer.parameters), samples)
    numpy.testing.assert_allclose(to_numpy(forward(samples, **trainer.parameters)), deployed, rtol=1e-4, atol=1e-4)
    assert abs(deployed - run(quantized.module, samples)).max() > 0.1


def test_scales_follow_the_weights() -> None:
    samples = _samples()
    quantized = rx.quantize(_layers(), {"x": samples}, recipe("i8@channel symmetric", None))
    larger = {name: 100 * array for name, array in quantized.trainable().weights.items()}
    expected = 1e4 * run(quantized.module, samples)
    numpy.testing.assert_allclose(run(quantized.with_weights(larger), samples), expected, rtol=1e-3, atol=1e-1)


def test_zeros_have_a_scale() -> None:
    samples = _samples()
    quantized = rx.quantize(_layers(), {"x": samples}, recipe("i4@channel symmetric", None))
    training = quantized.trainable()
    zeros = {name: numpy.zeros_like(array) for name, array in training.weights.items()}
    assert not to_numpy(rx.compile(training.module)["main"](samples, **zeros)).any()
    assert not run(quantized.with_weights(zeros), samples).any()


def test_some_weights() -> None:
    quantized = rx.quantize(_layers(), {"x": _samples()}, recipe("i4@channel symmetric"))
    (name, *others) = quantized.trainable().weights
    training = quantized.trainable(name)
    assert list(training.weights) == [name] and others
    trainer = _trainer(training, rx.optim.SGD(lr=0.1))
    trainer.step(_samples(), numpy.arange(24) % 5)
    quantized.with_weights(trainer.parameters).verify()


def test_wrong_weights() -> None:
    quantized = rx.quantize(_layers(), {"x": _samples()}, recipe("i4@channel symmetric"))
    name, array = next(iter(quantized.trainable().weights.items()))
    with pytest.raises(rx.OptionError, match=r"no weight 'head'.*; it has: const"):
        quantized.with_weights({"head": array})
    with pytest.raises(rx.OptionError, match=rf"'{name}': got float32 \[1\], expected float32 \["):
        quantized.with_weights({name: numpy.zeros(1, "float32")})
    with pytest.raises(rx.OptionError, match=rf"'{name}': got float64 .*, expected float32 \["):
        quantized.with_weights({name: array.astype("float64")})
    with pytest.raises(rx.RelaxError, match=rf"'{name}' has NaN"):
        quantized.with_weights({name: array * numpy.float32("nan")})
    with pytest.raises(rx.OptionError, match=r"no constant of @main is called 'tail\*'"):
        quantized.trainable("tail*")


def test_integers_are_not_trained() -> None:
    quantized = rx.quantize(_layers(), {"x": _samples()}, recipe("i8 symmetric"))
    with pytest.raises(rx.OptionError, match=r"reads integers: `rx.quantize\(...\).trainable\(\)` returns a model"):
        rx.unbind_params(quantized.module.copy())
    with rx.Module() as module, module.function("loss", {"w": rx.tensor((2,), "int8")}) as f:
        f.returns(relax.sum(relax.dequantize(*f, relax.const(1.0, "float32"), relax.const(0, "int8"))))
    with pytest.raises(rx.RelaxError, match=r"parameter 'w' of @loss is tensor<2xi8>: only tensors of floats"):
        rx.Trainer(module, "loss", rx.optim.SGD(lr=0.1), {"w": numpy.zeros(2, "int8")})
