# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Binary form of modules in the dialect spirv."""

from __future__ import annotations

from array import array

from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.mlir import dialect_module, ir
from relax_mlir.bindings.navigation import operations_named
from relax_mlir.bindings.pass_manager import run_upstream

_HEADER_WORDS = 5
_OP_SPEC_CONSTANT_COMPOSITE, _OP_FUNCTION, _OP_DECORATE = 51, 54, 71
_BUILTIN, _WORKGROUP_SIZE = 11, 25


def binary_of(module: Operation, environment: ir.Attribute) -> bytes:
    """Return the SPIR-V binary. Upstream only exposes its serializer through a pass on modules of kernels."""
    with module.context, module.location:
        made = ir.Module.create()
        made.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
        attributes = {"sym_name": ir.StringAttr.get("kernels"), "targets": ir.ArrayAttr.get([environment])}
        with ir.InsertionPoint(made.body):
            kernels = ir.Operation.create("gpu.module", attributes=attributes, regions=1)
        with ir.InsertionPoint(kernels.regions[0].blocks.append()):
            module.clone()
        run_upstream(made.operation, ["gpu-module-to-binary{format=llvm}"])
        (binary,) = operations_named(made.operation, "gpu.binary")
        return _with_block_size(bytes(dialect_module("gpu").ObjectAttr(binary.attributes["objects"][0]).object))


def _with_block_size(code: bytes) -> bytes:
    """Decorate the specializable block size (spirv-specialize-blocks) as WorkgroupSize.

    It is the only composite constant. Upstream has no decorations of constants.
    """
    words = list(memoryview(code).cast("I"))
    places, place = dict[int, int](), _HEADER_WORDS
    while place < len(words) and words[place] & 0xFFFF != _OP_FUNCTION:
        places.setdefault(words[place] & 0xFFFF, place)
        place += words[place] >> 16
    if _OP_SPEC_CONSTANT_COMPOSITE not in places:
        return code
    size = words[places[_OP_SPEC_CONSTANT_COMPOSITE] + 2]
    words[places[_OP_DECORATE] : places[_OP_DECORATE]] = [4 << 16 | _OP_DECORATE, size, _BUILTIN, _WORKGROUP_SIZE]
    return array("I", words).tobytes()
