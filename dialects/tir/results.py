# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of lowered graph functions on values of the packed-function ABI."""

from __future__ import annotations

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ..core.attributes import DType, Str
from ..core.infos import Info, ScalarInfo
from ..core.ir_attributes import PACKED_DTYPES, PACKED_TYPES
from ..core.opdef import Call, OpProblem
from .dialect import op


def _nothing(call: Call) -> list[Info]:
    return []


def _verify_give_tensor(operation: Operation, call: Call) -> None:
    if not isinstance(source := operation.operands[0].type, ir.MemRefType):
        raise OpProblem(f"operand 'source' ({source}) must be a memref")


def _verify_packed(operation: Operation, call: Call) -> None:
    """Check tir.dtypes and tir.types.

    The attributes state facts that memrefs and pointers lack: signedness, and expected results.
    """
    attributes = operation.attributes
    for name, count in ((PACKED_DTYPES, len(operation.operands)), (PACKED_TYPES, len(operation.results))):
        if name not in attributes or not isinstance(attributes[name], ir.ArrayAttr) or len(attributes[name]) != count:
            raise OpProblem(f"attribute '{name}' must be a list of {count}")


def _verify_place(operation: Operation, call: Call) -> None:
    if [str(result.type) for result in operation.results] != ["!llvm.ptr"]:
        raise OpProblem("gives an address, an !llvm.ptr")


op("packed", "*args:any", attrs={"func": Str(doc="global name of the packed function")}, results="*results",
   explicit="ty", signature="func args ty", verify=_verify_packed, pure=False,
   doc="Calls a packed function, with memrefs passed as tensors. The caller owns the results.")  # fmt: skip
op("release", "value:any", results="", infer=_nothing, pure=False,
   doc="Releases an object that tir.packed returned.")  # fmt: skip
op("give_tensor", "source:any place:any", attrs={"dtype": DType(doc="element type, with signedness")}, results="",
   infer=_nothing, verify=_verify_give_tensor, pure=False,
   doc="Stores a new tensor with a copy of the elements at the place. The caller owns the tensor.")  # fmt: skip
op("give_object", "source:any place:any", results="", infer=_nothing, pure=False,
   doc="Stores a reference to an object at the place. The caller owns the reference.")  # fmt: skip
op("return_unless_ok", "status:scalar", results="", infer=_nothing, pure=False,
   doc="Frees the function's memory and returns the status, unless the status is 0.")  # fmt: skip
op("place", "", results="*text", explicit="ty", signature="ty", verify=_verify_place, pure=False,
   doc="C string at the beginning of the function's errors.")  # fmt: skip
op("random_key", infer=lambda call: ScalarInfo("i64"), role="effect", pure=False,
   doc="Number of earlier calls in the loaded program.")  # fmt: skip
