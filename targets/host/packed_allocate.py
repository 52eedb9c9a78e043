# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions, in the LLVM dialect, that make tensor objects: of new memory for results, of memory that is there."""

from __future__ import annotations

from .abi import DEVICE_CPU, DL_DEVICE, DL_DTYPE, DL_OFFSET, DL_RANK, DL_SHAPE, DL_SIZE, DL_STRIDES
from .packed_support import FAIL, FAIL_SHAPE

# allocate(label, rank, dtype, bytes of an element, shape, out): a tensor object for a result, or -1.
ALLOCATE = "__relax_allocate"
# borrow(rank, dtype, shape, data, out): a tensor object of memory that is there; 0 or -1.
BORROW = "__relax_borrow_tensor"
# give_back(tensor): ends what borrow began; -1 and a RuntimeError where somebody kept the tensor.
GIVE_BACK = "__relax_give_back_tensor"

_LARGEST = "4.0e18"  # bytes of a tensor: below 2^62
_HEADER = 32 + DL_SIZE  # of DLManagedTensorVersioned

# DLPack's header, the tensor, its shape and strides lie in one block, whose deleter is `free` itself: tensors may
# outlive the object's code.
_WRAP = f"""
llvm.func @free(!llvm.ptr)
llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @aligned_alloc(i64, i64) -> !llvm.ptr
llvm.func @TVMFFITensorFromDLPackVersioned(!llvm.ptr, i32, i32, !llvm.ptr) -> i32
llvm.mlir.global internal constant @__relax_memory_error("MemoryError\\00")
llvm.func internal @__relax_wrap(%block: !llvm.ptr, %data: !llvm.ptr, %rank: i32, %dtype: i32, %shape: !llvm.ptr,
    %out: !llvm.ptr) -> i32 {{
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %no = llvm.mlir.constant(0 : i32) : i32
  %cpu = llvm.mlir.constant({DEVICE_CPU} : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %deleter = llvm.mlir.addressof @free : !llvm.ptr
  %long_rank = llvm.sext %rank : i32 to i64
  %own_shape = llvm.getelementptr %block[{_HEADER}] : (!llvm.ptr) -> !llvm.ptr, i8
  %own_strides = llvm.getelementptr %own_shape[%long_rank] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.store %c1, %block : i64, !llvm.ptr
  %context_at = llvm.getelementptr %block[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %null, %context_at : !llvm.ptr, !llvm.ptr
  %deleter_at = llvm.getelementptr %block[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %deleter, %deleter_at : !llvm.ptr, !llvm.ptr
  %flags_at = llvm.getelementptr %block[24] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %c0, %flags_at : i64, !llvm.ptr
  %tensor = llvm.getelementptr %block[32] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %data, %tensor : !llvm.ptr, !llvm.ptr
  %device_at = llvm.getelementptr %tensor[{DL_DEVICE}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %cpu, %device_at : i64, !llvm.ptr
  %rank_at = llvm.getelementptr %tensor[{DL_RANK}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %rank, %rank_at : i32, !llvm.ptr
  %dtype_at = llvm.getelementptr %tensor[{DL_DTYPE}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %dtype, %dtype_at : i32, !llvm.ptr
  %shape_at = llvm.getelementptr %tensor[{DL_SHAPE}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %own_shape, %shape_at : !llvm.ptr, !llvm.ptr
  %strides_at = llvm.getelementptr %tensor[{DL_STRIDES}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %own_strides, %strides_at : !llvm.ptr, !llvm.ptr
  %offset_at = llvm.getelementptr %tensor[{DL_OFFSET}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %c0, %offset_at : i64, !llvm.ptr
  llvm.br ^head(%long_rank, %c1 : i64, i64)
^head(%left: i64, %stride: i64):
  %is_end = llvm.icmp "eq" %left, %c0 : i64
  llvm.cond_br %is_end, ^make, ^set
^set:
  %index = llvm.sub %left, %c1 : i64
  %extent_at = llvm.getelementptr %shape[%index] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %extent = llvm.load %extent_at : !llvm.ptr -> i64
  %own_extent_at = llvm.getelementptr %own_shape[%index] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.store %extent, %own_extent_at : i64, !llvm.ptr
  %stride_at = llvm.getelementptr %own_strides[%index] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.store %stride, %stride_at : i64, !llvm.ptr
  %next_stride = llvm.mul %stride, %extent : i64
  llvm.br ^head(%index, %next_stride : i64, i64)
^make:
  %status = llvm.call @TVMFFITensorFromDLPackVersioned(%block, %no, %no, %out)
    : (!llvm.ptr, i32, i32, !llvm.ptr) -> i32
  %made = llvm.icmp "eq" %status, %no : i32
  llvm.cond_br %made, ^end, ^undo
^undo:
  llvm.call @free(%block) : (!llvm.ptr) -> ()
  llvm.br ^end
^end:
  llvm.return %status : i32
}}
"""

_BORROWING = f"""
llvm.mlir.global internal constant @__relax_runtime_error("RuntimeError\\00")
llvm.mlir.global internal constant @__relax_no_header("out of memory: %lld bytes needed\\00")
llvm.mlir.global internal constant @__relax_kept(
  "a function that was called has kept a tensor that lives only during the call: it must copy it\\00")
llvm.func internal @{BORROW}(%rank: i32, %dtype: i32, %shape: !llvm.ptr, %data: !llvm.ptr, %out: !llvm.ptr)
    -> i32 attributes {{passthrough = ["noinline"]}} {{
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c16 = llvm.mlir.constant(16 : i64) : i64
  %header = llvm.mlir.constant({_HEADER} : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %long_rank = llvm.sext %rank : i32 to i64
  %dims = llvm.mul %long_rank, %c16 : i64
  %size = llvm.add %header, %dims : i64
  %block = llvm.call @malloc(%size) : (i64) -> !llvm.ptr
  %exhausted = llvm.icmp "eq" %block, %null : !llvm.ptr
  llvm.cond_br %exhausted, ^refuse, ^fill
^refuse:
  %kind = llvm.mlir.addressof @__relax_memory_error : !llvm.ptr
  %format = llvm.mlir.addressof @__relax_no_header : !llvm.ptr
  %refusal = llvm.call @{FAIL}(%kind, %format, %size, %c0, %c0) : (!llvm.ptr, !llvm.ptr, i64, i64, i64) -> i32
  llvm.return %refusal : i32
^fill:
  %status = llvm.call @__relax_wrap(%block, %data, %rank, %dtype, %shape, %out)
    : (!llvm.ptr, !llvm.ptr, i32, i32, !llvm.ptr, !llvm.ptr) -> i32
  llvm.return %status : i32
}}
llvm.func internal @{GIVE_BACK}(%tensor: !llvm.ptr) -> i32 attributes {{passthrough = ["noinline"]}} {{
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i32) : i32
  %count = llvm.load %tensor atomic acquire {{alignment = 8 : i64}} : !llvm.ptr -> i32
  %status = llvm.call @TVMFFIObjectDecRef(%tensor) : (!llvm.ptr) -> i32
  %sole = llvm.icmp "eq" %count, %one : i32
  llvm.cond_br %sole, ^end, ^kept
^kept:
  %kind = llvm.mlir.addressof @__relax_runtime_error : !llvm.ptr
  %text = llvm.mlir.addressof @__relax_kept : !llvm.ptr
  %failure = llvm.call @{FAIL}(%kind, %text, %c0, %c0, %c0) : (!llvm.ptr, !llvm.ptr, i64, i64, i64) -> i32
  llvm.return %failure : i32
^end:
  llvm.return %status : i32
}}
"""

# The caller's framework allocates where it offers to (torch); otherwise the data lie in the same block. Aligned to 64
# bytes by hand: malloc has small blocks ready, aligned_alloc looks for them, which cost more than half a call's time.
_ALLOCATION = f"""
llvm.func @TVMFFIEnvGetDLPackManagedTensorAllocator() -> !llvm.ptr
llvm.func @TVMFFIEnvTensorAlloc(!llvm.ptr, !llvm.ptr) -> i32
llvm.mlir.global internal constant @__relax_no_memory("%s: out of memory, %lld bytes needed\\00")
llvm.mlir.global internal constant @__relax_too_large(
  "%s: a size is negative or all of them are too large, with elements of %lld bytes: shape %s\\00")
llvm.func internal @{ALLOCATE}(%label: !llvm.ptr, %rank: i32, %dtype: i32, %bytes: i64, %shape: !llvm.ptr,
    %out: !llvm.ptr) -> i32 attributes {{passthrough = ["noinline"]}} {{
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %c8 = llvm.mlir.constant(8 : i64) : i64
  %last = llvm.mlir.constant(63 : i64) : i64
  %mask = llvm.mlir.constant(-64 : i64) : i64
  %header = llvm.mlir.constant({_HEADER} : i64) : i64
  %cpu = llvm.mlir.constant({DEVICE_CPU} : i64) : i64
  %largest = llvm.mlir.constant({_LARGEST} : f64) : f64
  %fone = llvm.mlir.constant(1.0 : f64) : f64
  %false = llvm.mlir.constant(false) : i1
  %null = llvm.mlir.zero : !llvm.ptr
  %memory_error = llvm.mlir.addressof @__relax_memory_error : !llvm.ptr
  %too_large = llvm.mlir.addressof @__relax_too_large : !llvm.ptr
  %no_memory = llvm.mlir.addressof @__relax_no_memory : !llvm.ptr
  %size = llvm.mlir.constant({DL_SIZE} : i64) : i64
  %prototype = llvm.alloca %size x i8 {{alignment = 8 : i64}} : (i64) -> !llvm.ptr
  %long_rank = llvm.sext %rank : i32 to i64
  %long_label = llvm.ptrtoint %label : !llvm.ptr to i64
  llvm.store %null, %prototype : !llvm.ptr, !llvm.ptr
  %device_at = llvm.getelementptr %prototype[{DL_DEVICE}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %cpu, %device_at : i64, !llvm.ptr
  %rank_at = llvm.getelementptr %prototype[{DL_RANK}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %rank, %rank_at : i32, !llvm.ptr
  %dtype_at = llvm.getelementptr %prototype[{DL_DTYPE}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %dtype, %dtype_at : i32, !llvm.ptr
  %shape_at = llvm.getelementptr %prototype[{DL_SHAPE}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %shape, %shape_at : !llvm.ptr, !llvm.ptr
  %strides_at = llvm.getelementptr %prototype[{DL_STRIDES}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %null, %strides_at : !llvm.ptr, !llvm.ptr
  %offset_at = llvm.getelementptr %prototype[40] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %c0, %offset_at : i64, !llvm.ptr
  %float_bytes = llvm.sitofp %bytes : i64 to f64
  llvm.br ^count(%c0, %float_bytes, %bytes, %false : i64, f64, i64, i1)
^count(%i: i64, %upper: f64, %total: i64, %bad: i1):
  %more = llvm.icmp "slt" %i, %long_rank : i64
  llvm.cond_br %more, ^counting, ^counted
^counting:
  %dim_at = llvm.getelementptr %shape[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %dim = llvm.load %dim_at : !llvm.ptr -> i64
  %float_dim = llvm.sitofp %dim : i64 to f64
  %at_least_one = llvm.intr.maxnum(%float_dim, %fone) : (f64, f64) -> f64
  %new_upper = llvm.fmul %upper, %at_least_one : f64
  %new_total = llvm.mul %total, %dim : i64
  %negative = llvm.icmp "slt" %dim, %c0 : i64
  %new_bad = llvm.or %bad, %negative : i1
  %following = llvm.add %i, %c1 : i64
  llvm.br ^count(%following, %new_upper, %new_total, %new_bad : i64, f64, i64, i1)
^counted:
  %is_large = llvm.fcmp "ugt" %upper, %largest : f64
  %refused = llvm.or %bad, %is_large : i1
  llvm.cond_br %refused, ^refuse, ^choose
^refuse:
  %refusal = llvm.call @{FAIL_SHAPE}(%too_large, %long_label, %bytes, %prototype)
    : (!llvm.ptr, i64, i64, !llvm.ptr) -> i32
  llvm.return %refusal : i32
^choose:
  %allocator = llvm.call @TVMFFIEnvGetDLPackManagedTensorAllocator() : () -> !llvm.ptr
  %offered = llvm.icmp "ne" %allocator, %null : !llvm.ptr
  llvm.cond_br %offered, ^theirs, ^ours
^theirs:
  %their_status = llvm.call @TVMFFIEnvTensorAlloc(%prototype, %out) : (!llvm.ptr, !llvm.ptr) -> i32
  llvm.return %their_status : i32
^ours:
  %row = llvm.mul %long_rank, %c8 : i64
  %shape_end = llvm.add %header, %row : i64
  %strides_end = llvm.add %shape_end, %row : i64
  %padded = llvm.add %strides_end, %last : i64
  %whole_size = llvm.add %padded, %total : i64
  %block = llvm.call @malloc(%whole_size) : (i64) -> !llvm.ptr
  %empty = llvm.icmp "eq" %block, %null : !llvm.ptr
  llvm.cond_br %empty, ^exhausted, ^fill
^exhausted:
  %exhaustion = llvm.call @{FAIL}(%memory_error, %no_memory, %long_label, %whole_size, %c0)
    : (!llvm.ptr, !llvm.ptr, i64, i64, i64) -> i32
  llvm.return %exhaustion : i32
^fill:
  %behind = llvm.getelementptr %block[%padded] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %data = llvm.intr.ptrmask %behind, %mask : (!llvm.ptr, i64) -> !llvm.ptr
  %status = llvm.call @__relax_wrap(%block, %data, %rank, %dtype, %shape, %out)
    : (!llvm.ptr, !llvm.ptr, i32, i32, !llvm.ptr, !llvm.ptr) -> i32
  llvm.return %status : i32
}}
"""

TENSORS = _WRAP + _ALLOCATION + _BORROWING
