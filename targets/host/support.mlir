// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host functions that are the same in every program: checks of what comes in, errors, tensors and profiles. Compiled
// once for a machine and linked to each program (support.py): `hidden` functions are for the program's own code and for
// the files beside this one, `internal` ones with a body are for this file, and those that say alwaysinline are copied
// into programs that call them.
//
// An i32 that a function gives is a status: 0, or -1 with the error set.

// TVMFFIAny: type index and padding, payload. Below 64 the payload is a value, from there on a counted reference.
!ptr = !llvm.ptr
!any = !llvm.struct<(i64, i64)>
// DLTensor: data, device type and number, rank, element type, sizes, strides, offset in bytes.
!tensor = !llvm.struct<(ptr, i32, i32, i32, i32, ptr, ptr, i64)>
// DLManagedTensorVersioned: version, context, deleter, flags, the tensor.
!managed = !llvm.struct<(i64, ptr, ptr, i64, struct<(ptr, i32, i32, i32, i32, ptr, ptr, i64)>)>
// TVMFFIByteArray: what it has, and how many bytes.
!bytes = !llvm.struct<(ptr, i64)>
// A number and whether it has overflown.
!checked = !llvm.struct<(i64, i1)>

llvm.func @malloc(i64) -> !ptr
llvm.func @free(!ptr)
llvm.func @madvise(!ptr, i64, i32) -> i32
llvm.func @snprintf(!ptr, i64, !ptr, ...) -> i32
llvm.func @clock_gettime(i32, !ptr) -> i32
llvm.func @pthread_self() -> i64
llvm.func @strlen(!ptr) -> i64
llvm.func @TVMFFIDataTypeToString(!ptr, !ptr) -> i32
llvm.func @TVMFFIEnvGetDLPackManagedTensorAllocator() -> !ptr
llvm.func @TVMFFIEnvTensorAlloc(!ptr, !ptr) -> i32
llvm.func @TVMFFIErrorCreate(!ptr, !ptr, !ptr, !ptr) -> i32
llvm.func @TVMFFIErrorSetRaised(!ptr)
llvm.func @TVMFFIErrorSetRaisedFromCStr(!ptr, !ptr)
llvm.func @TVMFFIGetTypeInfo(i32) -> !ptr
llvm.func @TVMFFIObjectDecRef(!ptr) -> i32
llvm.func @TVMFFIObjectIncRef(!ptr) -> i32
llvm.func @TVMFFITensorFromDLPackVersioned(!ptr, i32, i32, !ptr) -> i32

// ---- errors: off the way of a call that succeeds ----

llvm.mlir.global internal constant @__relax_type_error("TypeError\00")
llvm.mlir.global internal constant @__relax_value_error("ValueError\00")
llvm.mlir.global internal constant @__relax_memory_error("MemoryError\00")

// Raises the exception `kind`: the format, printf's, takes `where`, then up to four numbers or texts. A format that
// takes fewer lets zeros vanish with %.0lld. MESSAGE_BYTES in support.py is the room that there is.
llvm.func hidden @__relax_fail(%kind: !ptr, %format: !ptr, %where: !ptr, %a: i64, %b: i64, %c: i64,
    %d: i64) -> i32 attributes {passthrough = ["cold", "noinline"]} {
  %size = llvm.mlir.constant(2048 : i64) : i64  %status = llvm.mlir.constant(-1 : i32) : i32
  %buffer = llvm.alloca %size x i8 : (i64) -> !ptr
  %length = llvm.call @snprintf(%buffer, %size, %format, %where, %a, %b, %c, %d)
    vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : (!ptr, i64, !ptr, !ptr, i64, i64, i64, i64) -> i32
  // Without a backtrace: nobody reads that of compiled code, and tvm-ffi makes it under a lock, which another thread may
  // hold when a process is forked.
  %c1 = llvm.mlir.constant(1 : i64) : i64  %most = llvm.mlir.constant(2047 : i64) : i64
  %ok = llvm.mlir.constant(0 : i32) : i32
  %nothing = llvm.mlir.zero : !bytes
  %slot = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  %no_backtrace = llvm.alloca %c1 x !bytes : (i64) -> !ptr
  %name = llvm.alloca %c1 x !bytes : (i64) -> !ptr
  %message = llvm.alloca %c1 x !bytes : (i64) -> !ptr
  %name_length = llvm.call @strlen(%kind) : (!ptr) -> i64
  %printed = llvm.sext %length : i32 to i64
  %written = llvm.intr.umin(%printed, %most) : (i64, i64) -> i64
  %name_text = llvm.insertvalue %kind, %nothing[0] : !bytes
  %name_whole = llvm.insertvalue %name_length, %name_text[1] : !bytes
  %message_text = llvm.insertvalue %buffer, %nothing[0] : !bytes
  %message_whole = llvm.insertvalue %written, %message_text[1] : !bytes
  llvm.store %nothing, %no_backtrace : !bytes, !ptr
  llvm.store %name_whole, %name : !bytes, !ptr
  llvm.store %message_whole, %message : !bytes, !ptr
  %created = llvm.call @TVMFFIErrorCreate(%name, %message, %no_backtrace, %slot) : (!ptr, !ptr, !ptr, !ptr) -> i32
  %is_created = llvm.icmp "eq" %created, %ok : i32
  llvm.cond_br %is_created, ^raise, ^leave_it
^raise:
  %error = llvm.load %slot : !ptr -> !ptr
  llvm.call @TVMFFIErrorSetRaised(%error) : (!ptr) -> ()
  %released = llvm.call @TVMFFIObjectDecRef(%error) : (!ptr) -> i32
  llvm.return %status : i32
^leave_it:
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%kind, %buffer) : (!ptr, !ptr) -> ()
  llvm.return %status : i32
}

llvm.mlir.global internal constant @__relax_wrong_dtype("%s expected dtype %s, got %.*s\00")
llvm.func internal @__relax_fail_dtype(%where: !ptr, %expected: !ptr, %tensor: !ptr) -> i32
    attributes {passthrough = ["cold", "noinline"]} {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %first_object = llvm.mlir.constant(64 : i32) : i32
  %kind = llvm.mlir.addressof @__relax_type_error : !ptr
  %format = llvm.mlir.addressof @__relax_wrong_dtype : !ptr
  %none = llvm.mlir.zero : !any
  %text = llvm.alloca %c1 x !any : (i64) -> !ptr
  llvm.store %none, %text : !any, !ptr
  %dtype = llvm.getelementptr %tensor[0, 4] : (!ptr) -> !ptr, !tensor
  %failed = llvm.call @TVMFFIDataTypeToString(%dtype, %text) : (!ptr, !ptr) -> i32
  %wanted = llvm.ptrtoint %expected : !ptr to i64
  %index = llvm.load %text : !ptr -> i32
  %payload_at = llvm.getelementptr %text[8] : (!ptr) -> !ptr, i8
  %is_object = llvm.icmp "sge" %index, %first_object : i32
  llvm.cond_br %is_object, ^object, ^small
^small:  // a short text lies in the payload itself, its length before it
  %small_at = llvm.getelementptr %text[4] : (!ptr) -> !ptr, i8
  %small_length = llvm.load %small_at : !ptr -> i32
  %small_length64 = llvm.zext %small_length : i32 to i64
  %small_data = llvm.ptrtoint %payload_at : !ptr to i64
  llvm.br ^raise(%small_length64, %small_data : i64, i64)
^object:
  %object = llvm.load %payload_at : !ptr -> !ptr
  %held_at = llvm.getelementptr %object[24] : (!ptr) -> !ptr, i8
  %held = llvm.load %held_at : !ptr -> !any
  %data = llvm.extractvalue %held[0] : !any
  %length = llvm.extractvalue %held[1] : !any
  llvm.br ^raise(%length, %data : i64, i64)
^raise(%used: i64, %chars: i64):
  %status = llvm.call @__relax_fail(%kind, %format, %where, %wanted, %used, %chars, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.call @__relax_release(%text) : (!ptr) -> ()
  llvm.return %status : i32
}

llvm.mlir.global internal constant @__relax_number_format("%lld\00")
llvm.mlir.global internal constant @__relax_next_number_format(", %lld\00")
llvm.mlir.global internal constant @__relax_close_one(",)\00")
llvm.mlir.global internal constant @__relax_close(")\00")
llvm.mlir.global internal constant @__relax_close_more(", ...)\00")
llvm.mlir.global internal constant @__relax_unreadable("unknown\00")
llvm.func internal @__relax_print(%at: !ptr, %end: !ptr, %format: !ptr, %number: i64) -> !ptr
    attributes {passthrough = ["cold", "noinline"]} {
  %from = llvm.ptrtoint %at : !ptr to i64
  %to = llvm.ptrtoint %end : !ptr to i64
  %room = llvm.sub %to, %from : i64
  %length = llvm.call @snprintf(%at, %room, %format, %number) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
    : (!ptr, i64, !ptr, i64) -> i32
  %next = llvm.getelementptr %at[%length] : (!ptr, i32) -> !ptr, i8
  llvm.return %next : !ptr
}

// A ValueError: the format takes `where`, three numbers, and a tensor's shape by %s, the first 16 sizes of it.
llvm.func internal @__relax_fail_shape(%format: !ptr, %where: !ptr, %a: i64, %b: i64, %c: i64,
    %tensor: !ptr) -> i32 attributes {passthrough = ["cold", "noinline"]} {
  %size = llvm.mlir.constant(512 : i64) : i64  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32  %most = llvm.mlir.constant(16 : i32) : i32
  %highest = llvm.mlir.constant(64 : i32) : i32  %open = llvm.mlir.constant(40 : i8) : i8
  %first = llvm.mlir.addressof @__relax_number_format : !ptr
  %next = llvm.mlir.addressof @__relax_next_number_format : !ptr
  %close_one = llvm.mlir.addressof @__relax_close_one : !ptr
  %close = llvm.mlir.addressof @__relax_close : !ptr
  %close_more = llvm.mlir.addressof @__relax_close_more : !ptr
  %unreadable = llvm.mlir.addressof @__relax_unreadable : !ptr
  %kind = llvm.mlir.addressof @__relax_value_error : !ptr
  %null = llvm.mlir.zero : !ptr
  %buffer = llvm.alloca %size x i8 : (i64) -> !ptr
  %end = llvm.getelementptr %buffer[512] : (!ptr) -> !ptr, i8
  %given = llvm.load %tensor : !ptr -> !tensor
  %rank = llvm.extractvalue %given[3] : !tensor
  %shape = llvm.extractvalue %given[5] : !tensor
  // Nobody has tensors of a rank above 64: what says so is damaged, and so is its shape.
  %is_absurd = llvm.icmp "ugt" %rank, %highest : i32
  %is_null = llvm.icmp "eq" %shape, %null : !ptr
  %has_sizes = llvm.icmp "ne" %rank, %c0 : i32
  %lacks_sizes = llvm.and %is_null, %has_sizes : i1
  %is_unreadable = llvm.or %is_absurd, %lacks_sizes : i1
  llvm.cond_br %is_unreadable, ^raise(%unreadable : !ptr), ^list
^list:
  %listed = llvm.intr.smin(%rank, %most) : (i32, i32) -> i32
  llvm.store %open, %buffer : i8, !ptr
  %start = llvm.getelementptr %buffer[1] : (!ptr) -> !ptr, i8
  llvm.br ^head(%c0, %start : i32, !ptr)
^head(%i: i32, %at: !ptr):
  %more = llvm.icmp "slt" %i, %listed : i32
  llvm.cond_br %more, ^body, ^done
^body:
  %is_first = llvm.icmp "eq" %i, %c0 : i32
  %number = llvm.select %is_first, %first, %next : i1, !ptr
  %dim_at = llvm.getelementptr %shape[%i] : (!ptr, i32) -> !ptr, i64
  %dim = llvm.load %dim_at : !ptr -> i64
  %after = llvm.call @__relax_print(%at, %end, %number, %dim) : (!ptr, !ptr, !ptr, i64) -> !ptr
  %following = llvm.add %i, %c1 : i32
  llvm.br ^head(%following, %after : i32, !ptr)
^done:
  %is_one = llvm.icmp "eq" %rank, %c1 : i32
  %is_long = llvm.icmp "sgt" %rank, %most : i32
  %short = llvm.select %is_one, %close_one, %close : i1, !ptr
  %last = llvm.select %is_long, %close_more, %short : i1, !ptr
  %closed = llvm.call @__relax_print(%at, %end, %last, %a) : (!ptr, !ptr, !ptr, i64) -> !ptr
  llvm.br ^raise(%buffer : !ptr)
^raise(%text: !ptr):
  %listing = llvm.ptrtoint %text : !ptr to i64
  %status = llvm.call @__relax_fail(%kind, %format, %where, %a, %b, %c, %listing)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.return %status : i32
}

// ---- checks of what callers pass and functions return, before memory is touched ----

llvm.mlir.global internal constant @__relax_wrong_kind("%s expected %s, got %.*s\00")
// Whether the type index of a value is one of `kinds`: bit i stands for the value type i, bit 32 + i for the object
// type 64 + i.
llvm.func hidden @__relax_check_kind(%any: !ptr, %where: !ptr, %expected: !ptr, %kinds: i64) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %half = llvm.mlir.constant(32 : i32) : i32
  %first_object = llvm.mlir.constant(64 : i32) : i32  %no = llvm.mlir.constant(false) : i1
  %index = llvm.load %any : !ptr -> i32
  %is_value = llvm.icmp "ult" %index, %half : i32
  %from_first = llvm.sub %index, %first_object : i32
  %is_object = llvm.icmp "ult" %from_first, %half : i32
  %moved = llvm.sub %index, %half : i32
  %bit = llvm.select %is_value, %index, %moved : i1, i32
  %long_bit = llvm.zext %bit : i32 to i64
  %shifted = llvm.lshr %kinds, %long_bit : i64
  %found = llvm.trunc %shifted : i64 to i1
  %has_bit = llvm.or %is_value, %is_object : i1
  %good = llvm.select %has_bit, %found, %no : i1, i1
  llvm.cond_br %good weights([2000, 1]), ^end, ^fail
^end:
  llvm.return %ok : i32
^fail:
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %kind = llvm.mlir.addressof @__relax_type_error : !ptr
  %format = llvm.mlir.addressof @__relax_wrong_kind : !ptr
  %info = llvm.call @TVMFFIGetTypeInfo(%index) : (i32) -> !ptr
  %key_at = llvm.getelementptr %info[8] : (!ptr) -> !ptr, i8
  %key = llvm.load %key_at : !ptr -> !any
  %data = llvm.extractvalue %key[0] : !any
  %length = llvm.extractvalue %key[1] : !any
  %wanted = llvm.ptrtoint %expected : !ptr to i64
  %status = llvm.call @__relax_fail(%kind, %format, %where, %wanted, %length, %data, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.return %status : i32
}

// The DLTensor of a value that is a tensor: behind an object's header, or what a pointer points to.
llvm.func hidden @__relax_tensor(%any: !ptr) -> !ptr {
  %first_object = llvm.mlir.constant(64 : i32) : i32
  %index = llvm.load %any : !ptr -> i32
  %payload_at = llvm.getelementptr %any[8] : (!ptr) -> !ptr, i8
  %payload = llvm.load %payload_at : !ptr -> !ptr
  %inside = llvm.getelementptr %payload[24] : (!ptr) -> !ptr, i8
  %is_object = llvm.icmp "sge" %index, %first_object : i32
  %tensor = llvm.select %is_object, %inside, %payload : i1, !ptr
  llvm.return %tensor : !ptr
}

llvm.mlir.global internal constant @__relax_a_tensor("a tensor\00")
llvm.mlir.global internal constant @__relax_sizes("sizes\00")
llvm.mlir.global internal constant @__relax_no_tensor("%s expected a tensor, got a null pointer\00")
llvm.mlir.global internal constant @__relax_wrong_device(
  "%s expected a tensor on the CPU, got one on DLPack device type %lld\00")
llvm.mlir.global internal constant @__relax_wrong_rank("%s expected rank %lld%s, got rank %lld: shape %s\00")
llvm.mlir.global internal constant @__relax_no_sizes(
  "%s expected a tensor with its sizes, got a null pointer for them\00")
llvm.mlir.global internal constant @__relax_wrong_size("%s dimension %lld expected size %lld, got %lld: shape %s\00")
llvm.mlir.global internal constant @__relax_negative_size(
  "%s dimension %lld expected a size of at least %lld, got %lld: shape %s\00")
llvm.mlir.global internal constant @__relax_too_large(
  "%s expected %s that memory can have, with elements of %lld bytes each, got rank %lld: shape %s\00")
llvm.mlir.global internal constant @__relax_wrong_strides(
  "%s expected contiguous (row-major) memory, got strides that skip or permute elements\00")
llvm.mlir.global internal constant @__relax_no_data("%s expected data, got a null pointer\00")
llvm.mlir.global internal constant @__relax_wrong_offset("%s expected a byte offset within memory, got %llu\00")
llvm.mlir.global internal constant @__relax_misaligned(
  "%s expected data aligned to %lld bytes, got an address %lld bytes off\00")

// Checks a tensor against `expected`, i64s: element type, rank, bytes of an element, then each size, -1 for any.
// `dtype` and `shape` are that as messages have it. Leaves the address of the elements behind `out`, then the sizes.
llvm.func hidden @__relax_check_tensor(%any: !ptr, %where: !ptr, %dtype: !ptr, %shape: !ptr,
    %expected: !ptr, %out: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64  %no = llvm.mlir.constant(false) : i1  %null = llvm.mlir.zero : !ptr
  %cpu = llvm.mlir.constant(1 : i32) : i32  %any_size = llvm.mlir.constant(-1 : i64) : i64
  %address_space = llvm.mlir.constant(144115188075855872 : i64) : i64  // 2^57: x86-64 with five levels of page tables
  %no_kinds = llvm.mlir.constant(0 : i64) : i64  %object_kind = llvm.mlir.constant(70 : i32) : i32
  %pointer_kind = llvm.mlir.constant(7 : i32) : i32
  %a_tensor = llvm.mlir.addressof @__relax_a_tensor : !ptr
  %value_error = llvm.mlir.addressof @__relax_value_error : !ptr
  %index = llvm.load %any : !ptr -> i32
  %is_object = llvm.icmp "eq" %index, %object_kind : i32
  %is_pointer = llvm.icmp "eq" %index, %pointer_kind : i32
  %is_tensor = llvm.or %is_object, %is_pointer : i1
  llvm.cond_br %is_tensor weights([2000, 1]), ^address, ^wrong_kind
^wrong_kind:
  %kind_status = llvm.call @__relax_check_kind(%any, %where, %a_tensor, %no_kinds) : (!ptr, !ptr, !ptr, i64) -> i32
  llvm.br ^return(%kind_status : i32)
^return(%status: i32):
  llvm.return %status : i32
^refuse(%format: !ptr, %a: i64, %b: i64):
  %refused = llvm.call @__relax_fail(%value_error, %format, %where, %a, %b, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.br ^return(%refused : i32)
^refuse_shape(%shape_format: !ptr, %x: i64, %y: i64, %z: i64):
  %shape_refused = llvm.call @__relax_fail_shape(%shape_format, %where, %x, %y, %z, %tensor_at)
    : (!ptr, !ptr, i64, i64, i64, !ptr) -> i32
  llvm.br ^return(%shape_refused : i32)

^address:
  %payload_at = llvm.getelementptr %any[8] : (!ptr) -> !ptr, i8
  %payload = llvm.load %payload_at : !ptr -> !ptr
  %is_there = llvm.icmp "ne" %payload, %null : !ptr
  %no_tensor = llvm.mlir.addressof @__relax_no_tensor : !ptr
  llvm.cond_br %is_there weights([2000, 1]), ^device, ^refuse(%no_tensor, %c0, %c0 : !ptr, i64, i64)
^device:
  %tensor_at = llvm.call @__relax_tensor(%any) : (!ptr) -> !ptr
  %tensor = llvm.load %tensor_at : !ptr -> !tensor
  %given_device = llvm.extractvalue %tensor[1] : !tensor
  %given_dtype = llvm.extractvalue %tensor[4] : !tensor
  %given_rank = llvm.extractvalue %tensor[3] : !tensor
  %sizes = llvm.extractvalue %tensor[5] : !tensor
  %rank_at = llvm.getelementptr %expected[8] : (!ptr) -> !ptr, i8
  %bytes_at = llvm.getelementptr %expected[16] : (!ptr) -> !ptr, i8
  %wanted_at = llvm.getelementptr %expected[24] : (!ptr) -> !ptr, i8
  %wanted_dtype = llvm.load %expected : !ptr -> i32
  %rank = llvm.load %rank_at : !ptr -> i64
  %bytes = llvm.load %bytes_at : !ptr -> i64
  %long_device = llvm.sext %given_device : i32 to i64
  %long_rank = llvm.sext %given_rank : i32 to i64
  %on_cpu = llvm.icmp "eq" %given_device, %cpu : i32
  %wrong_device = llvm.mlir.addressof @__relax_wrong_device : !ptr
  llvm.cond_br %on_cpu weights([2000, 1]), ^dtype, ^refuse(%wrong_device, %long_device, %c0 : !ptr, i64, i64)
^dtype:
  %same_dtype = llvm.icmp "eq" %given_dtype, %wanted_dtype : i32
  llvm.cond_br %same_dtype weights([2000, 1]), ^rank, ^wrong_dtype
^wrong_dtype:
  %dtype_refused = llvm.call @__relax_fail_dtype(%where, %dtype, %tensor_at) : (!ptr, !ptr, !ptr) -> i32
  llvm.br ^return(%dtype_refused : i32)
^rank:
  %same_rank = llvm.icmp "eq" %long_rank, %rank : i64
  %wrong_rank = llvm.mlir.addressof @__relax_wrong_rank : !ptr
  %shape_text = llvm.ptrtoint %shape : !ptr to i64
  llvm.cond_br %same_rank weights([2000, 1]), ^sizes,
    ^refuse_shape(%wrong_rank, %rank, %shape_text, %long_rank : !ptr, i64, i64, i64)
^sizes:
  %has_shape = llvm.icmp "ne" %sizes, %null : !ptr
  %is_scalar = llvm.icmp "eq" %rank, %c0 : i64
  %can_read = llvm.or %has_shape, %is_scalar : i1
  %no_sizes = llvm.mlir.addressof @__relax_no_sizes : !ptr
  llvm.cond_br %can_read weights([2000, 1]), ^head(%c0 : i64),
    ^refuse(%no_sizes, %c0, %c0 : !ptr, i64, i64)

// Each size.
^head(%axis: i64):
  %is_axis = llvm.icmp "slt" %axis, %rank : i64
  llvm.cond_br %is_axis, ^size, ^stride(%rank, %c1, %no, %no : i64, i64, i1, i1)
^size:
  %size_at = llvm.getelementptr %sizes[%axis] : (!ptr, i64) -> !ptr, i64
  %size = llvm.load %size_at : !ptr -> i64
  %wanted_size_at = llvm.getelementptr %wanted_at[%axis] : (!ptr, i64) -> !ptr, i64
  %wanted = llvm.load %wanted_size_at : !ptr -> i64
  %next_axis = llvm.add %axis, %c1 : i64
  %size_out = llvm.getelementptr %out[%next_axis] : (!ptr, i64) -> !ptr, i64
  llvm.store %size, %size_out : i64, !ptr
  %may_differ = llvm.icmp "eq" %wanted, %any_size : i64
  llvm.cond_br %may_differ, ^natural, ^fixed
^fixed:
  %same_size = llvm.icmp "eq" %size, %wanted : i64
  %wrong_size = llvm.mlir.addressof @__relax_wrong_size : !ptr
  llvm.cond_br %same_size weights([2000, 1]), ^head(%next_axis : i64),
    ^refuse_shape(%wrong_size, %axis, %wanted, %size : !ptr, i64, i64, i64)
^natural:
  %is_natural = llvm.icmp "sge" %size, %c0 : i64
  %negative_size = llvm.mlir.addressof @__relax_negative_size : !ptr
  llvm.cond_br %is_natural weights([2000, 1]), ^head(%next_axis : i64),
    ^refuse_shape(%negative_size, %axis, %c0, %size : !ptr, i64, i64, i64)

// The strides of row-major memory, or none, and how many elements there are. What strides say of dimensions of size 1
// does not matter.
^stride(%left: i64, %count: i64, %overflown: i1, %wrong: i1):
  %is_end = llvm.icmp "eq" %left, %c0 : i64
  llvm.cond_br %is_end, ^whole, ^compare
^compare:
  %last = llvm.sub %left, %c1 : i64
  %extent_at = llvm.getelementptr %sizes[%last] : (!ptr, i64) -> !ptr, i64
  %extent = llvm.load %extent_at : !ptr -> i64
  %strides = llvm.extractvalue %tensor[6] : !tensor
  %has_strides = llvm.icmp "ne" %strides, %null : !ptr
  %read_strides = llvm.select %has_strides, %strides, %sizes : i1, !ptr
  %stride_at = llvm.getelementptr %read_strides[%last] : (!ptr, i64) -> !ptr, i64
  %given_stride = llvm.load %stride_at : !ptr -> i64
  %other_stride = llvm.icmp "ne" %given_stride, %count : i64
  %several = llvm.icmp "ne" %extent, %c1 : i64
  %bad = llvm.and %other_stride, %several : i1
  %is_bad = llvm.and %bad, %has_strides : i1
  %now_wrong = llvm.or %wrong, %is_bad : i1
  %product = "llvm.intr.smul.with.overflow"(%count, %extent) : (i64, i64) -> !checked
  %more = llvm.extractvalue %product[0] : !checked
  %overflows = llvm.extractvalue %product[1] : !checked
  %now_overflown = llvm.or %overflown, %overflows : i1
  llvm.br ^stride(%last, %more, %now_overflown, %now_wrong : i64, i64, i1, i1)
^whole:
  %total = "llvm.intr.smul.with.overflow"(%count, %bytes) : (i64, i64) -> !checked
  %total_overflows = llvm.extractvalue %total[1] : !checked
  %too_large = llvm.or %overflown, %total_overflows : i1
  %suspicious = llvm.or %too_large, %wrong : i1
  %seems_empty = llvm.icmp "eq" %count, %c0 : i64
  llvm.cond_br %suspicious weights([1, 2000]), ^search(%c0 : i64), ^data(%seems_empty : i1)
// Nothing of that matters where a size is 0.
^search(%i: i64):
  %is_more = llvm.icmp "slt" %i, %rank : i64
  llvm.cond_br %is_more, ^look, ^full
^look:
  %found_at = llvm.getelementptr %sizes[%i] : (!ptr, i64) -> !ptr, i64
  %found = llvm.load %found_at : !ptr -> i64
  %is_zero = llvm.icmp "eq" %found, %c0 : i64
  %next_i = llvm.add %i, %c1 : i64
  %yes = llvm.mlir.constant(true) : i1
  llvm.cond_br %is_zero, ^data(%yes : i1), ^search(%next_i : i64)
^full:
  %wrong_strides = llvm.mlir.addressof @__relax_wrong_strides : !ptr
  %no_room = llvm.mlir.addressof @__relax_too_large : !ptr
  %sizes_noun = llvm.mlir.addressof @__relax_sizes : !ptr
  %noun = llvm.ptrtoint %sizes_noun : !ptr to i64
  llvm.cond_br %too_large, ^refuse_shape(%no_room, %noun, %bytes, %rank : !ptr, i64, i64, i64),
    ^refuse(%wrong_strides, %c0, %c0 : !ptr, i64, i64)

// Where the elements begin; loads and stores assume that this is a multiple of their size.
^data(%empty: i1):
  %base = llvm.extractvalue %tensor[0] : !tensor
  %offset = llvm.extractvalue %tensor[7] : !tensor
  %data = llvm.getelementptr %base[%offset] : (!ptr, i64) -> !ptr, i8
  llvm.store %data, %out : !ptr, !ptr
  %has_data = llvm.icmp "ne" %base, %null : !ptr
  %data_fine = llvm.or %has_data, %empty : i1
  %no_data = llvm.mlir.addressof @__relax_no_data : !ptr
  llvm.cond_br %data_fine weights([2000, 1]), ^offset, ^refuse(%no_data, %c0, %c0 : !ptr, i64, i64)
^offset:
  %is_inside = llvm.icmp "ult" %offset, %address_space : i64
  %offset_fine = llvm.or %is_inside, %empty : i1
  %wrong_offset = llvm.mlir.addressof @__relax_wrong_offset : !ptr
  llvm.cond_br %offset_fine weights([2000, 1]), ^aligned, ^refuse(%wrong_offset, %offset, %c0 : !ptr, i64, i64)
^aligned:
  %address = llvm.ptrtoint %data : !ptr to i64
  %mask = llvm.sub %bytes, %c1 : i64
  %off = llvm.and %address, %mask : i64
  %is_multiple = llvm.icmp "eq" %off, %c0 : i64
  %address_fine = llvm.or %is_multiple, %empty : i1
  %misaligned = llvm.mlir.addressof @__relax_misaligned : !ptr
  llvm.cond_br %address_fine weights([2000, 1]), ^return(%ok : i32), ^refuse(%misaligned, %bytes, %off : !ptr, i64, i64)
}

// Whether a checked tensor's size is the one that earlier arguments ask for; the format is as fail_shape's.
llvm.func hidden @__relax_check_size(%any: !ptr, %format: !ptr, %where: !ptr, %axis: i64, %wanted: i64,
    %size: i64) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32
  %same = llvm.icmp "eq" %wanted, %size : i64
  llvm.cond_br %same weights([2000, 1]), ^return(%ok : i32), ^fail
^fail:
  %tensor = llvm.call @__relax_tensor(%any) : (!ptr) -> !ptr
  %failure = llvm.call @__relax_fail_shape(%format, %where, %axis, %wanted, %size, %tensor)
    : (!ptr, !ptr, i64, i64, i64, !ptr) -> i32
  llvm.br ^return(%failure : i32)
^return(%status: i32):
  llvm.return %status : i32
}

// ---- values ----

// Gives back what a value owns.
llvm.func hidden @__relax_release(%any: !ptr) {
  %first_object = llvm.mlir.constant(64 : i32) : i32
  %index = llvm.load %any : !ptr -> i32
  %owns = llvm.icmp "sge" %index, %first_object : i32
  llvm.cond_br %owns, ^give, ^end
^give:
  %payload_at = llvm.getelementptr %any[8] : (!ptr) -> !ptr, i8
  %object = llvm.load %payload_at : !ptr -> !ptr
  %status = llvm.call @TVMFFIObjectDecRef(%object) : (!ptr) -> i32
  llvm.br ^end
^end:
  llvm.return
}

// Moves a value to another place; None stays behind.
llvm.func hidden @__relax_move(%from: !ptr, %to: !ptr) {
  %none = llvm.mlir.zero : !any
  %value = llvm.load %from : !ptr -> !any
  llvm.store %value, %to : !any, !ptr
  llvm.store %none, %from : !any, !ptr
  llvm.return
}

// Leaves a value at a place, with a reference of its own where it is an object.
llvm.func hidden @__relax_give_object(%any: !ptr, %place: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %first_object = llvm.mlir.constant(64 : i32) : i32
  %value = llvm.load %any : !ptr -> !any
  llvm.store %value, %place : !any, !ptr
  %index = llvm.load %any : !ptr -> i32
  %is_object = llvm.icmp "sge" %index, %first_object : i32
  llvm.cond_br %is_object, ^keep, ^end
^keep:
  %payload = llvm.extractvalue %value[1] : !any
  %object = llvm.inttoptr %payload : i64 to !ptr
  %status = llvm.call @TVMFFIObjectIncRef(%object) : (!ptr) -> i32
  llvm.br ^end
^end:
  llvm.return %ok : i32
}

// ---- tensors ----

// DLPack's header, the tensor, its shape and strides lie in one block, whose deleter is `free` itself: tensors may
// outlive the program.
llvm.func hidden @__relax_wrap(%block: !ptr, %data: !ptr, %rank: i32, %dtype: i32, %shape: !ptr, %any: !ptr) -> i32 {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %no = llvm.mlir.constant(0 : i32) : i32  %cpu = llvm.mlir.constant(1 : i32) : i32
  %tensor_kind = llvm.mlir.constant(70 : i64) : i64
  %deleter = llvm.mlir.addressof @free : !ptr
  %long_rank = llvm.sext %rank : i32 to i64
  %own_shape = llvm.getelementptr %block[1] : (!ptr) -> !ptr, !managed
  %own_strides = llvm.getelementptr %own_shape[%long_rank] : (!ptr, i64) -> !ptr, i64
  %m0 = llvm.mlir.zero : !managed
  %m1 = llvm.insertvalue %c1, %m0[0] : !managed
  %m2 = llvm.insertvalue %deleter, %m1[2] : !managed
  %m3 = llvm.insertvalue %data, %m2[4, 0] : !managed
  %m4 = llvm.insertvalue %cpu, %m3[4, 1] : !managed
  %m5 = llvm.insertvalue %rank, %m4[4, 3] : !managed
  %m6 = llvm.insertvalue %dtype, %m5[4, 4] : !managed
  %m7 = llvm.insertvalue %own_shape, %m6[4, 5] : !managed
  %m8 = llvm.insertvalue %own_strides, %m7[4, 6] : !managed
  llvm.store %m8, %block : !managed, !ptr
  llvm.br ^head(%long_rank, %c1 : i64, i64)
^head(%left: i64, %stride: i64):
  %is_end = llvm.icmp "eq" %left, %c0 : i64
  llvm.cond_br %is_end, ^make, ^set
^set:
  %axis = llvm.sub %left, %c1 : i64
  %extent_at = llvm.getelementptr %shape[%axis] : (!ptr, i64) -> !ptr, i64
  %extent = llvm.load %extent_at : !ptr -> i64
  %own_extent_at = llvm.getelementptr %own_shape[%axis] : (!ptr, i64) -> !ptr, i64
  llvm.store %extent, %own_extent_at : i64, !ptr
  %stride_at = llvm.getelementptr %own_strides[%axis] : (!ptr, i64) -> !ptr, i64
  llvm.store %stride, %stride_at : i64, !ptr
  %next_stride = llvm.mul %stride, %extent : i64
  llvm.br ^head(%axis, %next_stride : i64, i64)
^make:
  %payload = llvm.getelementptr %any[8] : (!ptr) -> !ptr, i8
  %status = llvm.call @TVMFFITensorFromDLPackVersioned(%block, %no, %no, %payload) : (!ptr, i32, i32, !ptr) -> i32
  %made = llvm.icmp "eq" %status, %no : i32
  llvm.cond_br %made, ^keep, ^undo
^keep:
  llvm.store %tensor_kind, %any : i64, !ptr
  llvm.return %status : i32
^undo:
  llvm.call @free(%block) : (!ptr) -> ()
  llvm.return %status : i32
}

llvm.mlir.global internal constant @__relax_no_memory("%s: out of memory, %lld bytes needed\00")
llvm.mlir.global internal constant @__relax_impossible(
  "%s: a size is negative or all of them are too large, with elements of %lld bytes%.0lld%.0lld: shape %s\00")

// For a large new block, as numpy does: the system gives 4 KB at a time else, which takes longer than writing into it.
llvm.func hidden @__relax_ask_for_large_pages(%block: !ptr, %bytes: i64) {
  %megabytes = llvm.mlir.constant(4194304 : i64) : i64
  %is_small = llvm.icmp "ult" %bytes, %megabytes : i64
  llvm.cond_br %is_small, ^end, ^ask
^ask:
  // From the first page on, whatever pages' size is; where the system has none that are large, nothing happens.
  %last = llvm.mlir.constant(65535 : i64) : i64  %mask = llvm.mlir.constant(-65536 : i64) : i64
  %huge = llvm.mlir.constant(14 : i32) : i32  // MADV_HUGEPAGE
  %behind = llvm.getelementptr %block[65535] : (!ptr) -> !ptr, i8
  %first = llvm.intr.ptrmask %behind, %mask : (!ptr, i64) -> !ptr
  %whole = llvm.sub %bytes, %last : i64
  %status = llvm.call @madvise(%first, %whole, %huge) : (!ptr, i64, i32) -> i32
  llvm.br ^end
^end:
  llvm.return
}

// A new tensor for a result, whose label messages begin with. The caller's framework allocates where it offers to
// (torch); otherwise the data lie in the same block. Aligned to 64 bytes by hand: malloc has small blocks ready,
// aligned_alloc looks for them, which cost more than half a call's time.
llvm.func hidden @__relax_allocate(%label: !ptr, %rank: i32, %dtype: i32, %bytes: i64, %shape: !ptr,
    %any: !ptr) -> i32 attributes {passthrough = ["noinline"]} {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %c16 = llvm.mlir.constant(16 : i64) : i64  %no = llvm.mlir.constant(0 : i32) : i32
  %last = llvm.mlir.constant(63 : i64) : i64  %mask = llvm.mlir.constant(-64 : i64) : i64
  %header = llvm.mlir.constant(80 : i64) : i64  %cpu = llvm.mlir.constant(1 : i32) : i32
  %tensor_kind = llvm.mlir.constant(70 : i64) : i64
  %largest = llvm.mlir.constant(4.0e18 : f64) : f64  // bytes of a tensor: below 2^62
  %fone = llvm.mlir.constant(1.0 : f64) : f64  %false = llvm.mlir.constant(false) : i1
  %null = llvm.mlir.zero : !ptr
  %prototype = llvm.alloca %c1 x !tensor : (i64) -> !ptr
  %long_rank = llvm.sext %rank : i32 to i64
  %t0 = llvm.mlir.zero : !tensor
  %t1 = llvm.insertvalue %cpu, %t0[1] : !tensor
  %t2 = llvm.insertvalue %rank, %t1[3] : !tensor
  %t3 = llvm.insertvalue %dtype, %t2[4] : !tensor
  %t4 = llvm.insertvalue %shape, %t3[5] : !tensor
  llvm.store %t4, %prototype : !tensor, !ptr
  %float_bytes = llvm.sitofp %bytes : i64 to f64
  llvm.br ^count(%c0, %float_bytes, %bytes, %false : i64, f64, i64, i1)
^count(%i: i64, %upper: f64, %total: i64, %bad: i1):
  %more = llvm.icmp "slt" %i, %long_rank : i64
  llvm.cond_br %more, ^counting, ^counted
^counting:
  %dim_at = llvm.getelementptr %shape[%i] : (!ptr, i64) -> !ptr, i64
  %dim = llvm.load %dim_at : !ptr -> i64
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
  %impossible = llvm.mlir.addressof @__relax_impossible : !ptr
  %refusal = llvm.call @__relax_fail_shape(%impossible, %label, %bytes, %c0, %c0, %prototype)
    : (!ptr, !ptr, i64, i64, i64, !ptr) -> i32
  llvm.return %refusal : i32
^choose:
  %allocator = llvm.call @TVMFFIEnvGetDLPackManagedTensorAllocator() : () -> !ptr
  %offered = llvm.icmp "ne" %allocator, %null : !ptr
  llvm.cond_br %offered, ^theirs, ^ours
^theirs:
  %payload = llvm.getelementptr %any[8] : (!ptr) -> !ptr, i8
  %their_status = llvm.call @TVMFFIEnvTensorAlloc(%prototype, %payload) : (!ptr, !ptr) -> i32
  %made = llvm.icmp "eq" %their_status, %no : i32
  llvm.cond_br %made, ^keep, ^return(%their_status : i32)
^keep:
  llvm.store %tensor_kind, %any : i64, !ptr
  llvm.br ^return(%no : i32)
^ours:
  %dims = llvm.mul %long_rank, %c16 : i64
  %dims_end = llvm.add %header, %dims : i64
  %padded = llvm.add %dims_end, %last : i64
  %whole_size = llvm.add %padded, %total : i64
  %block = llvm.call @malloc(%whole_size) : (i64) -> !ptr
  %empty = llvm.icmp "eq" %block, %null : !ptr
  llvm.cond_br %empty, ^exhausted, ^fill
^exhausted:
  %memory_error = llvm.mlir.addressof @__relax_memory_error : !ptr
  %no_memory = llvm.mlir.addressof @__relax_no_memory : !ptr
  %exhaustion = llvm.call @__relax_fail(%memory_error, %no_memory, %label, %whole_size, %c0, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.return %exhaustion : i32
^fill:
  llvm.call @__relax_ask_for_large_pages(%block, %whole_size) : (!ptr, i64) -> ()
  %behind = llvm.getelementptr %block[%padded] : (!ptr, i64) -> !ptr, i8
  %data = llvm.intr.ptrmask %behind, %mask : (!ptr, i64) -> !ptr
  %wrapped = llvm.call @__relax_wrap(%block, %data, %rank, %dtype, %shape, %any)
    : (!ptr, !ptr, i32, i32, !ptr, !ptr) -> i32
  llvm.br ^return(%wrapped : i32)
^return(%status: i32):
  llvm.return %status : i32
}

// Where a tensor's elements begin.
llvm.func hidden @__relax_data(%any: !ptr) -> !ptr {
  %tensor_at = llvm.call @__relax_tensor(%any) : (!ptr) -> !ptr
  %tensor = llvm.load %tensor_at : !ptr -> !tensor
  %base = llvm.extractvalue %tensor[0] : !tensor
  %offset = llvm.extractvalue %tensor[7] : !tensor
  %data = llvm.getelementptr %base[%offset] : (!ptr, i64) -> !ptr, i8
  llvm.return %data : !ptr
}

// ---- profiles ----

// A program's table of i64: the thread that has switched profiling on, nanoseconds of all calls of kernels so far, then
// calls and nanoseconds of each place in turn. A call's time is without that of calls which it makes in turn: the clock that is read stands still for what is
// already in the table. Only that thread is timed, so that others neither disturb nor race; loads of it are atomic since
// any thread may write it, and so that none is taken for another.

// A time to hand to profile_end after the kernel; 0 where nobody asks. The two cost two loads and branches then.
llvm.func internal @__relax_profile_begin(%table: !ptr) -> i64 attributes {passthrough = ["alwaysinline"]} {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %thread = llvm.load %table atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %off = llvm.icmp "eq" %thread, %c0 : i64
  llvm.cond_br %off weights([2000, 1]), ^end(%c0 : i64), ^on
^on:
  %time = llvm.call @__relax_clock(%table, %thread) : (!ptr, i64) -> i64
  llvm.br ^end(%time : i64)
^end(%result: i64):
  llvm.return %result : i64
}
// Adds the time since profile_begin to a place in the table.
llvm.func internal @__relax_profile_end(%table: !ptr, %place: i64, %start: i64)
    attributes {passthrough = ["alwaysinline"]} {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %thread = llvm.load %table atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %off = llvm.icmp "eq" %thread, %c0 : i64
  llvm.cond_br %off weights([2000, 1]), ^end, ^on
^on:
  llvm.call @__relax_add_time(%table, %place, %start, %thread) : (!ptr, i64, i64, i64) -> ()
  llvm.br ^end
^end:
  llvm.return
}
llvm.func hidden @__relax_clock(%table: !ptr, %thread: i64) -> i64 attributes {passthrough = ["cold", "noinline"]} {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %giga = llvm.mlir.constant(1000000000 : i64) : i64
  %monotonic = llvm.mlir.constant(1 : i32) : i32  // CLOCK_MONOTONIC on Linux
  %time = llvm.alloca %c1 x !any : (i64) -> !ptr
  %own = llvm.call @pthread_self() : () -> i64
  %mine = llvm.icmp "eq" %own, %thread : i64
  llvm.cond_br %mine, ^read, ^other
^other:
  llvm.return %c0 : i64
^read:
  %status = llvm.call @clock_gettime(%monotonic, %time) : (i32, !ptr) -> i32
  %both = llvm.load %time : !ptr -> !any
  %seconds = llvm.extractvalue %both[0] : !any
  %nanoseconds = llvm.extractvalue %both[1] : !any
  %whole = llvm.mul %seconds, %giga : i64
  %now = llvm.add %whole, %nanoseconds : i64
  %counted_at = llvm.getelementptr %table[1] : (!ptr) -> !ptr, i64
  %counted = llvm.load %counted_at : !ptr -> i64
  %shown = llvm.sub %now, %counted : i64
  llvm.return %shown : i64
}
llvm.func hidden @__relax_add_time(%table: !ptr, %place: i64, %start: i64, %thread: i64)
    attributes {passthrough = ["cold", "noinline"]} {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %now = llvm.call @__relax_clock(%table, %thread) : (!ptr, i64) -> i64
  %begun = llvm.icmp "ne" %start, %c0 : i64
  %mine = llvm.icmp "ne" %now, %c0 : i64
  %both = llvm.and %begun, %mine : i1
  llvm.cond_br %both, ^add, ^end
^add:
  %spent = llvm.sub %now, %start : i64
  %all_at = llvm.getelementptr %table[1] : (!ptr) -> !ptr, i64
  %all = llvm.load %all_at : !ptr -> i64
  %more = llvm.add %all, %spent : i64
  llvm.store %more, %all_at : i64, !ptr
  %index = llvm.add %place, %c1 : i64
  %row = llvm.getelementptr %table[%index] : (!ptr, i64) -> !ptr, !any
  %calls = llvm.load %row : !ptr -> i64
  %next = llvm.add %calls, %c1 : i64
  llvm.store %next, %row : i64, !ptr
  %at = llvm.getelementptr %row[1] : (!ptr) -> !ptr, i64
  %before = llvm.load %at : !ptr -> i64
  %after = llvm.add %before, %spent : i64
  llvm.store %after, %at : i64, !ptr
  llvm.br ^end
^end:
  llvm.return
}

llvm.mlir.global internal constant @__relax_profile_name("__relax_profile\00")
llvm.mlir.global internal constant @__relax_one_argument("%s: expected 1 to switch on or 0 to switch off\00")
// For the runtime: switches profiling on (1) and off (0) for the thread that calls; gives the address of the table's times.
llvm.func hidden @__relax_switch_profile(%table: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %one = llvm.mlir.constant(1 : i32) : i32
  %c0 = llvm.mlir.constant(0 : i64) : i64  %int_kind = llvm.mlir.constant(1 : i64) : i64
  %enough = llvm.icmp "eq" %count, %one : i32
  llvm.cond_br %enough, ^int, ^refuse
^refuse:
  %type_error = llvm.mlir.addressof @__relax_type_error : !ptr
  %format = llvm.mlir.addressof @__relax_one_argument : !ptr
  %name = llvm.mlir.addressof @__relax_profile_name : !ptr
  %refused = llvm.call @__relax_fail(%type_error, %format, %name, %c0, %c0, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.return %refused : i32
^int:
  %given = llvm.load %args : !ptr -> !any
  %kind = llvm.extractvalue %given[0] : !any
  %is_int = llvm.icmp "eq" %kind, %int_kind : i64
  llvm.cond_br %is_int, ^set, ^refuse
^set:
  %wanted = llvm.extractvalue %given[1] : !any
  %off = llvm.icmp "eq" %wanted, %c0 : i64
  %thread = llvm.call @pthread_self() : () -> i64
  %value = llvm.select %off, %c0, %thread : i1, i64
  llvm.store %value, %table atomic monotonic {alignment = 8 : i64} : i64, !ptr
  %times = llvm.getelementptr %table[1] : (!ptr) -> !ptr, i64
  %address = llvm.ptrtoint %times : !ptr to i64
  %none = llvm.mlir.zero : !any
  %with_kind = llvm.insertvalue %int_kind, %none[0] : !any
  %answer = llvm.insertvalue %address, %with_kind[1] : !any
  llvm.store %answer, %result : !any, !ptr
  llvm.return %ok : i32
}
