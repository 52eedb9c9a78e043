# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run a whole block of Llama on the simulated accelerator, compare to the bit, and print a table of cycles.

python examples/npu/run_llama.py [--small]
"""

from __future__ import annotations

import sys

import npu
import numpy
from llama import Sizes, block, tokens, weights
from npu import reference

import relax_mlir as rx


def main(*, small: bool) -> None:
    sizes = Sizes(32, 64, 4, 2, 96) if small else Sizes()
    module, x = block(sizes, weights(sizes)), tokens(sizes)
    graph = rx.lower(module, "npu", pipeline=rx.stages("npu").until("layouts"))
    program = rx.compile(module, "npu")
    result = numpy.from_dlpack(program["main"](x))
    print(npu.runtime.last[0].table())
    (right,) = reference.evaluate(graph, x)
    numpy.testing.assert_array_equal(result, right)
    print("the same as the reference, to the bit:", numpy.array2string(result[0, :4], precision=6), "...")


if __name__ == "__main__":
    main(small="--small" in sys.argv)
