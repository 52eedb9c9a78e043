# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Train a small convolutional network on handwritten digits, and compare its losses with torch's.

python examples/digits/learn.py         (a quarter of a minute)

The network is a loss written as a script. torch_losses.txt has torch's losses from the same weights by the same steps;
torch_losses.py has written it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy

import relax_mlir as rx
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

HERE = Path(__file__).resolve().parent
EPOCHS, BATCH, RATE = 12, 64, 3e-3


@I.ir_module
class Network:
    @R.function(private=True)
    def scores(
        pictures: R.Tensor(("n", 1, 8, 8), "float32"),
        conv1: R.Tensor((12, 1, 3, 3), "float32"),
        bias1: R.Tensor((12, 1, 1), "float32"),
        conv2: R.Tensor((24, 12, 3, 3), "float32"),
        bias2: R.Tensor((24, 1, 1), "float32"),
        dense: R.Tensor((96, 10), "float32"),
        bias: R.Tensor((10,), "float32"),
    ) -> R.Tensor(("n", 10), "float32"):
        first = R.nn.relu(R.nn.conv2d(pictures, conv1, padding=1) + bias1)
        small = R.nn.max_pool2d(first, pool_size=2, strides=2)
        second = R.nn.relu(R.nn.conv2d(small, conv2, padding=1) + bias2)
        smaller = R.nn.max_pool2d(second, pool_size=2, strides=2)
        return R.matmul(R.nn.batch_flatten(smaller), dense) + bias

    @R.function
    def classify(
        pictures: R.Tensor(("n", 1, 8, 8), "float32"),
        conv1: R.Tensor((12, 1, 3, 3), "float32"),
        bias1: R.Tensor((12, 1, 1), "float32"),
        conv2: R.Tensor((24, 12, 3, 3), "float32"),
        bias2: R.Tensor((24, 1, 1), "float32"),
        dense: R.Tensor((96, 10), "float32"),
        bias: R.Tensor((10,), "float32"),
    ) -> R.Tensor(("n",), "int64"):
        cls = Network
        scores = cls.scores(pictures, conv1, bias1, conv2, bias2, dense, bias)
        return R.argmax(scores, axis=1)

    @R.function
    def loss(
        pictures: R.Tensor(("n", 1, 8, 8), "float32"),
        labels: R.Tensor(("n",), "int64"),
        conv1: R.Tensor((12, 1, 3, 3), "float32"),
        bias1: R.Tensor((12, 1, 1), "float32"),
        conv2: R.Tensor((24, 12, 3, 3), "float32"),
        bias2: R.Tensor((24, 1, 1), "float32"),
        dense: R.Tensor((96, 10), "float32"),
        bias: R.Tensor((10,), "float32"),
    ) -> R.Tensor((), "float32"):
        cls = Network
        scores = cls.scores(pictures, conv1, bias1, conv2, bias2, dense, bias)
        return R.nn.nll_loss(R.nn.log_softmax(scores, axis=1), labels)


def initial() -> dict[str, Any]:
    """Return small random weights, the same for everybody."""
    generator = numpy.random.default_rng(0)
    shapes = {"conv1": (12, 1, 3, 3), "conv2": (24, 12, 3, 3), "dense": (96, 10)}
    fan_in = {"conv1": 9, "conv2": 108, "dense": 96}
    made = {name: generator.normal(0, (2 / fan_in[name]) ** 0.5, shape) for name, shape in shapes.items()}
    made.update(bias1=numpy.zeros((12, 1, 1)), bias2=numpy.zeros((24, 1, 1)), bias=numpy.zeros(10))
    return {name: array.astype(numpy.float32) for name, array in made.items()}


def digits(name: str) -> tuple[Any, Any]:
    """Return pictures and labels of a file in this folder."""
    kept = numpy.load(HERE / name)
    return (kept["pictures"][:, None] / 16).astype(numpy.float32), kept["labels"].astype(numpy.int64)


def batches(count: int, epochs: int) -> Iterator[Any]:
    """Yield the indices of the pictures of each step."""
    generator = numpy.random.default_rng(1)
    for _ in range(epochs):
        order = generator.permutation(count)
        yield from (order[begin : begin + BATCH] for begin in range(0, count, BATCH))


def train(epochs: int) -> tuple[rx.Trainer, list[float]]:
    """Return the trainer after training, and the loss of each step."""
    pictures, labels = digits("training.npz")
    trainer = rx.Trainer(Network, "loss", rx.optim.Adam(lr=RATE), initial())
    losses = [float(trainer.step(pictures[chosen], labels[chosen])) for chosen in batches(len(pictures), epochs)]
    return trainer, losses


def accuracy(trainer: rx.Trainer) -> float:
    """Return the share of new pictures that are classified correctly."""
    pictures, labels = digits("digits.npz")
    return float((trainer.executable["classify"](pictures, **trainer.parameters) == labels).mean())


def main() -> int:
    start = time.perf_counter()
    trainer, losses = train(EPOCHS)
    seconds = time.perf_counter() - start
    theirs = [float(line) for line in (HERE / "torch_losses.txt").read_text().split()]
    steps = len(losses) // EPOCHS
    print("epoch    loss   torch's")
    for epoch in range(EPOCHS):
        part = slice(epoch * steps, (epoch + 1) * steps)
        print(f"{epoch + 1:>5}  {numpy.mean(losses[part]):.4f}    {numpy.mean(theirs[part]):.4f}")
    print(f"{accuracy(trainer):.1%} of the pictures that it has not seen are read rightly")
    print(f"compiled and trained in {seconds:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
