# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Equal bits of ONNX models in several settings: compiled here, and in onnxruntime.

    python bench/same_bits.py build/models/*_dynamic.onnx [--rows=64] [--threads=2,3,8] [--sizes=16] [--no-peer]

For each model and setting: "same" if all results have the bits of the base, otherwise the largest difference, relative
to the largest result. The base is a batch of all rows on one thread. Other batches have the first rows, or all rows in
other places. Code for x86-64-v3 runs on any CPU with AVX2. `vector-bytes=16` represents CPUs with vectors of 128 bits,
such as Arm's. onnxruntime chooses its code by the CPU, so it has no such columns. same_bits_peers.py has other peers.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy
from batch_bits import THREADS, Call, difference, found_bits, line
from relax_mlir.runtime import to_numpy

import relax_mlir as rx

TARGETS = {
    "x86-64-v3": "llvm{cpu=x86-64-v3}",
    "16-byte vectors": "llvm{cpu=x86-64-v3 vector-bytes=16}",
    "cores=1": "llvm{cores=1}",
}
NUMERICS = "same"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--rows", type=int, default=64, help="rows of the batch")
    parser.add_argument("--sizes", type=int, default=16, help="number for other dynamic sizes")
    parser.add_argument("--threads", default=",".join(map(str, THREADS)), help="numbers of threads beside 1")
    parser.add_argument("--no-peer", action="store_true", help="without onnxruntime")
    options = parser.parse_args()
    threads = [int(each) for each in options.threads.split(",")]
    for path in options.models:
        for row in rows(path, options.rows, options.sizes, threads, has_peer=not options.no_peer):
            print(row, flush=True)


def rows(path: Path, count: int, size: int, threads: Sequence[int], *, has_peer: bool) -> Iterator[str]:
    module = rx.from_onnx(str(path))
    program = rx.compile(module, numerics=NUMERICS)
    inputs = program.signature("main")["inputs"]
    arrays, axes = inputs_of([(each["dtype"], each["shape"]) for each in inputs], count, size)
    yield line(f"{path.stem} relax-mlir", _ours(module, program, arrays, axes, count, threads))
    if has_peer:
        found = found_bits(onnxruntime_call(path), arrays, axes, count, threads)
        yield line(f"{path.stem} onnxruntime", found)


def _ours(
    module: rx.Module,
    program: rx.Executable,
    arrays: Sequence[Any],
    axes: Sequence[int | None],
    count: int,
    threads: Sequence[int],
) -> Iterator[tuple[str, str]]:
    yield from found_bits(lambda number: call_of(program, number), arrays, axes, count, threads)
    expected = call_of(program, 1)(arrays)
    for name, target in TARGETS.items():
        other = rx.compile(module, target, numerics=NUMERICS)
        yield name, difference(call_of(other, 1)(arrays), expected)


def inputs_of(
    inputs: Sequence[tuple[str, Sequence[int | str]]], count: int, size: int
) -> tuple[list[Any], list[int | None]]:
    """Return random inputs, and the axis of the rows in each: the first one with the name of a size."""
    random = numpy.random.default_rng(0)
    names = [each for _, shape in inputs for each in shape if isinstance(each, str)]
    arrays, axes = [], []
    for dtype, shape in inputs:
        sizes = [each if isinstance(each, int) else count if each == names[0] else size for each in shape]
        array = random.normal(size=sizes) if "float" in dtype else random.integers(0, 2, size=sizes)
        arrays.append(array.astype(dtype))
        axes.append(list(shape).index(names[0]) if names and names[0] in shape else None)
    return arrays, axes


def call_of(program: rx.Executable, threads: int) -> Call:
    def call(arrays: Sequence[Any]) -> list[Any]:
        program.threads = threads
        made = program["main"](*arrays)
        return [to_numpy(each) for each in (made if isinstance(made, (tuple, list)) else [made])]

    return call


def onnxruntime_call(path: Path) -> Callable[[int], Call]:
    import onnxruntime

    def call_for(threads: int) -> Call:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        names = [each.name for each in session.get_inputs()]
        return lambda arrays: session.run(None, dict(zip(names, arrays, strict=True)))

    return call_for


if __name__ == "__main__":
    main()
