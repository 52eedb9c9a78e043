# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of networks beside their floors: lower bounds of their times, from the machine's measured speeds.

    python bench/layer_floors.py                            prints all networks
    python bench/layer_floors.py resnet50 bert              prints these networks
    python bench/layer_floors.py --cpu x86-64-v3            measures code for AVX2
    python bench/layer_floors.py --peers --only "conv 3x3"  adds onnxruntime, for layers with this text in their names

A floor is the larger of two times. "F" is arithmetic at the peak of multiply-adds with all operands in registers;
convolutions count as direct sums without products with the padding. "B" is bytes at the measured bandwidths of the
cache levels and of the memory: a level holds input and result, and the weights of the whole chain, as far as they fit;
the rest comes from the next level. The level in the table is the one that takes longest. The peak is measured in turns
with each layer, as other work on the machine slows both. With --precision bf16 it is the speed of a product of ours.

A layer runs in a chain, so that its input and result have the layout that the compiler prefers, as in networks. Up to
eight copies with weights of their own follow each other. If the result has another shape than the input, a pointwise
layer, and a resize after strides, leads back. A pointwise convolution precedes the chain. A network's first layer has
no copies, and a pointwise convolution follows. Programs have a clock around each kernel, and kernels know the layers
that they compute: the time of a layer is that of its own kernels, with conversions that the compiler places between
the chain's layers. onnxruntime computes the same chain, and its profile, of whole microseconds,
counts nodes of the layer without its ReorderInput and ReorderOutput, which favours onnxruntime. --cpu does not change
onnxruntime's code.

Figures are of the fastest call of each kernel, by the clock. All take turns in one run. "*": a kernel computes the
layer together with a neighbour. "weighted" is the sum of a network's floors divided by the sum of its times. Means
leave out layers shorter than five microseconds: their calls and clocks take as long.
"""

from __future__ import annotations

import os

os.environ.setdefault("RELAX_NUM_THREADS", "1")

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from layer_cases import NETWORKS, Attention, Conv, Layer
from machine_speeds import Speeds, bandwidths, cpu_name, machine_of, peak_call, undisturbed
from relax_mlir.support.suggest import suggest

import relax_mlir as rx
from relax_mlir import relax

sys.path.insert(0, str(Path(__file__).resolve().parent / "models"))
import floors

GIGA, MICRO = 1e9, 1e-6
#: Names of a chain's layers: the measured ones, and those around them.
LAYER, AROUND = "layer", "around"
#: Copies of a layer in a chain, and bytes of weights that limit their number.
_COPIES, _MOST_BYTES = 8, 512 << 20
#: Calls of each in a turn, and turns of long layers; the shortest time that means and ratios include, as onnxruntime's
#: clock has whole microseconds.
_CALLS, _LEAST_TURNS, _SHORTEST = 5, 3, 5 * MICRO
#: Bytes of an element in each precision.
_PRECISIONS = {"f32": 4, "bf16": 2}


class Floor(NamedTuple):
    """Lower bound of a layer's seconds, and the limiting resource: "F", or "B" and a level's name."""

    seconds: float
    bound: str


class Row(NamedTuple):
    """Measured layer. `theirs` is onnxruntime's time, or None."""

    network: str
    layer: Layer
    seconds: float
    floor: Floor
    peak: float
    is_mixed: bool
    theirs: float | None

    @property
    def share(self) -> float:
        return self.floor.seconds / self.seconds

    @property
    def ratio(self) -> float | None:
        """Return the time relative to onnxruntime's, or None if that is unknown or too short for its clock."""
        return None if self.theirs is None or self.theirs < _SHORTEST else self.seconds / self.theirs

    def to_dict(self) -> dict[str, object]:
        """Return plain data, for JSON."""
        return {
            "network": self.network, "layer": self.layer.name, "count": self.layer.count, "seconds": self.seconds,
            "floor": self.floor.seconds, "bound": self.floor.bound, "share": self.share, "peak": self.peak,
            "mixed": self.is_mixed, "onnxruntime": self.theirs,
        }  # fmt: skip


class Options(NamedTuple):
    """Conditions of a run."""

    target: str
    precision: str
    threads: int
    seconds: float
    peers: bool


def floor_of(layer: Layer, copies: int, speeds: Speeds, size: int = 4) -> Floor:
    """Return the floor of a layer in a chain of `copies`, with elements of `size` bytes."""
    weights, data = layer.weights * size, layer.data * size
    parts = speeds.reads(data, data)
    for name, seconds in speeds.reads(weights, chain_bytes(layer, copies, size)).items():
        parts[name] = parts.get(name, 0.0) + seconds
    longest = max(parts, key=lambda each: parts[each])
    return max(Floor(layer.flops / speeds.peak, "F"), Floor(sum(parts.values()), f"B {longest}"))


def chain_bytes(layer: Layer, copies: int, size: int) -> int:
    """Return the bytes that a call of a chain reads and writes: weights of all copies, and the data of one."""
    return (copies * (layer.weights + _return_weights(layer, copies)) + layer.data) * size


def copies_of(layer: Layer) -> int:
    """Return the number of copies in the chain of a layer. The first layer of a network has no chain."""
    if isinstance(layer, Conv) and layer.inputs == 3:
        return 1
    return max(1, min(_COPIES, _MOST_BYTES // (4 * (layer.weights + _return_weights(layer, _COPIES)))))


def _return_weights(layer: Layer, copies: int) -> int:
    if copies == 1 or _ends(layer)[0] == _ends(layer)[1]:
        return 0
    inputs, outputs = _ends(layer)
    return inputs * outputs * (layer.batch if isinstance(layer, Attention) else 1)


def _ends(layer: Layer) -> tuple[int, int]:
    return (layer.inputs, layer.outputs) if isinstance(layer, Conv) else (layer.inner, layer.columns)


# ---- chains ----


class Chain:
    """Module with copies of a layer behind each other, and its arguments. Locations tell the layers apart."""

    def __init__(self, layer: Layer, copies: int) -> None:
        self.layer, self.copies, self.module = layer, copies, rx.Module()
        self._random = numpy.random.default_rng(0)
        self.arguments = self._arguments()
        with self.module.function("main", [rx.tensor(each.shape) for each in self.arguments]) as f:
            value, *others = f
            f.returns(self._all(value, others))

    def _arguments(self) -> list[Any]:
        """Return the input, and for attention the keys and values of each copy and of the way back."""
        layer = self.layer
        if isinstance(layer, Conv):
            return [self._numbers((1, layer.inputs, layer.side, layer.side), 1)]
        if not isinstance(layer, Attention):
            return [self._numbers((layer.rows, layer.inner), 1)]
        forth, back = (layer.batch, layer.inner, layer.columns), (layer.batch, layer.columns, layer.inner)
        pairs = [(forth, back) for _ in range(self.copies)]
        shapes = [each for pair in pairs for each in (pair[: 2 if self._has_return else 1])]
        return [self._numbers((layer.batch, layer.rows, layer.inner), 1)] + [
            self._numbers(each, each[1]) for each in shapes
        ]

    @property
    def _has_return(self) -> bool:
        return _return_weights(self.layer, self.copies) > 0

    def _all(self, value: Any, others: list[Any]) -> Any:
        layer = self.layer
        if isinstance(layer, Conv) and layer.inputs > 3:
            with self._named(AROUND):
                value = relax.nn.relu(self._conv(value, layer.inputs, layer.inputs))
        operands = iter(others)
        for number in range(self.copies):
            if getattr(layer, "normed", False):
                value = self._norm(value, f"{AROUND}-norm{number}")
            with self._named(f"{LAYER}{number}"):
                value = self._layer(value, operands)
            with self._named(f"{AROUND}{number}"):
                value = self._back(value, operands)
        return value

    def _layer(self, value: Any, operands: Iterable[Any]) -> Any:
        layer = self.layer
        if isinstance(layer, Attention):
            return relax.matmul(value, next(iter(operands)))
        if isinstance(layer, Conv):
            shape = (layer.outputs, layer.inputs // layer.groups, layer.taps, layer.taps)
            how = {"strides": [layer.stride] * 2, "padding": [layer.padding] * 4, "groups": layer.groups}
            value = relax.nn.conv2d(value, self._const(shape, math.prod(shape[1:])), **how)
            value = relax.add(value, self._const((1, layer.outputs, 1, 1), layer.outputs))
        else:
            value = relax.matmul(value, self._const((layer.inner, layer.columns), layer.inner))
            value = relax.add(value, self._const((layer.columns,), layer.columns))
        return _activated(value, layer.activation)

    def _back(self, value: Any, operands: Iterable[Any]) -> Any:
        """Return a value with the shape of the chain's input."""
        layer = self.layer
        inputs, outputs = _ends(layer)
        if self.copies == 1:
            return relax.nn.relu(self._conv(value, outputs, outputs)) if isinstance(layer, Conv) else value
        if self._has_return and isinstance(layer, Attention):
            return relax.matmul(value, next(iter(operands)))
        if self._has_return and isinstance(layer, Conv):
            value = relax.nn.relu(self._conv(value, outputs, inputs))
        elif self._has_return:
            value = relax.nn.relu(relax.matmul(value, self._const((outputs, inputs), outputs)))
        if isinstance(layer, Conv) and layer.out_side != layer.side:
            return relax.image.resize2d(value, size=(layer.side, layer.side), method="nearest_neighbor")
        return value

    def _norm(self, value: Any, name: str) -> Any:
        with self._named(name):
            scale, shift = (self._const((_ends(self.layer)[0],), 1) for _ in range(2))
            return relax.nn.layer_norm(value, scale, shift, axes=[-1])

    def _conv(self, value: Any, inputs: int, outputs: int) -> Any:
        return relax.nn.conv2d(value, self._const((outputs, inputs, 1, 1), inputs))

    def _const(self, shape: tuple[int, ...], summed: int) -> Any:
        return relax.const(self._numbers(shape, summed))

    def _numbers(self, shape: tuple[int, ...], summed: int) -> Any:
        """Return numbers that preserve the magnitude of sums with so many products."""
        numbers = self._random.standard_normal(shape, dtype="float32")
        numbers *= numpy.float32((2 / max(summed, 2)) ** 0.5)
        return numbers

    def _named(self, name: str) -> Any:
        return rx.ir.Location.name(name, context=self.module.operation.context)


def _activated(value: Any, activation: str) -> Any:
    if activation == "relu6":
        return relax.clip(value, min=0.0, max=6.0)
    if activation == "sigmoid":
        return relax.sigmoid(value)
    return getattr(relax.nn, activation)(value) if activation else value


# ---- times ----


class Ours:
    """Compiled chain, and the least time of its layer so far."""

    def __init__(self, chain: Chain, options: Options) -> None:
        self._program = rx.compile(chain.module, options.target, precision=options.precision)
        self._program.threads = options.threads
        self._arguments = [rx.runtime.tensor(each) for each in chain.arguments]
        self._copies, self.seconds, self.is_mixed = chain.copies, math.inf, False

    def turn(self, calls: int) -> None:
        profile = self._program.profile("main", *self._arguments, repeat=calls, warmup=1)
        computing = [each for each in profile.kernels if any(node.startswith(LAYER) for node in each.nodes)]
        if not computing:
            raise SystemExit("error: no kernel of the program belongs to the layer; expected the names of layers")
        self.is_mixed = any(not node.startswith(LAYER) for each in computing for node in each.nodes)
        self.seconds = min(self.seconds, sum(each.fastest_seconds for each in computing) / self._copies)


class Theirs:
    """Chain in onnxruntime. Its profile is complete after the last turn."""

    def __init__(self, chain: Chain, threads: int, folder: str) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        options.enable_profiling = True
        options.profile_file_prefix = str(Path(folder) / "profile")
        model, self._copies = rx.to_onnx(chain.module), chain.copies
        file = Path(folder) / "chain.onnx"
        file.write_bytes(model.SerializeToString())
        self._session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        names = [each.name for each in self._session.get_inputs()]
        self._given = dict(zip(names, chain.arguments, strict=True))

    def turn(self, calls: int) -> None:
        for _ in range(calls):
            self._session.run(None, self._given)

    def seconds(self) -> float:
        """Return the time of a layer: of each node the fastest call."""
        events = json.loads(Path(self._session.end_profiling()).read_text(encoding="utf-8"))
        best: dict[str, float] = {}
        for event in events:
            if event.get("cat") == "Node" and event["name"].startswith(LAYER):
                best[event["name"]] = min(best.get(event["name"], math.inf), event["dur"] * MICRO)
        return sum(best.values()) / self._copies


def measure(network: str, layer: Layer, speeds: Speeds, options: Options) -> Row:
    """Measure a layer, onnxruntime's, and the peak, in turns."""
    copies = copies_of(layer)
    chain = Chain(layer, copies)
    ours, (peak_seconds, work) = Ours(chain, options), peak_call(options.target, options.threads)
    with tempfile.TemporaryDirectory() as folder:
        theirs = Theirs(chain, options.threads, folder) if options.peers else None
        peaks = _turns(ours, theirs, peak_seconds, options.seconds)
        others = theirs.seconds() if theirs else None
    peak = work / min(peaks) if options.precision == "f32" else speeds.peak
    floor = floor_of(layer, copies, speeds._replace(peak=peak), _PRECISIONS[options.precision])
    return Row(network, layer, ours.seconds, floor, peak, ours.is_mixed, others)


def _turns(ours: Ours, theirs: Theirs | None, peak: Callable[[], float], seconds: float) -> list[float]:
    peaks: list[float] = []
    calls, end = _CALLS, time.perf_counter() + seconds
    while len(peaks) < _LEAST_TURNS * _CALLS or time.perf_counter() < end:
        peaks += [peak() for _ in range(_CALLS)]
        start = time.perf_counter()
        ours.turn(calls)
        if theirs:
            theirs.turn(calls)
        calls = _CALLS if time.perf_counter() - start < seconds else 1
    return peaks


# ---- output ----


def head(options: Options, speeds: Speeds) -> str:
    """Return the lines that describe the machine, the code and the measured speeds."""
    code, here = machine_of(options.target), machine_of("llvm")
    caches = ", ".join(f"L{number + 1} {_bytes(size)}" for number, size in enumerate(here.caches))
    cores = f"{len(os.sched_getaffinity(0))} cores" if hasattr(os, "sched_getaffinity") else f"{here.cores} cores"
    found = [f"{each.name} up to {_bytes(each.size)} {each.bandwidth / GIGA:.0f}" for each in speeds.levels[:-1]]
    return (
        f"{cpu_name()}; code {options.target} with vectors of {code.vector_bytes * 8} bits; {caches}; {cores}; "
        f"{options.threads} thread{'s' if options.threads > 1 else ''}, {options.precision}\n"
        f"peak {speeds.peak / GIGA:.0f} GFLOP/s; GB/s: {', '.join(found)}, "
        f"memory {speeds.levels[-1].bandwidth / GIGA:.0f}"
    )


def _bytes(size: float) -> str:
    return f"{size / 2**20:.0f} MiB" if size >= 1 << 20 else f"{size / 2**10:.0f} KiB"


def line(row: Row) -> str:
    """Return the line of a layer."""
    ratio = "" if row.theirs is None else f"{row.ratio:9.2f}" if row.ratio is not None else f"{'-':>9}"
    return (
        f"{row.layer.name + (' *' if row.is_mixed else ''):<40}{row.layer.count:>4}{row.seconds / MICRO:>11.1f}"
        f"{row.floor.seconds / MICRO:>11.1f}{row.share:>8.2f}  {row.floor.bound:<9}{ratio}"
    )


def summary(rows: Sequence[Row]) -> str:
    """Return the line of a network: geometric mean of the shares, weighted share, worst layer, mean ratio."""
    least = sum(row.layer.count * row.floor.seconds for row in rows)
    weighted = least / sum(row.layer.count * row.seconds for row in rows)
    long = [row for row in rows if row.seconds >= _SHORTEST] or list(rows)
    worst = min(long, key=lambda row: row.share)
    text = f"geomean of shares {_geomean(row.share for row in long):.2f}, weighted {weighted:.2f}"
    text += f", worst {worst.layer.name} {worst.share:.2f}"
    ratios = [row.ratio for row in long if row.ratio is not None]
    return text + (f", ours/ort {_geomean(ratios):.2f}" if ratios else "")


def _geomean(numbers: Iterable[float]) -> float:
    logarithms = [math.log(each) for each in numbers]
    return math.exp(sum(logarithms) / len(logarithms))


def chosen(networks: Sequence[str], only: str) -> dict[str, list[Layer]]:
    """Return the layers to measure. Raises ValueError for unknown names."""
    for name in networks:
        if name not in NETWORKS:
            known = ", ".join(NETWORKS)
            raise ValueError(f"unknown network '{name}'{suggest(name, NETWORKS)}; known: {known}")
    found = {name: [each for each in NETWORKS[name] if only in each.name] for name in networks or NETWORKS}
    if not any(found.values()):
        raise ValueError(f"no layer of {', '.join(found)} has '{only}' in its name; run without --only for all names")
    return {name: layers for name, layers in found.items() if layers}


def speeds_of(options: Options) -> Speeds:
    """Measure the machine's speeds."""
    if options.precision != "f32":
        peak = floors.peak(options.precision, options.threads, options.target)
    else:
        call, work = peak_call(options.target, options.threads)
        peak = work / undisturbed(lambda: min(call() for _ in range(20)))
    return Speeds(peak, bandwidths(options.target, options.threads))


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", help=f"networks, all by default: {', '.join(NETWORKS)}")
    parser.add_argument("--cpu", default="", help="LLVM's name of the CPU to compile for; this machine's by default")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="the layers with this text in their names")
    parser.add_argument("--precision", choices=list(_PRECISIONS), default="f32")
    parser.add_argument("--seconds", type=float, default=1.0, help="time for the turns of a layer")
    parser.add_argument("--peers", action="store_true", help="measure onnxruntime, too")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args(arguments)
    if given.threads < 1:
        parser.error(f"--threads is {given.threads}, expected 1 or more")
    if given.json and not given.json.absolute().parent.is_dir():
        parser.error(f"--json: the folder of {given.json} does not exist")
    return given


def run(given: argparse.Namespace) -> list[Row]:
    """Measure and print all chosen layers."""
    options = Options(
        f"llvm{{cpu={given.cpu}}}" if given.cpu else "llvm", given.precision, given.threads, given.seconds, given.peers
    )
    layers = chosen(given.networks, given.only)
    speeds = speeds_of(options)
    print(head(options, speeds), flush=True)
    rows: list[Row] = []
    for network, those in layers.items():
        titles = f"{'count':>4}{'µs':>10}{'floor':>11}{'share':>8}  {'bound':<9}{'ours/ort' if options.peers else ''}"
        print(f"\n{network:<40}{titles.rstrip()}")
        for layer in those:
            rows.append(measure(network, layer, speeds, options))
            print(line(rows[-1]), flush=True)
    print()
    for network in layers:
        print(f"{network}: {summary([row for row in rows if row.network == network])}")
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parsed(arguments)
    try:
        rows = run(given)
    except rx.OptionError as error:
        problem, _, _ = str(error).partition("\n")  # a note lists all names of CPUs
        print(f"error: --cpu: {problem}", file=sys.stderr)
        return 2
    except (rx.ArtifactError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if given.json:
        given.json.write_text(json.dumps([row.to_dict() for row in rows], indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
