# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What callers get as one: arrays of results, tensors that a kernel has joined, None where it says there is nothing."""

from __future__ import annotations

from collections.abc import Sequence

from . import abi
from .llvm_text import PTR, FunctionText
from .packed_allocate import ALLOCATE
from .packed_call import global_function_text
from .packed_support import CALL_GLOBAL, FAIL, RELEASE
from .signature import Given, ListInfo, OptionalInfo

_MAKE_ARRAY = "ffi.Array"  # tvm-ffi's own function: an array of its arguments
_CALL_MAKE_ARRAY = f"{CALL_GLOBAL}.{_MAKE_ARRAY}"
# separate(label, items, count, rank, dtype, bytes of an element, out): an array of the first items, as many as `count`,
# and of the tensors that the two items behind them, elements and rows, join; 0 or -1.
_SEPARATE = "__relax_separate"
# keep_if(flag, any): sets a TVMFFIAny to None, unless the tensor of one bool is true.
_KEEP_IF = "__relax_keep_if"

_SEPARATE_TEXT = f"""
llvm.mlir.global internal constant @__relax_wrong_rows(
  "the shape of a list's tensor #%lld does not fit its elements\\00")
llvm.mlir.global internal constant @__relax_no_room("out of memory: a list of %lld tensors\\00")
llvm.func internal @__relax_data(%any: !llvm.ptr) -> !llvm.ptr {{
  %object_at = llvm.getelementptr %any[{abi.ANY_PAYLOAD}] : (!llvm.ptr) -> !llvm.ptr, i8
  %object = llvm.load %object_at : !llvm.ptr -> !llvm.ptr
  %data_at = llvm.getelementptr %object[{abi.OBJECT_HEADER + abi.DL_DATA}] : (!llvm.ptr) -> !llvm.ptr, i8
  %offset_at = llvm.getelementptr %object[{abi.OBJECT_HEADER + abi.DL_OFFSET}] : (!llvm.ptr) -> !llvm.ptr, i8
  %base = llvm.load %data_at : !llvm.ptr -> !llvm.ptr
  %offset = llvm.load %offset_at : !llvm.ptr -> i64
  %data = llvm.getelementptr %base[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  llvm.return %data : !llvm.ptr
}}
llvm.func internal @__relax_first_size(%any: !llvm.ptr) -> i64 {{
  %object_at = llvm.getelementptr %any[{abi.ANY_PAYLOAD}] : (!llvm.ptr) -> !llvm.ptr, i8
  %object = llvm.load %object_at : !llvm.ptr -> !llvm.ptr
  %shape_at = llvm.getelementptr %object[{abi.OBJECT_HEADER + abi.DL_SHAPE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %shape = llvm.load %shape_at : !llvm.ptr -> !llvm.ptr
  %size = llvm.load %shape : !llvm.ptr -> i64
  llvm.return %size : i64
}}
llvm.func internal @{_SEPARATE}(%label: !llvm.ptr, %items: !llvm.ptr, %count: i64, %rank: i32, %dtype: i32,
    %bytes: i64, %out: !llvm.ptr) -> i32 {{
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %most = llvm.mlir.constant(2147483647 : i64) : i64
  %any_size = llvm.mlir.constant({abi.ANY_SIZE} : i64) : i64
  %good = llvm.mlir.constant(0 : i32) : i32
  %failure = llvm.mlir.constant(-1 : i32) : i32
  %tensor_kind = llvm.mlir.constant({abi.TENSOR} : i64) : i64
  %zero = llvm.mlir.constant(0 : i8) : i8
  %null = llvm.mlir.zero : !llvm.ptr
  %first_bytes = llvm.mul %count, %any_size : i64
  %joined = llvm.getelementptr %items[%first_bytes] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %rows_any = llvm.getelementptr %joined[{abi.ANY_SIZE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %elements = llvm.call @__relax_data(%joined) : (!llvm.ptr) -> !llvm.ptr
  %rows = llvm.call @__relax_data(%rows_any) : (!llvm.ptr) -> !llvm.ptr
  %held = llvm.call @__relax_first_size(%joined) : (!llvm.ptr) -> i64
  %further = llvm.call @__relax_first_size(%rows_any) : (!llvm.ptr) -> i64
  %long_rank = llvm.sext %rank : i32 to i64
  %total = llvm.add %count, %further : i64
  %too_many = llvm.icmp "sgt" %total, %most : i64
  llvm.cond_br %too_many, ^refuse, ^room
^room:
  %further_bytes = llvm.mul %further, %any_size : i64
  %needed = llvm.add %first_bytes, %further_bytes : i64
  %asked = llvm.add %needed, %any_size : i64
  %block = llvm.call @malloc(%asked) : (i64) -> !llvm.ptr
  %exhausted = llvm.icmp "eq" %block, %null : !llvm.ptr
  llvm.cond_br %exhausted, ^refuse, ^fill
^refuse:
  %kind = llvm.mlir.addressof @__relax_memory_error : !llvm.ptr
  %format = llvm.mlir.addressof @__relax_no_room : !llvm.ptr
  %refusal = llvm.call @{FAIL}(%kind, %format, %total, %c0, %c0) : (!llvm.ptr, !llvm.ptr, i64, i64, i64) -> i32
  llvm.return %refusal : i32
^fill:
  "llvm.intr.memcpy"(%block, %items, %first_bytes) <{{isVolatile = false}}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  %made = llvm.getelementptr %block[%first_bytes] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  "llvm.intr.memset"(%made, %zero, %further_bytes) <{{isVolatile = false}}> : (!llvm.ptr, i8, i64) -> ()
  llvm.br ^head(%c0, %elements, %rows, %held : i64, !llvm.ptr, !llvm.ptr, i64)
^head(%i: i64, %from: !llvm.ptr, %row: !llvm.ptr, %left: i64):
  %more = llvm.icmp "slt" %i, %further : i64
  llvm.cond_br %more, ^body, ^give
^body:
  %dims = llvm.getelementptr %row[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %number = llvm.load %row : !llvm.ptr -> i64
  %enough = llvm.icmp "sle" %number, %left : i64
  llvm.cond_br %enough, ^multiply(%c0, %c1 : i64, i64), ^wrong
^multiply(%axis: i64, %product: i64):
  %is_axis = llvm.icmp "slt" %axis, %long_rank : i64
  llvm.cond_br %is_axis, ^extent, ^compare
^extent:
  %extent_at = llvm.getelementptr %dims[%axis] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %extent = llvm.load %extent_at : !llvm.ptr -> i64
  %longer = llvm.mul %product, %extent : i64
  %next_axis = llvm.add %axis, %c1 : i64
  llvm.br ^multiply(%next_axis, %longer : i64, i64)
^compare:
  %fits = llvm.icmp "eq" %product, %number : i64
  llvm.cond_br %fits, ^make, ^wrong
^wrong:
  %wrong_kind = llvm.mlir.addressof @__relax_value_error : !llvm.ptr
  %wrong_format = llvm.mlir.addressof @__relax_wrong_rows : !llvm.ptr
  %wrong_status = llvm.call @{FAIL}(%wrong_kind, %wrong_format, %i, %c0, %c0)
    : (!llvm.ptr, !llvm.ptr, i64, i64, i64) -> i32
  llvm.br ^clean(%wrong_status : i32)
^make:
  %place = llvm.mul %i, %any_size : i64
  %any = llvm.getelementptr %made[%place] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %payload = llvm.getelementptr %any[{abi.ANY_PAYLOAD}] : (!llvm.ptr) -> !llvm.ptr, i8
  %status = llvm.call @{ALLOCATE}(%label, %rank, %dtype, %bytes, %dims, %payload)
    : (!llvm.ptr, i32, i32, i64, !llvm.ptr, !llvm.ptr) -> i32
  %allocated = llvm.icmp "eq" %status, %good : i32
  llvm.cond_br %allocated, ^copy, ^clean(%failure : i32)
^copy:
  llvm.store %tensor_kind, %any : i64, !llvm.ptr
  %to = llvm.call @__relax_data(%any) : (!llvm.ptr) -> !llvm.ptr
  %size = llvm.mul %number, %bytes : i64
  "llvm.intr.memcpy"(%to, %from, %size) <{{isVolatile = false}}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  %next_from = llvm.getelementptr %from[%size] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %next_row = llvm.getelementptr %dims[%rank] : (!llvm.ptr, i32) -> !llvm.ptr, i64
  %next = llvm.add %i, %c1 : i64
  %next_left = llvm.sub %left, %number : i64
  llvm.br ^head(%next, %next_from, %next_row, %next_left : i64, !llvm.ptr, !llvm.ptr, i64)
^give:
  %length = llvm.trunc %total : i64 to i32
  %given = llvm.call {f'@"{_CALL_MAKE_ARRAY}"'}(%block, %length, %out) : (!llvm.ptr, i32, !llvm.ptr) -> i32
  llvm.br ^clean(%given : i32)
^clean(%outcome: i32):
  llvm.br ^next(%c0 : i64)
^next(%j: i64):
  %unreleased = llvm.icmp "slt" %j, %further : i64
  llvm.cond_br %unreleased, ^release, ^end
^release:
  %spent_at = llvm.mul %j, %any_size : i64
  %spent = llvm.getelementptr %made[%spent_at] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  llvm.call @{RELEASE}(%spent) : (!llvm.ptr) -> ()
  %after = llvm.add %j, %c1 : i64
  llvm.br ^next(%after : i64)
^end:
  llvm.call @free(%block) : (!llvm.ptr) -> ()
  llvm.return %outcome : i32
}}
llvm.func internal @{_KEEP_IF}(%flag: !llvm.ptr, %any: !llvm.ptr) {{
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %no = llvm.mlir.constant(0 : i8) : i8
  %data = llvm.call @__relax_data(%flag) : (!llvm.ptr) -> !llvm.ptr
  %truth = llvm.load %data : !llvm.ptr -> i8
  %absent = llvm.icmp "eq" %truth, %no : i8
  llvm.cond_br %absent, ^drop, ^end
^drop:
  llvm.call @{RELEASE}(%any) : (!llvm.ptr) -> ()
  llvm.store %c0, %any : i64, !llvm.ptr
  %payload = llvm.getelementptr %any[{abi.ANY_PAYLOAD}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %c0, %payload : i64, !llvm.ptr
  llvm.br ^end
^end:
  llvm.return
}}
"""


def support_text(outputs: Sequence[Given]) -> str:
    """The functions that the entry of a function with these results calls."""
    tells_at_run_time = any(_tells_at_run_time(info) for info in outputs)
    makes_arrays = len(outputs) > 1 or any(isinstance(info, (ListInfo, OptionalInfo)) for info in outputs)
    pieces = [
        global_function_text(_MAKE_ARRAY) if makes_arrays else "",
        _SEPARATE_TEXT if tells_at_run_time else "",
    ]
    return "\n".join(pieces)


def _tells_at_run_time(info: Given) -> bool:
    """Whether the kernel tells if there is something, or how much."""
    return isinstance(info, OptionalInfo) or (isinstance(info, ListInfo) and info.rest is not None)


def make_array(code: FunctionText, items: Sequence[str], slot: str) -> str:
    """Leaves an array of values, which lie one behind the other, in a slot; the status."""
    arguments = [(items[0] if items else code.null(), PTR), (code.constant(len(items), "i32"), "i32"), (slot, PTR)]
    return code.call(_CALL_MAKE_ARRAY, arguments, "i32")


def make_list(code: FunctionText, info: ListInfo, label: str, items: Sequence[str], slot: str) -> str:
    """Leaves an array of a list's tensors in a slot; the status."""
    if info.rest is None:
        return make_array(code, items, slot)
    arguments = [
        (code.text(label), PTR),
        (items[0], PTR),
        (code.constant(len(info.items)), "i64"),
        (code.constant(len(info.rest.shape or ()), "i32"), "i32"),
        (code.constant(abi.dlpack_dtype(info.rest.dtype), "i32"), "i32"),
        (code.constant(abi.element_bytes(info.rest.dtype)), "i64"),
        (slot, PTR),
    ]
    return code.call(_SEPARATE, arguments, "i32")


def keep_if(code: FunctionText, flag: str, slot: str) -> None:
    """Sets a slot to None, unless a tensor of one bool is true."""
    code.call(_KEEP_IF, [(flag, PTR), (slot, PTR)])
