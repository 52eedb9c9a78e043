# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Markers for derivatives (relax-gradient), which have no effect at run time."""

from __future__ import annotations

from ..core.infos import TensorInfo
from ..core.opdef import Call
from .dialect import elementwise_op


def marked(call: Call) -> TensorInfo:
    return call.input


elementwise_op("grad.no_grad", "input", flops=0, infer=marked, view="input",
   doc="The input, which counts as a constant when it is differentiated.")  # fmt: skip
elementwise_op("grad.start_checkpoint", "input", flops=0, infer=marked, view="input",
   doc="The input, which is kept: from here to end_checkpoint all is computed again on the way back.")  # fmt: skip
elementwise_op("grad.end_checkpoint", "input", flops=0, infer=marked, view="input",
   doc="The input, which is computed again on the way back, from what start_checkpoint gives.")  # fmt: skip
