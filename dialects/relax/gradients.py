# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Markers for derivatives (relax-gradient), which have no effect at run time."""

from __future__ import annotations

from ..core.infos import TensorInfo
from ..core.opdef import Call
from .dialect import elementwise_op


def marked(call: Call) -> TensorInfo:
    return call.input


elementwise_op("grad.no_grad", "input", flops=0, infer=marked, view="input",
   doc="Identity that gradients treat as a constant.")  # fmt: skip
elementwise_op("grad.start_checkpoint", "input", flops=0, infer=marked, view="input",
   doc="Identity whose input is stored: the backward pass recomputes the operators up to end_checkpoint.")  # fmt: skip
elementwise_op("grad.end_checkpoint", "input", flops=0, infer=marked, view="input",
   doc="Identity whose input the backward pass recomputes from the results of start_checkpoint.")  # fmt: skip
