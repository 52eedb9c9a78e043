# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Propagation by Shardy, from jaxlib's wheel. It runs in a process of its own, since its passes may abort."""

from __future__ import annotations

import json
import signal
from typing import Any

from relax_mlir.support.errors import RelaxError

_PIPELINE = "builtin.module(sdy-propagation-pipeline)"


def propagate_text(data: bytes, limit: float) -> bytes:
    """Return the axes of each dimension, as JSON: by the callee of a custom call, and of the arguments.

    The process ends after `limit` seconds, also in C++, by SIGALRM.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        return _propagate(data)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _propagate(data: bytes) -> bytes:
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import sdy, stablehlo
    from jaxlib.mlir.passmanager import PassManager

    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    sdy.register_dialect(context)
    stablehlo.register_dialect(context)
    with context:
        try:
            module = ir.Module.parse(data.decode())
            PassManager.parse(_PIPELINE).run(module.operation)
        except ir.MLIRError as error:
            raise RelaxError(" ".join(str(error).split())) from None
        function = next(op for op in module.body.operations if op.operation.name == "func.func")
        # Older versions of jaxlib have no `get`.
        arguments = function.attributes["arg_attrs"] if "arg_attrs" in function.attributes else []  # noqa: SIM401
        answer = {"": [_axes(sdy, {entry.name: entry.attr for entry in attributes}) for attributes in arguments]}
        for operation in function.regions[0].blocks[0].operations:
            if operation.operation.name == "stablehlo.custom_call" and "sdy.sharding" in operation.attributes:
                shardings = sdy.TensorShardingPerValueAttr(operation.attributes["sdy.sharding"]).shardings
                answer[operation.attributes["call_target_name"].value] = [
                    _axes(sdy, {"sdy.sharding": sharding}) for sharding in shardings
                ]
    return json.dumps(answer).encode()


def _axes(sdy: Any, attributes: dict[str, Any]) -> list[list[str]]:
    """Return the axes of each dimension up to the first part of an axis, which a mesh of ranks does not have."""
    if "sdy.sharding" not in attributes:
        return []
    dimensions = []
    for dimension in sdy.TensorShardingAttr(attributes["sdy.sharding"]).dimension_shardings:
        references = [sdy.AxisRefAttr(axis) for axis in sdy.DimensionShardingAttr(dimension).axes]
        parts = [index for index, axis in enumerate(references) if axis.sub_axis_info is not None]
        dimensions.append([axis.name for axis in references[: parts[0] if parts else None]])
    return dimensions
