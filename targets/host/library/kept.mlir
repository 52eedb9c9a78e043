// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// State of a loaded program (memory, constants, functions), and parallel loops. Uses the names of support.mlir, for
// programs that need it (units.py).

func.func private @__relax_fail(!ptr, !ptr, !ptr, i64, i64, i64, i64) attributes {relax.entry}
func.func private @__relax_release(!ptr)
func.func private @__relax_ask_for_large_pages(!ptr, i64)
func.func private @__relax_give_object(!ptr, !ptr) -> i32

// ---- state of a loaded program ----

// Two cached blocks of memory, each after its size: the arena of temporaries (0) and the scratch memory of kernels (1). A
// call takes a cached block, or allocates one if it is taken or too small. The last call to return leaves its block.
llvm.mlir.global internal @__relax_blocks(dense<0> : tensor<2xi64>) {alignment = 8 : i64} : !llvm.array<2 x i64>
func.func private @__relax_block(%which: i64) -> !ptr {
  %blocks = llvm.mlir.addressof @__relax_blocks : !ptr
  %slot = llvm.getelementptr %blocks[%which] : (!ptr, i64) -> !ptr, !ptr
  return %slot : !ptr
}
func.func @__relax_take_block(%which: i64, %bytes: i64) -> !ptr {
  %null = llvm.mlir.zero : !ptr  %no = arith.constant false
  %slot = func.call @__relax_block(%which) : (i64) -> !ptr
  %held = llvm.atomicrmw xchg %slot, %null acq_rel : !ptr, !ptr  %is_some = llvm.icmp "ne" %held, %null : !ptr
  %is_enough = scf.if %is_some -> i1 {
    %size = llvm.load %held : !ptr -> i64  %fits = arith.cmpi uge, %size, %bytes : i64
    scf.yield %fits : i1
  } else {
    scf.yield %no : i1
  }
  %block = scf.if %is_enough -> !ptr {
    scf.yield %held : !ptr
  } else {
    llvm.call @free(%held) : (!ptr) -> ()
    %c64 = arith.constant 64 : i64  %c127 = arith.constant 127 : i64  %mask = arith.constant -64 : i64
    %more = arith.addi %bytes, %c127 : i64  %whole = arith.andi %more, %mask : i64
    %new = func.call @aligned_alloc(%c64, %whole) : (i64, i64) -> !ptr  %is_there = llvm.icmp "ne" %new, %null : !ptr
    scf.if %is_there {
      func.call @__relax_ask_for_large_pages(%new, %whole) : (!ptr, i64) -> ()
      %room = arith.subi %whole, %c64 : i64
      llvm.store %room, %new : i64, !ptr
    }
    scf.yield %new : !ptr
  }
  %is_none = llvm.icmp "eq" %block, %null : !ptr  %data = llvm.getelementptr %block[64] : (!ptr) -> !ptr, i8
  %given = arith.select %is_none, %null, %data : !ptr
  return %given : !ptr
}
func.func @__relax_give_block(%which: i64, %data: !ptr) {
  %null = llvm.mlir.zero : !ptr  %is_some = llvm.icmp "ne" %data, %null : !ptr
  scf.if %is_some {
    %block = llvm.getelementptr %data[-64] : (!ptr) -> !ptr, i8  %slot = func.call @__relax_block(%which) : (i64) -> !ptr
    %other = llvm.atomicrmw xchg %slot, %block acq_rel : !ptr, !ptr
    llvm.call @free(%other) : (!ptr) -> ()
  }
  return
}

// Owners of the constants' memory, of the functions that came with the program, and of the thread pool.
llvm.mlir.global internal @__relax_constant_owner(dense<0> : tensor<2xi64>) {alignment = 8 : i64} : !llvm.array<2 x i64>
llvm.mlir.global internal @__relax_function_owner(dense<0> : tensor<2xi64>) {alignment = 8 : i64} : !llvm.array<2 x i64>
llvm.mlir.global internal @__relax_thread_owner(dense<0> : tensor<2xi64>) {alignment = 8 : i64} : !llvm.array<2 x i64>
llvm.mlir.global internal constant @__relax_set_constants_name("__relax_set_constants\00")
llvm.mlir.global internal constant @__relax_set_functions_name("__relax_set_functions\00")
llvm.mlir.global internal constant @__relax_set_threads_name("__relax_set_threads\00")
llvm.mlir.global internal constant @__relax_constants_word("constants\00")
llvm.mlir.global internal constant @__relax_functions_word("functions\00")
llvm.mlir.global internal constant @__relax_threads_word("addresses of threads\00")
llvm.mlir.global internal constant @__relax_three_arguments("%s: expected a pointer, a count and an owner\00")
llvm.mlir.global internal constant @__relax_wrong_number("%s: the code has %lld %s, got %lld\00")
llvm.mlir.global internal constant @__relax_set_already("%s: the %s are set already\00")
// Initialize the constants; the loader calls this first. Takes a pointer to the addresses of the constants, each aligned
// to 64, their number, and an object that owns the memory. The program references the object until it is unloaded.
func.func @__relax_set_constants(%table: !ptr, %wanted: i64, %args: !ptr, %count: i32) attributes {relax.entry} {
  %owner = llvm.mlir.addressof @__relax_constant_owner : !ptr
  %name = llvm.mlir.addressof @__relax_set_constants_name : !ptr
  %word = llvm.mlir.addressof @__relax_constants_word : !ptr
  func.call @__relax_set_table(%table, %wanted, %owner, %name, %word, %args, %count)
    : (!ptr, i64, !ptr, !ptr, !ptr, !ptr, i32) -> ()
  return
}
// Initialize the functions likewise: their handles in the order of the table, null for a function to look up by name.
func.func @__relax_set_functions(%table: !ptr, %wanted: i64, %args: !ptr, %count: i32) attributes {relax.entry} {
  %owner = llvm.mlir.addressof @__relax_function_owner : !ptr
  %name = llvm.mlir.addressof @__relax_set_functions_name : !ptr
  %word = llvm.mlir.addressof @__relax_functions_word : !ptr
  func.call @__relax_set_table(%table, %wanted, %owner, %name, %word, %args, %count)
    : (!ptr, i64, !ptr, !ptr, !ptr, !ptr, i32) -> ()
  return
}
// Set the function that shares a range (pool.mlir), and the address of the largest number of threads.
func.func @__relax_set_threads(%table: !ptr, %wanted: i64, %args: !ptr, %count: i32) attributes {relax.entry} {
  %owner = llvm.mlir.addressof @__relax_thread_owner : !ptr
  %name = llvm.mlir.addressof @__relax_set_threads_name : !ptr
  %word = llvm.mlir.addressof @__relax_threads_word : !ptr
  func.call @__relax_set_table(%table, %wanted, %owner, %name, %word, %args, %count)
    : (!ptr, i64, !ptr, !ptr, !ptr, !ptr, i32) -> ()
  return
}
func.func private @__relax_set_table(%table: !ptr, %wanted: i64, %slot: !ptr, %name: !ptr, %word: !ptr, %args: !ptr,
    %count: i32) attributes {relax.entry} {
  %three = arith.constant 3 : i32  %c0 = arith.constant 0 : i64  %c8 = arith.constant 8 : i64
  %pointer_kind = arith.constant 4 : i32  %int_kind = arith.constant 1 : i32
  %first_object = arith.constant 64 : i32  %yes = arith.constant true
  %what = llvm.ptrtoint %word : !ptr to i64  %value_error = llvm.mlir.addressof @__relax_value_error : !ptr
  %number_at = llvm.getelementptr %args[1] : (!ptr) -> !ptr, !any
  %owner_at = llvm.getelementptr %args[2] : (!ptr) -> !ptr, !any
  %are_other = arith.cmpi ne, %count, %three : i32
  %is_wrong = scf.if %are_other -> i1 {
    scf.yield %yes : i1
  } else {
    %kind0 = llvm.load %args : !ptr -> i32  %is_other = arith.cmpi ne, %kind0, %pointer_kind : i32
    %kind1 = llvm.load %number_at : !ptr -> i32  %is_no_int = arith.cmpi ne, %kind1, %int_kind : i32
    %kind2 = llvm.load %owner_at : !ptr -> i32  %is_no_object = arith.cmpi slt, %kind2, %first_object : i32
    %either = arith.ori %is_other, %is_no_int : i1  %any = arith.ori %either, %is_no_object : i1
    scf.yield %any : i1
  }
  scf.if %is_wrong {
    %error = llvm.mlir.addressof @__relax_type_error : !ptr
    %format = llvm.mlir.addressof @__relax_three_arguments : !ptr
    func.call @__relax_fail(%error, %format, %name, %c0, %c0, %c0, %c0) : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> ()
  }
  %number = llvm.load %number_at : !ptr -> !any  %given = llvm.extractvalue %number[1] : !any
  %is_another = arith.cmpi ne, %wanted, %given : i64
  scf.if %is_another {
    %format = llvm.mlir.addressof @__relax_wrong_number : !ptr
    func.call @__relax_fail(%value_error, %format, %name, %wanted, %what, %given, %c0)
      : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> ()
  }
  %index = llvm.load %slot : !ptr -> i64  %is_set = arith.cmpi ne, %index, %c0 : i64
  scf.if %is_set {
    %format = llvm.mlir.addressof @__relax_set_already : !ptr
    func.call @__relax_fail(%value_error, %format, %name, %what, %c0, %c0, %c0)
      : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> ()
  }
  %held = func.call @__relax_give_object(%owner_at, %slot) : (!ptr, !ptr) -> i32
  %source_at = llvm.getelementptr %args[8] : (!ptr) -> !ptr, i8  %source = llvm.load %source_at : !ptr -> !ptr
  %bytes = arith.muli %wanted, %c8 : i64
  "llvm.intr.memcpy"(%table, %source, %bytes) <{isVolatile = false}> : (!ptr, !ptr, i64) -> ()
  return
}

// ---- random numbers ----

// Number of keys that the program has drawn. Calls from several threads get different keys.
llvm.mlir.global internal @__relax_keys(0 : i64) {alignment = 8 : i64} : i64
func.func @__relax_random_key() -> i64 {
  %c1 = arith.constant 1 : i64  %keys = llvm.mlir.addressof @__relax_keys : !ptr
  %key = llvm.atomicrmw add %keys, %c1 monotonic : !ptr, i64
  return %key : i64
}

// ---- parallel loops ----

func.func private @__relax_is_logged() -> i1
func.func private @__relax_log(i64, i64, i64, i64)
func.func private @__relax_now() -> i64

// Run `function(argument, from, to)` over a range, in grains on several threads if there are any.
func.func @__relax_parallel(%table: !ptr, %function: !ptr, %argument: !ptr, %from: i64, %to: i64, %grain: i64) -> i32 {
  %null = llvm.mlir.zero : !ptr  %c1 = arith.constant 1 : i64
  %share = llvm.load %table : !ptr -> !ptr  %is_alone = llvm.icmp "eq" %share, %null : !ptr
  cf.cond_br %is_alone, ^alone, ^measure
^measure:
  %length = arith.subi %to, %from : i64  %is_short = arith.cmpi sle, %length, %grain : i64
  cf.cond_br %is_short, ^alone, ^ask
^ask:
  %limit_slot = llvm.getelementptr %table[8] : (!ptr) -> !ptr, i8  %limit_at = llvm.load %limit_slot : !ptr -> !ptr
  %limit = llvm.load %limit_at atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %is_one = arith.cmpi sle, %limit, %c1 : i64
  cf.cond_br %is_one, ^alone, ^share
^alone:
  %own = llvm.call %function(%argument, %from, %to) : !ptr, (!ptr, i64, i64) -> i32
  return %own : i32
^share:
  %is_logged = func.call @__relax_is_logged() : () -> i1
  cf.cond_br %is_logged weights([1, 2000]), ^log, ^hand(%function, %argument : !ptr, !ptr)
^log:
  %c2 = arith.constant 2 : i64  %pair = llvm.alloca %c2 x !ptr : (i64) -> !ptr
  %second = llvm.getelementptr %pair[1] : (!ptr) -> !ptr, !ptr
  llvm.store %function, %pair : !ptr, !ptr
  llvm.store %argument, %second : !ptr, !ptr
  %logged = llvm.mlir.addressof @__relax_logged_range : !ptr
  cf.br ^hand(%logged, %pair : !ptr, !ptr)
^hand(%shared_function: !ptr, %shared_argument: !ptr):
  %shared = llvm.call %share(%shared_function, %shared_argument, %from, %to, %grain, %limit)
    : !ptr, (!ptr, !ptr, i64, i64, i64, i64) -> i32
  return %shared : i32
}
// Run a function and its argument, given as a pair, and log the thread, the range and the time.
llvm.func internal @__relax_logged_range(%pair: !ptr, %from: i64, %to: i64) -> i32 {
  %range_kind = arith.constant 2 : i64  %second = llvm.getelementptr %pair[1] : (!ptr) -> !ptr, !ptr
  %function = llvm.load %pair : !ptr -> !ptr  %argument = llvm.load %second : !ptr -> !ptr
  %begin = func.call @__relax_now() : () -> i64
  %status = llvm.call %function(%argument, %from, %to) : !ptr, (!ptr, i64, i64) -> i32
  %end = func.call @__relax_now() : () -> i64  %thread = func.call @pthread_self() : () -> i64
  func.call @__relax_log(%range_kind, %thread, %begin, %end) : (i64, i64, i64, i64) -> ()
  llvm.return %status : i32
}

// Written to the sections directly: the JIT engine reserves llvm.global_dtors for itself. The loader runs the finalizers
// only of objects that have an initializer.
llvm.func internal @__relax_load() {
  llvm.return
}
llvm.func internal @__relax_unload() {
  %arena = arith.constant 0 : i64  %scratch = arith.constant 1 : i64
  func.call @__relax_forget_block(%arena) : (i64) -> ()
  func.call @__relax_forget_block(%scratch) : (i64) -> ()
  %constants = llvm.mlir.addressof @__relax_constant_owner : !ptr
  func.call @__relax_forget(%constants) : (!ptr) -> ()
  %functions = llvm.mlir.addressof @__relax_function_owner : !ptr
  func.call @__relax_forget(%functions) : (!ptr) -> ()
  %threads = llvm.mlir.addressof @__relax_thread_owner : !ptr
  func.call @__relax_forget(%threads) : (!ptr) -> ()
  llvm.return
}
func.func private @__relax_forget_block(%which: i64) {
  %null = llvm.mlir.zero : !ptr  %slot = func.call @__relax_block(%which) : (i64) -> !ptr
  %block = llvm.atomicrmw xchg %slot, %null acq_rel : !ptr, !ptr
  llvm.call @free(%block) : (!ptr) -> ()
  return
}
func.func private @__relax_forget(%owner: !ptr) {
  %none = llvm.mlir.zero : !any
  func.call @__relax_release(%owner) : (!ptr) -> ()
  llvm.store %none, %owner : !any, !ptr
  return
}
llvm.mlir.global internal constant @__relax_at_load() {alignment = 8 : i64, section = ".init_array"} : !ptr {
  %function = llvm.mlir.addressof @__relax_load : !ptr
  llvm.return %function : !ptr
}
llvm.mlir.global internal constant @__relax_at_unload() {alignment = 8 : i64, section = ".fini_array"} : !ptr {
  %function = llvm.mlir.addressof @__relax_unload : !ptr
  llvm.return %function : !ptr
}
llvm.mlir.global appending @llvm.used() {section = "llvm.metadata"} : !llvm.array<2 x ptr> {
  %none = llvm.mlir.undef : !llvm.array<2 x ptr>
  %at_load = llvm.mlir.addressof @__relax_at_load : !ptr  %at_unload = llvm.mlir.addressof @__relax_at_unload : !ptr
  %one = llvm.insertvalue %at_load, %none[0] : !llvm.array<2 x ptr>
  %both = llvm.insertvalue %at_unload, %one[1] : !llvm.array<2 x ptr>
  llvm.return %both : !llvm.array<2 x ptr>
}
