# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run a whole quantized ResNet-18 on the simulated accelerator, compare to the bit, and print a table of cycles.

python examples/npu/run_resnet.py [--small] [--float]

With --float, rx.quantize makes the quantized network from one in floating point, by the accelerator's recipe.
"""

from __future__ import annotations

import sys

import npu
import numpy
from npu import reference
from resnet import picture, resnet18

import relax_mlir as rx


def main(*, small: bool, from_float: bool = False) -> None:
    sizes = (8, 1, (16, 32)) if small else (32,)
    module, x = rx.from_onnx(resnet18(*sizes, is_quantized=not from_float)), picture(sizes[0])
    if from_float:
        quantized = rx.quantize(module, [picture(sizes[0], seed) for seed in range(2, 10)], "npu")
        print(quantized.report.table())
        module = quantized.module
    graph = rx.lower(module, "npu", pipeline=rx.stages("npu").until("layouts"))
    program = rx.compile(module, "npu")
    result = numpy.from_dlpack(program["main"](x))
    print(npu.runtime.last[0].table())
    (right,) = reference.evaluate(graph, x)
    numpy.testing.assert_array_equal(result, right)
    print("the same as the reference, to the bit:", numpy.array2string(result[0, :4], precision=6), "...")


if __name__ == "__main__":
    main(small="--small" in sys.argv, from_float="--float" in sys.argv)
