# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small networks on handwritten digits, with the structure of a vision transformer and of MobileNetV3.

python test/python/helpers/small_nets.py (trains both, and writes small_nets.npz)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy

import relax_mlir as rx
from relax_mlir import relax

HERE = Path(__file__).resolve().parent
DIGITS = HERE.parents[2] / "examples" / "digits"
#: Tokens, their numbers, and the numbers inside of a block of the transformer.
TOKENS, WIDTH, INNER = 16, 24, 48
#: Channels of the narrow and the wide side of MobileNet's blocks.
NARROW, WIDE = 16, 32

Shapes = dict[str, tuple[int, ...]]
VIT: Shapes = {
    "embed": (4, WIDTH), "place": (TOKENS, WIDTH),
    "gamma1": (WIDTH,), "beta1": (WIDTH,), "q": (WIDTH, WIDTH), "q_bias": (WIDTH,), "k": (WIDTH, WIDTH),
    "k_bias": (WIDTH,), "v": (WIDTH, WIDTH), "v_bias": (WIDTH,), "out": (WIDTH, WIDTH), "out_bias": (WIDTH,),
    "gamma2": (WIDTH,), "beta2": (WIDTH,), "up": (WIDTH, INNER), "up_bias": (INNER,), "down": (INNER, WIDTH),
    "down_bias": (WIDTH,), "gamma3": (WIDTH,), "beta3": (WIDTH,), "head": (WIDTH, 10), "head_bias": (10,),
}  # fmt: skip
MOBILE: Shapes = {
    "stem": (NARROW, 1, 3, 3), "stem_bias": (NARROW, 1, 1),
    **{f"{name}{block}{part}": shape for block in (1, 2) for name, part, shape in (
        ("expand", "", (WIDE, NARROW, 1, 1)), ("expand", "_bias", (WIDE, 1, 1)), ("depth", "", (WIDE, 1, 3, 3)),
        ("depth", "_bias", (WIDE, 1, 1)), ("project", "", (NARROW, WIDE, 1, 1)),
        ("project", "_bias", (NARROW, 1, 1)))},
    "head": (NARROW, 10), "head_bias": (10,),
}  # fmt: skip


def _vit(x: Any, w: Mapping[str, Any]) -> Any:
    def linear(data: Any, name: str) -> Any:
        return relax.add(relax.matmul(data, w[name]), w[f"{name}_bias"])

    def norm(data: Any, place: int) -> Any:
        return relax.nn.layer_norm(data, w[f"gamma{place}"], w[f"beta{place}"], axes=[-1])

    patches = relax.permute_dims(relax.reshape(x, ("n", 4, 2, 4, 2)), axes=[0, 1, 3, 2, 4])
    x = relax.add(relax.matmul(relax.reshape(patches, ("n", TOKENS, 4)), w["embed"]), w["place"])
    normed = norm(x, 1)
    products = relax.matmul(linear(normed, "q"), relax.permute_dims(linear(normed, "k"), axes=[0, 2, 1]))
    attended = relax.matmul(relax.nn.softmax(products, axis=-1), linear(normed, "v"))
    x = relax.add(x, linear(attended, "out"))
    x = relax.add(x, linear(relax.nn.gelu(linear(norm(x, 2), "up")), "down"))
    return linear(norm(relax.mean(x, axis=[1]), 3), "head")


def _mobile(x: Any, w: Mapping[str, Any]) -> Any:
    def conv(data: Any, name: str, **attributes: Any) -> Any:
        return relax.add(relax.nn.conv2d(data, w[name], **attributes), w[f"{name}_bias"])

    def swish(data: Any) -> Any:
        gate = relax.clip(relax.add(data, relax.const(3.0)), min=0.0, max=6.0)
        return relax.multiply(relax.multiply(data, gate), relax.const(1 / 6))

    x = swish(conv(x, "stem", padding=1))
    for block in (1, 2):
        wide = swish(conv(x, f"expand{block}"))
        deep = swish(conv(wide, f"depth{block}", padding=1, strides=block, groups=WIDE))
        narrow = conv(deep, f"project{block}")
        x = relax.add(x, narrow) if block == 1 else narrow
    return relax.add(relax.matmul(relax.mean(x, axis=[2, 3]), w["head"]), w["head_bias"])


_NETS: dict[str, tuple[Shapes, Callable[[Any, Mapping[str, Any]], Any]]] = {
    "vit": (VIT, _vit),
    "mobile": (MOBILE, _mobile),
}


def _to_train(name: str) -> rx.Module:
    shapes, net = _NETS[name]
    inputs = {"pictures": rx.tensor(("n", 1, 8, 8)), **{each: rx.tensor(shape) for each, shape in shapes.items()}}
    with rx.Module() as module, module.function("loss", {**inputs, "labels": rx.tensor(("n",), "int64")}) as f:
        pictures, *weights, labels = f
        scores = net(pictures, dict(zip(shapes, weights, strict=True)))
        f.returns(relax.nn.nll_loss(relax.nn.log_softmax(scores, axis=1), labels))
    return module


def network(name: str, weights: Mapping[str, Any]) -> rx.Module:
    """Return a network with constant weights."""
    with rx.Module() as module, module.function("main", {"pictures": rx.tensor(("n", 1, 8, 8))}) as f:
        (pictures,) = f
        f.returns(_NETS[name][1](pictures, {each: relax.const(array) for each, array in weights.items()}))
    return module


def trained(name: str) -> dict[str, Any]:
    """Return the weights of a trained network."""
    with numpy.load(HERE / "small_nets.npz") as kept:
        return {each: kept[f"{name}.{each}"].astype("float32") for each in _NETS[name][0]}


def outliers() -> dict[str, Any]:
    """Return the weights of the transformer with two large channels behind each norm, and equal results."""
    weights, generator = trained("vit"), numpy.random.default_rng(1)
    for place, readers in ((1, "qkv"), (2, ["up"]), (3, ["head"])):
        factors = numpy.ones(WIDTH, "float32")
        factors[generator.choice(WIDTH, 2, replace=False)] = 60
        weights[f"gamma{place}"] *= factors
        weights[f"beta{place}"] *= factors
        for name in readers:
            weights[name] /= factors[:, None]
    return weights


def digits(name: str) -> tuple[Any, Any]:
    """Return pictures and labels: "training" or "digits", which no network has seen."""
    with numpy.load(DIGITS / f"{name}.npz") as kept:
        return (kept["pictures"][:, None] / 16).astype("float32"), kept["labels"].astype("int64")


def _initial(shapes: Shapes, generator: Any) -> dict[str, Any]:
    made = {}
    for name, shape in shapes.items():
        fan = numpy.prod(shape[1:]) if len(shape) == 4 else shape[0]
        array = generator.normal(0, (1.5 / fan) ** 0.5, shape)
        if name.startswith("gamma"):
            array = numpy.ones(shape)
        elif "bias" in name or name.startswith("beta"):
            array = numpy.zeros(shape)
        made[name] = array.astype("float32")
    return made


def train(name: str, epochs: int, rate: float) -> dict[str, Any]:
    generator = numpy.random.default_rng(0)
    pictures, labels = digits("training")
    trainer = rx.Trainer(_to_train(name), "loss", rx.optim.Adam(lr=None), _initial(_NETS[name][0], generator))
    for epoch in range(epochs):
        order = generator.permutation(len(labels))
        losses = [
            float(trainer.step(pictures[each], labels[each], lr=rate * (1 - epoch / epochs)))
            for each in (order[begin : begin + 64] for begin in range(0, len(order), 64))
        ]
        if epoch % 10 == 9:
            print(name, epoch + 1, numpy.mean(losses))
    return trainer.parameters


def main() -> None:
    kept = {}
    for name, epochs, rate in (("vit", 80, 6e-3), ("mobile", 40, 8e-3)):
        weights = {each: array.astype("float16") for each, array in train(name, epochs, rate).items()}
        kept.update({f"{name}.{each}": array for each, array in weights.items()})
        pictures, labels = digits("digits")
        module = network(name, {each: array.astype("float32") for each, array in weights.items()})
        print(name, (rx.runtime.to_numpy(rx.compile(module)["main"](pictures)).argmax(1) == labels).mean())
    numpy.savez_compressed(HERE / "small_nets.npz", **kept)


if __name__ == "__main__":
    main()
