# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bytes of modules of the dialect spirv."""

from __future__ import annotations

from ...bindings.ir import Operation
from ...bindings.mlir import dialect_module, ir
from ...bindings.navigation import operations_in
from ...bindings.pass_manager import run_upstream


def binary_of(module: Operation, environment: ir.Attribute) -> bytes:
    """What drivers read. Upstream's serializer is behind a pass on modules of kernels."""
    with module.context, module.location:
        made = ir.Module.create()
        made.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
        attributes = {"sym_name": ir.StringAttr.get("kernels"), "targets": ir.ArrayAttr.get([environment])}
        with ir.InsertionPoint(made.body):
            kernels = ir.Operation.create("gpu.module", attributes=attributes, regions=1)
        with ir.InsertionPoint(kernels.regions[0].blocks.append()):
            module.clone()
        run_upstream(made.operation, ["gpu-module-to-binary{format=llvm}"])
        (binary,) = [each for each in operations_in(made.operation) if each.name == "gpu.binary"]
        return bytes(dialect_module("gpu").ObjectAttr(binary.attributes["objects"][0]).object)
