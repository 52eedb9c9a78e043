# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules of the target mynpu, and the default rule for the user-defined operator."""

import relax_mlir as rx
from relax_mlir import relax

from . import ops  # noqa: F401  # a rule is for an operator that is declared


@rx.rules.register_legalize("relax.nn.softmax", target="mynpu")
def softmax(call):
    """Call a function of the vendor's library, since the unit computes rows.

    The program finds it by name at run time.
    """
    rank = len(call.info(call.operands[0]).shape)
    if call.op.axis not in (-1, rank - 1):
        return call.decline(f"the unit computes along the last axis, not along {call.op.axis}")
    return relax.call_dps_packed("mynpu.softmax", call.operands, call.result_infos)


@rx.rules.register_legalize("mynpu.scaled_relu")
def scaled_relu(call):
    """Generate a kernel from one function on scalars, for any shape."""
    return call.elementwise(lambda x: rx.select(x > 0.0, x * call.op.scale, 0.0))
