# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models after a search of some minutes, beside the target's default plans.

    python bench/tune_models.py [resnet50 unet ...] [--minutes 10] [--threads 2] [--folder build/models]

Models of `make models`, and a U-Net with random weights. "odd" ones have sizes that no vector divides: pictures of 7
times 19 pixels, sequences of 37. "ratio" is the time of a call with tuned kernels to that without, in 31 turns, with
its quartiles; "kernels" counts those with a winner.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from placement import conv, nn
from relax_mlir.runtime.cpu import cpu_name
from relax_mlir_cluster.turns import time_in_turns

import relax_mlir as rx
from relax_mlir import relax

_TURNS, _WIDTH = 31, 32


class Case(NamedTuple):
    """Model with the values of its symbolic sizes, and its inputs."""

    module: rx.Module
    sizes: dict[str, int]
    inputs: list[Any]


def unet(pixels: int) -> Case:
    """Return a U-Net of three levels."""
    with rx.Module() as module, module.function("main", {"x": rx.tensor((1, 3, pixels, pixels))}) as f:
        f.returns(_unet(*f, pixels))
    return Case(module, {}, [_picture(pixels)])


def _unet(x: Any, pixels: int) -> Any:
    kept, before = [], 3
    for level in range(3):
        x, before = _block(x, before, _WIDTH << level), _WIDTH << level
        kept.append(x)
        x = nn.max_pool2d(x, pool_size=(2, 2), strides=(2, 2))
    x, before = _block(x, before, 2 * before), 2 * before
    for level in reversed(range(3)):
        size = pixels >> level
        larger = relax.image.resize2d(x, (size, size), method="nearest_neighbor")
        x = relax.concat([conv(larger, before, _WIDTH << level, 3), kept[level]], axis=1)
        x, before = _block(x, 2 * (_WIDTH << level), _WIDTH << level), _WIDTH << level
    return conv(x, before, 4, 1)


def _block(x: Any, before: int, after: int) -> Any:
    return nn.relu(conv(nn.relu(conv(x, before, after)), after, after))


def _picture(pixels: int) -> Any:
    return numpy.random.default_rng(0).standard_normal((1, 3, pixels, pixels)).astype("float32")


def pictures(name: str, folder: Path) -> Case:
    return Case(rx.from_onnx(folder / f"{name}.onnx"), {}, [_picture(224)])


def texts(name: str, folder: Path, length: int = 0) -> Case:
    """Return a model of token numbers, and of a mask with BERT. With a length, the model with dynamic sizes."""
    module = rx.from_onnx(folder / (f"{name}_dynamic.onnx" if length else f"{name}.onnx"))
    shape = (1, length or (128 if name == "bert" else 64))
    tokens = numpy.random.default_rng(0).integers(0, 1000, shape)
    mask = [numpy.ones_like(tokens)] if name == "bert" else []
    return Case(module, {"batch": 1, "sequence": length} if length else {}, [tokens, *mask])


_CASES: dict[str, Callable[[Path], Case]] = {
    "resnet50": partial(pictures, "resnet50"),
    "mobilenet_v2": partial(pictures, "mobilenet_v2"),
    "bert": partial(texts, "bert"),
    "llama": partial(texts, "llama"),
    "unet": lambda _: unet(128),
    "odd bert": partial(texts, "bert", length=37),
    "odd llama": partial(texts, "llama", length=37),
    "odd unet": lambda _: unet(7 * 19),
}


def row(case: Case, minutes: float, threads: int, graph: bool) -> tuple[str, float]:
    """Tune a model. Return a line of the table, and the ratio of the times."""
    bind = case.sizes or None
    with tempfile.TemporaryDirectory() as folder:
        chosen = {"minutes": minutes, "threads": threads, "folder": folder, "graph": graph, "trials": 1000}
        found = rx.tune(case.module, bind=bind, **chosen)
        programs = [rx.compile(case.module, bind=bind, tuned=each) for each in (False, folder)]
    for program in programs:
        program.threads = threads
    turns = time_in_turns([program["main"] for program in programs], case.inputs, _TURNS)
    ratios = [after / before for before, after in turns]
    low, ratio, high = statistics.quantiles(ratios, n=4)
    default, tuned = (statistics.median(each) * 1e3 for each in zip(*turns, strict=True))
    trials = sum(len(each.search.outcomes) for each in found.tasks if each.search is not None)
    winners = sum(each.winner is not None for each in found.tasks)
    quartiles = f"{low:.3f}-{high:.3f}"
    text = f"{default:>10.2f}{tuned:>10.2f}{ratio:>8.3f}{quartiles:>14}{trials:>8}{winners:>5} of {len(found.tasks)}"
    return text + (f"   {len(found.wrong)} wrong" if found.wrong else ""), ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", choices=[[], *_CASES])
    parser.add_argument("--minutes", type=float, default=10, help="time limit of a search")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--graph", action="store_true", help="search layouts and fusion first")
    parser.add_argument("--folder", type=Path, default=Path("build/models"), help="models of make models")
    options = parser.parse_args()
    print(f"{cpu_name()}, {options.threads} threads, {options.minutes:g} minutes each")
    print(f"{'model':<16}{'ms':>10}{'tuned':>10}{'ratio':>8}{'quartiles':>14}{'trials':>8}  kernels", flush=True)
    ratios = []
    for name in options.models or _CASES:
        text, ratio = row(_CASES[name](options.folder), options.minutes, options.threads, options.graph)
        ratios.append(ratio)
        print(f"{name:<16}{text}", flush=True)
    print(f"geometric mean of the ratios: {math.exp(statistics.fmean(map(math.log, ratios))):.3f}")


if __name__ == "__main__":
    main()
