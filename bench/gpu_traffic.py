# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory traffic of memory-bound kernels relative to the minimum; no device is needed.

    python bench/gpu_traffic.py                  a row for each operator, static sizes and dynamic sizes
    python bench/gpu_traffic.py --only softmax   rows with this text in their names

"moved" is the number of bytes that threads request from global memory, counted by the PTX emulator, relative to the
bytes of operands and result: 1.00 means each byte once. "sectors" is the number of 32-byte sectors that warps touch,
relative to contiguous accesses of as many bytes: 1.00 is coalesced. Data that all rows read, such as weights of norms,
are in a cache.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from relax_mlir.runtime.cuda.driver import use_library

import relax_mlir as rx

sys.path.append(str(Path(__file__).parents[1] / "test"))

from gpu_emulator.driver import EmulatedCuda
from gpu_emulator.machine import Checks
from gpu_emulator.traffic import Traffic

_HEAD = f"{'':<36}{'dtype':>9}{'kernels':>9}{'requests':>10}{'moved':>8}{'sectors':>9}"


class Case(NamedTuple):
    """Operator, its operands' shapes, and its attributes."""

    name: str
    operator: str
    shapes: list[tuple[int, ...]]
    attributes: dict[str, Any]
    dtypes: tuple[str, ...] = ("float32", "float16")


_LAST: dict[str, Any] = {"axes": [-1]}
CASES = [
    Case("add", "relax.add", [(64, 1000)] * 2, {}),
    Case("add of a row", "relax.add", [(64, 1000), (1000,)], {}),
    *(
        Case(f"softmax of {length}", "relax.nn.softmax", [(32, length)], {"axis": -1})
        for length in (64, 1000, 4096, 50000)
    ),
    Case("layer norm of 768", "relax.nn.layer_norm", [(64, 768), (768,), (768,)], _LAST),
    Case("rms norm of 4096", "relax.nn.rms_norm", [(16, 4096), (4096,)], _LAST),
    Case("sum of rows of 16", "relax.sum", [(4096, 16)], {"axis": [1]}),
    Case("sum of rows of 1000", "relax.sum", [(64, 1000)], {"axis": [1]}),
    Case("sum of 64 columns", "relax.sum", [(4096, 64)], {"axis": [0]}),
    Case("sum of 3 columns", "relax.sum", [(20000, 3)], {"axis": [0]}),
    Case("mean of channels", "relax.mean", [(8, 32, 14, 14)], {"axis": [0, 2, 3]}),
    Case("transpose", "relax.permute_dims", [(256, 384)], {"axes": [1, 0]}, ("float32", "float16", "int8")),
    Case("channels to the end", "relax.permute_dims", [(2, 64, 28, 28)], {"axes": [0, 2, 3, 1]}),
]


def traffic_of(case: Case, dtype: str, *, is_open: bool) -> dict[str, Traffic]:
    """Return the memory traffic of each kernel of a case. With `is_open` sizes are dynamic."""
    names = {size: f"n{size}" for shape in case.shapes for size in shape}
    shapes = [tuple(names[size] for size in shape) if is_open else shape for shape in case.shapes]
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype) for shape in shapes]) as f:
        f.returns(rx.find_op(case.operator)(*f, **case.attributes))
    program = rx.compile(module, target="cuda", opt_level=3)
    found: dict[str, Traffic] = {}
    library = EmulatedCuda(checks=Checks(traffic=found))
    with use_library(library):
        program.copying()["main"](*(numpy.ones(shape, dtype) for shape in case.shapes))
    library.check()
    return found


def row(case: Case, dtype: str, *, is_open: bool) -> str:
    found = traffic_of(case, dtype, is_open=is_open)
    requests = [each for traffic in found.values() for each in (traffic.reads, traffic.writes)]
    waste = sum(each.sectors for each in requests) / max(sum(each.least for each in requests), 1)
    item = numpy.dtype(dtype).itemsize
    least = item * (sum(int(numpy.prod(shape)) for shape in case.shapes) + _count_of_result(case))
    name = f"{case.name}{', open' if is_open else ''}"
    return (
        f"{name:<36}{dtype:>9}{len(found):>9}{sum(each.count for each in requests):>10}"
        f"{sum(each.bytes for each in requests) / least:>8.2f}{waste:>9.2f}"
    )


def _count_of_result(case: Case) -> int:
    reduced = case.attributes.get("axis") if case.operator in ("relax.sum", "relax.mean") else None
    return int(numpy.prod([size for axis, size in enumerate(case.shapes[0]) if not reduced or axis not in reduced]))


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="the rows whose names have this in them")
    arguments = parser.parse_args(given)
    print(_HEAD)
    for case in [case for case in CASES if arguments.only in case.name]:
        for dtype in case.dtypes:
            for is_open in (False, True):
                print(row(case, dtype, is_open=is_open), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
