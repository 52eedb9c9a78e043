// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors of a program for NVIDIA's GPUs: those that callers pass, results, and what the runtime asks for. Beside
// device.mlir, which says what `%table` is, and support.mlir, for programs that need it (support.py).

!ptr = !llvm.ptr
!any = !llvm.struct<(i64, i64)>
!tensor = !llvm.struct<(ptr, i32, i32, i32, i32, ptr, ptr, i64)>
// A result's block: DLPack's header; what its memory is given back by: push, pop, free and context; shape, strides.
!block = !llvm.struct<(struct<(i64, ptr, ptr, i64, struct<(ptr, i32, i32, i32, i32, ptr, ptr, i64)>)>, array<4 x ptr>)>

llvm.func @malloc(i64) -> !ptr
llvm.func @free(!ptr)
llvm.func @TVMFFIEnvGetDLPackManagedTensorAllocator() -> !ptr
llvm.func @TVMFFIEnvGetStream(i32, i32) -> !ptr
llvm.func @TVMFFIEnvTensorAlloc(!ptr, !ptr) -> i32
llvm.func @TVMFFITensorFromDLPackVersioned(!ptr, i32, i32, !ptr) -> i32

llvm.func @__relax_fail(!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
llvm.func @__relax_check_tensor(!ptr, !ptr, !ptr, !ptr, !ptr, !ptr) -> i32
llvm.func @__relax_tensor(!ptr) -> !ptr
llvm.func @__relax_device_enter(!ptr) -> i32
llvm.func @__relax_device_leave(!ptr)
llvm.func @__relax_device_check(!ptr) -> i32
llvm.func @__relax_device_wait(!ptr, i32) -> i32
llvm.func @__relax_device_fail(!ptr, !ptr, !ptr, i32) -> i32
llvm.func @__relax_device_take(!ptr, i64, !ptr) -> i32
llvm.func @__relax_device_free(!ptr, !ptr)
llvm.func @__relax_device_copy(!ptr, !ptr, !ptr, i64) -> i32

llvm.mlir.global internal constant @__relax_type_error("TypeError\00")
llvm.mlir.global internal constant @__relax_value_error("ValueError\00")
llvm.mlir.global internal constant @__relax_memory_error("MemoryError\00")

// ---- tensors ----

llvm.mlir.global internal constant @__relax_cpu_name("cpu\00")
llvm.mlir.global internal constant @__relax_cuda_name("cuda\00")
llvm.mlir.global internal constant @__relax_other_device(
  "%s expected a tensor on cuda:%lld, got one on %s:%lld%s\00")
llvm.mlir.global internal constant @__relax_other_kind(
  "%s expected a tensor on cuda:%lld, got one on DLPack device type %lld\00")
llvm.mlir.global internal constant @__relax_no_hint("\00")
// As check_tensor, for tensors on the program's device; `hint` is what helps against one of the CPU.
llvm.func hidden @__relax_device_check_tensor(%table: !ptr, %any: !ptr, %where: !ptr, %dtype: !ptr, %shape: !ptr,
    %expected: !ptr, %out: !ptr, %hint_of_cpu: !ptr) -> i32 {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64  %null = llvm.mlir.zero : !ptr
  %cpu = llvm.mlir.constant(1 : i32) : i32  %cuda = llvm.mlir.constant(2 : i32) : i32
  %object_kind = llvm.mlir.constant(70 : i32) : i32  %pointer_kind = llvm.mlir.constant(7 : i32) : i32
  %copy_kind = llvm.mlir.constant(7 : i64) : i64
  %copied = llvm.alloca %c1 x !tensor : (i64) -> !ptr
  %copied_any = llvm.alloca %c1 x !any : (i64) -> !ptr
  %index = llvm.load %any : !ptr -> i32
  %is_object = llvm.icmp "eq" %index, %object_kind : i32
  %is_pointer = llvm.icmp "eq" %index, %pointer_kind : i32
  %is_tensor = llvm.or %is_object, %is_pointer : i1
  llvm.cond_br %is_tensor weights([2000, 1]), ^there, ^check(%any : !ptr)
^there:
  %payload_at = llvm.getelementptr %any[8] : (!ptr) -> !ptr, i8
  %payload = llvm.load %payload_at : !ptr -> !ptr
  %is_there = llvm.icmp "ne" %payload, %null : !ptr
  llvm.cond_br %is_there weights([2000, 1]), ^device, ^check(%any : !ptr)
^device:
  %tensor_at = llvm.call @__relax_tensor(%any) : (!ptr) -> !ptr
  %tensor = llvm.load %tensor_at : !ptr -> !tensor
  %given_kind = llvm.extractvalue %tensor[1] : !tensor
  %given_number = llvm.extractvalue %tensor[2] : !tensor
  %number_at = llvm.getelementptr %table[1] : (!ptr) -> !ptr, !llvm.ptr
  %number = llvm.load %number_at : !ptr -> i32
  %same_kind = llvm.icmp "eq" %given_kind, %cuda : i32
  %same_number = llvm.icmp "eq" %given_number, %number : i32
  %same = llvm.and %same_kind, %same_number : i1
  llvm.cond_br %same weights([2000, 1]), ^copy, ^refuse
^copy:
  // All else is as of memory of the host.
  %as_host = llvm.insertvalue %cpu, %tensor[1] : !tensor
  llvm.store %as_host, %copied : !tensor, !ptr
  %address = llvm.ptrtoint %copied : !ptr to i64
  %none = llvm.mlir.zero : !any
  %with_kind = llvm.insertvalue %copy_kind, %none[0] : !any
  %whole = llvm.insertvalue %address, %with_kind[1] : !any
  llvm.store %whole, %copied_any : !any, !ptr
  llvm.br ^check(%copied_any : !ptr)
^check(%checked: !ptr):
  %status = llvm.call @__relax_check_tensor(%checked, %where, %dtype, %shape, %expected, %out)
    : (!ptr, !ptr, !ptr, !ptr, !ptr, !ptr) -> i32
  llvm.return %status : i32
^refuse:
  %error = llvm.mlir.addressof @__relax_value_error : !ptr
  %named = llvm.mlir.addressof @__relax_other_device : !ptr
  %unnamed = llvm.mlir.addressof @__relax_other_kind : !ptr
  %cpu_name = llvm.mlir.addressof @__relax_cpu_name : !ptr
  %cuda_name = llvm.mlir.addressof @__relax_cuda_name : !ptr
  %nothing = llvm.mlir.addressof @__relax_no_hint : !ptr
  %is_cpu = llvm.icmp "eq" %given_kind, %cpu : i32
  %has_name = llvm.or %is_cpu, %same_kind : i1
  %format = llvm.select %has_name, %named, %unnamed : i1, !ptr
  %name = llvm.select %is_cpu, %cpu_name, %cuda_name : i1, !ptr
  %hint = llvm.select %is_cpu, %hint_of_cpu, %nothing : i1, !ptr
  %name_text = llvm.ptrtoint %name : !ptr to i64
  %hint_text = llvm.ptrtoint %hint : !ptr to i64
  %wanted = llvm.sext %number : i32 to i64
  %kind_number = llvm.sext %given_kind : i32 to i64
  %given = llvm.sext %given_number : i32 to i64
  %shown = llvm.select %has_name, %name_text, %kind_number : i1, i64
  %refused = llvm.call @__relax_fail(%error, %format, %where, %wanted, %shown, %given, %hint_text)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.return %refused : i32
}

// ---- arguments that kernels cannot read as they are ----

// Kernels read 16 bytes at once where sizes allow, from memory that begins at a multiple of 16. A tensor that does not, a
// slice of another one, has a copy for the time of the call. What is kept of that: how many there are, the table, and for
// each the copy, the original, bytes, and whether the call writes to it.
!copied = !llvm.struct<(ptr, ptr, i64, i64)>
// `places` are those where check_tensor has left addresses and sizes of so many tensors; `described` is, for each, rank,
// bytes of an element, and whether the call writes to it.
llvm.func hidden @__relax_device_align(%table: !ptr, %count: i64, %places: !ptr, %described: !ptr, %kept: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %c15 = llvm.mlir.constant(15 : i64) : i64
  llvm.br ^head(%c0 : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %count : i64
  llvm.cond_br %more, ^look, ^return(%ok : i32)
^return(%status: i32):
  llvm.return %status : i32
^look:
  %next = llvm.add %i, %c1 : i64
  %place_at = llvm.getelementptr %places[%i] : (!ptr, i64) -> !ptr, !llvm.ptr
  %place = llvm.load %place_at : !ptr -> !ptr
  %original = llvm.load %place : !ptr -> !ptr
  %address = llvm.ptrtoint %original : !ptr to i64
  %off = llvm.and %address, %c15 : i64
  %is_fine = llvm.icmp "eq" %off, %c0 : i64
  llvm.cond_br %is_fine weights([2000, 1]), ^head(%next : i64), ^count
^count:
  %about = llvm.getelementptr %described[%i, 0] : (!ptr, i64) -> !ptr, !llvm.array<3 x i64>
  %rank = llvm.load %about : !ptr -> i64
  %element_at = llvm.getelementptr %about[8] : (!ptr) -> !ptr, i8
  %element = llvm.load %element_at : !ptr -> i64
  llvm.br ^size(%c0, %element : i64, i64)
^size(%axis: i64, %bytes: i64):
  %is_axis = llvm.icmp "slt" %axis, %rank : i64
  llvm.cond_br %is_axis, ^times, ^whole
^times:
  %next_axis = llvm.add %axis, %c1 : i64
  %size_at = llvm.getelementptr %place[%next_axis] : (!ptr, i64) -> !ptr, i64
  %size = llvm.load %size_at : !ptr -> i64
  %product = llvm.mul %bytes, %size : i64
  llvm.br ^size(%next_axis, %product : i64, i64)
// One element is read as such.
^whole:
  %is_small = llvm.icmp "sle" %bytes, %element : i64
  llvm.cond_br %is_small, ^head(%next : i64), ^take
^take:
  %number = llvm.load %kept : !ptr -> i64
  %items = llvm.getelementptr %kept[16] : (!ptr) -> !ptr, i8
  %item = llvm.getelementptr %items[%number] : (!ptr, i64) -> !ptr, !copied
  %taken = llvm.call @__relax_device_take(%table, %bytes, %item) : (!ptr, i64, !ptr) -> i32
  %is_there = llvm.icmp "eq" %taken, %ok : i32
  llvm.cond_br %is_there, ^copy, ^refuse
^refuse:
  %where = llvm.mlir.addressof @__relax_aligned_copy : !ptr
  %call = llvm.mlir.addressof @__relax_take_name : !ptr
  %failed = llvm.call @__relax_device_fail(%table, %where, %call, %taken) : (!ptr, !ptr, !ptr, i32) -> i32
  llvm.br ^return(%failed : i32)
^copy:
  %copy = llvm.load %item : !ptr -> !ptr
  %written_at = llvm.getelementptr %about[16] : (!ptr) -> !ptr, i8
  %written = llvm.load %written_at : !ptr -> i64
  %none = llvm.mlir.zero : !copied
  %k0 = llvm.insertvalue %copy, %none[0] : !copied
  %k1 = llvm.insertvalue %original, %k0[1] : !copied
  %k2 = llvm.insertvalue %bytes, %k1[2] : !copied
  %k3 = llvm.insertvalue %written, %k2[3] : !copied
  llvm.store %k3, %item : !copied, !ptr
  %table_at = llvm.getelementptr %kept[8] : (!ptr) -> !ptr, i8
  llvm.store %table, %table_at : !ptr, !ptr
  %following = llvm.add %number, %c1 : i64
  llvm.store %following, %kept : i64, !ptr
  llvm.store %copy, %place : !ptr, !ptr
  %copied = llvm.call @__relax_device_copy(%table, %copy, %original, %bytes) : (!ptr, !ptr, !ptr, i64) -> i32
  %is_good = llvm.icmp "eq" %copied, %ok : i32
  llvm.cond_br %is_good, ^head(%next : i64), ^return(%copied : i32)
}
llvm.mlir.global internal constant @__relax_aligned_copy("a copy of an argument that begins at no multiple of 16\00")
// What the call has written goes where it belongs.
llvm.func hidden @__relax_device_restore(%table: !ptr, %kept: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %count = llvm.load %kept : !ptr -> i64
  %items = llvm.getelementptr %kept[16] : (!ptr) -> !ptr, i8
  llvm.br ^head(%c0 : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %count : i64
  llvm.cond_br %more, ^look, ^return(%ok : i32)
^look:
  %next = llvm.add %i, %c1 : i64
  %item_at = llvm.getelementptr %items[%i] : (!ptr, i64) -> !ptr, !copied
  %item = llvm.load %item_at : !ptr -> !copied
  %written = llvm.extractvalue %item[3] : !copied
  %is_read = llvm.icmp "eq" %written, %c0 : i64
  llvm.cond_br %is_read, ^head(%next : i64), ^copy
^copy:
  %copy = llvm.extractvalue %item[0] : !copied
  %original = llvm.extractvalue %item[1] : !copied
  %bytes = llvm.extractvalue %item[2] : !copied
  %copied = llvm.call @__relax_device_copy(%table, %original, %copy, %bytes) : (!ptr, !ptr, !ptr, i64) -> i32
  %is_good = llvm.icmp "eq" %copied, %ok : i32
  llvm.cond_br %is_good, ^head(%next : i64), ^return(%copied : i32)
^return(%status: i32):
  llvm.return %status : i32
}
// The copies go, on the stream that the call is on.
llvm.func hidden @__relax_device_unalign(%kept: !ptr) {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %count = llvm.load %kept : !ptr -> i64
  %table_at = llvm.getelementptr %kept[8] : (!ptr) -> !ptr, i8
  %items = llvm.getelementptr %kept[16] : (!ptr) -> !ptr, i8
  llvm.br ^head(%c0 : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %count : i64
  llvm.cond_br %more, ^give, ^end
^give:
  %table = llvm.load %table_at : !ptr -> !ptr
  %item = llvm.getelementptr %items[%i] : (!ptr, i64) -> !ptr, !copied
  %copy = llvm.load %item : !ptr -> !ptr
  llvm.call @__relax_device_free(%table, %copy) : (!ptr, !ptr) -> ()
  %next = llvm.add %i, %c1 : i64
  llvm.br ^head(%next : i64)
^end:
  llvm.return
}

// ---- results ----

// Gives a result back on the stream of whoever drops it. Of the process, as results outlive programs (runtime/cuda).
llvm.func internal @__relax_device_delete(%block: !ptr) {
  %c1 = llvm.mlir.constant(1 : i64) : i64  %cuda = llvm.mlir.constant(2 : i32) : i32
  %popped = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  %held = llvm.load %block : !ptr -> !block
  %data = llvm.extractvalue %held[0, 4, 0] : !block
  %number = llvm.extractvalue %held[0, 4, 2] : !block
  %push = llvm.extractvalue %held[1, 0] : !block
  %pop = llvm.extractvalue %held[1, 1] : !block
  %free = llvm.extractvalue %held[1, 2] : !block
  %context = llvm.extractvalue %held[1, 3] : !block
  %pushed = llvm.call %push(%context) : !ptr, (!ptr) -> i32
  %stream = llvm.call @TVMFFIEnvGetStream(%cuda, %number) : (i32, i32) -> !ptr
  %status = llvm.call %free(%data, %stream) : !ptr, (!ptr, !ptr) -> i32
  %left = llvm.call %pop(%popped) : !ptr, (!ptr) -> i32
  llvm.call @free(%block) : (!ptr) -> ()
  llvm.return
}

llvm.mlir.global internal constant @__relax_take_name("cuMemAllocAsync\00")
llvm.mlir.global internal constant @__relax_no_room("%s: out of memory of the device, %lld bytes needed\00")
llvm.mlir.global internal constant @__relax_bad_size(
  "%s: a size is negative or all of them are too large, with elements of %lld bytes\00")
// As allocate, a new tensor on the device.
llvm.func hidden @__relax_device_allocate(%table: !ptr, %label: !ptr, %rank: i32, %dtype: i32, %bytes: i64, %shape: !ptr,
    %any: !ptr) -> i32 attributes {passthrough = ["noinline"]} {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %ok = llvm.mlir.constant(0 : i32) : i32  %cuda = llvm.mlir.constant(2 : i32) : i32
  %tensor_kind = llvm.mlir.constant(70 : i64) : i64  %null = llvm.mlir.zero : !ptr
  %largest = llvm.mlir.constant(4.0e18 : f64) : f64  // bytes of a tensor: below 2^62
  %fone = llvm.mlir.constant(1.0 : f64) : f64  %false = llvm.mlir.constant(false) : i1
  %prototype = llvm.alloca %c1 x !tensor : (i64) -> !ptr
  %payload = llvm.getelementptr %any[8] : (!ptr) -> !ptr, i8
  %long_rank = llvm.sext %rank : i32 to i64
  %number_at = llvm.getelementptr %table[1] : (!ptr) -> !ptr, !llvm.ptr
  %number = llvm.load %number_at : !ptr -> i32
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
  %is_refused = llvm.or %bad, %is_large : i1
  %value_error = llvm.mlir.addressof @__relax_value_error : !ptr
  %bad_size = llvm.mlir.addressof @__relax_bad_size : !ptr
  llvm.cond_br %is_refused, ^refuse(%value_error, %bad_size, %bytes : !ptr, !ptr, i64), ^choose
^refuse(%kind: !ptr, %format: !ptr, %about: i64):
  %refusal = llvm.call @__relax_fail(%kind, %format, %label, %about, %c0, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.br ^return(%refusal : i32)
^return(%status: i32):
  llvm.return %status : i32
^choose:
  %allocator = llvm.call @TVMFFIEnvGetDLPackManagedTensorAllocator() : () -> !ptr
  %offered = llvm.icmp "ne" %allocator, %null : !ptr
  llvm.cond_br %offered, ^theirs, ^ours
^theirs:
  %t0 = llvm.mlir.zero : !tensor
  %t1 = llvm.insertvalue %cuda, %t0[1] : !tensor
  %t2 = llvm.insertvalue %number, %t1[2] : !tensor
  %t3 = llvm.insertvalue %rank, %t2[3] : !tensor
  %t4 = llvm.insertvalue %dtype, %t3[4] : !tensor
  %t5 = llvm.insertvalue %shape, %t4[5] : !tensor
  llvm.store %t5, %prototype : !tensor, !ptr
  %their_status = llvm.call @TVMFFIEnvTensorAlloc(%prototype, %payload) : (!ptr, !ptr) -> i32
  llvm.br ^made(%their_status : i32)
^made(%made_status: i32):
  %is_made = llvm.icmp "eq" %made_status, %ok : i32
  llvm.cond_br %is_made, ^keep, ^return(%made_status : i32)
^keep:
  llvm.store %tensor_kind, %any : i64, !ptr
  llvm.br ^return(%ok : i32)
^ours:
  %memory_error = llvm.mlir.addressof @__relax_memory_error : !ptr
  %no_room = llvm.mlir.addressof @__relax_no_room : !ptr
  %place = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  %taken = llvm.call @__relax_device_take(%table, %total, %place) : (!ptr, i64, !ptr) -> i32
  %is_there = llvm.icmp "eq" %taken, %ok : i32
  %out_of_memory = llvm.mlir.constant(2 : i32) : i32
  %is_full = llvm.icmp "eq" %taken, %out_of_memory : i32
  llvm.cond_br %is_there, ^block, ^untaken
^untaken:
  llvm.cond_br %is_full, ^refuse(%memory_error, %no_room, %total : !ptr, !ptr, i64), ^fail
^fail:
  %call = llvm.mlir.addressof @__relax_take_name : !ptr
  %failed = llvm.call @__relax_device_fail(%table, %label, %call, %taken) : (!ptr, !ptr, !ptr, i32) -> i32
  llvm.br ^return(%failed : i32)
^block:
  %data = llvm.load %place : !ptr -> !ptr
  %header = llvm.mlir.constant(112 : i64) : i64  %c16 = llvm.mlir.constant(16 : i64) : i64
  %dims = llvm.mul %long_rank, %c16 : i64
  %block_bytes = llvm.add %header, %dims : i64
  %block = llvm.call @malloc(%block_bytes) : (i64) -> !ptr
  %has_block = llvm.icmp "ne" %block, %null : !ptr
  llvm.cond_br %has_block, ^fill, ^undo
^undo:
  llvm.call @__relax_device_free(%table, %data) : (!ptr, !ptr) -> ()
  llvm.br ^refuse(%memory_error, %no_room, %block_bytes : !ptr, !ptr, i64)
^fill:
  %own_shape = llvm.getelementptr %block[1] : (!ptr) -> !ptr, !block
  %own_strides = llvm.getelementptr %own_shape[%long_rank] : (!ptr, i64) -> !ptr, i64
  %deleter_at = llvm.getelementptr %table[5] : (!ptr) -> !ptr, !llvm.ptr
  %deleter = llvm.load %deleter_at : !ptr -> !ptr
  %context = llvm.load %table : !ptr -> !ptr
  %push_at = llvm.getelementptr %table[6] : (!ptr) -> !ptr, !llvm.ptr
  %push = llvm.load %push_at : !ptr -> !ptr
  %pop_at = llvm.getelementptr %table[7] : (!ptr) -> !ptr, !llvm.ptr
  %pop = llvm.load %pop_at : !ptr -> !ptr
  %free_at = llvm.getelementptr %table[10] : (!ptr) -> !ptr, !llvm.ptr
  %free = llvm.load %free_at : !ptr -> !ptr
  %m0 = llvm.mlir.zero : !block
  %m1 = llvm.insertvalue %c1, %m0[0, 0] : !block
  %m2 = llvm.insertvalue %deleter, %m1[0, 2] : !block
  %m3 = llvm.insertvalue %data, %m2[0, 4, 0] : !block
  %m4 = llvm.insertvalue %cuda, %m3[0, 4, 1] : !block
  %m5 = llvm.insertvalue %number, %m4[0, 4, 2] : !block
  %m6 = llvm.insertvalue %rank, %m5[0, 4, 3] : !block
  %m7 = llvm.insertvalue %dtype, %m6[0, 4, 4] : !block
  %m8 = llvm.insertvalue %own_shape, %m7[0, 4, 5] : !block
  %m9 = llvm.insertvalue %own_strides, %m8[0, 4, 6] : !block
  %m10 = llvm.insertvalue %push, %m9[1, 0] : !block
  %m11 = llvm.insertvalue %pop, %m10[1, 1] : !block
  %m12 = llvm.insertvalue %free, %m11[1, 2] : !block
  %m13 = llvm.insertvalue %context, %m12[1, 3] : !block
  llvm.store %m13, %block : !block, !ptr
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
  %wrapped = llvm.call @TVMFFITensorFromDLPackVersioned(%block, %ok, %ok, %payload) : (!ptr, i32, i32, !ptr) -> i32
  %is_wrapped = llvm.icmp "eq" %wrapped, %ok : i32
  llvm.cond_br %is_wrapped, ^keep, ^drop
^drop:
  llvm.call @__relax_device_free(%table, %data) : (!ptr, !ptr) -> ()
  llvm.call @free(%block) : (!ptr) -> ()
  llvm.br ^return(%wrapped : i32)
}

// ---- for the runtime: packed functions (DEVICE_FUNCTIONS of support.py) ----

// The address of what deletes results.
llvm.func hidden @__relax_device_deleter(%table: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %int_kind = llvm.mlir.constant(1 : i64) : i64
  %deleter = llvm.mlir.addressof @__relax_device_delete : !ptr
  %address = llvm.ptrtoint %deleter : !ptr to i64
  %none = llvm.mlir.zero : !any
  %with_kind = llvm.insertvalue %int_kind, %none[0] : !any
  %answer = llvm.insertvalue %address, %with_kind[1] : !any
  llvm.store %answer, %result : !any, !ptr
  llvm.return %ok : i32
}
// Waits for the caller's stream and raises what kernels have asserted.
llvm.func hidden @__relax_device_synchronize(%table: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32
  %entered = llvm.call @__relax_device_enter(%table) : (!ptr) -> i32
  %is_in = llvm.icmp "eq" %entered, %ok : i32
  llvm.cond_br %is_in, ^wait, ^return(%entered : i32)
^wait:
  %waited = llvm.call @__relax_device_wait(%table, %ok) : (!ptr, i32) -> i32
  %is_good = llvm.icmp "eq" %waited, %ok : i32
  llvm.cond_br %is_good, ^check, ^leave(%waited : i32)
^check:
  %checked = llvm.call @__relax_device_check(%table) : (!ptr) -> i32
  llvm.br ^leave(%checked : i32)
^leave(%status: i32):
  llvm.call @__relax_device_leave(%table) : (!ptr) -> ()
  llvm.br ^return(%status : i32)
^return(%given: i32):
  llvm.return %given : i32
}
llvm.mlir.global internal constant @__relax_empty_name("__relax_device_empty\00")
llvm.mlir.global internal constant @__relax_empty_wrong("%s: expected a label, rank, element type, bytes and sizes\00")
// A new tensor, of integers: the addresses of a text for messages, rank, element type and its bytes, that of the sizes.
llvm.func hidden @__relax_device_empty(%table: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %five = llvm.mlir.constant(5 : i32) : i32
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %enough = llvm.icmp "eq" %count, %five : i32
  llvm.cond_br %enough, ^head(%c0 : i64), ^refuse
^head(%i: i64):
  %long_count = llvm.sext %count : i32 to i64
  %more = llvm.icmp "slt" %i, %long_count : i64
  llvm.cond_br %more, ^look, ^values
^look:
  %kind_at = llvm.getelementptr %args[%i] : (!ptr, i64) -> !ptr, !any
  %given = llvm.load %kind_at : !ptr -> i64
  %is_int = llvm.icmp "eq" %given, %c1 : i64
  %next = llvm.add %i, %c1 : i64
  llvm.cond_br %is_int, ^head(%next : i64), ^refuse
^refuse:
  %error = llvm.mlir.addressof @__relax_type_error : !ptr
  %format = llvm.mlir.addressof @__relax_empty_wrong : !ptr
  %name = llvm.mlir.addressof @__relax_empty_name : !ptr
  %refused = llvm.call @__relax_fail(%error, %format, %name, %c0, %c0, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.br ^return(%refused : i32)
^values:
  %label_at = llvm.getelementptr %args[8] : (!ptr) -> !ptr, i8
  %rank_at = llvm.getelementptr %args[24] : (!ptr) -> !ptr, i8
  %dtype_at = llvm.getelementptr %args[40] : (!ptr) -> !ptr, i8
  %bytes_at = llvm.getelementptr %args[56] : (!ptr) -> !ptr, i8
  %shape_at = llvm.getelementptr %args[72] : (!ptr) -> !ptr, i8
  %label = llvm.load %label_at : !ptr -> !ptr
  %rank = llvm.load %rank_at : !ptr -> i32
  %dtype = llvm.load %dtype_at : !ptr -> i32
  %bytes = llvm.load %bytes_at : !ptr -> i64
  %shape = llvm.load %shape_at : !ptr -> !ptr
  %entered = llvm.call @__relax_device_enter(%table) : (!ptr) -> i32
  %is_in = llvm.icmp "eq" %entered, %ok : i32
  llvm.cond_br %is_in, ^allocate, ^return(%entered : i32)
^allocate:
  %made = llvm.call @__relax_device_allocate(%table, %label, %rank, %dtype, %bytes, %shape, %result)
    : (!ptr, !ptr, i32, i32, i64, !ptr, !ptr) -> i32
  llvm.call @__relax_device_leave(%table) : (!ptr) -> ()
  llvm.br ^return(%made : i32)
^return(%status: i32):
  llvm.return %status : i32
}
