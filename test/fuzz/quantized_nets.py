# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fuzzer of quantized networks: random float networks through rx.quantize, by the recipes of simulated chips.

    quantized_nets.py --seconds 60           new networks for a minute
    quantized_nets.py --seed 7 --case 12     one network again

The recipe's integer arithmetic is a graph of relax.requantize. The reference computes this graph, and target llvm at a
drawn level and the chip must equal the reference in each bit where a result is quantized. Real results may differ by
roundings of f32.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
for _folder in (Path("test"), Path("test/python/helpers"), Path("examples/npu")):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / _folder))

import npu  # noqa: E402, F401  # registers the target
import numpy  # noqa: E402
import on_target  # noqa: E402
from relax_mlir.bindings.navigation import body_of, functions_in, last_of, made_by, symbol_name  # noqa: E402
from relax_mlir_proof.testing import isolated  # noqa: E402

import relax_mlir as rx  # noqa: E402
from relax_mlir import relax  # noqa: E402

_PATIENCE_S = 900.0
_SAMPLES = 3
#: Roundings of f32 between the last integers and a real result, relative to the largest result.
_REAL = 1e-5
#: Options of rx.quantize that change weights, not the arithmetic, and take most of the time.
_PLAIN: dict[str, Any] = {"calibrate": "minmax", "smooth": None, "equalize": False, "clip_weights": False,
                          "bias_correction": False}  # fmt: skip
CHIPS = ("c", "npu", "example_npu")


class Outcome(NamedTuple):
    status: str
    problem: str = ""
    #: Number of requantizations of the graph.
    layers: int = 0


class _Net:
    """Float network under construction. Values by shape are joined again by residuals and concatenations."""

    def __init__(self, random: Random, x: Any, shape: tuple[int, ...]):
        self._random, self._numbers = random, numpy.random.default_rng(random.randrange(1 << 30))
        self.value, self.shape = x, shape
        self._before: dict[tuple[int, ...], list[Any]] = {}

    def weight(self, *shape: int) -> Any:
        return relax.const(self._numbers.normal(0, 0.4, shape).astype("float32"))

    def set(self, value: Any, shape: tuple[int, ...]) -> None:
        self._before.setdefault(self.shape, []).append(self.value)
        self.value, self.shape = value, shape

    def layer(self) -> None:
        kinds = [self.convolution, self.convolution, self.residual, self.concatenation, self.pool]
        self._random.choice(kinds)()

    def convolution(self, outputs: int = 0) -> None:
        random, (batch, channels, height, width) = self._random, self.shape
        outputs = outputs or random.choice((1, 2, 3, 4, 5, 8, 11, 16, 17))
        window, stride = random.choice((1, 1, 3)), random.choice((1, 1, 1, 2))
        groups = channels if random.random() < 0.15 else 1
        outputs = channels if groups > 1 else outputs
        padding = window // 2
        sizes = [(size + 2 * padding - window) // stride + 1 for size in (height, width)]
        weight = self.weight(outputs, channels // groups, window, window)
        y = relax.nn.conv2d(self.value, weight, strides=(stride,), padding=(padding,), groups=groups)
        if random.random() < 0.8:
            y = relax.add(y, self.weight(1, outputs, 1, 1))
        shape = (batch, outputs, *sizes)
        others = [each for each in self._before.get(shape, ()) if random.random() < 0.5]
        if others:
            y = relax.add(y, random.choice(others))
        self.set(self._limited(y), shape)

    def _limited(self, y: Any) -> Any:
        kind = self._random.choice(("relu", "relu", "clip", ""))
        return relax.nn.relu(y) if kind == "relu" else relax.clip(y, min=0.0, max=6.0) if kind else y

    def residual(self) -> None:
        """Add another value of this shape to a convolution that keeps the shape."""
        before, shape = self.value, self.shape
        y = relax.nn.conv2d(self.value, self.weight(shape[1], shape[1], 3, 3), padding=(1,))
        y = relax.add(relax.add(y, self.weight(1, shape[1], 1, 1)), before)
        self.set(self._limited(y), shape)

    def concatenation(self) -> None:
        others = [each for each in self._before.get(self.shape, ()) if each is not self.value]
        if not others:
            self.residual()
            others = [self._before[self.shape][-1]]
        batch, channels, *sizes = self.shape
        joined = relax.concat([self.value, self._random.choice(others)], axis=1)
        self.set(joined, (batch, 2 * channels, *sizes))

    def pool(self) -> None:
        """Add a maximum of 4 elements or an average of 9, which never lies halfway between two integers."""
        batch, channels, *sizes = self.shape
        operator, window = self._random.choice(((relax.nn.max_pool2d, 2), (relax.nn.avg_pool2d, 3)))
        if min(sizes) < window:
            return
        pooled = operator(self.value, pool_size=(window, window), strides=(2, 2))
        self.set(pooled, (batch, channels, *((size - window) // 2 + 1 for size in sizes)))

    def heads(self) -> tuple[Any, ...]:
        """Return one result or two: a product of the last value or of its means, and a convolution."""
        value, shape = self.value, self.shape
        columns = self._random.choice((1, 2, 3, 5, 10))
        # A mean of an even number of integers may lie halfway between two of them. The order of the sum in f32 would
        # decide which of them is the result.
        is_odd = shape[2] * shape[3] % 2
        rows = relax.mean(value, axis=[2, 3]) if is_odd else relax.reshape(value, shape=(shape[0], -1))
        depth = shape[1] if is_odd else shape[1] * shape[2] * shape[3]
        first = relax.add(relax.matmul(rows, self.weight(depth, columns)), self.weight(columns))
        if self._random.random() < 0.5:
            return (first,)
        self.convolution(self._random.choice((1, 2, 3)))
        return first, self.value


def network(random: Random) -> tuple[rx.Module, tuple[int, ...]]:
    """Return a float network with its input shape."""
    shape = (random.choice((1, 2)), random.choice((1, 2, 3, 4, 8)), random.choice((4, 5, 8)), random.choice((4, 6, 7)))
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(shape, "f32")}) as f:
        net = _Net(random, *f, shape)
        net.convolution()
        for _ in range(random.randint(0, 3)):
            net.layer()
        f.returns(*net.heads())
    return module, shape


def integers(module: rx.Module, chip: str) -> rx.Module:
    """Return the graph of integers that a chip's recipe states."""
    if chip == "example_npu":
        graph = rx.Module.parse(str(module))
        rx.Pipeline("relax-inline{include-composites=true},relax-requantize{recipe=example_npu}").run(graph)
        return graph
    return rx.lower(module, chip, pipeline=rx.stages(chip).until("integers"))


def check(seed: int, index: int) -> Outcome:
    """Check one network for one chip."""
    random = Random(f"{seed}:{index}")
    chip, level = random.choice(CHIPS), random.choice((0, 1, 2, 2, 3))
    if chip == "c":
        level = max(level, 2)  # the stage `integers` runs from -O2 on
    module, shape = network(random)
    numbers = numpy.random.default_rng(index)
    samples = [numbers.normal(size=shape).astype("float32") for _ in range(_SAMPLES)]
    x = numbers.normal(size=shape).astype("float32")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            quantized = rx.quantize(module, samples, chip, **_PLAIN).module
            graph = integers(quantized, chip)
            wanted = _results(rx.reference(graph)["main"](x))
            for name, call in _programs(quantized, graph, chip, level):
                problem = _difference(_results(call(x)), wanted, _are_quantized(graph))
                if problem:
                    return Outcome("failed", f"{name} by the recipe of {chip} at -O{level}: {problem}")
    except rx.RelaxError as error:
        # The vector unit of npu has no loops with two results.
        status = "refused" if "stores more than one thing" in str(error) else "failed"
        return Outcome(status, f"{chip} at -O{level}: {error}"[:400])
    except Exception as error:  # an error of any class is a failure of this network
        return Outcome("failed", f"{chip} at -O{level}: {type(error).__name__}: {error}"[:400])
    return Outcome("agree", layers=str(graph).count('"relax.requantize"') + str(graph).count("= relax.requantize"))


def _programs(quantized: rx.Module, graph: rx.Module, chip: str, level: int) -> Iterator[tuple[str, Any]]:
    """Yield the programs to compare with the reference."""
    yield "llvm", rx.compile(graph, opt_level=level, jobs=1, cache=False)["main"]
    if chip == "c":
        if not on_target.TARGETS["c"].lacks():
            yield "c", on_target.guarded_c_program(quantized, level)
    elif chip == "npu":
        yield "npu", rx.compile(quantized, "npu", jobs=1, cache=False)["main"]
    else:
        program = rx.compile(quantized, opt_level=level, partition=[chip], jobs=1, cache=False)
        yield chip, program["main"]


def _results(found: Any) -> list[Any]:
    listed = found if isinstance(found, (list, tuple)) or type(found).__name__ == "Array" else [found]
    return [numpy.asarray(rx.runtime.to_numpy(each)) for each in listed]


def _are_quantized(graph: rx.Module) -> list[bool]:
    """Return for each result whether it is a dequantized integer, with exact bits."""
    (block,) = [body_of(each) for each in functions_in(graph.operation) if symbol_name(each) == "main"]
    return [made_by(each, "relax.dequantize") is not None for each in last_of(block).operands]


def _difference(found: Sequence[Any], wanted: Sequence[Any], quantized: Sequence[bool]) -> str:
    for place, (one, other, is_exact) in enumerate(zip(found, wanted, quantized, strict=True)):
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"result {place} is {one.dtype} {one.shape}, expected {other.dtype} {other.shape}"
        off = numpy.abs(one - other)
        most = 0.0 if is_exact else _REAL * float(numpy.abs(other).max(initial=1e-3))
        if not (off <= most).all():
            return f"{(off > most).sum()} of {off.size} elements of result {place} are off, by {off.max():.4g}"
    return ""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--cases", type=int, help="stop after this many networks")
    parser.add_argument("--seed", type=int, help="the same seed gives the same networks")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--case", type=int, help="run this network of the seed and show it")
    options = parser.parse_args(argv)
    seed = Random().randrange(10**6) if options.seed is None else options.seed
    if options.case is not None:
        outcome = check(seed, options.case)
        print(f"{outcome.status}: {outcome.problem}\n{network_text(seed, options.case)}")
        return int(outcome.status == "failed")
    if options.seconds is None and options.cases is None:
        parser.error("how long? --seconds or --cases")
    return fuzz(seed, options.seconds, options.cases, options.jobs)


def network_text(seed: int, index: int) -> str:
    random = Random(f"{seed}:{index}")
    random.choice(CHIPS), random.choice((0, 1, 2, 2, 3))
    return str(network(random)[0])


def fuzz(seed: int, seconds: float | None, cases: int | None, jobs: int) -> int:
    statuses: Counter[str] = Counter()
    layers = 0
    end = None if seconds is None else time.monotonic() + seconds
    died = partial(Outcome, "failed")
    queue: Iterator[tuple[Any, ...]] = ((seed, index) for index in range(cases or 10**12))
    for (_, index), outcome in isolated.run(check, queue, jobs, end, _PATIENCE_S, lambda cause, _: died(cause)):
        statuses[outcome.status] += 1
        layers += outcome.layers
        if outcome.status == "failed":
            print(f"FAILED: --seed {seed} --case {index}: {outcome.problem}", flush=True)
    counts = ", ".join(f"{statuses[name]} {name}" for name in ("agree", "refused", "failed"))
    print(f"seed {seed}: {statuses.total()} networks, {counts}; {layers} requantizations")
    return 1 if statuses["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
