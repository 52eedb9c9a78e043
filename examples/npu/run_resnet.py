# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A quantized ResNet-18 whole on the simulated accelerator, compared to the bit; a table of cycles.

python examples/npu/run_resnet.py [--small]
"""

from __future__ import annotations

import sys

import npu
import numpy
from npu import reference
from resnet import picture, resnet18

import relax_mlir as rx


def main(*, small: bool) -> None:
    size, model = (8, resnet18(8, 1, (16, 32))) if small else (32, resnet18())
    module, x = rx.from_onnx(model), picture(size)
    graph = rx.lower(module, "npu", pipeline=rx.stages("npu").until("layouts"))
    program = rx.compile(module, "npu")
    result = numpy.from_dlpack(program["main"](x))
    print(npu.runtime.last[0].table())
    (right,) = reference.evaluate(graph, x)
    numpy.testing.assert_array_equal(result, right)
    print("the same as the reference, to the bit:", numpy.array2string(result[0, :4], precision=6), "...")


if __name__ == "__main__":
    main(small="--small" in sys.argv)
