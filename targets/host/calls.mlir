// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of registered functions, tensors that they are passed and give back, copies, and results that callers get as one.
// Beside support.mlir, whose names it uses, for programs that need it (support.py).

!ptr = !llvm.ptr
!any = !llvm.struct<(i64, i64)>
!tensor = !llvm.struct<(ptr, i32, i32, i32, i32, ptr, ptr, i64)>
// Type index, rank and element type of an argument.
!kind = !llvm.struct<(i64, i64, i64)>

llvm.func @malloc(i64) -> !ptr
llvm.func @aligned_alloc(i64, i64) -> !ptr
llvm.func @free(!ptr)
llvm.func @TVMFFIErrorMoveFromRaised(!ptr)
llvm.func @TVMFFIErrorSetRaised(!ptr)
llvm.func @TVMFFIFunctionCall(!ptr, !ptr, i32, !ptr) -> i32
llvm.func @TVMFFIFunctionGetGlobal(!ptr, !ptr) -> i32
llvm.func @TVMFFIObjectDecRef(!ptr) -> i32

llvm.func @__relax_tensor(!ptr) -> !ptr
llvm.func @__relax_wrap(!ptr, !ptr, i32, i32, !ptr, !ptr) -> i32
llvm.func @__relax_fail(!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
llvm.func @__relax_release(!ptr)
llvm.func @__relax_data(!ptr) -> !ptr
llvm.func @__relax_allocate(!ptr, i32, i32, i64, !ptr, !ptr) -> i32

llvm.mlir.global internal constant @__relax_value_error("ValueError\00")
llvm.mlir.global internal constant @__relax_memory_error("MemoryError\00")
llvm.mlir.global internal constant @__relax_runtime_error("RuntimeError\00")
llvm.mlir.global internal constant @__relax_out_of_memory("out of memory\00")

// ---- copies ----

llvm.func internal @__relax_product(%first: i64, %rank: i32, %shape: !ptr) -> i64 {
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

// A new tensor with a copy of the elements.
llvm.func hidden @__relax_give_tensor(%label: !ptr, %rank: i32, %dtype: i32, %bytes: i64, %shape: !ptr,
    %data: !ptr, %any: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32
  %status = llvm.call @__relax_allocate(%label, %rank, %dtype, %bytes, %shape, %any)
    : (!ptr, i32, i32, i64, !ptr, !ptr) -> i32
  %made = llvm.icmp "eq" %status, %ok : i32
  llvm.cond_br %made, ^copy, ^end
^copy:
  %total = llvm.call @__relax_product(%bytes, %rank, %shape) : (i64, i32, !ptr) -> i64
  %target = llvm.call @__relax_data(%any) : (!ptr) -> !ptr
  "llvm.intr.memcpy"(%target, %data, %total) <{isVolatile = false}> : (!ptr, !ptr, i64) -> ()
  llvm.br ^end
^end:
  llvm.return %status : i32
}

llvm.mlir.global internal constant @__relax_no_copy("%s, %lld bytes needed\00")
// Leaves the address of a copy of a checked tensor's elements, for `free` to end.
llvm.func hidden @__relax_take_tensor(%any: !ptr, %bytes: i64, %out: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c64 = llvm.mlir.constant(64 : i64) : i64  %mask = llvm.mlir.constant(-64 : i64) : i64
  %null = llvm.mlir.zero : !ptr
  %tensor_at = llvm.call @__relax_tensor(%any) : (!ptr) -> !ptr
  %tensor = llvm.load %tensor_at : !ptr -> !tensor
  %rank = llvm.extractvalue %tensor[3] : !tensor
  %shape = llvm.extractvalue %tensor[5] : !tensor
  %total = llvm.call @__relax_product(%bytes, %rank, %shape) : (i64, i32, !ptr) -> i64
  %padded = llvm.add %total, %c64 : i64
  %whole = llvm.and %padded, %mask : i64
  %copy = llvm.call @aligned_alloc(%c64, %whole) : (i64, i64) -> !ptr
  %exhausted = llvm.icmp "eq" %copy, %null : !ptr
  llvm.cond_br %exhausted, ^refuse, ^fill
^refuse:
  %kind = llvm.mlir.addressof @__relax_memory_error : !ptr
  %format = llvm.mlir.addressof @__relax_no_copy : !ptr
  %where = llvm.mlir.addressof @__relax_out_of_memory : !ptr
  %refusal = llvm.call @__relax_fail(%kind, %format, %where, %whole, %c0, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.return %refusal : i32
^fill:
  %data = llvm.call @__relax_data(%any) : (!ptr) -> !ptr
  "llvm.intr.memcpy"(%copy, %data, %total) <{isVolatile = false}> : (!ptr, !ptr, i64) -> ()
  llvm.store %copy, %out : !ptr, !ptr
  llvm.return %ok : i32
}

// ---- registered functions ----

llvm.mlir.global internal constant @__relax_no_function(
  "no global function '%s' is registered (tvm_ffi.register_global_func)\00")
llvm.func internal @__relax_find_global(%slot: !ptr, %name: !ptr, %length: i64) -> !ptr
    attributes {passthrough = ["cold", "noinline"]} {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %zero = llvm.mlir.constant(0 : i32) : i32  %null = llvm.mlir.zero : !ptr
  %text = llvm.alloca %c1 x !llvm.struct<(ptr, i64)> : (i64) -> !ptr
  %out = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  llvm.store %null, %out : !ptr, !ptr
  llvm.store %name, %text : !ptr, !ptr
  %length_at = llvm.getelementptr %text[8] : (!ptr) -> !ptr, i8
  llvm.store %length, %length_at : i64, !ptr
  %status = llvm.call @TVMFFIFunctionGetGlobal(%text, %out) : (!ptr, !ptr) -> i32
  %asked = llvm.icmp "eq" %status, %zero : i32
  llvm.cond_br %asked, ^answer, ^failed
^failed:
  llvm.return %null : !ptr
^answer:
  %function = llvm.load %out : !ptr -> !ptr
  %missing = llvm.icmp "eq" %function, %null : !ptr
  llvm.cond_br %missing, ^unknown, ^keep
^unknown:
  %kind = llvm.mlir.addressof @__relax_value_error : !ptr
  %format = llvm.mlir.addressof @__relax_no_function : !ptr
  %failure = llvm.call @__relax_fail(%kind, %format, %name, %c0, %c0, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.br ^failed
^keep:
  %exchange = llvm.cmpxchg %slot, %null, %function acq_rel acquire : !ptr, !ptr
  %won = llvm.extractvalue %exchange[1] : !llvm.struct<(ptr, i1)>
  llvm.cond_br %won, ^ours, ^theirs
^ours:
  llvm.return %function : !ptr
^theirs:
  %earlier = llvm.extractvalue %exchange[0] : !llvm.struct<(ptr, i1)>
  %released = llvm.call @TVMFFIObjectDecRef(%function) : (!ptr) -> i32
  llvm.return %earlier : !ptr
}

llvm.mlir.global internal constant @__relax_no_error(
  "'%s' has failed with an exception whose text cannot be shown\00")
llvm.func internal @__relax_ensure_error(%name: !ptr) attributes {passthrough = ["cold", "noinline"]} {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64  %null = llvm.mlir.zero : !ptr
  %out = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  llvm.store %null, %out : !ptr, !ptr
  llvm.call @TVMFFIErrorMoveFromRaised(%out) : (!ptr) -> ()
  %error = llvm.load %out : !ptr -> !ptr
  %missing = llvm.icmp "eq" %error, %null : !ptr
  llvm.cond_br %missing, ^make, ^keep
^make:
  %kind = llvm.mlir.addressof @__relax_runtime_error : !ptr
  %format = llvm.mlir.addressof @__relax_no_error : !ptr
  %failure = llvm.call @__relax_fail(%kind, %format, %name, %c0, %c0, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.return
^keep:
  llvm.call @TVMFFIErrorSetRaised(%error) : (!ptr) -> ()
  %released = llvm.call @TVMFFIObjectDecRef(%error) : (!ptr) -> i32
  llvm.return
}

// Calls the function of that name with values, borrowed; the caller owns the result, None before. The slot keeps the
// function from the first call on.
llvm.func internal @__relax_call_global(%slot: !ptr, %name: !ptr, %length: i64, %args: !ptr,
    %count: i32, %result: !ptr) -> i32 {
  %null = llvm.mlir.zero : !ptr  %failure = llvm.mlir.constant(-1 : i32) : i32
  %zero = llvm.mlir.constant(0 : i32) : i32
  %kept = llvm.load %slot atomic acquire {alignment = 8 : i64} : !ptr -> !ptr
  %known = llvm.icmp "ne" %kept, %null : !ptr
  llvm.cond_br %known, ^call(%kept : !ptr), ^find
^find:
  %found = llvm.call @__relax_find_global(%slot, %name, %length) : (!ptr, !ptr, i64) -> !ptr
  %exists = llvm.icmp "ne" %found, %null : !ptr
  llvm.cond_br %exists, ^call(%found : !ptr), ^return(%failure : i32)
^call(%function: !ptr):
  %called = llvm.call @TVMFFIFunctionCall(%function, %args, %count, %result) : (!ptr, !ptr, i32, !ptr) -> i32
  %good = llvm.icmp "eq" %called, %zero : i32
  llvm.cond_br %good, ^return(%called : i32), ^raised
^raised:
  llvm.call @__relax_ensure_error(%name) : (!ptr) -> ()
  llvm.br ^return(%called : i32)
^return(%status: i32):
  llvm.return %status : i32
}

llvm.mlir.global internal constant @__relax_no_header("%s: %lld bytes needed\00")
// A tensor of memory that is there, for the time of a call.
llvm.func internal @__relax_borrow(%rank: i32, %dtype: i32, %shape: !ptr, %data: !ptr, %any: !ptr) -> i32
    attributes {passthrough = ["noinline"]} {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c16 = llvm.mlir.constant(16 : i64) : i64
  %header = llvm.mlir.constant(80 : i64) : i64  %null = llvm.mlir.zero : !ptr
  %long_rank = llvm.sext %rank : i32 to i64
  %dims = llvm.mul %long_rank, %c16 : i64
  %size = llvm.add %header, %dims : i64
  %block = llvm.call @malloc(%size) : (i64) -> !ptr
  %exhausted = llvm.icmp "eq" %block, %null : !ptr
  llvm.cond_br %exhausted, ^refuse, ^fill
^refuse:
  %kind = llvm.mlir.addressof @__relax_memory_error : !ptr
  %format = llvm.mlir.addressof @__relax_no_header : !ptr
  %where = llvm.mlir.addressof @__relax_out_of_memory : !ptr
  %refusal = llvm.call @__relax_fail(%kind, %format, %where, %size, %c0, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.return %refusal : i32
^fill:
  %status = llvm.call @__relax_wrap(%block, %data, %rank, %dtype, %shape, %any)
    : (!ptr, !ptr, i32, i32, !ptr, !ptr) -> i32
  llvm.return %status : i32
}

llvm.mlir.global internal constant @__relax_kept(
  "a function that was called has kept a tensor that lives only during the call: it must copy it\00")
// Ends what borrow began; a RuntimeError where somebody kept the tensor.
llvm.func internal @__relax_give_back(%any: !ptr) -> i32 attributes {passthrough = ["noinline"]} {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %one = llvm.mlir.constant(1 : i32) : i32
  %payload_at = llvm.getelementptr %any[8] : (!ptr) -> !ptr, i8
  %tensor = llvm.load %payload_at : !ptr -> !ptr
  %count = llvm.load %tensor atomic acquire {alignment = 8 : i64} : !ptr -> i32
  %status = llvm.call @TVMFFIObjectDecRef(%tensor) : (!ptr) -> i32
  %sole = llvm.icmp "eq" %count, %one : i32
  llvm.cond_br %sole, ^return(%status : i32), ^kept
^kept:
  %kind = llvm.mlir.addressof @__relax_runtime_error : !ptr
  %text = llvm.mlir.addressof @__relax_kept : !ptr
  %failure = llvm.call @__relax_fail(%kind, %text, %kind, %c0, %c0, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.br ^return(%failure : i32)
^return(%result: i32):
  llvm.return %result : i32
}

// Calls a registered function with arguments that are described: three i64 for each in `kinds`, type index, rank and
// element type. A tensor, which is borrowed, is its address and sizes among `words`, every other argument one word; an
// object (type index -1) is there by the address of a value.
llvm.func hidden @__relax_call(%slot: !ptr, %name: !ptr, %length: i64, %kinds: !ptr, %count: i32,
    %words: !ptr, %result: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %failure = llvm.mlir.constant(-1 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32  %c1 = llvm.mlir.constant(1 : i64) : i64  %none = llvm.mlir.zero : !any
  %tensor_kind = llvm.mlir.constant(70 : i64) : i64  %object_kind = llvm.mlir.constant(-1 : i64) : i64
  %args = llvm.alloca %count x !any {alignment = 8 : i64} : (i32) -> !ptr
  llvm.br ^head(%ok, %words : i32, !ptr)
^head(%i: i32, %word: !ptr):
  %more = llvm.icmp "slt" %i, %count : i32
  llvm.cond_br %more, ^body, ^call
^body:
  %kind_at = llvm.getelementptr %kinds[%i, 0] : (!ptr, i32) -> !ptr, !kind
  %described = llvm.load %kind_at : !ptr -> !kind
  %kind = llvm.extractvalue %described[0] : !kind
  %arg = llvm.getelementptr %args[%i] : (!ptr, i32) -> !ptr, !any
  %following = llvm.add %i, %one : i32
  %next_word = llvm.getelementptr %word[8] : (!ptr) -> !ptr, i8
  %is_tensor = llvm.icmp "eq" %kind, %tensor_kind : i64
  llvm.cond_br %is_tensor, ^tensor, ^other
^tensor:
  %long_rank = llvm.extractvalue %described[1] : !kind
  %long_dtype = llvm.extractvalue %described[2] : !kind
  %rank = llvm.trunc %long_rank : i64 to i32
  %dtype = llvm.trunc %long_dtype : i64 to i32
  %data = llvm.load %word : !ptr -> !ptr
  %borrowed = llvm.call @__relax_borrow(%rank, %dtype, %next_word, %data, %arg) : (i32, i32, !ptr, !ptr, !ptr) -> i32
  %behind_sizes = llvm.getelementptr %next_word[%long_rank] : (!ptr, i64) -> !ptr, i64
  %was_borrowed = llvm.icmp "eq" %borrowed, %ok : i32
  llvm.cond_br %was_borrowed, ^head(%following, %behind_sizes : i32, !ptr), ^undo(%i, %failure : i32, i32)
^other:
  %is_object = llvm.icmp "eq" %kind, %object_kind : i64
  llvm.cond_br %is_object, ^object, ^plain
^object:
  %value_at = llvm.load %word : !ptr -> !ptr
  %value = llvm.load %value_at : !ptr -> !any
  llvm.store %value, %arg : !any, !ptr
  llvm.br ^head(%following, %next_word : i32, !ptr)
^plain:
  %payload = llvm.load %word : !ptr -> i64
  %with_kind = llvm.insertvalue %kind, %none[0] : !any
  %with_payload = llvm.insertvalue %payload, %with_kind[1] : !any
  llvm.store %with_payload, %arg : !any, !ptr
  llvm.br ^head(%following, %next_word : i32, !ptr)
^call:
  %called = llvm.call @__relax_call_global(%slot, %name, %length, %args, %count, %result)
    : (!ptr, !ptr, i64, !ptr, i32, !ptr) -> i32
  llvm.br ^undo(%count, %called : i32, i32)

// Ends the tensors, from the last one on; after a call that failed its error stays.
^undo(%left: i32, %so_far: i32):
  %is_left = llvm.icmp "sgt" %left, %ok : i32
  llvm.cond_br %is_left, ^end_one, ^ended
^end_one:
  %last = llvm.sub %left, %one : i32
  %last_kind_at = llvm.getelementptr %kinds[%last, 0] : (!ptr, i32) -> !ptr, !kind
  %last_kind = llvm.load %last_kind_at : !ptr -> i64
  %last_arg = llvm.getelementptr %args[%last] : (!ptr, i32) -> !ptr, !any
  %was_tensor = llvm.icmp "eq" %last_kind, %tensor_kind : i64
  llvm.cond_br %was_tensor, ^end_tensor, ^undo(%last, %so_far : i32, i32)
^end_tensor:
  %good = llvm.icmp "eq" %so_far, %ok : i32
  llvm.cond_br %good, ^give_back, ^drop
^give_back:
  %given_back = llvm.call @__relax_give_back(%last_arg) : (!ptr) -> i32
  llvm.br ^undo(%last, %given_back : i32, i32)
^drop:
  llvm.call @__relax_release(%last_arg) : (!ptr) -> ()
  llvm.br ^undo(%last, %so_far : i32, i32)
^ended:
  %is_good = llvm.icmp "eq" %so_far, %ok : i32
  llvm.cond_br %is_good, ^return, ^forget
^forget:
  llvm.call @__relax_release(%result) : (!ptr) -> ()
  llvm.store %none, %result : !any, !ptr
  llvm.br ^return
^return:
  llvm.return %so_far : i32
}

// ---- results that callers get as one ----

llvm.mlir.global internal constant @__relax_make_array_name("ffi.Array\00")
llvm.mlir.global internal @__relax_make_array_slot() {alignment = 8 : i64} : !ptr {
  %null = llvm.mlir.zero : !ptr
  llvm.return %null : !ptr
}
// An array of values, which lie one behind the other, by tvm-ffi's own function.
llvm.func hidden @__relax_make_array(%items: !ptr, %count: i32, %any: !ptr) -> i32 {
  %slot = llvm.mlir.addressof @__relax_make_array_slot : !ptr
  %name = llvm.mlir.addressof @__relax_make_array_name : !ptr
  %length = llvm.mlir.constant(9 : i64) : i64
  %status = llvm.call @__relax_call_global(%slot, %name, %length, %items, %count, %any)
    : (!ptr, !ptr, i64, !ptr, i32, !ptr) -> i32
  llvm.return %status : i32
}

llvm.func internal @__relax_first_size(%any: !ptr) -> i64 {
  %tensor_at = llvm.call @__relax_tensor(%any) : (!ptr) -> !ptr
  %tensor = llvm.load %tensor_at : !ptr -> !tensor
  %shape = llvm.extractvalue %tensor[5] : !tensor
  %size = llvm.load %shape : !ptr -> i64
  llvm.return %size : i64
}

llvm.mlir.global internal constant @__relax_wrong_rows("%s #%lld does not fit its elements\00")
llvm.mlir.global internal constant @__relax_list_shape("the shape of a list's tensor\00")
llvm.mlir.global internal constant @__relax_no_list("%s: a list of %lld tensors\00")
// An array of the first items, as many as `count`, and of the tensors that the two items behind them join: elements, and
// a row of integers for each tensor, its number of elements and its shape.
llvm.func hidden @__relax_separate(%label: !ptr, %items: !ptr, %count: i64, %rank: i32, %dtype: i32,
    %bytes: i64, %out: !ptr) -> i32 {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %most = llvm.mlir.constant(2147483647 : i64) : i64  %any_size = llvm.mlir.constant(16 : i64) : i64
  %good = llvm.mlir.constant(0 : i32) : i32  %zero = llvm.mlir.constant(0 : i8) : i8  %null = llvm.mlir.zero : !ptr
  %first_bytes = llvm.mul %count, %any_size : i64
  %joined = llvm.getelementptr %items[%count] : (!ptr, i64) -> !ptr, !any
  %rows_any = llvm.getelementptr %joined[1] : (!ptr) -> !ptr, !any
  %elements = llvm.call @__relax_data(%joined) : (!ptr) -> !ptr
  %rows = llvm.call @__relax_data(%rows_any) : (!ptr) -> !ptr
  %held = llvm.call @__relax_first_size(%joined) : (!ptr) -> i64
  %further = llvm.call @__relax_first_size(%rows_any) : (!ptr) -> i64
  %total = llvm.add %count, %further : i64
  %too_many = llvm.icmp "sgt" %total, %most : i64
  llvm.cond_br %too_many, ^refuse, ^room
^room:
  %further_bytes = llvm.mul %further, %any_size : i64
  %needed = llvm.add %first_bytes, %further_bytes : i64
  %asked = llvm.add %needed, %any_size : i64
  %block = llvm.call @malloc(%asked) : (i64) -> !ptr
  %exhausted = llvm.icmp "eq" %block, %null : !ptr
  llvm.cond_br %exhausted, ^refuse, ^fill
^refuse:
  %memory_error = llvm.mlir.addressof @__relax_memory_error : !ptr
  %no_list = llvm.mlir.addressof @__relax_no_list : !ptr
  %out_of_memory = llvm.mlir.addressof @__relax_out_of_memory : !ptr
  %refusal = llvm.call @__relax_fail(%memory_error, %no_list, %out_of_memory, %total, %c0, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.return %refusal : i32
^fill:
  "llvm.intr.memcpy"(%block, %items, %first_bytes) <{isVolatile = false}> : (!ptr, !ptr, i64) -> ()
  %made = llvm.getelementptr %block[%count] : (!ptr, i64) -> !ptr, !any
  "llvm.intr.memset"(%made, %zero, %further_bytes) <{isVolatile = false}> : (!ptr, i8, i64) -> ()
  llvm.br ^head(%c0, %elements, %rows, %held : i64, !ptr, !ptr, i64)
^head(%i: i64, %from: !ptr, %row: !ptr, %left: i64):
  %more = llvm.icmp "slt" %i, %further : i64
  llvm.cond_br %more, ^body, ^give
^body:
  %dims = llvm.getelementptr %row[8] : (!ptr) -> !ptr, i8
  %number = llvm.load %row : !ptr -> i64
  %enough = llvm.icmp "sle" %number, %left : i64
  %product = llvm.call @__relax_product(%c1, %rank, %dims) : (i64, i32, !ptr) -> i64
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
  %status = llvm.call @__relax_give_tensor(%label, %rank, %dtype, %bytes, %dims, %from, %any)
    : (!ptr, i32, i32, i64, !ptr, !ptr, !ptr) -> i32
  %size = llvm.mul %number, %bytes : i64
  %next_from = llvm.getelementptr %from[%size] : (!ptr, i64) -> !ptr, i8
  %next_row = llvm.getelementptr %dims[%rank] : (!ptr, i32) -> !ptr, i64
  %next = llvm.add %i, %c1 : i64
  %next_left = llvm.sub %left, %number : i64
  %was_made = llvm.icmp "eq" %status, %good : i32
  llvm.cond_br %was_made, ^head(%next, %next_from, %next_row, %next_left : i64, !ptr, !ptr, i64), ^clean(%status : i32)
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

// Sets a value to None, unless the tensor of one bool is true.
llvm.func hidden @__relax_keep_if(%flag: !ptr, %any: !ptr) {
  %no = llvm.mlir.constant(0 : i8) : i8  %none = llvm.mlir.zero : !any
  %data = llvm.call @__relax_data(%flag) : (!ptr) -> !ptr
  %truth = llvm.load %data : !ptr -> i8
  %absent = llvm.icmp "eq" %truth, %no : i8
  llvm.cond_br %absent, ^drop, ^end
^drop:
  llvm.call @__relax_release(%any) : (!ptr) -> ()
  llvm.store %none, %any : !any, !ptr
  llvm.br ^end
^end:
  llvm.return
}
