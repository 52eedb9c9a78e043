# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrices of a subgroup in SPIR-V: their types and arithmetic. Upstream drops the signedness of bytes."""

from __future__ import annotations

import re

from relax_mlir.bindings.ir import Attribute, Operation, Type, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.bindings.rewriting import replace_op
from relax_mlir.emit.arithmetic import result_of
from relax_mlir.emit.numbers import constant

_USES = {"AOp": "MatrixA", "BOp": "MatrixB", "COp": "MatrixAcc"}
_SIGNED = "si8"


def name_matrices(kernel: Operation) -> None:
    """Convert the types of matrices to SPIR-V's, and their fills and products to its operations."""
    ops = operations_in(kernel)
    # SPIR-V's types have no signedness.
    signs = [_operands(each) if each.name == "gpu.subgroup_mma_compute" else None for each in ops]
    for op in ops:
        arguments = [argument for region in op.regions for block in region.blocks for argument in block.arguments]
        for value in (*op.results, *arguments):
            type_ = _coop_type(value.type)
            if type_ is not None:
                value.set_type(type_)
    for op, signed in zip(ops, signs, strict=True):
        with op.location, ir.InsertionPoint(op):
            if op.name == "gpu.subgroup_mma_constant_matrix":
                replace_op(op, [result_of("spirv.CompositeConstruct", list(op.operands), op.results[0].type)])
            elif op.name == "gpu.subgroup_mma_compute":
                attributes = {} if signed is None else {"matrix_operands": signed}
                operands, type_ = list(op.operands), op.results[0].type
                replace_op(op, [result_of("spirv.KHR.CooperativeMatrixMulAdd", operands, type_, **attributes)])


def layout_of(op: Operation) -> Attribute:
    """Return the layout of a matrix in memory."""
    order = "ColumnMajor" if "transpose" in op.attributes else "RowMajor"
    return ir.Attribute.parse(f"#spirv.coop_matrix_layout_khr<{order}>")


def row_length(op: Operation) -> Value:
    """Return the stride between the lines of a matrix in memory, in elements."""
    return constant(op.attributes["leadDimension"].value, "i32").value


def _operands(multiply: Operation) -> Attribute | None:
    """Return the signedness operands of a product, or None for unsigned integers and floats."""
    left, right, _ = (str(operand.type) for operand in multiply.operands)
    signed = [name for name, type_ in (("ASigned", left), ("BSigned", right)) if f"x{_SIGNED}," in type_]
    if not signed:
        return None
    said = "|".join([*signed, "CSigned", "ResultSigned"])
    return ir.Attribute.parse(f"#spirv.cooperative_matrix_operands_khr<{said}>")


def _coop_type(type_: Type) -> Type | None:
    match = re.fullmatch(r'!gpu\.mma_matrix<(\d+x\d+x)[su]?(\w+), "(\w+)">', str(type_))
    if match is None:
        return None
    sizes, element, use = match.groups()
    return ir.Type.parse(f"!spirv.coopmatrix<{sizes}{element}, Subgroup, {_USES[use]}>")
