// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of registered functions, the tensors that these take and return, copies, and lists of results.
// Uses the names of support.mlir. units.py links this unit to the programs that need it.

// Type index, rank and element type of an argument.
!kind = !llvm.struct<(i64, i64, i64)>

func.func private @TVMFFIFunctionGetGlobal(!ptr, !ptr) -> i32
func.func private @__relax_tensor(!ptr) -> !ptr
func.func private @__relax_wrap(!ptr, !ptr, i32, i32, !ptr, !ptr) -> i32
func.func private @__relax_fail(!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
func.func private @__relax_exhausted(!ptr, i64) -> i32
func.func private @__relax_release(!ptr)
func.func private @__relax_data(!ptr) -> !ptr
func.func private @__relax_allocate(!ptr, i32, i32, i64, !ptr, !ptr) -> i32

// ---- copies ----

// Create a tensor with a copy of the elements.
func.func @__relax_give_tensor(%label: !ptr, %rank: i32, %dtype: i32, %bytes: i64, %shape: !ptr,
    %data: !ptr, %any: !ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %status = func.call @__relax_allocate(%label, %rank, %dtype, %bytes, %shape, %any)
    : (!ptr, i32, i32, i64, !ptr, !ptr) -> i32
  %is_made = arith.cmpi eq, %status, %ok : i32
  scf.if %is_made {
    %total = func.call @__relax_product(%bytes, %rank, %shape) : (i64, i32, !ptr) -> i64
    %target = func.call @__relax_data(%any) : (!ptr) -> !ptr
    "llvm.intr.memcpy"(%target, %data, %total) <{isVolatile = false}> : (!ptr, !ptr, i64) -> ()
  }
  return %status : i32
}

llvm.mlir.global internal constant @__relax_no_copy("%s, %lld bytes needed\00")
// Copy the elements of a checked tensor and store the address of the copy. The caller passes the address to `free`.
func.func @__relax_take_tensor(%any: !ptr, %bytes: i64, %out: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %c64 = arith.constant 64 : i64  %mask = arith.constant -64 : i64
  %null = llvm.mlir.zero : !ptr
  %tensor_at = func.call @__relax_tensor(%any) : (!ptr) -> !ptr  %tensor = llvm.load %tensor_at : !ptr -> !tensor
  %rank = llvm.extractvalue %tensor[3] : !tensor  %shape = llvm.extractvalue %tensor[5] : !tensor
  %total = func.call @__relax_product(%bytes, %rank, %shape) : (i64, i32, !ptr) -> i64
  %padded = arith.addi %total, %c64 : i64  %whole = arith.andi %padded, %mask : i64
  %copy = func.call @aligned_alloc(%c64, %whole) : (i64, i64) -> !ptr  %is_there = llvm.icmp "ne" %copy, %null : !ptr
  %status = scf.if %is_there -> i32 {
    %data = func.call @__relax_data(%any) : (!ptr) -> !ptr
    "llvm.intr.memcpy"(%copy, %data, %total) <{isVolatile = false}> : (!ptr, !ptr, i64) -> ()
    llvm.store %copy, %out : !ptr, !ptr
    scf.yield %ok : i32
  } else {
    %format = llvm.mlir.addressof @__relax_no_copy : !ptr
    %refused = func.call @__relax_exhausted(%format, %whole) : (!ptr, i64) -> i32
    scf.yield %refused : i32
  }
  return %status : i32
}

// ---- registered functions ----

llvm.mlir.global internal constant @__relax_no_function(
  "no global function '%s' is registered (tvm_ffi.register_global_func)\00")
func.func private @__relax_find_global(%slot: !ptr, %name: !ptr, %length: i64) -> !ptr
    attributes {llvm.cold, llvm.no_inline} {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64
  %zero = arith.constant 0 : i32  %null = llvm.mlir.zero : !ptr
  %text = llvm.alloca %c1 x !any : (i64) -> !ptr  %out = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  llvm.store %null, %out : !ptr, !ptr
  llvm.store %name, %text : !ptr, !ptr
  %length_at = llvm.getelementptr %text[8] : (!ptr) -> !ptr, i8
  llvm.store %length, %length_at : i64, !ptr
  %status = func.call @TVMFFIFunctionGetGlobal(%text, %out) : (!ptr, !ptr) -> i32
  %is_asked = arith.cmpi eq, %status, %zero : i32
  cf.cond_br %is_asked, ^answer, ^give(%null : !ptr)
^give(%result: !ptr):
  return %result : !ptr
^answer:
  %function = llvm.load %out : !ptr -> !ptr  %is_missing = llvm.icmp "eq" %function, %null : !ptr
  cf.cond_br %is_missing, ^unknown, ^keep
^unknown:
  %kind = llvm.mlir.addressof @__relax_value_error : !ptr  %format = llvm.mlir.addressof @__relax_no_function : !ptr
  %failure = func.call @__relax_fail(%kind, %format, %name, %c0, %c0, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  cf.br ^give(%null : !ptr)
^keep:
  %exchange = llvm.cmpxchg %slot, %null, %function acq_rel acquire : !ptr, !ptr
  %earlier = llvm.extractvalue %exchange[0] : !llvm.struct<(ptr, i1)>
  %is_ours = llvm.extractvalue %exchange[1] : !llvm.struct<(ptr, i1)>
  cf.cond_br %is_ours, ^give(%function : !ptr), ^theirs
^theirs:
  %released = func.call @TVMFFIObjectDecRef(%function) : (!ptr) -> i32
  cf.br ^give(%earlier : !ptr)
}

llvm.mlir.global internal constant @__relax_no_error(
  "'%s' has failed with an exception whose text cannot be shown\00")
func.func private @__relax_ensure_error(%name: !ptr) attributes {llvm.cold, llvm.no_inline} {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %null = llvm.mlir.zero : !ptr
  %out = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  llvm.store %null, %out : !ptr, !ptr
  func.call @TVMFFIErrorMoveFromRaised(%out) : (!ptr) -> ()
  %error = llvm.load %out : !ptr -> !ptr  %is_missing = llvm.icmp "eq" %error, %null : !ptr
  scf.if %is_missing {
    %kind = llvm.mlir.addressof @__relax_runtime_error : !ptr  %format = llvm.mlir.addressof @__relax_no_error : !ptr
    %failure = func.call @__relax_fail(%kind, %format, %name, %c0, %c0, %c0, %c0)
      : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  } else {
    func.call @TVMFFIErrorSetRaised(%error) : (!ptr) -> ()
    %released = func.call @TVMFFIObjectDecRef(%error) : (!ptr) -> i32
  }
  return
}

// Call a function by its name with borrowed values. The caller owns the result, which is None before the call. The first
// call stores the function in the slot.
func.func private @__relax_call_global(%slot: !ptr, %name: !ptr, %length: i64, %args: !ptr,
    %count: i32, %result: !ptr) -> i32 {
  %null = llvm.mlir.zero : !ptr  %failure = arith.constant -1 : i32  %zero = arith.constant 0 : i32
  %kept = llvm.load %slot atomic acquire {alignment = 8 : i64} : !ptr -> !ptr
  %is_known = llvm.icmp "ne" %kept, %null : !ptr
  cf.cond_br %is_known, ^call(%kept : !ptr), ^find
^find:
  %found = func.call @__relax_find_global(%slot, %name, %length) : (!ptr, !ptr, i64) -> !ptr
  %exists = llvm.icmp "ne" %found, %null : !ptr
  cf.cond_br %exists, ^call(%found : !ptr), ^return(%failure : i32)
^call(%function: !ptr):
  %called = func.call @TVMFFIFunctionCall(%function, %args, %count, %result) : (!ptr, !ptr, i32, !ptr) -> i32
  %has_failed = arith.cmpi ne, %called, %zero : i32
  scf.if %has_failed {
    func.call @__relax_ensure_error(%name) : (!ptr) -> ()
  }
  cf.br ^return(%called : i32)
^return(%status: i32):
  return %status : i32
}

llvm.mlir.global internal constant @__relax_no_header("%s: %lld bytes needed\00")
// Wrap existing memory in a tensor for the duration of a call.
func.func @__relax_borrow(%rank: i32, %dtype: i32, %shape: !ptr, %data: !ptr, %any: !ptr) -> i32 {
  %c16 = arith.constant 16 : i64  %header = arith.constant 80 : i64  %null = llvm.mlir.zero : !ptr
  %long_rank = arith.extsi %rank : i32 to i64  %dims = arith.muli %long_rank, %c16 : i64
  %size = arith.addi %header, %dims : i64
  %block = func.call @malloc(%size) : (i64) -> !ptr  %is_there = llvm.icmp "ne" %block, %null : !ptr
  %status = scf.if %is_there -> i32 {
    %wrapped = func.call @__relax_wrap(%block, %data, %rank, %dtype, %shape, %any)
      : (!ptr, !ptr, i32, i32, !ptr, !ptr) -> i32
    scf.yield %wrapped : i32
  } else {
    %format = llvm.mlir.addressof @__relax_no_header : !ptr
    %refused = func.call @__relax_exhausted(%format, %size) : (!ptr, i64) -> i32
    scf.yield %refused : i32
  }
  return %status : i32
}

llvm.mlir.global internal constant @__relax_kept(
  "a function that was called has kept a tensor that lives only during the call: it must copy it\00")
// End a borrow. Raise RuntimeError if the callee still holds a reference to the tensor.
func.func private @__relax_give_back(%any: !ptr) -> i32 attributes {llvm.no_inline} {
  %c0 = arith.constant 0 : i64  %one = arith.constant 1 : i32
  %tensor_at = llvm.getelementptr %any[8] : (!ptr) -> !ptr, i8  %tensor = llvm.load %tensor_at : !ptr -> !ptr
  %count = llvm.load %tensor atomic acquire {alignment = 8 : i64} : !ptr -> i32
  %status = func.call @TVMFFIObjectDecRef(%tensor) : (!ptr) -> i32
  %is_sole = arith.cmpi eq, %count, %one : i32
  %result = scf.if %is_sole -> i32 {
    scf.yield %status : i32
  } else {
    %kind = llvm.mlir.addressof @__relax_runtime_error : !ptr  %text = llvm.mlir.addressof @__relax_kept : !ptr
    %failure = func.call @__relax_fail(%kind, %text, %kind, %c0, %c0, %c0, %c0)
      : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
    scf.yield %failure : i32
  }
  return %result : i32
}

// Call a registered function. `kinds` describes each argument by three i64: type index, rank and element type. `words`
// has the address and the sizes of a borrowed tensor, and one word of any other argument. The word of an object (type
// index -1) is the address of a value.
func.func @__relax_call(%slot: !ptr, %name: !ptr, %length: i64, %kinds: !ptr, %count: i32,
    %words: !ptr, %result: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %failure = arith.constant -1 : i32
  %one = arith.constant 1 : i32  %none = llvm.mlir.zero : !any
  %tensor_kind = arith.constant 70 : i64  %object_kind = arith.constant -1 : i64
  %args = llvm.alloca %count x !any {alignment = 8 : i64} : (i32) -> !ptr
  cf.br ^head(%ok, %words : i32, !ptr)
^head(%i: i32, %word: !ptr):
  %more = arith.cmpi slt, %i, %count : i32
  cf.cond_br %more, ^body, ^call
^body:
  %kind_at = llvm.getelementptr %kinds[%i] : (!ptr, i32) -> !ptr, !kind  %described = llvm.load %kind_at : !ptr -> !kind
  %kind = llvm.extractvalue %described[0] : !kind  %arg = llvm.getelementptr %args[%i] : (!ptr, i32) -> !ptr, !any
  %following = arith.addi %i, %one : i32  %next_word = llvm.getelementptr %word[8] : (!ptr) -> !ptr, i8
  %is_tensor = arith.cmpi eq, %kind, %tensor_kind : i64
  cf.cond_br %is_tensor, ^tensor, ^other
^tensor:
  %long_rank = llvm.extractvalue %described[1] : !kind  %rank = arith.trunci %long_rank : i64 to i32
  %long_dtype = llvm.extractvalue %described[2] : !kind  %dtype = arith.trunci %long_dtype : i64 to i32
  %data = llvm.load %word : !ptr -> !ptr
  %borrowed = func.call @__relax_borrow(%rank, %dtype, %next_word, %data, %arg) : (i32, i32, !ptr, !ptr, !ptr) -> i32
  %behind_sizes = llvm.getelementptr %next_word[%long_rank] : (!ptr, i64) -> !ptr, i64
  %was_borrowed = arith.cmpi eq, %borrowed, %ok : i32
  cf.cond_br %was_borrowed, ^head(%following, %behind_sizes : i32, !ptr), ^undo(%i, %failure : i32, i32)
^other:
  %is_object = arith.cmpi eq, %kind, %object_kind : i64
  scf.if %is_object {
    %value_at = llvm.load %word : !ptr -> !ptr  %value = llvm.load %value_at : !ptr -> !any
    llvm.store %value, %arg : !any, !ptr
  } else {
    %payload = llvm.load %word : !ptr -> i64  %with_kind = llvm.insertvalue %kind, %none[0] : !any
    %value = llvm.insertvalue %payload, %with_kind[1] : !any
    llvm.store %value, %arg : !any, !ptr
  }
  cf.br ^head(%following, %next_word : i32, !ptr)
^call:
  %called = func.call @__relax_call_global(%slot, %name, %length, %args, %count, %result)
    : (!ptr, !ptr, i64, !ptr, i32, !ptr) -> i32
  cf.br ^undo(%count, %called : i32, i32)

// End the borrowed tensors in reverse order. The error of a failed call stays set.
^undo(%passed: i32, %outcome: i32):
  %status = scf.for %j = %ok to %passed step %one iter_args(%so_far = %outcome) -> (i32) : i32 {
    %behind = arith.subi %passed, %j : i32  %last = arith.subi %behind, %one : i32
    %last_arg = llvm.getelementptr %args[%last] : (!ptr, i32) -> !ptr, !any
    %last_kind_at = llvm.getelementptr %kinds[%last] : (!ptr, i32) -> !ptr, !kind
    %last_kind = llvm.load %last_kind_at : !ptr -> i64  %was_tensor = arith.cmpi eq, %last_kind, %tensor_kind : i64
    %now = scf.if %was_tensor -> i32 {
      %is_good = arith.cmpi eq, %so_far, %ok : i32
      %ended = scf.if %is_good -> i32 {
        %given_back = func.call @__relax_give_back(%last_arg) : (!ptr) -> i32
        scf.yield %given_back : i32
      } else {
        func.call @__relax_release(%last_arg) : (!ptr) -> ()
        scf.yield %so_far : i32
      }
      scf.yield %ended : i32
    } else {
      scf.yield %so_far : i32
    }
    scf.yield %now : i32
  }
  %has_failed = arith.cmpi ne, %status, %ok : i32
  scf.if %has_failed {
    func.call @__relax_release(%result) : (!ptr) -> ()
    llvm.store %none, %result : !any, !ptr
  }
  return %status : i32
}

// ---- lists of results ----

llvm.mlir.global internal constant @__relax_make_array_name("ffi.Array\00")
llvm.mlir.global internal @__relax_make_array_slot(0 : i64) {alignment = 8 : i64} : i64
// Create an array of contiguous values with tvm-ffi's own function.
func.func @__relax_make_array(%items: !ptr, %count: i32, %any: !ptr) -> i32 {
  %slot = llvm.mlir.addressof @__relax_make_array_slot : !ptr
  %name = llvm.mlir.addressof @__relax_make_array_name : !ptr  %length = arith.constant 9 : i64
  %status = func.call @__relax_call_global(%slot, %name, %length, %items, %count, %any)
    : (!ptr, !ptr, i64, !ptr, i32, !ptr) -> i32
  return %status : i32
}

func.func private @__relax_first_size(%any: !ptr) -> i64 {
  %tensor_at = func.call @__relax_tensor(%any) : (!ptr) -> !ptr  %tensor = llvm.load %tensor_at : !ptr -> !tensor
  %shape = llvm.extractvalue %tensor[5] : !tensor  %size = llvm.load %shape : !ptr -> i64
  return %size : i64
}

// Create an array of the first `count` items and of the tensors that the next two items encode: the elements of all
// tensors, and for each tensor a row of integers with its number of elements and its shape.
func.func @__relax_separate(%label: !ptr, %items: !ptr, %count: i64, %rank: i32, %dtype: i32,
    %bytes: i64, %out: !ptr) -> i32 {
  %joined = llvm.getelementptr %items[%count] : (!ptr, i64) -> !ptr, !any
  %rows_any = llvm.getelementptr %joined[1] : (!ptr) -> !ptr, !any
  %rows = func.call @__relax_data(%rows_any) : (!ptr) -> !ptr
  %make = llvm.mlir.addressof @__relax_give_row : !ptr  %null = llvm.mlir.zero : !ptr
  %status = func.call @__relax_separate_rows(%null, %make, %rows, %label, %items, %count, %rank, %dtype, %bytes, %out)
    : (!ptr, !ptr, !ptr, !ptr, !ptr, i64, i32, i32, i64, !ptr) -> i32
  return %status : i32
}
llvm.func internal @__relax_give_row(%table: !ptr, %label: !ptr, %rank: i32, %dtype: i32, %bytes: i64, %shape: !ptr,
    %data: !ptr, %any: !ptr) -> i32 {
  %status = func.call @__relax_give_tensor(%label, %rank, %dtype, %bytes, %shape, %data, %any)
    : (!ptr, i32, i32, i64, !ptr, !ptr, !ptr) -> i32
  llvm.return %status : i32
}

llvm.mlir.global internal constant @__relax_wrong_rows("%s #%lld does not fit its elements\00")
llvm.mlir.global internal constant @__relax_list_shape("the shape of a list's tensor\00")
llvm.mlir.global internal constant @__relax_no_list("%s: a list of %lld tensors\00")
// Like separate, for rows in host memory. `make(table, label, rank, dtype, bytes, sizes, elements, any)` returns a tensor
// with a copy of the elements.
func.func @__relax_separate_rows(%table: !ptr, %make: !ptr, %rows: !ptr, %label: !ptr, %items: !ptr, %count: i64,
    %rank: i32, %dtype: i32, %bytes: i64, %out: !ptr) -> i32 {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %most = arith.constant 2147483647 : i64
  %any_size = arith.constant 16 : i64  %ok = arith.constant 0 : i32  %zero = arith.constant 0 : i8
  %null = llvm.mlir.zero : !ptr
  %joined = llvm.getelementptr %items[%count] : (!ptr, i64) -> !ptr, !any
  %rows_any = llvm.getelementptr %joined[1] : (!ptr) -> !ptr, !any
  %elements = func.call @__relax_data(%joined) : (!ptr) -> !ptr
  %held = func.call @__relax_first_size(%joined) : (!ptr) -> i64
  %further = func.call @__relax_first_size(%rows_any) : (!ptr) -> i64
  %total = arith.addi %count, %further : i64  %too_many = arith.cmpi sgt, %total, %most : i64
  cf.cond_br %too_many, ^refuse, ^room
^room:
  %first_bytes = arith.muli %count, %any_size : i64  %further_bytes = arith.muli %further, %any_size : i64
  %needed = arith.addi %first_bytes, %further_bytes : i64  %asked = arith.addi %needed, %any_size : i64
  %block = func.call @malloc(%asked) : (i64) -> !ptr  %is_exhausted = llvm.icmp "eq" %block, %null : !ptr
  cf.cond_br %is_exhausted, ^refuse, ^fill
^refuse:
  %no_list = llvm.mlir.addressof @__relax_no_list : !ptr
  %refused = func.call @__relax_exhausted(%no_list, %total) : (!ptr, i64) -> i32
  return %refused : i32
^fill:
  "llvm.intr.memcpy"(%block, %items, %first_bytes) <{isVolatile = false}> : (!ptr, !ptr, i64) -> ()
  %made = llvm.getelementptr %block[%count] : (!ptr, i64) -> !ptr, !any
  "llvm.intr.memset"(%made, %zero, %further_bytes) <{isVolatile = false}> : (!ptr, i8, i64) -> ()
  cf.br ^head(%c0, %elements, %rows, %held : i64, !ptr, !ptr, i64)
^head(%i: i64, %from: !ptr, %row: !ptr, %left: i64):
  %more = arith.cmpi slt, %i, %further : i64
  cf.cond_br %more, ^body, ^give
^body:
  %dims = llvm.getelementptr %row[8] : (!ptr) -> !ptr, i8  %number = llvm.load %row : !ptr -> i64
  %product = func.call @__relax_product(%c1, %rank, %dims) : (i64, i32, !ptr) -> i64
  %is_enough = arith.cmpi sle, %number, %left : i64  %agrees = arith.cmpi eq, %product, %number : i64
  %fits = arith.andi %is_enough, %agrees : i1
  cf.cond_br %fits, ^make, ^wrong
^wrong:
  %value_error = llvm.mlir.addressof @__relax_value_error : !ptr
  %wrong_rows = llvm.mlir.addressof @__relax_wrong_rows : !ptr  %shape = llvm.mlir.addressof @__relax_list_shape : !ptr
  %wrong = func.call @__relax_fail(%value_error, %wrong_rows, %shape, %i, %c0, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  cf.br ^clean(%wrong : i32)
^make:
  %any = llvm.getelementptr %made[%i] : (!ptr, i64) -> !ptr, !any
  %status = llvm.call %make(%table, %label, %rank, %dtype, %bytes, %dims, %from, %any)
    : !ptr, (!ptr, !ptr, i32, i32, i64, !ptr, !ptr, !ptr) -> i32
  %size = arith.muli %number, %bytes : i64  %next_from = llvm.getelementptr %from[%size] : (!ptr, i64) -> !ptr, i8
  %next_row = llvm.getelementptr %dims[%rank] : (!ptr, i32) -> !ptr, i64
  %next = arith.addi %i, %c1 : i64  %next_left = arith.subi %left, %number : i64
  %was_made = arith.cmpi eq, %status, %ok : i32
  cf.cond_br %was_made, ^head(%next, %next_from, %next_row, %next_left : i64, !ptr, !ptr, i64), ^clean(%status : i32)
^give:
  %length = arith.trunci %total : i64 to i32
  %given = func.call @__relax_make_array(%block, %length, %out) : (!ptr, i32, !ptr) -> i32
  cf.br ^clean(%given : i32)
^clean(%outcome: i32):
  scf.for %j = %c0 to %further step %c1 : i64 {
    %spent = llvm.getelementptr %made[%j] : (!ptr, i64) -> !ptr, !any
    func.call @__relax_release(%spent) : (!ptr) -> ()
  }
  llvm.call @free(%block) : (!ptr) -> ()
  return %outcome : i32
}

// Set a value to None unless the one bool of the tensor is true.
func.func @__relax_keep_if(%flag: !ptr, %any: !ptr) {
  %data = func.call @__relax_data(%flag) : (!ptr) -> !ptr  %truth = llvm.load %data : !ptr -> i8
  func.call @__relax_keep_where(%truth, %any) : (i8, !ptr) -> ()
  return
}
func.func @__relax_keep_where(%truth: i8, %any: !ptr) {
  %no = arith.constant 0 : i8  %none = llvm.mlir.zero : !any  %is_absent = arith.cmpi eq, %truth, %no : i8
  scf.if %is_absent {
    func.call @__relax_release(%any) : (!ptr) -> ()
    llvm.store %none, %any : !any, !ptr
  }
  return
}
