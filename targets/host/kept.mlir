// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a loaded program keeps from call to call (memory, constants, functions), and loops that threads share. Beside
// support.mlir, whose names it uses, for programs that need it (support.py).

!ptr = !llvm.ptr
!any = !llvm.struct<(i64, i64)>

llvm.func @aligned_alloc(i64, i64) -> !ptr
llvm.func @free(!ptr)

llvm.func @__relax_fail(!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
llvm.func @__relax_release(!ptr)
llvm.func @__relax_ask_for_large_pages(!ptr, i64)
llvm.func @__relax_give_object(!ptr, !ptr) -> i32

llvm.mlir.global internal constant @__relax_type_error("TypeError\00")
llvm.mlir.global internal constant @__relax_value_error("ValueError\00")

// ---- what a loaded program keeps ----

// Two blocks of memory, their sizes in front: the arena of temporaries (0), and what a kernel needs for itself (1). A call
// takes one, or gets a new one where it is taken or too small; who comes back last leaves his.
llvm.mlir.global internal @__relax_blocks() {alignment = 8 : i64} : !llvm.array<2 x ptr> {
  %none = llvm.mlir.zero : !llvm.array<2 x ptr>
  llvm.return %none : !llvm.array<2 x ptr>
}
llvm.func internal @__relax_block(%which: i64) -> !ptr {
  %blocks = llvm.mlir.addressof @__relax_blocks : !ptr
  %slot = llvm.getelementptr %blocks[%which] : (!ptr, i64) -> !ptr, !ptr
  llvm.return %slot : !ptr
}
llvm.func hidden @__relax_take_block(%which: i64, %bytes: i64) -> !ptr {
  %null = llvm.mlir.zero : !ptr  %c64 = llvm.mlir.constant(64 : i64) : i64
  %c127 = llvm.mlir.constant(127 : i64) : i64  %mask = llvm.mlir.constant(-64 : i64) : i64
  %slot = llvm.call @__relax_block(%which) : (i64) -> !ptr
  %held = llvm.atomicrmw xchg %slot, %null acq_rel : !ptr, !ptr
  %none = llvm.icmp "eq" %held, %null : !ptr
  llvm.cond_br %none, ^allocate, ^look
^look:
  %size = llvm.load %held : !ptr -> i64
  %enough = llvm.icmp "uge" %size, %bytes : i64
  llvm.cond_br %enough, ^give(%held : !ptr), ^discard
^discard:
  llvm.call @free(%held) : (!ptr) -> ()
  llvm.br ^allocate
^allocate:
  %more = llvm.add %bytes, %c127 : i64
  %whole = llvm.and %more, %mask : i64
  %new = llvm.call @aligned_alloc(%c64, %whole) : (i64, i64) -> !ptr
  %failed = llvm.icmp "eq" %new, %null : !ptr
  llvm.cond_br %failed, ^fail, ^fill
^fail:
  llvm.return %null : !ptr
^fill:
  llvm.call @__relax_ask_for_large_pages(%new, %whole) : (!ptr, i64) -> ()
  %room = llvm.sub %whole, %c64 : i64
  llvm.store %room, %new : i64, !ptr
  llvm.br ^give(%new : !ptr)
^give(%block: !ptr):
  %data = llvm.getelementptr %block[64] : (!ptr) -> !ptr, i8
  llvm.return %data : !ptr
}
llvm.func hidden @__relax_give_block(%which: i64, %data: !ptr) {
  %null = llvm.mlir.zero : !ptr
  %none = llvm.icmp "eq" %data, %null : !ptr
  llvm.cond_br %none, ^end, ^leave
^leave:
  %block = llvm.getelementptr %data[-64] : (!ptr) -> !ptr, i8
  %slot = llvm.call @__relax_block(%which) : (i64) -> !ptr
  %other = llvm.atomicrmw xchg %slot, %block acq_rel : !ptr, !ptr
  llvm.call @free(%other) : (!ptr) -> ()
  llvm.br ^end
^end:
  llvm.return
}

// The objects that own the constants' memory, and the functions that came with the program.
llvm.mlir.global internal @__relax_constant_owner() {alignment = 8 : i64} : !any {
  %none = llvm.mlir.zero : !any
  llvm.return %none : !any
}
llvm.mlir.global internal @__relax_function_owner() {alignment = 8 : i64} : !any {
  %none = llvm.mlir.zero : !any
  llvm.return %none : !any
}
llvm.mlir.global internal constant @__relax_set_constants_name("__relax_set_constants\00")
llvm.mlir.global internal constant @__relax_three_arguments("%s: expected a pointer, a count and an owner\00")
llvm.mlir.global internal constant @__relax_wrong_number("%s: the code has %lld %s, got %lld\00")
llvm.mlir.global internal constant @__relax_set_already("%s: the %s are set already\00")
llvm.mlir.global internal constant @__relax_constants_word("constants\00")
llvm.mlir.global internal constant @__relax_functions_word("functions\00")
llvm.mlir.global internal constant @__relax_set_functions_name("__relax_set_functions\00")
// The loader's one call before all others: a pointer to the constants' addresses, each a multiple of 64, their number,
// and an object that keeps the memory, which the program holds on to until it is unloaded.
llvm.func hidden @__relax_set_constants(%table: !ptr, %wanted: i64, %args: !ptr, %count: i32) -> i32 {
  %owner = llvm.mlir.addressof @__relax_constant_owner : !ptr
  %name = llvm.mlir.addressof @__relax_set_constants_name : !ptr
  %word = llvm.mlir.addressof @__relax_constants_word : !ptr
  %status = llvm.call @__relax_set_table(%table, %wanted, %owner, %name, %word, %args, %count)
    : (!ptr, i64, !ptr, !ptr, !ptr, !ptr, i32) -> i32
  llvm.return %status : i32
}
// The same of functions: the handle of each in the order of the table, null for what is to be found by its name.
llvm.func hidden @__relax_set_functions(%table: !ptr, %wanted: i64, %args: !ptr, %count: i32) -> i32 {
  %owner = llvm.mlir.addressof @__relax_function_owner : !ptr
  %name = llvm.mlir.addressof @__relax_set_functions_name : !ptr
  %word = llvm.mlir.addressof @__relax_functions_word : !ptr
  %status = llvm.call @__relax_set_table(%table, %wanted, %owner, %name, %word, %args, %count)
    : (!ptr, i64, !ptr, !ptr, !ptr, !ptr, i32) -> i32
  llvm.return %status : i32
}
llvm.func internal @__relax_set_table(%table: !ptr, %wanted: i64, %slot: !ptr, %name: !ptr, %word: !ptr, %args: !ptr,
    %count: i32) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %three = llvm.mlir.constant(3 : i32) : i32
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c8 = llvm.mlir.constant(8 : i64) : i64
  %pointer_kind = llvm.mlir.constant(4 : i32) : i32  %int_kind = llvm.mlir.constant(1 : i32) : i32
  %first_object = llvm.mlir.constant(64 : i32) : i32
  %what = llvm.ptrtoint %word : !ptr to i64
  %type_error = llvm.mlir.addressof @__relax_type_error : !ptr
  %value_error = llvm.mlir.addressof @__relax_value_error : !ptr
  %enough = llvm.icmp "eq" %count, %three : i32
  %three_arguments = llvm.mlir.addressof @__relax_three_arguments : !ptr
  llvm.cond_br %enough, ^kinds, ^refuse(%type_error, %three_arguments, %c0, %c0, %c0 : !ptr, !ptr, i64, i64, i64)
^refuse(%kind: !ptr, %format: !ptr, %a: i64, %b: i64, %c: i64):
  %refused = llvm.call @__relax_fail(%kind, %format, %name, %a, %b, %c, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.br ^return(%refused : i32)
^return(%status: i32):
  llvm.return %status : i32
^kinds:
  %number_at = llvm.getelementptr %args[1] : (!ptr) -> !ptr, !any
  %owner_at = llvm.getelementptr %args[2] : (!ptr) -> !ptr, !any
  %kind0 = llvm.load %args : !ptr -> i32
  %kind1 = llvm.load %number_at : !ptr -> i32
  %kind2 = llvm.load %owner_at : !ptr -> i32
  %is_pointer = llvm.icmp "eq" %kind0, %pointer_kind : i32
  %is_int = llvm.icmp "eq" %kind1, %int_kind : i32
  %is_object = llvm.icmp "sge" %kind2, %first_object : i32
  %both = llvm.and %is_pointer, %is_int : i1
  %good_kinds = llvm.and %both, %is_object : i1
  llvm.cond_br %good_kinds, ^number, ^refuse(%type_error, %three_arguments, %c0, %c0, %c0 : !ptr, !ptr, i64, i64, i64)
^number:
  %number = llvm.load %number_at : !ptr -> !any
  %given = llvm.extractvalue %number[1] : !any
  %same = llvm.icmp "eq" %wanted, %given : i64
  %wrong = llvm.mlir.addressof @__relax_wrong_number : !ptr
  llvm.cond_br %same, ^unset, ^refuse(%value_error, %wrong, %wanted, %what, %given : !ptr, !ptr, i64, i64, i64)
^unset:
  %index = llvm.load %slot : !ptr -> i64
  %is_unset = llvm.icmp "eq" %index, %c0 : i64
  %set = llvm.mlir.addressof @__relax_set_already : !ptr
  llvm.cond_br %is_unset, ^copy, ^refuse(%value_error, %set, %what, %c0, %c0 : !ptr, !ptr, i64, i64, i64)
^copy:
  %held = llvm.call @__relax_give_object(%owner_at, %slot) : (!ptr, !ptr) -> i32
  %source_at = llvm.getelementptr %args[8] : (!ptr) -> !ptr, i8
  %source = llvm.load %source_at : !ptr -> !ptr
  %bytes = llvm.mul %wanted, %c8 : i64
  "llvm.intr.memcpy"(%table, %source, %bytes) <{isVolatile = false}> : (!ptr, !ptr, i64) -> ()
  llvm.br ^return(%ok : i32)
}

// ---- random numbers ----

// How many keys the program has been given: calls may come from many threads, and each gets others.
llvm.mlir.global internal @__relax_keys(0 : i64) {alignment = 8 : i64} : i64
llvm.func hidden @__relax_random_key() -> i64 {
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %keys = llvm.mlir.addressof @__relax_keys : !ptr
  %key = llvm.atomicrmw add %keys, %c1 monotonic : !ptr, i64
  llvm.return %key : i64
}

// ---- loops that threads share ----

llvm.mlir.global internal @__relax_thread_owner() {alignment = 8 : i64} : !any {
  %none = llvm.mlir.zero : !any
  llvm.return %none : !any
}
llvm.mlir.global internal constant @__relax_threads_word("addresses of threads\00")
llvm.mlir.global internal constant @__relax_set_threads_name("__relax_set_threads\00")
// For the loader: what shares a range (pool.mlir), and where it is said how many threads there may be.
llvm.func hidden @__relax_set_threads(%table: !ptr, %wanted: i64, %args: !ptr, %count: i32) -> i32 {
  %owner = llvm.mlir.addressof @__relax_thread_owner : !ptr
  %name = llvm.mlir.addressof @__relax_set_threads_name : !ptr
  %word = llvm.mlir.addressof @__relax_threads_word : !ptr
  %status = llvm.call @__relax_set_table(%table, %wanted, %owner, %name, %word, %args, %count)
    : (!ptr, i64, !ptr, !ptr, !ptr, !ptr, i32) -> i32
  llvm.return %status : i32
}
// `function(told, from, to)` for a whole range: shared in grains with other threads, where there are some.
llvm.func hidden @__relax_parallel(%table: !ptr, %function: !ptr, %told: !ptr, %from: i64, %to: i64,
    %grain: i64) -> i32 {
  %null = llvm.mlir.zero : !ptr  %c1 = llvm.mlir.constant(1 : i64) : i64
  %share = llvm.load %table : !ptr -> !ptr
  %is_alone = llvm.icmp "eq" %share, %null : !ptr
  llvm.cond_br %is_alone, ^alone, ^measure
^measure:
  %length = llvm.sub %to, %from : i64
  %is_short = llvm.icmp "sle" %length, %grain : i64
  llvm.cond_br %is_short, ^alone, ^ask
^ask:
  %limit_slot = llvm.getelementptr %table[8] : (!ptr) -> !ptr, i8
  %limit_at = llvm.load %limit_slot : !ptr -> !ptr
  %limit = llvm.load %limit_at atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %is_one = llvm.icmp "sle" %limit, %c1 : i64
  llvm.cond_br %is_one, ^alone, ^share
^alone:
  %own = llvm.call %function(%told, %from, %to) : !ptr, (!ptr, i64, i64) -> i32
  llvm.return %own : i32
^share:
  %shared = llvm.call %share(%function, %told, %from, %to, %grain, %limit)
    : !ptr, (!ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.return %shared : i32
}

// Written into the sections themselves: the engine that compiles keeps llvm.global_dtors for its own use. The loader
// runs what is to run at the end only for objects with something to run at the start.
llvm.func internal @__relax_load() {
  llvm.return
}
llvm.func internal @__relax_unload() {
  %null = llvm.mlir.zero : !ptr  %none = llvm.mlir.zero : !any
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %arena_at = llvm.call @__relax_block(%c0) : (i64) -> !ptr
  %arena = llvm.atomicrmw xchg %arena_at, %null acq_rel : !ptr, !ptr
  llvm.call @free(%arena) : (!ptr) -> ()
  %scratch_at = llvm.call @__relax_block(%c1) : (i64) -> !ptr
  %scratch = llvm.atomicrmw xchg %scratch_at, %null acq_rel : !ptr, !ptr
  llvm.call @free(%scratch) : (!ptr) -> ()
  %owner = llvm.mlir.addressof @__relax_constant_owner : !ptr
  llvm.call @__relax_release(%owner) : (!ptr) -> ()
  llvm.store %none, %owner : !any, !ptr
  %functions = llvm.mlir.addressof @__relax_function_owner : !ptr
  llvm.call @__relax_release(%functions) : (!ptr) -> ()
  llvm.store %none, %functions : !any, !ptr
  %threads = llvm.mlir.addressof @__relax_thread_owner : !ptr
  llvm.call @__relax_release(%threads) : (!ptr) -> ()
  llvm.store %none, %threads : !any, !ptr
  llvm.return
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
  %at_load = llvm.mlir.addressof @__relax_at_load : !ptr
  %at_unload = llvm.mlir.addressof @__relax_at_unload : !ptr
  %one = llvm.insertvalue %at_load, %none[0] : !llvm.array<2 x ptr>
  %both = llvm.insertvalue %at_unload, %one[1] : !llvm.array<2 x ptr>
  llvm.return %both : !llvm.array<2 x ptr>
}
