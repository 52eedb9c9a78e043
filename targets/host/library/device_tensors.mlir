// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors of a program for a device: arguments, results, and functions for the runtime. Uses the names of support.py
// and device.mlir, which describes `%table`, for programs that need it (units.py).

// Block of a result: DLPack's header; push, pop, free, context and stream, to free its memory; shape; strides.
!block = !llvm.struct<(struct<(i64, ptr, ptr, i64, struct<(ptr, i32, i32, i32, i32, ptr, ptr, i64)>)>, array<5 x ptr>)>

func.func private @__relax_fail(!ptr, !ptr, !ptr, i64, i64, i64, i64) attributes {relax.entry}
func.func private @__relax_check_tensor(!ptr, !ptr, !ptr, !ptr, !ptr, !ptr) attributes {relax.entry}
func.func private @__relax_tensor(!ptr) -> !ptr
func.func private @__relax_device_enter(!ptr) attributes {relax.entry}
func.func private @__relax_device_leave(!ptr)
func.func private @__relax_device_check(!ptr) attributes {relax.entry}
func.func private @__relax_device_wait(!ptr) attributes {relax.entry}
func.func private @__relax_device_answer(!ptr, !ptr, i64, i32) attributes {relax.entry}
func.func private @__relax_stream_of(!ptr, i32, i32) -> !ptr
func.func private @__relax_device_take(!ptr, i64, !ptr) -> i32
func.func private @__relax_device_free(!ptr, !ptr)
func.func private @__relax_device_copy(!ptr, !ptr, !ptr, i64) attributes {relax.entry}

// ---- tensors ----

llvm.mlir.global internal constant @__relax_on_cpu("%s expected a tensor on %s:%lld, got one on cpu:%lld%s\00")
llvm.mlir.global internal constant @__relax_on_other("%s expected a tensor on %s:%lld, got one on %s:%lld\00")
llvm.mlir.global internal constant @__relax_on_unknown(
  "%s expected a tensor on %s:%lld, got one on DLPack device type %lld\00")
// Like check_tensor, for tensors on the program's device. `hint` is the advice in the error for a tensor on the CPU.
func.func @__relax_device_check_tensor(%table: !ptr, %any: !ptr, %where: !ptr, %dtype: !ptr, %shape: !ptr,
    %expected: !ptr, %out: !ptr, %hint_of_cpu: !ptr) attributes {relax.entry} {
  %c1 = arith.constant 1 : i64  %null = llvm.mlir.zero : !ptr
  %cpu = arith.constant 1 : i32  %copy_kind = arith.constant 7 : i64
  %object_kind = arith.constant 70 : i32  %pointer_kind = arith.constant 7 : i32
  %copied = llvm.alloca %c1 x !tensor : (i64) -> !ptr  %copied_any = llvm.alloca %c1 x !any : (i64) -> !ptr
  %index = llvm.load %any : !ptr -> i32
  %is_object = arith.cmpi eq, %index, %object_kind : i32  %is_pointer = arith.cmpi eq, %index, %pointer_kind : i32
  %is_tensor = arith.ori %is_object, %is_pointer : i1
  %payload_at = llvm.getelementptr %any[8] : (!ptr) -> !ptr, i8  %payload = llvm.load %payload_at : !ptr -> !ptr
  %is_some = llvm.icmp "ne" %payload, %null : !ptr  %is_there = arith.andi %is_tensor, %is_some : i1
  %checked = scf.if %is_there -> !ptr {
    %tensor_at = func.call @__relax_tensor(%any) : (!ptr) -> !ptr  %tensor = llvm.load %tensor_at : !ptr -> !tensor
    %kind = llvm.extractvalue %tensor[1] : !tensor  %given_number = llvm.extractvalue %tensor[2] : !tensor
    %number_at = llvm.getelementptr %table[1] : (!ptr) -> !ptr, !ptr  %number = llvm.load %number_at : !ptr -> i32
    %wanted_at = llvm.getelementptr %table[25] : (!ptr) -> !ptr, !ptr  %wanted = llvm.load %wanted_at : !ptr -> i32
    %other_kind = arith.cmpi ne, %kind, %wanted : i32  %other_number = arith.cmpi ne, %given_number, %number : i32
    %is_other = arith.ori %other_kind, %other_number : i1
    scf.if %is_other {
      func.call @__relax_device_fail_place(%table, %where, %kind, %given_number, %hint_of_cpu)
        : (!ptr, !ptr, i32, i32, !ptr) -> ()
    }
    // Check the rest like a tensor in host memory.
    %as_host = llvm.insertvalue %cpu, %tensor[1] : !tensor
    llvm.store %as_host, %copied : !tensor, !ptr
    %address = llvm.ptrtoint %copied : !ptr to i64  %none = llvm.mlir.zero : !any
    %with_kind = llvm.insertvalue %copy_kind, %none[0] : !any  %whole = llvm.insertvalue %address, %with_kind[1] : !any
    llvm.store %whole, %copied_any : !any, !ptr
    scf.yield %copied_any : !ptr
  } else {
    scf.yield %any : !ptr
  }
  func.call @__relax_check_tensor(%checked, %where, %dtype, %shape, %expected, %out)
    : (!ptr, !ptr, !ptr, !ptr, !ptr, !ptr) -> ()
  return
}
func.func private @__relax_device_fail_place(%table: !ptr, %where: !ptr, %given_kind: i32, %given_number: i32,
    %hint_of_cpu: !ptr) attributes {llvm.cold, llvm.no_inline, relax.entry} {
  %cpu = arith.constant 1 : i32  %c0 = arith.constant 0 : i64
  %error = llvm.mlir.addressof @__relax_value_error : !ptr
  %on_cpu = llvm.mlir.addressof @__relax_on_cpu : !ptr  %on_other = llvm.mlir.addressof @__relax_on_other : !ptr
  %on_unknown = llvm.mlir.addressof @__relax_on_unknown : !ptr
  %number_at = llvm.getelementptr %table[1] : (!ptr) -> !ptr, !ptr  %number = llvm.load %number_at : !ptr -> i64
  %own_at = llvm.getelementptr %table[25] : (!ptr) -> !ptr, !ptr  %own = llvm.load %own_at : !ptr -> i32
  %name_at = llvm.getelementptr %table[26] : (!ptr) -> !ptr, !ptr  %name = llvm.load %name_at : !ptr -> i64
  %given = arith.extsi %given_number : i32 to i64  %kind = arith.extsi %given_kind : i32 to i64
  %hint = llvm.ptrtoint %hint_of_cpu : !ptr to i64
  %is_cpu = arith.cmpi eq, %given_kind, %cpu : i32  %is_own = arith.cmpi eq, %given_kind, %own : i32
  %f0 = arith.select %is_own, %on_other, %on_unknown : !ptr  %format = arith.select %is_cpu, %on_cpu, %f0 : !ptr
  %c_own = arith.select %is_own, %name, %kind : i64  %c = arith.select %is_cpu, %given, %c_own : i64
  %d = arith.select %is_cpu, %hint, %given : i64
  func.call @__relax_fail(%error, %format, %where, %name, %number, %c, %d)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> ()
  return
}

// ---- unaligned arguments ----

// Kernels read 16 bytes at once if sizes allow, from memory aligned to 16 bytes. An unaligned tensor, such as a slice, is
// copied for the duration of the call. Record of the copies: their number, the table, and for each the address of the
// copy, the address of the original, bytes, and 1 if the call writes to the tensor.
!copied = !llvm.struct<(ptr, ptr, i64, i64)>
// Description of a tensor: rank, bytes of an element, 1 if the call writes to it.
!described = !llvm.array<3 x i64>
llvm.mlir.global internal constant @__relax_aligned_copy("a copy of an argument that begins at no multiple of 16\00")
// `places` has the addresses and sizes that check_tensor stored.
func.func @__relax_device_align(%table: !ptr, %count: i64, %places: !ptr, %described: !ptr, %kept: !ptr)
    attributes {relax.entry} {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %c15 = arith.constant 15 : i64
  %ok = arith.constant 0 : i32  %none = llvm.mlir.zero : !copied
  scf.for %i = %c0 to %count step %c1 : i64 {
    %place_at = llvm.getelementptr %places[%i] : (!ptr, i64) -> !ptr, !ptr  %place = llvm.load %place_at : !ptr -> !ptr
    %original = llvm.load %place : !ptr -> !ptr  %address = llvm.ptrtoint %original : !ptr to i64
    %off = arith.andi %address, %c15 : i64  %is_off = arith.cmpi ne, %off, %c0 : i64
    scf.if %is_off {
      %about_at = llvm.getelementptr %described[%i] : (!ptr, i64) -> !ptr, !described
      %about = llvm.load %about_at : !ptr -> !described
      %rank64 = llvm.extractvalue %about[0] : !described  %rank = arith.trunci %rank64 : i64 to i32
      %element = llvm.extractvalue %about[1] : !described  %written = llvm.extractvalue %about[2] : !described
      %sizes = llvm.getelementptr %place[8] : (!ptr) -> !ptr, i8
      %bytes = func.call @__relax_product(%element, %rank, %sizes) : (i64, i32, !ptr) -> i64
      // A single element is not read as a vector.
      %are_several = arith.cmpi sgt, %bytes, %element : i64
      scf.if %are_several {
        %number = llvm.load %kept : !ptr -> i64  %items = llvm.getelementptr %kept[16] : (!ptr) -> !ptr, i8
        %item = llvm.getelementptr %items[%number] : (!ptr, i64) -> !ptr, !copied
        %taken = func.call @__relax_device_take(%table, %bytes, %item) : (!ptr, i64, !ptr) -> i32
        %where = llvm.mlir.addressof @__relax_aligned_copy : !ptr  %takes = arith.constant 9 : i64
        func.call @__relax_device_answer(%table, %where, %takes, %taken) : (!ptr, !ptr, i64, i32) -> ()
        %copy = llvm.load %item : !ptr -> !ptr  %k0 = llvm.insertvalue %copy, %none[0] : !copied
        %k1 = llvm.insertvalue %original, %k0[1] : !copied  %k2 = llvm.insertvalue %bytes, %k1[2] : !copied
        %k3 = llvm.insertvalue %written, %k2[3] : !copied
        llvm.store %k3, %item : !copied, !ptr
        %table_at = llvm.getelementptr %kept[8] : (!ptr) -> !ptr, i8
        llvm.store %table, %table_at : !ptr, !ptr
        %following = arith.addi %number, %c1 : i64
        llvm.store %following, %kept : i64, !ptr
        llvm.store %copy, %place : !ptr, !ptr
        func.call @__relax_device_copy(%table, %copy, %original, %bytes) : (!ptr, !ptr, !ptr, i64) -> ()
      }
    }
  }
  return
}
// Copy written tensors back to their originals.
func.func @__relax_device_restore(%table: !ptr, %kept: !ptr) attributes {relax.entry} {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64
  %count = llvm.load %kept : !ptr -> i64  %items = llvm.getelementptr %kept[16] : (!ptr) -> !ptr, i8
  scf.for %i = %c0 to %count step %c1 : i64 {
    %item_at = llvm.getelementptr %items[%i] : (!ptr, i64) -> !ptr, !copied  %item = llvm.load %item_at : !ptr -> !copied
    %written = llvm.extractvalue %item[3] : !copied  %is_written = arith.cmpi ne, %written, %c0 : i64
    scf.if %is_written {
      %copy = llvm.extractvalue %item[0] : !copied  %original = llvm.extractvalue %item[1] : !copied
      %bytes = llvm.extractvalue %item[2] : !copied
      func.call @__relax_device_copy(%table, %original, %copy, %bytes) : (!ptr, !ptr, !ptr, i64) -> ()
    }
  }
  return
}
// Free the copies on the stream of the call.
func.func @__relax_device_unalign(%kept: !ptr) {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64
  %count = llvm.load %kept : !ptr -> i64  %items = llvm.getelementptr %kept[16] : (!ptr) -> !ptr, i8
  scf.for %i = %c0 to %count step %c1 : i64 {
    %table_at = llvm.getelementptr %kept[8] : (!ptr) -> !ptr, i8  %table = llvm.load %table_at : !ptr -> !ptr
    %item = llvm.getelementptr %items[%i] : (!ptr, i64) -> !ptr, !copied  %copy = llvm.load %item : !ptr -> !ptr
    func.call @__relax_device_free(%table, %copy) : (!ptr, !ptr) -> ()
  }
  return
}

// ---- results ----

// Free a result on the stream of the caller that drops it. Code of the process, as results outlive programs (runtime/devices).
llvm.func internal @__relax_device_delete(%block: !ptr) {
  %c1 = arith.constant 1 : i64  %popped = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  %held = llvm.load %block : !ptr -> !block
  %data = llvm.extractvalue %held[0, 4, 0] : !block  %number = llvm.extractvalue %held[0, 4, 2] : !block
  %push = llvm.extractvalue %held[1, 0] : !block  %pop = llvm.extractvalue %held[1, 1] : !block
  %free = llvm.extractvalue %held[1, 2] : !block  %context = llvm.extractvalue %held[1, 3] : !block
  %kind = llvm.extractvalue %held[0, 4, 1] : !block  %only = llvm.extractvalue %held[1, 4] : !block
  %pushed = llvm.call %push(%context) : !ptr, (!ptr) -> i32
  %stream = func.call @__relax_stream_of(%only, %kind, %number) : (!ptr, i32, i32) -> !ptr
  %status = llvm.call %free(%data, %stream) : !ptr, (!ptr, !ptr) -> i32
  %left = llvm.call %pop(%popped) : !ptr, (!ptr) -> i32
  llvm.call @free(%block) : (!ptr) -> ()
  llvm.return
}

llvm.mlir.global internal constant @__relax_no_room("%s: out of memory of the device, %lld bytes needed\00")
llvm.mlir.global internal constant @__relax_bad_size(
  "%s: a size is negative or all of them are too large, with elements of %lld bytes\00")
// Create a tensor on the device, like allocate.
func.func @__relax_device_allocate(%table: !ptr, %label: !ptr, %rank: i32, %dtype: i32, %bytes: i64, %shape: !ptr,
    %any: !ptr) attributes {llvm.no_inline, relax.entry} {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %ok = arith.constant 0 : i32
  %tensor_kind = arith.constant 70 : i64  %null = llvm.mlir.zero : !ptr
  %prototype = llvm.alloca %c1 x !tensor : (i64) -> !ptr  %place = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  %payload = llvm.getelementptr %any[8] : (!ptr) -> !ptr, i8
  %number_at = llvm.getelementptr %table[1] : (!ptr) -> !ptr, !ptr  %number = llvm.load %number_at : !ptr -> i32
  %kind_at = llvm.getelementptr %table[25] : (!ptr) -> !ptr, !ptr  %kind = llvm.load %kind_at : !ptr -> i32
  %total = func.call @__relax_bytes(%rank, %bytes, %shape) : (i32, i64, !ptr) -> i64
  %is_impossible = arith.cmpi slt, %total, %c0 : i64
  scf.if %is_impossible {
    %error = llvm.mlir.addressof @__relax_value_error : !ptr  %format = llvm.mlir.addressof @__relax_bad_size : !ptr
    func.call @__relax_fail(%error, %format, %label, %bytes, %c0, %c0, %c0)
      : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> ()
  }
  %allocator = func.call @TVMFFIEnvGetDLPackManagedTensorAllocator() : () -> !ptr
  %is_offered = llvm.icmp "ne" %allocator, %null : !ptr
  scf.if %is_offered {
    %t0 = llvm.mlir.zero : !tensor  %t1 = llvm.insertvalue %kind, %t0[1] : !tensor
    %t2 = llvm.insertvalue %number, %t1[2] : !tensor  %t3 = llvm.insertvalue %rank, %t2[3] : !tensor
    %t4 = llvm.insertvalue %dtype, %t3[4] : !tensor  %t5 = llvm.insertvalue %shape, %t4[5] : !tensor
    llvm.store %t5, %prototype : !tensor, !ptr
    %status = func.call @TVMFFIEnvTensorAlloc(%prototype, %payload) : (!ptr, !ptr) -> i32
    "tir.return_unless_ok"(%status) : (i32) -> ()
  } else {
    %taken = func.call @__relax_device_take(%table, %total, %place) : (!ptr, i64, !ptr) -> i32
    %out_of_memory = arith.constant 2 : i32  %is_full = arith.cmpi eq, %taken, %out_of_memory : i32
    scf.if %is_full {
      func.call @__relax_device_exhausted(%label, %total) : (!ptr, i64) -> ()
    }
    %takes = arith.constant 9 : i64
    func.call @__relax_device_answer(%table, %label, %takes, %taken) : (!ptr, !ptr, i64, i32) -> ()
    %data = llvm.load %place : !ptr -> !ptr
    %header = arith.constant 120 : i64  %c16 = arith.constant 16 : i64  %long_rank = arith.extsi %rank : i32 to i64
    %dims = arith.muli %long_rank, %c16 : i64  %block_bytes = arith.addi %header, %dims : i64
    %block = func.call @malloc(%block_bytes) : (i64) -> !ptr  %lacks_block = llvm.icmp "eq" %block, %null : !ptr
    scf.if %lacks_block {
      func.call @__relax_device_free(%table, %data) : (!ptr, !ptr) -> ()
      func.call @__relax_device_exhausted(%label, %block_bytes) : (!ptr, i64) -> ()
    }
    %own_shape = llvm.getelementptr %block[1] : (!ptr) -> !ptr, !block
    %own_strides = llvm.getelementptr %own_shape[%long_rank] : (!ptr, i64) -> !ptr, i64
    %device = llvm.load %table : !ptr -> !llvm.array<29 x ptr>
    %context = llvm.extractvalue %device[0] : !llvm.array<29 x ptr>
    %deleter = llvm.extractvalue %device[5] : !llvm.array<29 x ptr>
    %push = llvm.extractvalue %device[6] : !llvm.array<29 x ptr>
    %pop = llvm.extractvalue %device[7] : !llvm.array<29 x ptr>
    %free = llvm.extractvalue %device[10] : !llvm.array<29 x ptr>
    %only = llvm.extractvalue %device[28] : !llvm.array<29 x ptr>
    %m0 = llvm.mlir.zero : !block  %m1 = llvm.insertvalue %c1, %m0[0, 0] : !block
    %m2 = llvm.insertvalue %deleter, %m1[0, 2] : !block  %m3 = llvm.insertvalue %data, %m2[0, 4, 0] : !block
    %m4 = llvm.insertvalue %kind, %m3[0, 4, 1] : !block  %m5 = llvm.insertvalue %number, %m4[0, 4, 2] : !block
    %m6 = llvm.insertvalue %rank, %m5[0, 4, 3] : !block  %m7 = llvm.insertvalue %dtype, %m6[0, 4, 4] : !block
    %m8 = llvm.insertvalue %own_shape, %m7[0, 4, 5] : !block  %m9 = llvm.insertvalue %own_strides, %m8[0, 4, 6] : !block
    %m10 = llvm.insertvalue %push, %m9[1, 0] : !block  %m11 = llvm.insertvalue %pop, %m10[1, 1] : !block
    %m12 = llvm.insertvalue %free, %m11[1, 2] : !block  %m13 = llvm.insertvalue %context, %m12[1, 3] : !block
    %m14 = llvm.insertvalue %only, %m13[1, 4] : !block
    llvm.store %m14, %block : !block, !ptr
    func.call @__relax_lay_out(%long_rank, %shape, %own_shape) : (i64, !ptr, !ptr) -> ()
    %status = func.call @TVMFFITensorFromDLPackVersioned(%block, %ok, %ok, %payload) : (!ptr, i32, i32, !ptr) -> i32
    %is_unmade = arith.cmpi ne, %status, %ok : i32
    scf.if %is_unmade {
      func.call @__relax_device_free(%table, %data) : (!ptr, !ptr) -> ()
      llvm.call @free(%block) : (!ptr) -> ()
    }
    "tir.return_unless_ok"(%status) : (i32) -> ()
  }
  llvm.store %tensor_kind, %any : i64, !ptr
  return
}
func.func private @__relax_device_exhausted(%label: !ptr, %bytes: i64)
    attributes {llvm.cold, llvm.no_inline, relax.entry} {
  %c0 = arith.constant 0 : i64
  %error = llvm.mlir.addressof @__relax_memory_error : !ptr  %format = llvm.mlir.addressof @__relax_no_room : !ptr
  func.call @__relax_fail(%error, %format, %label, %bytes, %c0, %c0, %c0) : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> ()
  return
}

// ---- for the runtime: packed functions (DEVICE_FUNCTIONS of support.py) ----

// Return the address of the deleter of results.
func.func @__relax_device_deleter(%table: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %int_kind = arith.constant 1 : i64
  %deleter = llvm.mlir.addressof @__relax_device_delete : !ptr  %address = llvm.ptrtoint %deleter : !ptr to i64
  %none = llvm.mlir.zero : !any  %with_kind = llvm.insertvalue %int_kind, %none[0] : !any
  %answer = llvm.insertvalue %address, %with_kind[1] : !any
  llvm.store %answer, %result : !any, !ptr
  return %ok : i32
}
// Wait for the caller's stream and raise failed assertions of kernels.
func.func @__relax_device_synchronize(%table: !ptr, %args: !ptr, %count: i32, %result: !ptr) attributes {relax.entry} {
  func.call @__relax_device_enter(%table) : (!ptr) -> ()
  %inside = llvm.getelementptr %table[0] {relax.ended_by = "device_leave"} : (!ptr) -> !ptr, i8
  func.call @__relax_device_wait(%table) : (!ptr) -> ()
  func.call @__relax_device_check(%table) : (!ptr) -> ()
  "tir.release"(%inside) : (!ptr) -> ()
  return
}
llvm.mlir.global internal constant @__relax_empty_name("__relax_device_empty\00")
llvm.mlir.global internal constant @__relax_empty_wrong("%s: expected a label, rank, element type, bytes and sizes\00")
// Create a tensor from integers: address of a label for messages, rank, element type, its bytes, address of the sizes.
func.func @__relax_device_empty(%table: !ptr, %args: !ptr, %count: i32, %result: !ptr) attributes {relax.entry} {
  %five = arith.constant 5 : i32  %int_kind = arith.constant 1 : i64
  %c0 = arith.constant 0 : i32  %c1 = arith.constant 1 : i32  %zero = arith.constant 0 : i64
  %enough = arith.cmpi eq, %count, %five : i32  %read = arith.select %enough, %five, %c0 : i32
  %good = scf.for %i = %c0 to %read step %c1 iter_args(%so_far = %enough) -> (i1) : i32 {
    %kind_at = llvm.getelementptr %args[%i] : (!ptr, i32) -> !ptr, !any  %kind = llvm.load %kind_at : !ptr -> i64
    %is_int = arith.cmpi eq, %kind, %int_kind : i64  %both = arith.andi %so_far, %is_int : i1
    scf.yield %both : i1
  }
  scf.if %good {
  } else {
    %error = llvm.mlir.addressof @__relax_type_error : !ptr  %format = llvm.mlir.addressof @__relax_empty_wrong : !ptr
    %name = llvm.mlir.addressof @__relax_empty_name : !ptr
    func.call @__relax_fail(%error, %format, %name, %zero, %zero, %zero, %zero)
      : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> ()
  }
  %label_at = llvm.getelementptr %args[8] : (!ptr) -> !ptr, i8  %label = llvm.load %label_at : !ptr -> !ptr
  %rank_at = llvm.getelementptr %args[24] : (!ptr) -> !ptr, i8  %rank = llvm.load %rank_at : !ptr -> i32
  %dtype_at = llvm.getelementptr %args[40] : (!ptr) -> !ptr, i8  %dtype = llvm.load %dtype_at : !ptr -> i32
  %bytes_at = llvm.getelementptr %args[56] : (!ptr) -> !ptr, i8  %bytes = llvm.load %bytes_at : !ptr -> i64
  %shape_at = llvm.getelementptr %args[72] : (!ptr) -> !ptr, i8  %shape = llvm.load %shape_at : !ptr -> !ptr
  func.call @__relax_device_enter(%table) : (!ptr) -> ()
  %inside = llvm.getelementptr %table[0] {relax.ended_by = "device_leave"} : (!ptr) -> !ptr, i8
  func.call @__relax_device_allocate(%table, %label, %rank, %dtype, %bytes, %shape, %result)
    : (!ptr, !ptr, i32, i32, i64, !ptr, !ptr) -> ()
  "tir.release"(%inside) : (!ptr) -> ()
  return
}
