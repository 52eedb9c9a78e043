# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that entries of all programs call, in the LLVM dialect: errors and look-ups (support.py).

They are off the way of a call that succeeds.
"""

from __future__ import annotations

from .abi import ANY_PAYLOAD, DL_DTYPE, DL_RANK, DL_SHAPE, FIRST_OBJECT, OBJECT_HEADER

# fail(kind, format, a, b, c): raises with up to three numbers in the message; -1.
FAIL = "__relax_fail"
# fail_at(kind, format, where, a, b, c): as fail, with the text `where` before the numbers.
FAIL_AT = "__relax_fail_at"
# fail_type(format, type index): the message names the type of the value that came; -1.
FAIL_TYPE = "__relax_fail_type"
# fail_dtype(format, tensor): the message names the element type that came; -1.
FAIL_DTYPE = "__relax_fail_dtype"
# fail_shape(format, wanted, got, tensor): two numbers, then the shape that came, if it can be read; -1.
FAIL_SHAPE = "__relax_fail_shape"
# release(any): gives back what a TVMFFIAny owns.
RELEASE = "__relax_release"
# call_global(slot, name, bytes of the name, args, count, result): calls a global function; 0 or -1.
CALL_GLOBAL = "__relax_call_global"

_COLD = 'attributes {passthrough = ["cold", "noinline"]}'
_SNPRINTF = "vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)"
_LISTED_SIZES = 16  # of a shape in a message
#: Nobody has tensors of a higher rank: what says so is damaged, and so is its shape.
HIGHEST_RANK = 64
#: What a message takes at most: entries keep their part of it under half of that.
MESSAGE_BYTES = 2048

_DECLARATIONS = """
llvm.func @snprintf(!llvm.ptr, i64, !llvm.ptr, ...) -> i32
llvm.func @TVMFFIErrorSetRaisedFromCStr(!llvm.ptr, !llvm.ptr)
llvm.func @TVMFFIErrorMoveFromRaised(!llvm.ptr)
llvm.func @TVMFFIErrorSetRaised(!llvm.ptr)
llvm.func @TVMFFIGetTypeInfo(i32) -> !llvm.ptr
llvm.func @TVMFFIDataTypeToString(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @TVMFFIObjectDecRef(!llvm.ptr) -> i32
llvm.func @TVMFFIFunctionGetGlobal(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @TVMFFIFunctionCall(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
llvm.mlir.global internal constant @__relax_type_error("TypeError\\00")
llvm.mlir.global internal constant @__relax_value_error("ValueError\\00")
llvm.mlir.global internal constant @__relax_number_format("%lld\\00")
llvm.mlir.global internal constant @__relax_next_number_format(", %lld\\00")
llvm.mlir.global internal constant @__relax_close_one(",)\\00")
llvm.mlir.global internal constant @__relax_close(")\\00")
llvm.mlir.global internal constant @__relax_close_more(", ...)\\00")
llvm.mlir.global internal constant @__relax_unreadable("unknown\\00")
llvm.mlir.global internal constant @__relax_runtime_error_kind("RuntimeError\\00")
llvm.mlir.global internal constant @__relax_no_error(
  "'%s' has failed with an exception whose text cannot be shown\\00")
llvm.mlir.global internal constant @__relax_no_function(
  "no global function '%s' is registered (tvm_ffi.register_global_func)\\00")
"""

_ERRORS = f"""
llvm.func internal @{FAIL}(%kind: !llvm.ptr, %format: !llvm.ptr, %a: i64, %b: i64, %c: i64) -> i32 {_COLD} {{
  %size = llvm.mlir.constant({MESSAGE_BYTES} : i64) : i64
  %status = llvm.mlir.constant(-1 : i32) : i32
  %buffer = llvm.alloca %size x i8 : (i64) -> !llvm.ptr
  %length = llvm.call @snprintf(%buffer, %size, %format, %a, %b, %c) {_SNPRINTF}
    : (!llvm.ptr, i64, !llvm.ptr, i64, i64, i64) -> i32
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%kind, %buffer) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return %status : i32
}}
llvm.func internal @{FAIL_AT}(%kind: !llvm.ptr, %format: !llvm.ptr, %where: !llvm.ptr, %a: i64, %b: i64, %c: i64)
    -> i32 {_COLD} {{
  %size = llvm.mlir.constant({MESSAGE_BYTES} : i64) : i64
  %status = llvm.mlir.constant(-1 : i32) : i32
  %buffer = llvm.alloca %size x i8 : (i64) -> !llvm.ptr
  %length = llvm.call @snprintf(%buffer, %size, %format, %where, %a, %b, %c) {_SNPRINTF}
    : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, i64, i64, i64) -> i32
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%kind, %buffer) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return %status : i32
}}
llvm.func internal @{FAIL_TYPE}(%format: !llvm.ptr, %index: i32) -> i32 {_COLD} {{
  %info = llvm.call @TVMFFIGetTypeInfo(%index) : (i32) -> !llvm.ptr
  %key = llvm.getelementptr %info[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %data = llvm.load %key : !llvm.ptr -> i64
  %length_at = llvm.getelementptr %info[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %length = llvm.load %length_at : !llvm.ptr -> i64
  %kind = llvm.mlir.addressof @__relax_type_error : !llvm.ptr
  %status = llvm.call @{FAIL}(%kind, %format, %length, %data, %length) : (!llvm.ptr, !llvm.ptr, i64, i64, i64) -> i32
  llvm.return %status : i32
}}
llvm.func internal @{FAIL_DTYPE}(%format: !llvm.ptr, %tensor: !llvm.ptr) -> i32 {_COLD} {{
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %c64 = llvm.mlir.constant(64 : i32) : i32
  %zero = llvm.mlir.zero : !llvm.struct<(i32, i32, i64)>
  %text = llvm.alloca %c1 x !llvm.struct<(i32, i32, i64)> : (i64) -> !llvm.ptr
  llvm.store %zero, %text : !llvm.struct<(i32, i32, i64)>, !llvm.ptr
  %dtype = llvm.getelementptr %tensor[{DL_DTYPE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %failed = llvm.call @TVMFFIDataTypeToString(%dtype, %text) : (!llvm.ptr, !llvm.ptr) -> i32
  %index = llvm.load %text : !llvm.ptr -> i32
  %payload_at = llvm.getelementptr %text[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %is_object = llvm.icmp "sge" %index, %c64 : i32
  llvm.cond_br %is_object, ^object, ^small
^small:
  %small_at = llvm.getelementptr %text[4] : (!llvm.ptr) -> !llvm.ptr, i8
  %small_length = llvm.load %small_at : !llvm.ptr -> i32
  %small_length64 = llvm.zext %small_length : i32 to i64
  %small_data = llvm.ptrtoint %payload_at : !llvm.ptr to i64
  llvm.br ^raise(%small_length64, %small_data : i64, i64)
^object:
  %object = llvm.load %payload_at : !llvm.ptr -> !llvm.ptr
  %data_at = llvm.getelementptr %object[{OBJECT_HEADER}] : (!llvm.ptr) -> !llvm.ptr, i8
  %data = llvm.load %data_at : !llvm.ptr -> i64
  %length_at = llvm.getelementptr %object[{OBJECT_HEADER + 8}] : (!llvm.ptr) -> !llvm.ptr, i8
  %length = llvm.load %length_at : !llvm.ptr -> i64
  llvm.br ^raise(%length, %data : i64, i64)
^raise(%used: i64, %chars: i64):
  %kind = llvm.mlir.addressof @__relax_type_error : !llvm.ptr
  %status = llvm.call @{FAIL}(%kind, %format, %used, %chars, %used) : (!llvm.ptr, !llvm.ptr, i64, i64, i64) -> i32
  llvm.cond_br %is_object, ^release, ^end
^release:
  %owned = llvm.load %payload_at : !llvm.ptr -> !llvm.ptr
  %released = llvm.call @TVMFFIObjectDecRef(%owned) : (!llvm.ptr) -> i32
  llvm.br ^end
^end:
  llvm.return %status : i32
}}
llvm.func internal @__relax_print(%at: !llvm.ptr, %end: !llvm.ptr, %format: !llvm.ptr, %number: i64)
    -> !llvm.ptr {_COLD} {{
  %from = llvm.ptrtoint %at : !llvm.ptr to i64
  %to = llvm.ptrtoint %end : !llvm.ptr to i64
  %room = llvm.sub %to, %from : i64
  %length = llvm.call @snprintf(%at, %room, %format, %number) {_SNPRINTF} : (!llvm.ptr, i64, !llvm.ptr, i64) -> i32
  %next = llvm.getelementptr %at[%length] : (!llvm.ptr, i32) -> !llvm.ptr, i8
  llvm.return %next : !llvm.ptr
}}
llvm.func internal @{FAIL_SHAPE}(%format: !llvm.ptr, %wanted: i64, %got: i64, %tensor: !llvm.ptr) -> i32 {_COLD} {{
  %size = llvm.mlir.constant(512 : i64) : i64
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %limit = llvm.mlir.constant({_LISTED_SIZES} : i32) : i32
  %open = llvm.mlir.constant(40 : i8) : i8
  %first = llvm.mlir.addressof @__relax_number_format : !llvm.ptr
  %next = llvm.mlir.addressof @__relax_next_number_format : !llvm.ptr
  %close_one = llvm.mlir.addressof @__relax_close_one : !llvm.ptr
  %close = llvm.mlir.addressof @__relax_close : !llvm.ptr
  %close_more = llvm.mlir.addressof @__relax_close_more : !llvm.ptr
  %kind = llvm.mlir.addressof @__relax_value_error : !llvm.ptr
  %buffer = llvm.alloca %size x i8 : (i64) -> !llvm.ptr
  %end = llvm.getelementptr %buffer[512] : (!llvm.ptr) -> !llvm.ptr, i8
  %rank_at = llvm.getelementptr %tensor[{DL_RANK}] : (!llvm.ptr) -> !llvm.ptr, i8
  %rank = llvm.load %rank_at : !llvm.ptr -> i32
  %shape_at = llvm.getelementptr %tensor[{DL_SHAPE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %shape = llvm.load %shape_at : !llvm.ptr -> !llvm.ptr
  %highest = llvm.mlir.constant({HIGHEST_RANK} : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %is_absurd = llvm.icmp "ugt" %rank, %highest : i32
  %is_null = llvm.icmp "eq" %shape, %null : !llvm.ptr
  %has_sizes = llvm.icmp "ne" %rank, %c0 : i32
  %lacks_sizes = llvm.and %is_null, %has_sizes : i1
  %is_unreadable = llvm.or %is_absurd, %lacks_sizes : i1
  llvm.cond_br %is_unreadable, ^unreadable, ^list
^unreadable:
  %unreadable = llvm.mlir.addressof @__relax_unreadable : !llvm.ptr
  %unreadable_text = llvm.ptrtoint %unreadable : !llvm.ptr to i64
  llvm.br ^raise(%unreadable_text : i64)
^list:
  %listed = llvm.intr.smin(%rank, %limit) : (i32, i32) -> i32
  llvm.store %open, %buffer : i8, !llvm.ptr
  %start = llvm.getelementptr %buffer[1] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.br ^head(%c0, %start : i32, !llvm.ptr)
^head(%i: i32, %at: !llvm.ptr):
  %more = llvm.icmp "slt" %i, %listed : i32
  llvm.cond_br %more, ^body, ^done
^body:
  %is_first = llvm.icmp "eq" %i, %c0 : i32
  %number = llvm.select %is_first, %first, %next : i1, !llvm.ptr
  %dim_at = llvm.getelementptr %shape[%i] : (!llvm.ptr, i32) -> !llvm.ptr, i64
  %dim = llvm.load %dim_at : !llvm.ptr -> i64
  %after = llvm.call @__relax_print(%at, %end, %number, %dim) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
  %following = llvm.add %i, %c1 : i32
  llvm.br ^head(%following, %after : i32, !llvm.ptr)
^done:
  %is_one = llvm.icmp "eq" %rank, %c1 : i32
  %is_long = llvm.icmp "sgt" %rank, %limit : i32
  %short = llvm.select %is_one, %close_one, %close : i1, !llvm.ptr
  %last = llvm.select %is_long, %close_more, %short : i1, !llvm.ptr
  %closed = llvm.call @__relax_print(%at, %end, %last, %got) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
  %listing = llvm.ptrtoint %buffer : !llvm.ptr to i64
  llvm.br ^raise(%listing : i64)
^raise(%text: i64):
  %status = llvm.call @{FAIL}(%kind, %format, %wanted, %got, %text) : (!llvm.ptr, !llvm.ptr, i64, i64, i64) -> i32
  llvm.return %status : i32
}}
"""

_GLOBAL_CALL = f"""
llvm.func internal @{RELEASE}(%any: !llvm.ptr) {{
  %first = llvm.mlir.constant({FIRST_OBJECT} : i32) : i32
  %index = llvm.load %any : !llvm.ptr -> i32
  %owns = llvm.icmp "sge" %index, %first : i32
  llvm.cond_br %owns, ^give, ^end
^give:
  %payload_at = llvm.getelementptr %any[{ANY_PAYLOAD}] : (!llvm.ptr) -> !llvm.ptr, i8
  %object = llvm.load %payload_at : !llvm.ptr -> !llvm.ptr
  %status = llvm.call @TVMFFIObjectDecRef(%object) : (!llvm.ptr) -> i32
  llvm.br ^end
^end:
  llvm.return
}}
llvm.func internal @__relax_find_global(%slot: !llvm.ptr, %name: !llvm.ptr, %length: i64) -> !llvm.ptr {_COLD} {{
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %zero = llvm.mlir.constant(0 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %text = llvm.alloca %c1 x !llvm.struct<(ptr, i64)> : (i64) -> !llvm.ptr
  %out = llvm.alloca %c1 x !llvm.ptr : (i64) -> !llvm.ptr
  llvm.store %null, %out : !llvm.ptr, !llvm.ptr
  llvm.store %name, %text : !llvm.ptr, !llvm.ptr
  %length_at = llvm.getelementptr %text[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %length, %length_at : i64, !llvm.ptr
  %status = llvm.call @TVMFFIFunctionGetGlobal(%text, %out) : (!llvm.ptr, !llvm.ptr) -> i32
  %asked = llvm.icmp "eq" %status, %zero : i32
  llvm.cond_br %asked, ^answer, ^failed
^failed:
  llvm.return %null : !llvm.ptr
^answer:
  %function = llvm.load %out : !llvm.ptr -> !llvm.ptr
  %missing = llvm.icmp "eq" %function, %null : !llvm.ptr
  llvm.cond_br %missing, ^unknown, ^keep
^unknown:
  %kind = llvm.mlir.addressof @__relax_value_error : !llvm.ptr
  %format = llvm.mlir.addressof @__relax_no_function : !llvm.ptr
  %chars = llvm.ptrtoint %name : !llvm.ptr to i64
  %failure = llvm.call @{FAIL}(%kind, %format, %chars, %c0, %c0) : (!llvm.ptr, !llvm.ptr, i64, i64, i64) -> i32
  llvm.return %null : !llvm.ptr
^keep:
  %exchange = llvm.cmpxchg %slot, %null, %function acq_rel acquire : !llvm.ptr, !llvm.ptr
  %won = llvm.extractvalue %exchange[1] : !llvm.struct<(ptr, i1)>
  llvm.cond_br %won, ^ours, ^theirs
^ours:
  llvm.return %function : !llvm.ptr
^theirs:
  %earlier = llvm.extractvalue %exchange[0] : !llvm.struct<(ptr, i1)>
  %released = llvm.call @TVMFFIObjectDecRef(%function) : (!llvm.ptr) -> i32
  llvm.return %earlier : !llvm.ptr
}}
llvm.func internal @__relax_ensure_error(%name: !llvm.ptr) {_COLD} {{
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %out = llvm.alloca %c1 x !llvm.ptr : (i64) -> !llvm.ptr
  llvm.store %null, %out : !llvm.ptr, !llvm.ptr
  llvm.call @TVMFFIErrorMoveFromRaised(%out) : (!llvm.ptr) -> ()
  %error = llvm.load %out : !llvm.ptr -> !llvm.ptr
  %missing = llvm.icmp "eq" %error, %null : !llvm.ptr
  llvm.cond_br %missing, ^make, ^keep
^make:
  %kind = llvm.mlir.addressof @__relax_runtime_error_kind : !llvm.ptr
  %format = llvm.mlir.addressof @__relax_no_error : !llvm.ptr
  %chars = llvm.ptrtoint %name : !llvm.ptr to i64
  %failure = llvm.call @{FAIL}(%kind, %format, %chars, %c0, %c0) : (!llvm.ptr, !llvm.ptr, i64, i64, i64) -> i32
  llvm.return
^keep:
  llvm.call @TVMFFIErrorSetRaised(%error) : (!llvm.ptr) -> ()
  %released = llvm.call @TVMFFIObjectDecRef(%error) : (!llvm.ptr) -> i32
  llvm.return
}}
llvm.func internal @{CALL_GLOBAL}(%slot: !llvm.ptr, %name: !llvm.ptr, %length: i64, %args: !llvm.ptr, %count: i32,
    %result: !llvm.ptr) -> i32 {{
  %null = llvm.mlir.zero : !llvm.ptr
  %failure = llvm.mlir.constant(-1 : i32) : i32
  %kept = llvm.load %slot atomic acquire {{alignment = 8 : i64}} : !llvm.ptr -> !llvm.ptr
  %known = llvm.icmp "ne" %kept, %null : !llvm.ptr
  llvm.cond_br %known, ^call(%kept : !llvm.ptr), ^find
^find:
  %found = llvm.call @__relax_find_global(%slot, %name, %length) : (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
  %exists = llvm.icmp "ne" %found, %null : !llvm.ptr
  llvm.cond_br %exists, ^call(%found : !llvm.ptr), ^failed
^failed:
  llvm.return %failure : i32
^call(%function: !llvm.ptr):
  %zero = llvm.mlir.constant(0 : i32) : i32
  %status = llvm.call @TVMFFIFunctionCall(%function, %args, %count, %result)
    : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
  %good = llvm.icmp "eq" %status, %zero : i32
  llvm.cond_br %good, ^done, ^raised
^raised:
  llvm.call @__relax_ensure_error(%name) : (!llvm.ptr) -> ()
  llvm.br ^done
^done:
  llvm.return %status : i32
}}
"""

SUPPORT = _DECLARATIONS + _ERRORS + _GLOBAL_CALL
