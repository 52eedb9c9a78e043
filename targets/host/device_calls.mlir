// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors on NVIDIA's GPUs that registered functions are passed and give back, and lists of results. Beside device.mlir,
// device_tensors.mlir and calls.mlir, for programs that need it (support.py).

!ptr = !llvm.ptr
!any = !llvm.struct<(i64, i64)>
!tensor = !llvm.struct<(ptr, i32, i32, i32, i32, ptr, ptr, i64)>

llvm.func @malloc(i64) -> !ptr
llvm.func @free(!ptr)

llvm.func @__relax_data(!ptr) -> !ptr
llvm.func @__relax_fail(!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
llvm.func @__relax_make_array(!ptr, i32, !ptr) -> i32
llvm.func @__relax_release(!ptr)
llvm.func @__relax_tensor(!ptr) -> !ptr
llvm.func @__relax_wrap(!ptr, !ptr, i32, i32, !ptr, !ptr) -> i32
llvm.func @__relax_device_allocate(!ptr, !ptr, i32, i32, i64, !ptr, !ptr) -> i32
llvm.func @__relax_device_copy(!ptr, !ptr, !ptr, i64) -> i32
llvm.func @__relax_device_fail(!ptr, !ptr, !ptr, i32) -> i32
llvm.func @__relax_device_free(!ptr, !ptr)
llvm.func @__relax_device_read(!ptr, !ptr, !ptr, i64) -> i32
llvm.func @__relax_device_take(!ptr, i64, !ptr) -> i32

llvm.mlir.global internal constant @__relax_value_error("ValueError\00")
llvm.mlir.global internal constant @__relax_memory_error("MemoryError\00")
llvm.mlir.global internal constant @__relax_runtime_error("RuntimeError\00")
llvm.mlir.global internal constant @__relax_out_of_memory("out of memory\00")
llvm.mlir.global internal constant @__relax_no_header("%s: %lld bytes needed\00")
llvm.func internal @__relax_device_exhausted(%bytes: i64) -> i32 attributes {passthrough = ["cold", "noinline"]} {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %kind = llvm.mlir.addressof @__relax_memory_error : !ptr
  %format = llvm.mlir.addressof @__relax_no_header : !ptr
  %where = llvm.mlir.addressof @__relax_out_of_memory : !ptr
  %refusal = llvm.call @__relax_fail(%kind, %format, %where, %bytes, %c0, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.return %refusal : i32
}

// ---- registered functions ----

// A tensor of memory of the device that is there, for the time of a call. The object has a header of its own: whoever
// asks it by DLPack is told what that says.
llvm.func hidden @__relax_device_borrow(%table: !ptr, %rank: i32, %dtype: i32, %shape: !ptr, %data: !ptr,
    %any: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %cuda = llvm.mlir.constant(2 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i64) : i64  %header = llvm.mlir.constant(80 : i64) : i64
  %null = llvm.mlir.zero : !ptr
  %long_rank = llvm.sext %rank : i32 to i64
  %dims = llvm.mul %long_rank, %c16 : i64
  %size = llvm.add %header, %dims : i64
  %block = llvm.call @malloc(%size) : (i64) -> !ptr
  %exhausted = llvm.icmp "eq" %block, %null : !ptr
  llvm.cond_br %exhausted, ^refuse, ^fill
^refuse:
  %refusal = llvm.call @__relax_device_exhausted(%size) : (i64) -> i32
  llvm.br ^return(%refusal : i32)
^fill:
  %wrapped = llvm.call @__relax_wrap(%block, %data, %rank, %dtype, %shape, %any)
    : (!ptr, !ptr, i32, i32, !ptr, !ptr) -> i32
  %is_made = llvm.icmp "eq" %wrapped, %ok : i32
  llvm.cond_br %is_made, ^place, ^return(%wrapped : i32)
^place:
  %tensor = llvm.call @__relax_tensor(%any) : (!ptr) -> !ptr
  %number_at = llvm.getelementptr %table[1] : (!ptr) -> !ptr, !llvm.ptr
  %number = llvm.load %number_at : !ptr -> i32
  %kind_place = llvm.getelementptr %tensor[8] : (!ptr) -> !ptr, i8
  %number_place = llvm.getelementptr %tensor[12] : (!ptr) -> !ptr, i8
  llvm.store %cuda, %kind_place : i32, !ptr
  llvm.store %number, %number_place : i32, !ptr
  llvm.br ^return(%ok : i32)
^return(%status: i32):
  llvm.return %status : i32
}
llvm.mlir.global internal constant @__relax_kept(
  "%s: a function that was called has kept a tensor that lives only during the call: it must copy it\00")
// Says where somebody kept such a tensor.
llvm.func hidden @__relax_device_end_borrow(%name: !ptr, %any: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %one = llvm.mlir.constant(1 : i32) : i32
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %payload_at = llvm.getelementptr %any[8] : (!ptr) -> !ptr, i8
  %object = llvm.load %payload_at : !ptr -> !ptr
  %count = llvm.load %object atomic acquire {alignment = 8 : i64} : !ptr -> i32
  %sole = llvm.icmp "eq" %count, %one : i32
  llvm.cond_br %sole, ^return(%ok : i32), ^kept
^kept:
  %kind = llvm.mlir.addressof @__relax_runtime_error : !ptr
  %text = llvm.mlir.addressof @__relax_kept : !ptr
  %failure = llvm.call @__relax_fail(%kind, %text, %name, %c0, %c0, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.br ^return(%failure : i32)
^return(%status: i32):
  llvm.return %status : i32
}
llvm.mlir.global internal constant @__relax_take_name("cuMemAllocAsync\00")
// Leaves the address of a copy of a checked tensor's elements, for device_free to end.
llvm.func hidden @__relax_device_take_tensor(%table: !ptr, %name: !ptr, %any: !ptr, %bytes: i64, %out: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32
  %tensor_at = llvm.call @__relax_tensor(%any) : (!ptr) -> !ptr
  %tensor = llvm.load %tensor_at : !ptr -> !tensor
  %rank = llvm.extractvalue %tensor[3] : !tensor
  %shape = llvm.extractvalue %tensor[5] : !tensor
  %total = llvm.call @__relax_device_product(%bytes, %rank, %shape) : (i64, i32, !ptr) -> i64
  %taken = llvm.call @__relax_device_take(%table, %total, %out) : (!ptr, i64, !ptr) -> i32
  %is_there = llvm.icmp "eq" %taken, %ok : i32
  llvm.cond_br %is_there, ^copy, ^refuse
^refuse:
  %call = llvm.mlir.addressof @__relax_take_name : !ptr
  %refused = llvm.call @__relax_device_fail(%table, %name, %call, %taken) : (!ptr, !ptr, !ptr, i32) -> i32
  llvm.br ^return(%refused : i32)
^copy:
  %to = llvm.load %out : !ptr -> !ptr
  %data = llvm.call @__relax_data(%any) : (!ptr) -> !ptr
  %copied = llvm.call @__relax_device_copy(%table, %to, %data, %total) : (!ptr, !ptr, !ptr, i64) -> i32
  %is_good = llvm.icmp "eq" %copied, %ok : i32
  llvm.cond_br %is_good, ^return(%ok : i32), ^undo
^undo:
  llvm.call @__relax_device_free(%table, %to) : (!ptr, !ptr) -> ()
  llvm.br ^return(%copied : i32)
^return(%status: i32):
  llvm.return %status : i32
}
llvm.func internal @__relax_device_product(%first: i64, %rank: i32, %shape: !ptr) -> i64 {
  %c0 = llvm.mlir.constant(0 : i32) : i32  %c1 = llvm.mlir.constant(1 : i32) : i32
  llvm.br ^head(%c0, %first : i32, i64)
^head(%axis: i32, %total: i64):
  %more = llvm.icmp "slt" %axis, %rank : i32
  llvm.cond_br %more, ^body, ^end
^body:
  %size_at = llvm.getelementptr %shape[%axis] : (!ptr, i32) -> !ptr, i64
  %size = llvm.load %size_at : !ptr -> i64
  %product = llvm.mul %total, %size : i64
  %next = llvm.add %axis, %c1 : i32
  llvm.br ^head(%next, %product : i32, i64)
^end:
  llvm.return %total : i64
}

// ---- results that callers get as one ----

// Sets a value to None, unless the tensor of one bool is true.
llvm.func hidden @__relax_device_keep_if(%table: !ptr, %flag: !ptr, %any: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %no = llvm.mlir.constant(0 : i8) : i8
  %c1 = llvm.mlir.constant(1 : i64) : i64  %none = llvm.mlir.zero : !any
  %truth_at = llvm.alloca %c1 x i8 : (i64) -> !ptr
  %data = llvm.call @__relax_data(%flag) : (!ptr) -> !ptr
  %read = llvm.call @__relax_device_read(%table, %truth_at, %data, %c1) : (!ptr, !ptr, !ptr, i64) -> i32
  %is_good = llvm.icmp "eq" %read, %ok : i32
  llvm.cond_br %is_good, ^look, ^return(%read : i32)
^look:
  %truth = llvm.load %truth_at : !ptr -> i8
  %absent = llvm.icmp "eq" %truth, %no : i8
  llvm.cond_br %absent, ^drop, ^return(%ok : i32)
^drop:
  llvm.call @__relax_release(%any) : (!ptr) -> ()
  llvm.store %none, %any : !any, !ptr
  llvm.br ^return(%ok : i32)
^return(%status: i32):
  llvm.return %status : i32
}

llvm.mlir.global internal constant @__relax_wrong_rows("%s #%lld does not fit its elements\00")
llvm.mlir.global internal constant @__relax_list_shape("the shape of a list's tensor\00")
// As separate: the rows, which say how long and of which shapes the tensors are, are read from the device at once.
llvm.func hidden @__relax_device_separate(%table: !ptr, %label: !ptr, %items: !ptr, %count: i64, %rank: i32,
    %dtype: i32, %bytes: i64, %out: !ptr) -> i32 {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %c8 = llvm.mlir.constant(8 : i64) : i64
  %most = llvm.mlir.constant(2147483647 : i64) : i64  %any_size = llvm.mlir.constant(16 : i64) : i64
  %good = llvm.mlir.constant(0 : i32) : i32  %zero = llvm.mlir.constant(0 : i8) : i8  %null = llvm.mlir.zero : !ptr
  %long_rank = llvm.sext %rank : i32 to i64
  %first_bytes = llvm.mul %count, %any_size : i64
  %joined = llvm.getelementptr %items[%count] : (!ptr, i64) -> !ptr, !any
  %rows_any = llvm.getelementptr %joined[1] : (!ptr) -> !ptr, !any
  %elements = llvm.call @__relax_data(%joined) : (!ptr) -> !ptr
  %rows = llvm.call @__relax_data(%rows_any) : (!ptr) -> !ptr
  %held = llvm.call @__relax_device_first_size(%joined) : (!ptr) -> i64
  %further = llvm.call @__relax_device_first_size(%rows_any) : (!ptr) -> i64
  %total = llvm.add %count, %further : i64
  // A row: how many elements, then the sizes. Behind the values the rows, as the host reads them.
  %row_words = llvm.add %long_rank, %c1 : i64
  %row_bytes = llvm.mul %row_words, %c8 : i64
  %rows_bytes = llvm.mul %row_bytes, %further : i64
  %further_bytes = llvm.mul %further, %any_size : i64
  %values_bytes = llvm.add %first_bytes, %further_bytes : i64
  %needed = llvm.add %values_bytes, %rows_bytes : i64
  %asked = llvm.add %needed, %any_size : i64
  %too_many = llvm.icmp "sgt" %total, %most : i64
  llvm.cond_br %too_many, ^refuse, ^room
^room:
  %block = llvm.call @malloc(%asked) : (i64) -> !ptr
  %exhausted = llvm.icmp "eq" %block, %null : !ptr
  llvm.cond_br %exhausted, ^refuse, ^fill
^refuse:
  %refusal = llvm.call @__relax_device_exhausted(%asked) : (i64) -> i32
  llvm.return %refusal : i32
^fill:
  "llvm.intr.memcpy"(%block, %items, %first_bytes) <{isVolatile = false}> : (!ptr, !ptr, i64) -> ()
  %made = llvm.getelementptr %block[%count] : (!ptr, i64) -> !ptr, !any
  "llvm.intr.memset"(%made, %zero, %further_bytes) <{isVolatile = false}> : (!ptr, i8, i64) -> ()
  %read_rows = llvm.getelementptr %block[%values_bytes] : (!ptr, i64) -> !ptr, i8
  %read = llvm.call @__relax_device_read(%table, %read_rows, %rows, %rows_bytes) : (!ptr, !ptr, !ptr, i64) -> i32
  %was_read = llvm.icmp "eq" %read, %good : i32
  llvm.cond_br %was_read, ^head(%c0, %elements, %read_rows, %held : i64, !ptr, !ptr, i64), ^clean(%read : i32)
^head(%i: i64, %from: !ptr, %row: !ptr, %left: i64):
  %more = llvm.icmp "slt" %i, %further : i64
  llvm.cond_br %more, ^body, ^give
^body:
  %dims = llvm.getelementptr %row[8] : (!ptr) -> !ptr, i8
  %number = llvm.load %row : !ptr -> i64
  %enough = llvm.icmp "sle" %number, %left : i64
  %product = llvm.call @__relax_device_product(%c1, %rank, %dims) : (i64, i32, !ptr) -> i64
  %agrees = llvm.icmp "eq" %product, %number : i64
  %fits = llvm.and %enough, %agrees : i1
  llvm.cond_br %fits, ^make, ^wrong
^wrong:
  %value_error = llvm.mlir.addressof @__relax_value_error : !ptr
  %wrong_rows = llvm.mlir.addressof @__relax_wrong_rows : !ptr
  %shape = llvm.mlir.addressof @__relax_list_shape : !ptr
  %wrong_status = llvm.call @__relax_fail(%value_error, %wrong_rows, %shape, %i, %c0, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.br ^clean(%wrong_status : i32)
^make:
  %any = llvm.getelementptr %made[%i] : (!ptr, i64) -> !ptr, !any
  %status = llvm.call @__relax_device_allocate(%table, %label, %rank, %dtype, %bytes, %dims, %any)
    : (!ptr, !ptr, i32, i32, i64, !ptr, !ptr) -> i32
  %was_made = llvm.icmp "eq" %status, %good : i32
  llvm.cond_br %was_made, ^copy, ^clean(%status : i32)
^copy:
  %size = llvm.mul %number, %bytes : i64
  %to = llvm.call @__relax_data(%any) : (!ptr) -> !ptr
  %copied = llvm.call @__relax_device_copy(%table, %to, %from, %size) : (!ptr, !ptr, !ptr, i64) -> i32
  %next_from = llvm.getelementptr %from[%size] : (!ptr, i64) -> !ptr, i8
  %next_row = llvm.getelementptr %row[%row_bytes] : (!ptr, i64) -> !ptr, i8
  %next = llvm.add %i, %c1 : i64
  %next_left = llvm.sub %left, %number : i64
  %was_copied = llvm.icmp "eq" %copied, %good : i32
  llvm.cond_br %was_copied, ^head(%next, %next_from, %next_row, %next_left : i64, !ptr, !ptr, i64), ^clean(%copied : i32)
^give:
  %length = llvm.trunc %total : i64 to i32
  %given = llvm.call @__relax_make_array(%block, %length, %out) : (!ptr, i32, !ptr) -> i32
  llvm.br ^clean(%given : i32)
^clean(%outcome: i32):
  llvm.br ^next(%c0 : i64)
^next(%j: i64):
  %unreleased = llvm.icmp "slt" %j, %further : i64
  llvm.cond_br %unreleased, ^release, ^end
^release:
  %spent = llvm.getelementptr %made[%j] : (!ptr, i64) -> !ptr, !any
  llvm.call @__relax_release(%spent) : (!ptr) -> ()
  %after = llvm.add %j, %c1 : i64
  llvm.br ^next(%after : i64)
^end:
  llvm.call @free(%block) : (!ptr) -> ()
  llvm.return %outcome : i32
}
llvm.func internal @__relax_device_first_size(%any: !ptr) -> i64 {
  %tensor_at = llvm.call @__relax_tensor(%any) : (!ptr) -> !ptr
  %tensor = llvm.load %tensor_at : !ptr -> !tensor
  %shape = llvm.extractvalue %tensor[5] : !tensor
  %size = llvm.load %shape : !ptr -> i64
  llvm.return %size : i64
}
