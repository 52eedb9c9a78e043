# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cost and gain of CUDA graphs on a GPU: the constants of runtime/cuda/graphs.py.

    python bench/gpu_graphs.py          prints them beside the current constants; reports a missing device
    python bench/gpu_graphs.py --must   fails without a device

The calls run small kernels in sequence, by the device's clock (CUDA events). Figures are the cost of a further kernel,
launched by itself and in a graph; of a further argument that is copied around a graph; and of the rest of a graph's
call. Each is the median of turns. bench/gpu.py compares both ways on whole models, with the estimate.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy
from relax_mlir.runtime.cuda import graphs
from relax_mlir.runtime.cuda.driver import driver
from relax_mlir.runtime.cuda.timing import device_seconds
from relax_mlir.runtime.errors import DeviceError

import relax_mlir as rx
from relax_mlir import relax

#: Kernels of the shorter and the longer call, additional arguments, bytes of a large argument.
_FEW, _MANY, _ARGUMENTS, _LARGE = 50, 250, 32, 1 << 26
_TURNS, _CALLS = 9, 50


def program(launches: int, arguments: int = 0, elements: int = 64) -> rx.Artifact:
    """Return a program of sequential products of the first argument. No kernel reads the others."""
    module = rx.Module()
    with module.function("main", [rx.tensor((8, 8)), *[rx.tensor((elements,))] * arguments]) as f:
        value, *_ = f
        for _ in range(launches):
            value = relax.matmul(value, value)
        f.returns(value)
    return rx.compile(module, target="cuda")._artifact


def seconds_of_a_call(artifact: rx.Artifact, as_graph: bool, turns: int, calls: int) -> float:
    run = rx.runtime.Executable(artifact, graphs=as_graph)
    copying: Any = run.copying()
    shapes = [each.shape for each in artifact.signatures[0].inputs]
    given = [copying.upload(rx.runtime.tensor(numpy.zeros(shape, "float32"))) for shape in shapes]
    call = partial(run["main"], *given)
    device_seconds(call)  # first-call setup
    return statistics.median(device_seconds(partial(_often, call, calls)) / calls for _ in range(turns))


def _often(call: Any, count: int) -> None:
    for _ in range(count):
        call()


def measured(turns: int, calls: int, few: int, many: int, arguments: int, large: int) -> dict[str, float]:
    """Return the figures by their names in runtime/cuda/graphs.py."""
    seconds = partial(seconds_of_a_call, turns=turns, calls=calls)
    shorter, longer = program(few), program(many)
    launch, in_graph = ((seconds(longer, way) - seconds(shorter, way)) / (many - few) for way in (False, True))
    one = seconds(program(1), True)
    copy = (seconds(program(1, arguments), True) - one) / arguments
    copied = seconds(program(1, 1, large // 4), True) - one - copy
    return {
        "_LAUNCH": launch,
        "_IN_GRAPH": in_graph,
        "_GRAPH": one - in_graph - 2 * copy,
        "_COPY": copy,
        "_BYTES_A_SECOND": 2 * large / copied if copied > 0 else 0.0,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=_TURNS)
    parser.add_argument("--small", action="store_true", help="few kernels and calls, to see whether all works")
    parser.add_argument("--must", action="store_true", help="fail where there is no device")
    options = parser.parse_args(arguments)
    try:
        device = driver().device(0)
    except DeviceError as error:
        print(f"nothing is measured: {error}")
        return 1 if options.must else 0
    bandwidth = graphs.bytes_a_second(driver(), device)
    print(f"{device.name} ({device.arch}), whose memory has {bandwidth:.3g} bytes a second by its clock")
    sizes = (2, 2, 4, 2, 1 << 12) if options.small else (_CALLS, _FEW, _MANY, _ARGUMENTS, _LARGE)
    for name, figure in measured(options.turns, *sizes).items():
        print(f"{name:<16} = {figure:10.3g}, in the estimate {getattr(graphs, name):.3g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
