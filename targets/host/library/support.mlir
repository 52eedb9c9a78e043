// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host functions that all programs share: checks of arguments, errors, tensors and profiles. They are compiled once for a
// machine and linked to each program (units.py). Public functions are for the program's own code and for the other files
// of this folder.

// DLManagedTensorVersioned: version, context, deleter, flags, the tensor.
!managed = !llvm.struct<(i64, ptr, ptr, i64, struct<(ptr, i32, i32, i32, i32, ptr, ptr, i64)>)>

llvm.func @snprintf(!ptr, i64, !ptr, ...) -> i32
func.func private @strlen(!ptr) -> i64
func.func private @TVMFFIDataTypeToString(!ptr, !ptr) -> i32
func.func private @TVMFFIErrorCreate(!ptr, !ptr, !ptr, !ptr) -> i32
func.func private @TVMFFIErrorSetRaisedFromCStr(!ptr, !ptr)
func.func private @TVMFFIGetTypeInfo(i32) -> !ptr

// ---- errors, outside of the path of a successful call ----

// Raise the exception `kind`. The printf format takes `where`, then up to four numbers or texts. A format with fewer
// operands drops zeros with %.0lld. MESSAGE_BYTES in support.py limits the length.
func.func @__relax_fail(%kind: !ptr, %format: !ptr, %where: !ptr, %a: i64, %b: i64, %c: i64, %d: i64)
    attributes {llvm.cold, llvm.no_inline, relax.entry} {
  %size = arith.constant 2048 : i64  %most = arith.constant 2047 : i64  %c1 = arith.constant 1 : i64
  %ok = arith.constant 0 : i32  %failure = arith.constant -1 : i32  %nothing = llvm.mlir.zero : !any
  %buffer = llvm.alloca %size x i8 : (i64) -> !ptr  %slot = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  %name = llvm.alloca %c1 x !any : (i64) -> !ptr  %message = llvm.alloca %c1 x !any : (i64) -> !ptr
  %no_backtrace = llvm.alloca %c1 x !any : (i64) -> !ptr
  %length = llvm.call @snprintf(%buffer, %size, %format, %where, %a, %b, %c, %d)
    vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : (!ptr, i64, !ptr, !ptr, i64, i64, i64, i64) -> i32
  %printed = arith.extsi %length : i32 to i64  %written = arith.minui %printed, %most : i64
  %name_length = func.call @strlen(%kind) : (!ptr) -> i64
  func.call @__relax_set_bytes(%name, %kind, %name_length) : (!ptr, !ptr, i64) -> ()
  func.call @__relax_set_bytes(%message, %buffer, %written) : (!ptr, !ptr, i64) -> ()
  // Without a backtrace: nothing uses the backtrace of compiled code, and tvm-ffi creates it under a lock that another
  // thread may own when a process is forked.
  llvm.store %nothing, %no_backtrace : !any, !ptr
  %created = func.call @TVMFFIErrorCreate(%name, %message, %no_backtrace, %slot) : (!ptr, !ptr, !ptr, !ptr) -> i32
  %is_created = arith.cmpi eq, %created, %ok : i32
  scf.if %is_created {
    %error = llvm.load %slot : !ptr -> !ptr
    func.call @TVMFFIErrorSetRaised(%error) : (!ptr) -> ()
    %released = func.call @TVMFFIObjectDecRef(%error) : (!ptr) -> i32
  } else {
    func.call @TVMFFIErrorSetRaisedFromCStr(%kind, %buffer) : (!ptr, !ptr) -> ()
  }
  "tir.return_unless_ok"(%failure) : (i32) -> ()
  return
}
// TVMFFIByteArray: data and number of bytes.
func.func private @__relax_set_bytes(%place: !ptr, %data: !ptr, %length: i64) {
  %length_at = llvm.getelementptr %place[8] : (!ptr) -> !ptr, i8
  llvm.store %data, %place : !ptr, !ptr
  llvm.store %length, %length_at : i64, !ptr
  return
}
// Raise a MemoryError. The format takes "out of memory" and a number.
func.func @__relax_exhausted(%format: !ptr, %number: i64) attributes {llvm.cold, llvm.no_inline, relax.entry} {
  %c0 = arith.constant 0 : i64
  %kind = llvm.mlir.addressof @__relax_memory_error : !ptr  %where = llvm.mlir.addressof @__relax_out_of_memory : !ptr
  func.call @__relax_fail(%kind, %format, %where, %number, %c0, %c0, %c0) : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> ()
  return
}

llvm.mlir.global internal constant @__relax_wrong_dtype("%s expected dtype %s, got %.*s\00")
func.func private @__relax_fail_dtype(%where: !ptr, %expected: !ptr, %tensor: !ptr)
    attributes {llvm.cold, llvm.no_inline, relax.entry} {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %first_object = arith.constant 64 : i32
  %kind = llvm.mlir.addressof @__relax_type_error : !ptr  %format = llvm.mlir.addressof @__relax_wrong_dtype : !ptr
  %none = llvm.mlir.zero : !any  %text = llvm.alloca %c1 x !any : (i64) -> !ptr
  llvm.store %none, %text : !any, !ptr
  %dtype = llvm.getelementptr %tensor[0, 4] : (!ptr) -> !ptr, !tensor
  %failed = func.call @TVMFFIDataTypeToString(%dtype, %text) : (!ptr, !ptr) -> i32
  %wanted = llvm.ptrtoint %expected : !ptr to i64  %payload_at = llvm.getelementptr %text[8] : (!ptr) -> !ptr, i8
  %index = llvm.load %text : !ptr -> i32  %is_object = arith.cmpi sge, %index, %first_object : i32
  %length, %data = scf.if %is_object -> (i64, i64) {
    %object = llvm.load %payload_at : !ptr -> !ptr
    %bytes_at = llvm.getelementptr %object[24] : (!ptr) -> !ptr, i8  %bytes = llvm.load %bytes_at : !ptr -> !any
    %chars = llvm.extractvalue %bytes[0] : !any  %size = llvm.extractvalue %bytes[1] : !any
    scf.yield %size, %chars : i64, i64
  } else {  // a short text is in the payload itself, its length before it
    %size_at = llvm.getelementptr %text[4] : (!ptr) -> !ptr, i8  %size = llvm.load %size_at : !ptr -> i32
    %long_size = arith.extui %size : i32 to i64  %chars = llvm.ptrtoint %payload_at : !ptr to i64
    scf.yield %long_size, %chars : i64, i64
  }
  func.call @__relax_fail(%kind, %format, %where, %wanted, %length, %data, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> ()
  "tir.release"(%text) : (!ptr) -> ()
  return
}

llvm.mlir.global internal constant @__relax_number_format("%lld\00")
llvm.mlir.global internal constant @__relax_next_number_format(", %lld\00")
llvm.mlir.global internal constant @__relax_close_one(",)\00")
llvm.mlir.global internal constant @__relax_close(")\00")
llvm.mlir.global internal constant @__relax_close_more(", ...)\00")
llvm.mlir.global internal constant @__relax_unreadable("unknown\00")
func.func private @__relax_print(%at: !ptr, %end: !ptr, %format: !ptr, %number: i64) -> !ptr
    attributes {llvm.cold, llvm.no_inline} {
  %from = llvm.ptrtoint %at : !ptr to i64  %to = llvm.ptrtoint %end : !ptr to i64  %room = arith.subi %to, %from : i64
  %length = llvm.call @snprintf(%at, %room, %format, %number) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
    : (!ptr, i64, !ptr, i64) -> i32
  %next = llvm.getelementptr %at[%length] : (!ptr, i32) -> !ptr, i8
  return %next : !ptr
}

// Raise a ValueError. The format takes `where`, three numbers, and the first 16 sizes of a tensor's shape as %s.
func.func private @__relax_fail_shape(%format: !ptr, %where: !ptr, %a: i64, %b: i64, %c: i64, %tensor: !ptr)
    attributes {llvm.cold, llvm.no_inline, relax.entry} {
  %size = arith.constant 512 : i64  %c0 = arith.constant 0 : i32  %c1 = arith.constant 1 : i32
  %most = arith.constant 16 : i32  %highest = arith.constant 64 : i32  %open = arith.constant 40 : i8
  %first = llvm.mlir.addressof @__relax_number_format : !ptr
  %next = llvm.mlir.addressof @__relax_next_number_format : !ptr
  %close_one = llvm.mlir.addressof @__relax_close_one : !ptr  %close = llvm.mlir.addressof @__relax_close : !ptr
  %close_more = llvm.mlir.addressof @__relax_close_more : !ptr
  %unreadable = llvm.mlir.addressof @__relax_unreadable : !ptr  %kind = llvm.mlir.addressof @__relax_value_error : !ptr
  %null = llvm.mlir.zero : !ptr  %buffer = llvm.alloca %size x i8 : (i64) -> !ptr
  %end = llvm.getelementptr %buffer[512] : (!ptr) -> !ptr, i8
  %given = llvm.load %tensor : !ptr -> !tensor
  %rank = llvm.extractvalue %given[3] : !tensor  %shape = llvm.extractvalue %given[5] : !tensor
  // A rank above 64 comes from a damaged header, and so does its shape.
  %is_absurd = arith.cmpi ugt, %rank, %highest : i32
  %is_null = llvm.icmp "eq" %shape, %null : !ptr  %has_sizes = arith.cmpi ne, %rank, %c0 : i32
  %lacks_sizes = arith.andi %is_null, %has_sizes : i1  %is_unreadable = arith.ori %is_absurd, %lacks_sizes : i1
  %text = scf.if %is_unreadable -> !ptr {
    scf.yield %unreadable : !ptr
  } else {
    llvm.store %open, %buffer : i8, !ptr
    %start = llvm.getelementptr %buffer[1] : (!ptr) -> !ptr, i8  %listed = arith.minsi %rank, %most : i32
    %behind = scf.for %i = %c0 to %listed step %c1 iter_args(%at = %start) -> (!ptr) : i32 {
      %is_first = arith.cmpi eq, %i, %c0 : i32  %number = arith.select %is_first, %first, %next : !ptr
      %dim_at = llvm.getelementptr %shape[%i] : (!ptr, i32) -> !ptr, i64  %dim = llvm.load %dim_at : !ptr -> i64
      %after = func.call @__relax_print(%at, %end, %number, %dim) : (!ptr, !ptr, !ptr, i64) -> !ptr
      scf.yield %after : !ptr
    }
    %is_one = arith.cmpi eq, %rank, %c1 : i32  %short = arith.select %is_one, %close_one, %close : !ptr
    %is_long = arith.cmpi sgt, %rank, %most : i32  %last = arith.select %is_long, %close_more, %short : !ptr
    %closed = func.call @__relax_print(%behind, %end, %last, %a) : (!ptr, !ptr, !ptr, i64) -> !ptr
    scf.yield %buffer : !ptr
  }
  %listing = llvm.ptrtoint %text : !ptr to i64
  func.call @__relax_fail(%kind, %format, %where, %a, %b, %c, %listing)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> ()
  return
}

// ---- checks of arguments and of results of functions, before memory is accessed ----

llvm.mlir.global internal constant @__relax_wrong_kind("%s expected %s, got %.*s\00")
// Check whether `kinds` contains the type index of a value: bit i means the value type i, bit 32 + i the object type
// 64 + i.
func.func @__relax_check_kind(%any: !ptr, %where: !ptr, %expected: !ptr, %kinds: i64) attributes {relax.entry} {
  %half = arith.constant 32 : i32  %first_object = arith.constant 64 : i32  %no = arith.constant false
  %index = llvm.load %any : !ptr -> i32  %is_value = arith.cmpi ult, %index, %half : i32
  %from_first = arith.subi %index, %first_object : i32  %is_object = arith.cmpi ult, %from_first, %half : i32
  %moved = arith.subi %index, %half : i32  %bit = arith.select %is_value, %index, %moved : i32
  %long_bit = arith.extui %bit : i32 to i64  %shifted = arith.shrui %kinds, %long_bit : i64
  %found = arith.trunci %shifted : i64 to i1  %has_bit = arith.ori %is_value, %is_object : i1
  %is_good = arith.select %has_bit, %found, %no : i1
  cf.cond_br %is_good weights([2000, 1]), ^end, ^fail
^end:
  return
^fail:
  %c0 = arith.constant 0 : i64
  %kind = llvm.mlir.addressof @__relax_type_error : !ptr  %format = llvm.mlir.addressof @__relax_wrong_kind : !ptr
  %info = func.call @TVMFFIGetTypeInfo(%index) : (i32) -> !ptr
  %key_at = llvm.getelementptr %info[8] : (!ptr) -> !ptr, i8  %key = llvm.load %key_at : !ptr -> !any
  %data = llvm.extractvalue %key[0] : !any  %length = llvm.extractvalue %key[1] : !any
  %wanted = llvm.ptrtoint %expected : !ptr to i64
  func.call @__relax_fail(%kind, %format, %where, %wanted, %length, %data, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> ()
  cf.br ^end
}

// Return the DLTensor of a tensor value: after the header of an object, or the target of a pointer.
func.func @__relax_tensor(%any: !ptr) -> !ptr {
  %first_object = arith.constant 64 : i32
  %payload_at = llvm.getelementptr %any[8] : (!ptr) -> !ptr, i8  %payload = llvm.load %payload_at : !ptr -> !ptr
  %index = llvm.load %any : !ptr -> i32  %is_object = arith.cmpi sge, %index, %first_object : i32
  %inside = llvm.getelementptr %payload[24] : (!ptr) -> !ptr, i8
  %tensor = arith.select %is_object, %inside, %payload : !ptr
  return %tensor : !ptr
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

// Raise a ValueError unless a condition is true. The format takes `where` and two numbers.
func.func private @__relax_require(%is_good: i1, %format: !ptr, %where: !ptr, %a: i64, %b: i64)
    attributes {llvm.always_inline, relax.entry} {
  cf.cond_br %is_good weights([2000, 1]), ^end, ^refuse
^refuse:
  func.call @__relax_refuse(%format, %where, %a, %b) : (!ptr, !ptr, i64, i64) -> ()
  cf.br ^end
^end:
  return
}
func.func private @__relax_refuse(%format: !ptr, %where: !ptr, %a: i64, %b: i64)
    attributes {llvm.cold, llvm.no_inline, relax.entry} {
  %c0 = arith.constant 0 : i64  %kind = llvm.mlir.addressof @__relax_value_error : !ptr
  func.call @__relax_fail(%kind, %format, %where, %a, %b, %c0, %c0) : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> ()
  return
}
// Raise a ValueError with a tensor's shape unless a condition is true, like fail_shape.
func.func private @__relax_require_shape(%is_good: i1, %format: !ptr, %where: !ptr, %a: i64, %b: i64, %c: i64,
    %tensor: !ptr) attributes {llvm.always_inline, relax.entry} {
  cf.cond_br %is_good weights([2000, 1]), ^end, ^refuse
^refuse:
  func.call @__relax_fail_shape(%format, %where, %a, %b, %c, %tensor) : (!ptr, !ptr, i64, i64, i64, !ptr) -> ()
  cf.br ^end
^end:
  return
}

// Check a tensor against the i64 words `expected`: element type, rank, bytes of an element, then each size, -1 for any.
// `dtype` and `shape` are their texts for messages. Store the address of the elements at `out`, then the sizes.
func.func @__relax_check_tensor(%any: !ptr, %where: !ptr, %dtype: !ptr, %shape: !ptr, %expected: !ptr, %out: !ptr)
    attributes {relax.entry} {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %no = arith.constant false  %cpu = arith.constant 1 : i32
  %any_size = arith.constant -1 : i64  %object_kind = arith.constant 70 : i32  %pointer_kind = arith.constant 7 : i32
  %address_space = arith.constant 144115188075855872 : i64  // 2^57: x86-64 with five levels of page tables
  %null = llvm.mlir.zero : !ptr
  %index = llvm.load %any : !ptr -> i32  %is_object = arith.cmpi eq, %index, %object_kind : i32
  %is_pointer = arith.cmpi eq, %index, %pointer_kind : i32  %is_tensor = arith.ori %is_object, %is_pointer : i1
  cf.cond_br %is_tensor weights([2000, 1]), ^address, ^wrong_kind
^wrong_kind:
  %a_tensor = llvm.mlir.addressof @__relax_a_tensor : !ptr
  func.call @__relax_check_kind(%any, %where, %a_tensor, %c0) : (!ptr, !ptr, !ptr, i64) -> ()
  cf.br ^address
^address:
  %payload_at = llvm.getelementptr %any[8] : (!ptr) -> !ptr, i8  %payload = llvm.load %payload_at : !ptr -> !ptr
  %is_there = llvm.icmp "ne" %payload, %null : !ptr  %no_tensor = llvm.mlir.addressof @__relax_no_tensor : !ptr
  func.call @__relax_require(%is_there, %no_tensor, %where, %c0, %c0) : (i1, !ptr, !ptr, i64, i64) -> ()
  %tensor_at = func.call @__relax_tensor(%any) : (!ptr) -> !ptr  %tensor = llvm.load %tensor_at : !ptr -> !tensor
  %device = llvm.extractvalue %tensor[1] : !tensor  %given_rank = llvm.extractvalue %tensor[3] : !tensor
  %sizes = llvm.extractvalue %tensor[5] : !tensor  %given_dtype = llvm.extractvalue %tensor[4] : !tensor
  %rank_at = llvm.getelementptr %expected[8] : (!ptr) -> !ptr, i8  %rank = llvm.load %rank_at : !ptr -> i64
  %bytes_at = llvm.getelementptr %expected[16] : (!ptr) -> !ptr, i8  %bytes = llvm.load %bytes_at : !ptr -> i64
  %wanted_at = llvm.getelementptr %expected[24] : (!ptr) -> !ptr, i8
  %on_cpu = arith.cmpi eq, %device, %cpu : i32  %long_device = arith.extsi %device : i32 to i64
  %wrong_device = llvm.mlir.addressof @__relax_wrong_device : !ptr
  func.call @__relax_require(%on_cpu, %wrong_device, %where, %long_device, %c0) : (i1, !ptr, !ptr, i64, i64) -> ()
  %wanted_dtype = llvm.load %expected : !ptr -> i32  %other_dtype = arith.cmpi ne, %given_dtype, %wanted_dtype : i32
  scf.if %other_dtype {
    func.call @__relax_fail_dtype(%where, %dtype, %tensor_at) : (!ptr, !ptr, !ptr) -> ()
  }
  %long_rank = arith.extsi %given_rank : i32 to i64  %same_rank = arith.cmpi eq, %long_rank, %rank : i64
  %wrong_rank = llvm.mlir.addressof @__relax_wrong_rank : !ptr  %shape_text = llvm.ptrtoint %shape : !ptr to i64
  func.call @__relax_require_shape(%same_rank, %wrong_rank, %where, %rank, %shape_text, %long_rank, %tensor_at)
    : (i1, !ptr, !ptr, i64, i64, i64, !ptr) -> ()
  %has_shape = llvm.icmp "ne" %sizes, %null : !ptr  %is_scalar = arith.cmpi eq, %rank, %c0 : i64
  %can_read = arith.ori %has_shape, %is_scalar : i1  %no_sizes = llvm.mlir.addressof @__relax_no_sizes : !ptr
  func.call @__relax_require(%can_read, %no_sizes, %where, %c0, %c0) : (i1, !ptr, !ptr, i64, i64) -> ()

  scf.for %axis = %c0 to %rank step %c1 : i64 {
    %size_at = llvm.getelementptr %sizes[%axis] : (!ptr, i64) -> !ptr, i64  %size = llvm.load %size_at : !ptr -> i64
    %wanted_size_at = llvm.getelementptr %wanted_at[%axis] : (!ptr, i64) -> !ptr, i64
    %wanted = llvm.load %wanted_size_at : !ptr -> i64
    %next_axis = arith.addi %axis, %c1 : i64  %size_out = llvm.getelementptr %out[%next_axis] : (!ptr, i64) -> !ptr, i64
    llvm.store %size, %size_out : i64, !ptr
    %may_differ = arith.cmpi eq, %wanted, %any_size : i64
    scf.if %may_differ {
      %is_natural = arith.cmpi sge, %size, %c0 : i64  %negative = llvm.mlir.addressof @__relax_negative_size : !ptr
      func.call @__relax_require_shape(%is_natural, %negative, %where, %axis, %c0, %size, %tensor_at)
        : (i1, !ptr, !ptr, i64, i64, i64, !ptr) -> ()
    } else {
      %same_size = arith.cmpi eq, %size, %wanted : i64  %wrong_size = llvm.mlir.addressof @__relax_wrong_size : !ptr
      func.call @__relax_require_shape(%same_size, %wrong_size, %where, %axis, %wanted, %size, %tensor_at)
        : (i1, !ptr, !ptr, i64, i64, i64, !ptr) -> ()
    }
  }

  // Require row-major strides or none, and count the elements. The strides of dimensions of size 1 are ignored.
  %strides = llvm.extractvalue %tensor[6] : !tensor  %has_strides = llvm.icmp "ne" %strides, %null : !ptr
  %read_strides = arith.select %has_strides, %strides, %sizes : !ptr
  %count, %overflown, %wrong = scf.for %i = %c0 to %rank step %c1
      iter_args(%so_many = %c1, %was_overflown = %no, %was_wrong = %no) -> (i64, i1, i1) : i64 {
    %behind = arith.subi %rank, %i : i64  %axis = arith.subi %behind, %c1 : i64
    %extent_at = llvm.getelementptr %sizes[%axis] : (!ptr, i64) -> !ptr, i64  %extent = llvm.load %extent_at : !ptr -> i64
    %stride_at = llvm.getelementptr %read_strides[%axis] : (!ptr, i64) -> !ptr, i64
    %stride = llvm.load %stride_at : !ptr -> i64  %is_other = arith.cmpi ne, %stride, %so_many : i64
    %are_several = arith.cmpi ne, %extent, %c1 : i64  %bad = arith.andi %is_other, %are_several : i1
    %is_bad = arith.andi %bad, %has_strides : i1  %now_wrong = arith.ori %was_wrong, %is_bad : i1
    %product = "llvm.intr.smul.with.overflow"(%so_many, %extent) : (i64, i64) -> !swapped
    %more = llvm.extractvalue %product[0] : !swapped  %overflows = llvm.extractvalue %product[1] : !swapped
    %now_overflown = arith.ori %was_overflown, %overflows : i1
    scf.yield %more, %now_overflown, %now_wrong : i64, i1, i1
  }
  %total = "llvm.intr.smul.with.overflow"(%count, %bytes) : (i64, i64) -> !swapped
  %total_overflows = llvm.extractvalue %total[1] : !swapped
  %too_large = arith.ori %overflown, %total_overflows : i1  %suspicious = arith.ori %too_large, %wrong : i1
  %seems_empty = arith.cmpi eq, %count, %c0 : i64
  cf.cond_br %suspicious weights([1, 2000]), ^search, ^data(%seems_empty : i1)
// An empty tensor may have any strides, and sizes with an overflow.
^search:
  %is_empty = scf.for %i = %c0 to %rank step %c1 iter_args(%so_far = %no) -> (i1) : i64 {
    %size_at = llvm.getelementptr %sizes[%i] : (!ptr, i64) -> !ptr, i64  %size = llvm.load %size_at : !ptr -> i64
    %is_zero = arith.cmpi eq, %size, %c0 : i64  %either = arith.ori %so_far, %is_zero : i1
    scf.yield %either : i1
  }
  %yes = arith.constant true  %is_full = arith.xori %is_empty, %yes : i1
  %is_large = arith.andi %too_large, %is_full : i1  %is_fine = arith.xori %is_large, %yes : i1
  %no_room = llvm.mlir.addressof @__relax_too_large : !ptr
  %sizes_noun = llvm.mlir.addressof @__relax_sizes : !ptr  %noun = llvm.ptrtoint %sizes_noun : !ptr to i64
  func.call @__relax_require_shape(%is_fine, %no_room, %where, %noun, %bytes, %rank, %tensor_at)
    : (i1, !ptr, !ptr, i64, i64, i64, !ptr) -> ()
  %wrong_strides = llvm.mlir.addressof @__relax_wrong_strides : !ptr
  func.call @__relax_require(%is_empty, %wrong_strides, %where, %c0, %c0) : (i1, !ptr, !ptr, i64, i64) -> ()
  cf.br ^data(%yes : i1)

// Return the address of the elements. Loads and stores assume that it is a multiple of the element size.
^data(%empty: i1):
  %base = llvm.extractvalue %tensor[0] : !tensor  %offset = llvm.extractvalue %tensor[7] : !tensor
  %data = llvm.getelementptr %base[%offset] : (!ptr, i64) -> !ptr, i8
  llvm.store %data, %out : !ptr, !ptr
  %has_data = llvm.icmp "ne" %base, %null : !ptr  %data_fine = arith.ori %has_data, %empty : i1
  %no_data = llvm.mlir.addressof @__relax_no_data : !ptr
  func.call @__relax_require(%data_fine, %no_data, %where, %c0, %c0) : (i1, !ptr, !ptr, i64, i64) -> ()
  %is_inside = arith.cmpi ult, %offset, %address_space : i64  %offset_fine = arith.ori %is_inside, %empty : i1
  %wrong_offset = llvm.mlir.addressof @__relax_wrong_offset : !ptr
  func.call @__relax_require(%offset_fine, %wrong_offset, %where, %offset, %c0) : (i1, !ptr, !ptr, i64, i64) -> ()
  %address = llvm.ptrtoint %data : !ptr to i64  %mask = arith.subi %bytes, %c1 : i64
  %off = arith.andi %address, %mask : i64  %is_multiple = arith.cmpi eq, %off, %c0 : i64
  %address_fine = arith.ori %is_multiple, %empty : i1  %misaligned = llvm.mlir.addressof @__relax_misaligned : !ptr
  func.call @__relax_require(%address_fine, %misaligned, %where, %bytes, %off) : (i1, !ptr, !ptr, i64, i64) -> ()
  return
}

// Check that a size of a checked tensor equals the size that earlier arguments determine. The format is that of fail_shape.
func.func @__relax_check_size(%any: !ptr, %format: !ptr, %where: !ptr, %axis: i64, %wanted: i64, %size: i64)
    attributes {relax.entry} {
  %is_same = arith.cmpi eq, %wanted, %size : i64  %tensor = func.call @__relax_tensor(%any) : (!ptr) -> !ptr
  func.call @__relax_require_shape(%is_same, %format, %where, %axis, %wanted, %size, %tensor)
    : (i1, !ptr, !ptr, i64, i64, i64, !ptr) -> ()
  return
}

// ---- values ----

// Release the reference of a value.
func.func @__relax_release(%any: !ptr) {
  %first_object = arith.constant 64 : i32
  %index = llvm.load %any : !ptr -> i32  %owns = arith.cmpi sge, %index, %first_object : i32
  scf.if %owns {
    %object_at = llvm.getelementptr %any[8] : (!ptr) -> !ptr, i8  %object = llvm.load %object_at : !ptr -> !ptr
    %status = func.call @TVMFFIObjectDecRef(%object) : (!ptr) -> i32
  }
  return
}

// Move a value to another place and leave None.
func.func @__relax_move(%from: !ptr, %to: !ptr) {
  %none = llvm.mlir.zero : !any  %value = llvm.load %from : !ptr -> !any
  llvm.store %value, %to : !any, !ptr
  llvm.store %none, %from : !any, !ptr
  return
}

// Copy a value to a place, with a new reference to an object.
func.func @__relax_give_object(%any: !ptr, %place: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %first_object = arith.constant 64 : i32  %value = llvm.load %any : !ptr -> !any
  llvm.store %value, %place : !any, !ptr
  %index = llvm.load %any : !ptr -> i32  %is_object = arith.cmpi sge, %index, %first_object : i32
  scf.if %is_object {
    %payload = llvm.extractvalue %value[1] : !any  %object = llvm.inttoptr %payload : i64 to !ptr
    %status = func.call @TVMFFIObjectIncRef(%object) : (!ptr) -> i32
  }
  return %ok : i32
}

// ---- tensors ----

// DLPack's header, the tensor, its shape and strides are in one block. The deleter is `free` itself, as tensors may
// outlive the program.
func.func @__relax_wrap(%block: !ptr, %data: !ptr, %rank: i32, %dtype: i32, %shape: !ptr, %any: !ptr)
    attributes {relax.entry} {
  %c1 = arith.constant 1 : i64  %cpu = arith.constant 1 : i32  %ok = arith.constant 0 : i32
  %tensor_kind = arith.constant 70 : i64  %deleter = llvm.mlir.addressof @free : !ptr
  %long_rank = arith.extsi %rank : i32 to i64  %own_shape = llvm.getelementptr %block[1] : (!ptr) -> !ptr, !managed
  %own_strides = llvm.getelementptr %own_shape[%long_rank] : (!ptr, i64) -> !ptr, i64
  %m0 = llvm.mlir.zero : !managed  %m1 = llvm.insertvalue %c1, %m0[0] : !managed
  %m2 = llvm.insertvalue %deleter, %m1[2] : !managed  %m3 = llvm.insertvalue %data, %m2[4, 0] : !managed
  %m4 = llvm.insertvalue %cpu, %m3[4, 1] : !managed  %m5 = llvm.insertvalue %rank, %m4[4, 3] : !managed
  %m6 = llvm.insertvalue %dtype, %m5[4, 4] : !managed  %m7 = llvm.insertvalue %own_shape, %m6[4, 5] : !managed
  %m8 = llvm.insertvalue %own_strides, %m7[4, 6] : !managed
  llvm.store %m8, %block : !managed, !ptr
  func.call @__relax_lay_out(%long_rank, %shape, %own_shape) : (i64, !ptr, !ptr) -> ()
  %payload = llvm.getelementptr %any[8] : (!ptr) -> !ptr, i8
  %status = func.call @TVMFFITensorFromDLPackVersioned(%block, %ok, %ok, %payload) : (!ptr, i32, i32, !ptr) -> i32
  %is_unmade = arith.cmpi ne, %status, %ok : i32
  scf.if %is_unmade {
    llvm.call @free(%block) : (!ptr) -> ()
  }
  "tir.return_unless_ok"(%status) : (i32) -> ()
  llvm.store %tensor_kind, %any : i64, !ptr
  return
}

llvm.mlir.global internal constant @__relax_no_memory("%s: out of memory, %lld bytes needed\00")
llvm.mlir.global internal constant @__relax_impossible(
  "%s: a size is negative or all of them are too large, with elements of %lld bytes%.0lld%.0lld: shape %s\00")

// Ask for huge pages for a large new block, like numpy: faults of 4 KB pages take longer than writing the block.
func.func @__relax_ask_for_large_pages(%block: !ptr, %bytes: i64) {
  %megabytes = arith.constant 4194304 : i64  %is_large = arith.cmpi uge, %bytes, %megabytes : i64
  scf.if %is_large {
    // From the first page on, for any page size. A system without huge pages ignores the call.
    %last = arith.constant 65535 : i64  %mask = arith.constant -65536 : i64
    %huge = arith.constant 14 : i32  // MADV_HUGEPAGE
    %behind = llvm.getelementptr %block[65535] : (!ptr) -> !ptr, i8  %whole = arith.subi %bytes, %last : i64
    %first = llvm.intr.ptrmask %behind, %mask : (!ptr, i64) -> !ptr
    %status = func.call @madvise(%first, %whole, %huge) : (!ptr, i64, i32) -> i32
  }
  return
}

// Create the tensor of a result. Messages begin with its label. The caller's framework allocates if it offers to (torch);
// otherwise the data are in the same block. Aligned to 64 bytes by hand: malloc caches small blocks, aligned_alloc
// searches for them, which cost more than half the time of a call.
func.func @__relax_allocate(%label: !ptr, %rank: i32, %dtype: i32, %bytes: i64, %shape: !ptr, %any: !ptr)
    attributes {llvm.no_inline, relax.entry} {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %cpu = arith.constant 1 : i32  %null = llvm.mlir.zero : !ptr
  %prototype = llvm.alloca %c1 x !tensor : (i64) -> !ptr
  %t0 = llvm.mlir.zero : !tensor  %t1 = llvm.insertvalue %cpu, %t0[1] : !tensor
  %t2 = llvm.insertvalue %rank, %t1[3] : !tensor  %t3 = llvm.insertvalue %dtype, %t2[4] : !tensor
  %t4 = llvm.insertvalue %shape, %t3[5] : !tensor
  llvm.store %t4, %prototype : !tensor, !ptr
  %total = func.call @__relax_bytes(%rank, %bytes, %shape) : (i32, i64, !ptr) -> i64
  %is_possible = arith.cmpi sge, %total, %c0 : i64  %impossible = llvm.mlir.addressof @__relax_impossible : !ptr
  func.call @__relax_require_shape(%is_possible, %impossible, %label, %bytes, %c0, %c0, %prototype)
    : (i1, !ptr, !ptr, i64, i64, i64, !ptr) -> ()
  %allocator = func.call @TVMFFIEnvGetDLPackManagedTensorAllocator() : () -> !ptr
  %is_offered = llvm.icmp "ne" %allocator, %null : !ptr
  scf.if %is_offered {
    %tensor_kind = arith.constant 70 : i64  %payload = llvm.getelementptr %any[8] : (!ptr) -> !ptr, i8
    %status = func.call @TVMFFIEnvTensorAlloc(%prototype, %payload) : (!ptr, !ptr) -> i32
    "tir.return_unless_ok"(%status) : (i32) -> ()
    llvm.store %tensor_kind, %any : i64, !ptr
  } else {
    %c16 = arith.constant 16 : i64  %last = arith.constant 63 : i64  %mask = arith.constant -64 : i64
    %header = arith.constant 80 : i64  %long_rank = arith.extsi %rank : i32 to i64
    %dims = arith.muli %long_rank, %c16 : i64  %dims_end = arith.addi %header, %dims : i64
    %padded = arith.addi %dims_end, %last : i64  %whole = arith.addi %padded, %total : i64
    %block = func.call @malloc(%whole) : (i64) -> !ptr  %is_exhausted = llvm.icmp "eq" %block, %null : !ptr
    scf.if %is_exhausted {
      %error = llvm.mlir.addressof @__relax_memory_error : !ptr  %format = llvm.mlir.addressof @__relax_no_memory : !ptr
      func.call @__relax_fail(%error, %format, %label, %whole, %c0, %c0, %c0)
        : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> ()
    }
    func.call @__relax_ask_for_large_pages(%block, %whole) : (!ptr, i64) -> ()
    %behind = llvm.getelementptr %block[%padded] : (!ptr, i64) -> !ptr, i8
    %data = llvm.intr.ptrmask %behind, %mask : (!ptr, i64) -> !ptr
    func.call @__relax_wrap(%block, %data, %rank, %dtype, %shape, %any) : (!ptr, !ptr, i32, i32, !ptr, !ptr) -> ()
  }
  return
}

// Return the address of a tensor's elements.
func.func @__relax_data(%any: !ptr) -> !ptr {
  %tensor_at = func.call @__relax_tensor(%any) : (!ptr) -> !ptr  %tensor = llvm.load %tensor_at : !ptr -> !tensor
  %base = llvm.extractvalue %tensor[0] : !tensor  %offset = llvm.extractvalue %tensor[7] : !tensor
  %data = llvm.getelementptr %base[%offset] : (!ptr, i64) -> !ptr, i8
  return %data : !ptr
}

// ---- profiles ----

// Table of a program, as i64: the thread that has enabled profiling, nanoseconds of all calls of kernels so far, then the
// calls and the nanoseconds of each place. The time of a call excludes nested calls: the clock is reduced by the time
// that is already in the table. Only this thread is timed, so that other threads neither disturb the times nor race.
// Loads of the thread are atomic, as any thread may write it.

func.func @__relax_clock(%table: !ptr, %thread: i64) -> i64 attributes {llvm.cold, llvm.no_inline} {
  %c0 = arith.constant 0 : i64
  %own = func.call @pthread_self() : () -> i64  %is_mine = arith.cmpi eq, %own, %thread : i64
  %shown = scf.if %is_mine -> i64 {
    %now = func.call @__relax_now() : () -> i64
    %counted_at = llvm.getelementptr %table[1] : (!ptr) -> !ptr, i64  %counted = llvm.load %counted_at : !ptr -> i64
    %since = arith.subi %now, %counted : i64
    func.call @__relax_log(%c0, %since, %now, %now) : (i64, i64, i64, i64) -> ()
    scf.yield %since : i64
  } else {
    scf.yield %c0 : i64
  }
  return %shown : i64
}
func.func @__relax_add_time(%table: !ptr, %place: i64, %start: i64, %thread: i64)
    attributes {llvm.cold, llvm.no_inline} {
  %c0 = arith.constant 0 : i64  %c8 = arith.constant 8 : i64  %end_kind = arith.constant 1 : i64
  %own = func.call @pthread_self() : () -> i64  %is_mine = arith.cmpi eq, %own, %thread : i64
  %has_begun = arith.cmpi ne, %start, %c0 : i64  %both = arith.andi %has_begun, %is_mine : i1
  scf.if %both {
    %now = func.call @__relax_now() : () -> i64
    %counted_at = llvm.getelementptr %table[1] : (!ptr) -> !ptr, i64  %counted = llvm.load %counted_at : !ptr -> i64
    %since = arith.subi %now, %counted : i64  %spent = arith.subi %since, %start : i64
    func.call @__relax_add_spent(%table, %place, %spent) : (!ptr, i64, i64) -> ()
    %number = arith.shli %place, %c8 : i64  %what = arith.ori %number, %end_kind : i64
    func.call @__relax_log(%what, %start, %now, %now) : (i64, i64, i64, i64) -> ()
  }
  return
}
func.func @__relax_now() -> i64 {
  %c1 = arith.constant 1 : i64  %giga = arith.constant 1000000000 : i64
  %monotonic = arith.constant 1 : i32  %time = llvm.alloca %c1 x !any : (i64) -> !ptr  // CLOCK_MONOTONIC on Linux
  %status = func.call @clock_gettime(%monotonic, %time) : (i32, !ptr) -> i32
  %both = llvm.load %time : !ptr -> !any  %seconds = llvm.extractvalue %both[0] : !any
  %nanoseconds = llvm.extractvalue %both[1] : !any  %whole = arith.muli %seconds, %giga : i64
  %now = arith.addi %whole, %nanoseconds : i64
  return %now : i64
}

// Optional log of a profile (runtime/event_log.py), in words of 64 bits: number of records so far, capacity, the timed
// thread; from word 8 on records of four words: kind, with a number from bit 8 on; owner; begin; end. The begin (kind 0)
// and the end (1, with its place) of a kernel are two records with the same start. Other records are complete: ranges that
// threads took (2, the thread), C calls of parts (3, the call, the frame), kernels of a device (4, the place), and launches
// (5, the place; for 0 the ordinal).
llvm.mlir.global internal @__relax_log_place(0 : i64) {alignment = 8 : i64} : i64

func.func @__relax_log(%what: i64, %whose: i64, %from: i64, %to: i64) attributes {llvm.cold, llvm.no_inline} {
  %c1 = arith.constant 1 : i64  %null = llvm.mlir.zero : !ptr  %place = llvm.mlir.addressof @__relax_log_place : !ptr
  %log = llvm.load %place atomic acquire {alignment = 8 : i64} : !ptr -> !ptr
  %is_on = llvm.icmp "ne" %log, %null : !ptr
  scf.if %is_on {
    %number = llvm.atomicrmw add %log, %c1 monotonic : !ptr, i64
    %room_at = llvm.getelementptr %log[1] : (!ptr) -> !ptr, i64  %room = llvm.load %room_at : !ptr -> i64
    %fits = arith.cmpi ult, %number, %room : i64
    scf.if %fits {
      %records = llvm.getelementptr %log[8] : (!ptr) -> !ptr, i64
      %record = llvm.getelementptr %records[%number] : (!ptr, i64) -> !ptr, !llvm.array<4 x i64>
      %whose_at = llvm.getelementptr %record[1] : (!ptr) -> !ptr, i64
      %from_at = llvm.getelementptr %record[2] : (!ptr) -> !ptr, i64
      %to_at = llvm.getelementptr %record[3] : (!ptr) -> !ptr, i64
      llvm.store %what, %record : i64, !ptr
      llvm.store %whose, %whose_at : i64, !ptr
      llvm.store %from, %from_at : i64, !ptr
      llvm.store %to, %to_at : i64, !ptr
    }
  }
  return
}

// Check whether the work of this thread is logged.
func.func @__relax_is_logged() -> i1 {
  %null = llvm.mlir.zero : !ptr  %no = arith.constant false  %place = llvm.mlir.addressof @__relax_log_place : !ptr
  %log = llvm.load %place atomic acquire {alignment = 8 : i64} : !ptr -> !ptr
  %is_on = llvm.icmp "ne" %log, %null : !ptr
  %is_logged = scf.if %is_on -> i1 {
    %thread_at = llvm.getelementptr %log[2] : (!ptr) -> !ptr, i64  %thread = llvm.load %thread_at : !ptr -> i64
    %own = func.call @pthread_self() : () -> i64  %is_mine = arith.cmpi eq, %own, %thread : i64
    scf.yield %is_mine : i1
  } else {
    scf.yield %no : i1
  }
  return %is_logged : i1
}

llvm.mlir.global internal constant @__relax_profile_name("__relax_profile\00")
llvm.mlir.global internal constant @__relax_one_argument("%s: expected 1 to switch on or 0 to switch off\00")
// Enable (1, or the address of a log) or disable (0) profiling of the calling thread, for the runtime. Return the address
// of the times in the table.
func.func @__relax_switch_profile(%table: !ptr, %args: !ptr, %count: i32, %result: !ptr) attributes {relax.entry} {
  %one = arith.constant 1 : i32  %c0 = arith.constant 0 : i64  %int_kind = arith.constant 1 : i64
  %none = llvm.mlir.zero : !any
  %enough = arith.cmpi eq, %count, %one : i32
  %kind, %wanted = scf.if %enough -> (i64, i64) {
    %given = llvm.load %args : !ptr -> !any
    %its_kind = llvm.extractvalue %given[0] : !any  %value = llvm.extractvalue %given[1] : !any
    scf.yield %its_kind, %value : i64, i64
  } else {
    scf.yield %c0, %c0 : i64, i64
  }
  %is_other = arith.cmpi ne, %kind, %int_kind : i64
  scf.if %is_other {
    %error = llvm.mlir.addressof @__relax_type_error : !ptr  %format = llvm.mlir.addressof @__relax_one_argument : !ptr
    %name = llvm.mlir.addressof @__relax_profile_name : !ptr
    func.call @__relax_fail(%error, %format, %name, %c0, %c0, %c0, %c0) : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> ()
  }
  %off = arith.cmpi eq, %wanted, %c0 : i64  %thread = func.call @pthread_self() : () -> i64
  %value = arith.select %off, %c0, %thread : i64
  %c1 = arith.constant 1 : i64  %is_log = arith.cmpi ugt, %wanted, %c1 : i64
  %log = arith.select %is_log, %wanted, %c0 : i64  %log_place = llvm.mlir.addressof @__relax_log_place : !ptr
  scf.if %is_log {
    %log_at = llvm.inttoptr %log : i64 to !ptr  %thread_at = llvm.getelementptr %log_at[2] : (!ptr) -> !ptr, i64
    llvm.store %thread, %thread_at : i64, !ptr
  }
  llvm.store %log, %log_place atomic release {alignment = 8 : i64} : i64, !ptr
  llvm.store %value, %table atomic monotonic {alignment = 8 : i64} : i64, !ptr
  %times = llvm.getelementptr %table[1] : (!ptr) -> !ptr, i64  %address = llvm.ptrtoint %times : !ptr to i64
  %with_kind = llvm.insertvalue %int_kind, %none[0] : !any  %answer = llvm.insertvalue %address, %with_kind[1] : !any
  llvm.store %answer, %result : !any, !ptr
  return
}
