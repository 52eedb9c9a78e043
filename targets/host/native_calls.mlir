// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that are lists of C calls. What they read, runtime/native_calls.py builds: its structures are these. Beside
// support.mlir, whose names it uses, for programs that need it (support.py).

!ptr = !llvm.ptr
!any = !llvm.struct<(i64, i64)>
!tensor = !llvm.struct<(ptr, i32, i32, i32, i32, ptr, ptr, i64)>

// A frame: the next idle one, what tensors it is for (of each: rank, whether it lies without gaps, sizes, strides), and
// what is done with them: addresses that are passed, and calls.
!frame = !llvm.struct<(ptr, ptr, i64, ptr, i64, ptr)>
// The address of an argument, moved by an offset, goes to a place.
!passed = !llvm.struct<(ptr, i64, i64)>
// A function, how it is called (1: what it gives is a status, 2: after a failure too, 4: with many words, 8: it is a
// kernel from here by its number), its words, where what it gives goes, and its name.
!ccall = !llvm.struct<(ptr, i64, ptr, ptr, ptr)>
// The idle frames, what makes more of them, the number of arguments, how many frames may be idle, the part's name, and a
// mutex.
!native = !llvm.struct<(ptr, ptr, i64, i64, ptr, array<8 x i64>)>

llvm.func @memcmp(!ptr, !ptr, i64) -> i32
llvm.func @pthread_mutex_lock(!ptr) -> i32
llvm.func @pthread_mutex_unlock(!ptr) -> i32
llvm.func @TVMFFIFunctionCall(!ptr, !ptr, i32, !ptr) -> i32
llvm.func @TVMFFIFunctionCreate(!ptr, !ptr, !ptr, !ptr) -> i32
llvm.func @TVMFFIObjectDecRef(!ptr) -> i32
llvm.func @TVMFFIObjectIncRef(!ptr) -> i32
llvm.func @__relax_fail(!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32

llvm.mlir.global internal constant @__relax_type_error("TypeError\00")
llvm.mlir.global internal constant @__relax_runtime_error("RuntimeError\00")

llvm.mlir.global internal constant @__relax_native_arguments("%s takes a pointer and a function\00")
llvm.mlir.global internal constant @__relax_native_name("__relax_native_function\00")
// A function that is a list of calls: of the address of what describes it, and of the function that makes its frames,
// which the new one keeps.
llvm.func hidden @__relax_native_function(%args: !ptr, %count: i32, %result: !ptr) -> i32 {
  %kind = llvm.mlir.constant(68 : i32) : i32  %pointer_kind = llvm.mlir.constant(4 : i32) : i32
  %two = llvm.mlir.constant(2 : i32) : i32  %c0 = llvm.mlir.constant(0 : i64) : i64
  %enough = llvm.icmp "eq" %count, %two : i32
  llvm.cond_br %enough, ^kinds, ^refuse
^kinds:
  %kind0 = llvm.load %args : !ptr -> i32
  %second = llvm.getelementptr %args[1] : (!ptr) -> !ptr, !any
  %kind1 = llvm.load %second : !ptr -> i32
  %is_pointer = llvm.icmp "eq" %kind0, %pointer_kind : i32
  %is_function = llvm.icmp "eq" %kind1, %kind : i32
  %both = llvm.and %is_pointer, %is_function : i1
  llvm.cond_br %both, ^create, ^refuse
^refuse:
  %error = llvm.mlir.addressof @__relax_type_error : !ptr
  %format = llvm.mlir.addressof @__relax_native_arguments : !ptr
  %name = llvm.mlir.addressof @__relax_native_name : !ptr
  %refusal = llvm.call @__relax_fail(%error, %format, %name, %c0, %c0, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.return %refusal : i32
^create:
  %call = llvm.mlir.addressof @__relax_native_call : !ptr
  %drop = llvm.mlir.addressof @__relax_native_drop : !ptr
  %native_at = llvm.getelementptr %args[8] : (!ptr) -> !ptr, i8
  %native = llvm.load %native_at : !ptr -> !ptr
  %make_at = llvm.getelementptr %second[8] : (!ptr) -> !ptr, i8
  %make = llvm.load %make_at : !ptr -> !ptr
  %counted = llvm.call @TVMFFIObjectIncRef(%make) : (!ptr) -> i32
  %make_slot = llvm.getelementptr %native[0, 1] : (!ptr) -> !ptr, !native
  llvm.store %make, %make_slot : !ptr, !ptr
  %payload = llvm.getelementptr %result[8] : (!ptr) -> !ptr, i8
  %status = llvm.call @TVMFFIFunctionCreate(%native, %call, %drop, %payload) : (!ptr, !ptr, !ptr, !ptr) -> i32
  llvm.store %kind, %result : i32, !ptr
  llvm.return %status : i32
}

llvm.func internal @__relax_native_drop(%native: !ptr) {
  %make_at = llvm.getelementptr %native[0, 1] : (!ptr) -> !ptr, !native
  %make = llvm.load %make_at : !ptr -> !ptr
  %status = llvm.call @TVMFFIObjectDecRef(%make) : (!ptr) -> i32
  llvm.return
}

// The tensor that an argument is, null where it is none.
llvm.func internal @__relax_native_tensor(%arg: !ptr) -> !ptr {
  %object_kind = llvm.mlir.constant(70 : i32) : i32  %pointer_kind = llvm.mlir.constant(7 : i32) : i32
  %null = llvm.mlir.zero : !ptr
  %kind = llvm.load %arg : !ptr -> i32
  %payload_at = llvm.getelementptr %arg[8] : (!ptr) -> !ptr, i8
  %payload = llvm.load %payload_at : !ptr -> !ptr
  %behind = llvm.getelementptr %payload[24] : (!ptr) -> !ptr, i8
  %is_object = llvm.icmp "eq" %kind, %object_kind : i32
  %is_pointer = llvm.icmp "eq" %kind, %pointer_kind : i32
  %plain = llvm.select %is_pointer, %payload, %null : i1, !ptr
  %tensor = llvm.select %is_object, %behind, %plain : i1, !ptr
  llvm.return %tensor : !ptr
}

// Whether a frame is for such arguments.
llvm.func internal @__relax_native_fits(%layouts: !ptr, %args: !ptr, %count: i64) -> i1 {
  %yes = llvm.mlir.constant(true) : i1  %no = llvm.mlir.constant(false) : i1
  %zero = llvm.mlir.constant(0 : i32) : i32
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %c8 = llvm.mlir.constant(8 : i64) : i64  %null = llvm.mlir.zero : !ptr
  llvm.br ^head(%c0, %layouts : i64, !ptr)
^head(%i: i64, %layout: !ptr):
  %more = llvm.icmp "ult" %i, %count : i64
  llvm.cond_br %more, ^body, ^return(%yes : i1)
^return(%fits: i1):
  llvm.return %fits : i1
^body:
  %arg = llvm.getelementptr %args[%i] : (!ptr, i64) -> !ptr, !any
  %tensor = llvm.call @__relax_native_tensor(%arg) : (!ptr) -> !ptr
  %is_none = llvm.icmp "eq" %tensor, %null : !ptr
  llvm.cond_br %is_none, ^return(%no : i1), ^rank
^rank:
  %rank = llvm.load %layout : !ptr -> i64
  %rank_at = llvm.getelementptr %tensor[0, 3] : (!ptr) -> !ptr, !tensor
  %given_rank = llvm.load %rank_at : !ptr -> i32
  %long_rank = llvm.zext %given_rank : i32 to i64
  %same_rank = llvm.icmp "eq" %rank, %long_rank : i64
  llvm.cond_br %same_rank, ^sizes, ^return(%no : i1)
^sizes:
  %bytes = llvm.mul %rank, %c8 : i64
  %sizes = llvm.getelementptr %layout[16] : (!ptr) -> !ptr, i8
  %shape_at = llvm.getelementptr %tensor[0, 5] : (!ptr) -> !ptr, !tensor
  %shape = llvm.load %shape_at : !ptr -> !ptr
  %by_size = llvm.call @memcmp(%shape, %sizes, %bytes) : (!ptr, !ptr, i64) -> i32
  %same_sizes = llvm.icmp "eq" %by_size, %zero : i32
  llvm.cond_br %same_sizes, ^strides, ^return(%no : i1)
^strides:
  %wanted = llvm.getelementptr %sizes[%rank] : (!ptr, i64) -> !ptr, i64
  %next = llvm.getelementptr %wanted[%rank] : (!ptr, i64) -> !ptr, i64
  %following = llvm.add %i, %c1 : i64
  %strides_at = llvm.getelementptr %tensor[0, 6] : (!ptr) -> !ptr, !tensor
  %strides = llvm.load %strides_at : !ptr -> !ptr
  %unstated = llvm.icmp "eq" %strides, %null : !ptr
  llvm.cond_br %unstated, ^gapless, ^compare
^gapless:
  %gapless_at = llvm.getelementptr %layout[8] : (!ptr) -> !ptr, i8
  %gapless = llvm.load %gapless_at : !ptr -> i64
  %is_gapless = llvm.icmp "ne" %gapless, %c0 : i64
  llvm.cond_br %is_gapless, ^head(%following, %next : i64, !ptr), ^return(%no : i1)
^compare:
  %by_stride = llvm.call @memcmp(%strides, %wanted, %bytes) : (!ptr, !ptr, i64) -> i32
  %same_strides = llvm.icmp "eq" %by_stride, %zero : i32
  llvm.cond_br %same_strides, ^head(%following, %next : i64, !ptr), ^return(%no : i1)
}

llvm.mlir.global internal constant @__relax_native_failed("%s: %s gave %lld\00")
// What the function does: an idle frame that fits, or a new one, is this call's alone while its calls are made.
llvm.func internal @__relax_native_call(%self: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %null = llvm.mlir.zero : !ptr
  %count_at = llvm.getelementptr %self[0, 2] : (!ptr) -> !ptr, !native
  %wanted = llvm.load %count_at : !ptr -> i64
  %given = llvm.zext %count : i32 to i64
  %mutex = llvm.getelementptr %self[0, 5] : (!ptr) -> !ptr, !native
  %enough = llvm.icmp "eq" %wanted, %given : i64
  llvm.cond_br %enough, ^look, ^make
^look:
  %locked = llvm.call @pthread_mutex_lock(%mutex) : (!ptr) -> i32
  llvm.br ^next(%self : !ptr)
^next(%link: !ptr):
  %idle = llvm.load %link : !ptr -> !ptr
  %is_end = llvm.icmp "eq" %idle, %null : !ptr
  llvm.cond_br %is_end, ^unlock, ^try
^try:
  %layouts_at = llvm.getelementptr %idle[0, 1] : (!ptr) -> !ptr, !frame
  %layouts = llvm.load %layouts_at : !ptr -> !ptr
  %fits = llvm.call @__relax_native_fits(%layouts, %args, %wanted) : (!ptr, !ptr, i64) -> i1
  llvm.cond_br %fits, ^take, ^next(%idle : !ptr)
^take:
  %behind = llvm.load %idle : !ptr -> !ptr
  llvm.store %behind, %link : !ptr, !ptr
  %taken = llvm.call @pthread_mutex_unlock(%mutex) : (!ptr) -> i32
  llvm.br ^run(%idle : !ptr)
^unlock:
  %unlocked = llvm.call @pthread_mutex_unlock(%mutex) : (!ptr) -> i32
  llvm.br ^make
^make:
  %status = llvm.call @__relax_native_make(%self, %args, %count, %result) : (!ptr, !ptr, i32, !ptr) -> i32
  %made_at = llvm.getelementptr %result[8] : (!ptr) -> !ptr, i8
  %made = llvm.load %made_at : !ptr -> !ptr
  %none = llvm.mlir.zero : !any
  llvm.store %none, %result : !any, !ptr
  %is_done = llvm.icmp "eq" %made, %null : !ptr
  llvm.cond_br %is_done, ^return(%status : i32), ^run(%made : !ptr)
^run(%frame: !ptr):
  llvm.call @__relax_native_pass(%frame, %args) : (!ptr, !ptr) -> ()
  %failure_at = llvm.alloca %c1 x i64 : (i64) -> !ptr
  %failed = llvm.call @__relax_native_run(%frame, %failure_at) : (!ptr, !ptr) -> !ptr
  %again = llvm.call @pthread_mutex_lock(%mutex) : (!ptr) -> i32
  %first = llvm.load %self : !ptr -> !ptr
  llvm.store %first, %frame : !ptr, !ptr
  llvm.store %frame, %self : !ptr, !ptr
  %left = llvm.call @pthread_mutex_unlock(%mutex) : (!ptr) -> i32
  %is_good = llvm.icmp "eq" %failed, %null : !ptr
  llvm.cond_br %is_good, ^return(%ok : i32), ^refuse
^refuse:
  %kind = llvm.mlir.addressof @__relax_runtime_error : !ptr
  %format = llvm.mlir.addressof @__relax_native_failed : !ptr
  %where_at = llvm.getelementptr %self[0, 4] : (!ptr) -> !ptr, !native
  %where = llvm.load %where_at : !ptr -> !ptr
  %name = llvm.ptrtoint %failed : !ptr to i64
  %gave = llvm.load %failure_at : !ptr -> i64
  %refusal = llvm.call @__relax_fail(%kind, %format, %where, %name, %gave, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.br ^return(%refusal : i32)
^return(%done: i32):
  llvm.return %done : i32
}

// Has Python make a frame, whose address is its result: 0 where it has done all that was to do, or failed. Where there
// are enough, the one that was idle for the longest time is given back to it before.
llvm.func internal @__relax_native_make(%self: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32
    attributes {passthrough = ["cold", "noinline"]} {
  %ok = llvm.mlir.constant(0 : i32) : i32  %none = llvm.mlir.zero : !any  %one = llvm.mlir.constant(1 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i64) : i64  %null = llvm.mlir.zero : !ptr
  %frame = llvm.alloca %c1 x !any : (i64) -> !ptr
  llvm.store %none, %result : !any, !ptr
  %make_at = llvm.getelementptr %self[0, 1] : (!ptr) -> !ptr, !native
  %make = llvm.load %make_at : !ptr -> !ptr
  %most_at = llvm.getelementptr %self[0, 3] : (!ptr) -> !ptr, !native
  %most = llvm.load %most_at : !ptr -> i64
  %mutex = llvm.getelementptr %self[0, 5] : (!ptr) -> !ptr, !native
  %locked = llvm.call @pthread_mutex_lock(%mutex) : (!ptr) -> i32
  %first = llvm.load %self : !ptr -> !ptr
  %is_empty = llvm.icmp "eq" %first, %null : !ptr
  llvm.cond_br %is_empty, ^unlock(%null : !ptr), ^next(%self, %first, %c1 : !ptr, !ptr, i64)
^next(%link: !ptr, %at: !ptr, %idle: i64):
  %behind = llvm.load %at : !ptr -> !ptr
  %one_more = llvm.add %idle, %c1 : i64
  %is_last = llvm.icmp "eq" %behind, %null : !ptr
  llvm.cond_br %is_last, ^last, ^next(%at, %behind, %one_more : !ptr, !ptr, i64)
^last:
  %is_full = llvm.icmp "sge" %idle, %most : i64
  llvm.cond_br %is_full, ^unlink, ^unlock(%null : !ptr)
^unlink:
  llvm.store %null, %link : !ptr, !ptr
  llvm.br ^unlock(%at : !ptr)
^unlock(%oldest: !ptr):
  %unlocked = llvm.call @pthread_mutex_unlock(%mutex) : (!ptr) -> i32
  %is_kept = llvm.icmp "eq" %oldest, %null : !ptr
  llvm.cond_br %is_kept, ^make, ^give
^give:
  %address = llvm.ptrtoint %oldest : !ptr to i64
  %kind = llvm.insertvalue %c1, %none[0] : !any
  %number = llvm.insertvalue %address, %kind[1] : !any
  llvm.store %number, %frame : !any, !ptr
  %given = llvm.call @TVMFFIFunctionCall(%make, %frame, %one, %result) : (!ptr, !ptr, i32, !ptr) -> i32
  llvm.store %none, %result : !any, !ptr
  llvm.br ^make
^make:
  %status = llvm.call @TVMFFIFunctionCall(%make, %args, %count, %result) : (!ptr, !ptr, i32, !ptr) -> i32
  %is_good = llvm.icmp "eq" %status, %ok : i32
  llvm.cond_br %is_good, ^return, ^forget
^forget:
  llvm.store %none, %result : !any, !ptr
  llvm.br ^return
^return:
  llvm.return %status : i32
}

// Puts the arguments' addresses where the calls read them.
llvm.func internal @__relax_native_pass(%frame: !ptr, %args: !ptr) {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %count_at = llvm.getelementptr %frame[0, 2] : (!ptr) -> !ptr, !frame
  %count = llvm.load %count_at : !ptr -> i64
  %all_at = llvm.getelementptr %frame[0, 3] : (!ptr) -> !ptr, !frame
  %all = llvm.load %all_at : !ptr -> !ptr
  llvm.br ^head(%c0 : i64)
^head(%i: i64):
  %more = llvm.icmp "ult" %i, %count : i64
  llvm.cond_br %more, ^body, ^return
^body:
  %one_at = llvm.getelementptr %all[%i] : (!ptr, i64) -> !ptr, !passed
  %one = llvm.load %one_at : !ptr -> !passed
  %place = llvm.extractvalue %one[0] : !passed
  %number = llvm.extractvalue %one[1] : !passed
  %offset = llvm.extractvalue %one[2] : !passed
  %arg = llvm.getelementptr %args[%number] : (!ptr, i64) -> !ptr, !any
  %tensor_at = llvm.call @__relax_native_tensor(%arg) : (!ptr) -> !ptr
  %tensor = llvm.load %tensor_at : !ptr -> !tensor
  %data = llvm.extractvalue %tensor[0] : !tensor
  %own_offset = llvm.extractvalue %tensor[7] : !tensor
  %moved = llvm.getelementptr %data[%own_offset] : (!ptr, i64) -> !ptr, i8
  %address = llvm.getelementptr %moved[%offset] : (!ptr, i64) -> !ptr, i8
  llvm.store %address, %place : !ptr, !ptr
  %following = llvm.add %i, %c1 : i64
  llvm.br ^head(%following : i64)
^return:
  llvm.return
}

// What libraries of products lack: adds a row to rows, which are side by side, and raises what is below `least` to it.
llvm.func internal @__relax_native_finish_f32(%least: f32, %out: !ptr, %row: !ptr, %rows: i64, %columns: i64) {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^rows(%c0, %out : i64, !ptr)
^rows(%i: i64, %at: !ptr):
  %more_rows = llvm.icmp "slt" %i, %rows : i64
  llvm.cond_br %more_rows, ^columns(%c0 : i64), ^return
^columns(%j: i64):
  %more = llvm.icmp "slt" %j, %columns : i64
  llvm.cond_br %more, ^element, ^next
^element:
  %place = llvm.getelementptr %at[%j] : (!ptr, i64) -> !ptr, f32
  %added_at = llvm.getelementptr %row[%j] : (!ptr, i64) -> !ptr, f32
  %value = llvm.load %place : !ptr -> f32
  %added = llvm.load %added_at : !ptr -> f32
  %sum = llvm.fadd %value, %added : f32
  %raised = llvm.intr.maximum(%sum, %least) : (f32, f32) -> f32
  llvm.store %raised, %place : f32, !ptr
  %following = llvm.add %j, %c1 : i64
  llvm.br ^columns(%following : i64)
^next:
  %next_row = llvm.add %i, %c1 : i64
  %behind = llvm.getelementptr %at[%columns] : (!ptr, i64) -> !ptr, f32
  llvm.br ^rows(%next_row, %behind : i64, !ptr)
^return:
  llvm.return
}

llvm.func internal @__relax_native_finish_f64(%least: f64, %out: !ptr, %row: !ptr, %rows: i64, %columns: i64) {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^rows(%c0, %out : i64, !ptr)
^rows(%i: i64, %at: !ptr):
  %more_rows = llvm.icmp "slt" %i, %rows : i64
  llvm.cond_br %more_rows, ^columns(%c0 : i64), ^return
^columns(%j: i64):
  %more = llvm.icmp "slt" %j, %columns : i64
  llvm.cond_br %more, ^element, ^next
^element:
  %place = llvm.getelementptr %at[%j] : (!ptr, i64) -> !ptr, f64
  %added_at = llvm.getelementptr %row[%j] : (!ptr, i64) -> !ptr, f64
  %value = llvm.load %place : !ptr -> f64
  %added = llvm.load %added_at : !ptr -> f64
  %sum = llvm.fadd %value, %added : f64
  %raised = llvm.intr.maximum(%sum, %least) : (f64, f64) -> f64
  llvm.store %raised, %place : f64, !ptr
  %following = llvm.add %j, %c1 : i64
  llvm.br ^columns(%following : i64)
^next:
  %next_row = llvm.add %i, %c1 : i64
  %behind = llvm.getelementptr %at[%columns] : (!ptr, i64) -> !ptr, f64
  llvm.br ^rows(%next_row, %behind : i64, !ptr)
^return:
  llvm.return
}

// By their numbers in KERNELS of runtime/native_calls.py.
llvm.mlir.global internal constant @__relax_native_kernels() {alignment = 8 : i64} : !llvm.array<2 x ptr> {
  %none = llvm.mlir.undef : !llvm.array<2 x ptr>
  %f32 = llvm.mlir.addressof @__relax_native_finish_f32 : !ptr
  %f64 = llvm.mlir.addressof @__relax_native_finish_f64 : !ptr
  %one = llvm.insertvalue %f32, %none[0] : !llvm.array<2 x ptr>
  %both = llvm.insertvalue %f64, %one[1] : !llvm.array<2 x ptr>
  llvm.return %both : !llvm.array<2 x ptr>
}

// Makes the calls of a frame. The name of the first that failed, and what it gave; null where none did.
llvm.func internal @__relax_native_run(%frame: !ptr, %failure_at: !ptr) -> !ptr {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %c2 = llvm.mlir.constant(2 : i64) : i64  %c4 = llvm.mlir.constant(4 : i64) : i64
  %c8 = llvm.mlir.constant(8 : i64) : i64  %kernels = llvm.mlir.addressof @__relax_native_kernels : !ptr
  %ok = llvm.mlir.constant(0 : i32) : i32  %null = llvm.mlir.zero : !ptr
  %count_at = llvm.getelementptr %frame[0, 4] : (!ptr) -> !ptr, !frame
  %count = llvm.load %count_at : !ptr -> i64
  %all_at = llvm.getelementptr %frame[0, 5] : (!ptr) -> !ptr, !frame
  %all = llvm.load %all_at : !ptr -> !ptr
  llvm.br ^head(%c0, %null : i64, !ptr)
^head(%i: i64, %failed: !ptr):
  %more = llvm.icmp "ult" %i, %count : i64
  llvm.cond_br %more, ^body, ^return
^return:
  llvm.return %failed : !ptr
^body:
  %following = llvm.add %i, %c1 : i64
  %call_at = llvm.getelementptr %all[%i] : (!ptr, i64) -> !ptr, !ccall
  %call = llvm.load %call_at : !ptr -> !ccall
  %stated = llvm.extractvalue %call[0] : !ccall
  %how = llvm.extractvalue %call[1] : !ccall
  %words = llvm.extractvalue %call[2] : !ccall
  %gives = llvm.extractvalue %call[3] : !ccall
  %name = llvm.extractvalue %call[4] : !ccall
  %has_failed = llvm.icmp "ne" %failed, %null : !ptr
  %always = llvm.and %how, %c2 : i64
  %only_good = llvm.icmp "eq" %always, %c0 : i64
  %skip = llvm.and %has_failed, %only_good : i1
  llvm.cond_br %skip, ^head(%following, %failed : i64, !ptr), ^kind
^kind:
  %own = llvm.and %how, %c8 : i64
  %is_own = llvm.icmp "ne" %own, %c0 : i64
  llvm.cond_br %is_own, ^kernel, ^call(%stated : !ptr)
^kernel:
  %number = llvm.ptrtoint %stated : !ptr to i64
  %kernel_at = llvm.getelementptr %kernels[%number] : (!ptr, i64) -> !ptr, !llvm.ptr
  %kernel = llvm.load %kernel_at : !ptr -> !ptr
  llvm.br ^call(%kernel : !ptr)
^call(%function: !ptr):
  %many = llvm.and %how, %c4 : i64
  %is_small = llvm.icmp "eq" %many, %c0 : i64
  llvm.cond_br %is_small, ^small, ^large
^small:
  %s0 = llvm.load %words : !ptr -> i64
  %s1_at = llvm.getelementptr %words[8] : (!ptr) -> !ptr, i8  %s1 = llvm.load %s1_at : !ptr -> i64
  %s2_at = llvm.getelementptr %words[16] : (!ptr) -> !ptr, i8  %s2 = llvm.load %s2_at : !ptr -> i64
  %s3_at = llvm.getelementptr %words[24] : (!ptr) -> !ptr, i8  %s3 = llvm.load %s3_at : !ptr -> i64
  %s4_at = llvm.getelementptr %words[32] : (!ptr) -> !ptr, i8  %s4 = llvm.load %s4_at : !ptr -> i64
  %s5_at = llvm.getelementptr %words[40] : (!ptr) -> !ptr, i8  %s5 = llvm.load %s5_at : !ptr -> i64
  %from_small = llvm.call %function(%s0, %s1, %s2, %s3, %s4, %s5)
    : !ptr, (i64, i64, i64, i64, i64, i64) -> i64
  llvm.br ^made(%from_small : i64)
^large:  // numbers of either kind have registers of their own, wherever they stand among the others
  %w0 = llvm.load %words : !ptr -> i64
  %w1_at = llvm.getelementptr %words[8] : (!ptr) -> !ptr, i8  %w1 = llvm.load %w1_at : !ptr -> i64
  %w2_at = llvm.getelementptr %words[16] : (!ptr) -> !ptr, i8  %w2 = llvm.load %w2_at : !ptr -> i64
  %w3_at = llvm.getelementptr %words[24] : (!ptr) -> !ptr, i8  %w3 = llvm.load %w3_at : !ptr -> i64
  %w4_at = llvm.getelementptr %words[32] : (!ptr) -> !ptr, i8  %w4 = llvm.load %w4_at : !ptr -> i64
  %w5_at = llvm.getelementptr %words[40] : (!ptr) -> !ptr, i8  %w5 = llvm.load %w5_at : !ptr -> i64
  %w6_at = llvm.getelementptr %words[48] : (!ptr) -> !ptr, i8  %w6 = llvm.load %w6_at : !ptr -> i64
  %w7_at = llvm.getelementptr %words[56] : (!ptr) -> !ptr, i8  %w7 = llvm.load %w7_at : !ptr -> i64
  %w8_at = llvm.getelementptr %words[64] : (!ptr) -> !ptr, i8  %w8 = llvm.load %w8_at : !ptr -> i64
  %w9_at = llvm.getelementptr %words[72] : (!ptr) -> !ptr, i8  %w9 = llvm.load %w9_at : !ptr -> i64
  %w10_at = llvm.getelementptr %words[80] : (!ptr) -> !ptr, i8  %w10 = llvm.load %w10_at : !ptr -> i64
  %w11_at = llvm.getelementptr %words[88] : (!ptr) -> !ptr, i8  %w11 = llvm.load %w11_at : !ptr -> i64
  %w12_at = llvm.getelementptr %words[96] : (!ptr) -> !ptr, i8  %w12 = llvm.load %w12_at : !ptr -> i64
  %w13_at = llvm.getelementptr %words[104] : (!ptr) -> !ptr, i8  %w13 = llvm.load %w13_at : !ptr -> i64
  %w14_at = llvm.getelementptr %words[112] : (!ptr) -> !ptr, i8  %w14 = llvm.load %w14_at : !ptr -> i64
  %w15_at = llvm.getelementptr %words[120] : (!ptr) -> !ptr, i8  %w15 = llvm.load %w15_at : !ptr -> i64
  %w16_at = llvm.getelementptr %words[128] : (!ptr) -> !ptr, i8  %w16 = llvm.load %w16_at : !ptr -> i64
  %w17_at = llvm.getelementptr %words[136] : (!ptr) -> !ptr, i8  %w17 = llvm.load %w17_at : !ptr -> i64
  %w18_at = llvm.getelementptr %words[144] : (!ptr) -> !ptr, i8  %w18 = llvm.load %w18_at : !ptr -> i64
  %w19_at = llvm.getelementptr %words[152] : (!ptr) -> !ptr, i8  %w19 = llvm.load %w19_at : !ptr -> i64
  %w20_at = llvm.getelementptr %words[160] : (!ptr) -> !ptr, i8  %w20 = llvm.load %w20_at : !ptr -> i64
  %w21_at = llvm.getelementptr %words[168] : (!ptr) -> !ptr, i8  %w21 = llvm.load %w21_at : !ptr -> i64
  %w22_at = llvm.getelementptr %words[176] : (!ptr) -> !ptr, i8  %w22 = llvm.load %w22_at : !ptr -> i64
  %w23_at = llvm.getelementptr %words[184] : (!ptr) -> !ptr, i8  %w23 = llvm.load %w23_at : !ptr -> i64
  %f0_at = llvm.getelementptr %words[192] : (!ptr) -> !ptr, i8  %f0 = llvm.load %f0_at : !ptr -> f64
  %f1_at = llvm.getelementptr %words[200] : (!ptr) -> !ptr, i8  %f1 = llvm.load %f1_at : !ptr -> f64
  %f2_at = llvm.getelementptr %words[208] : (!ptr) -> !ptr, i8  %f2 = llvm.load %f2_at : !ptr -> f64
  %f3_at = llvm.getelementptr %words[216] : (!ptr) -> !ptr, i8  %f3 = llvm.load %f3_at : !ptr -> f64
  %f4_at = llvm.getelementptr %words[224] : (!ptr) -> !ptr, i8  %f4 = llvm.load %f4_at : !ptr -> f64
  %f5_at = llvm.getelementptr %words[232] : (!ptr) -> !ptr, i8  %f5 = llvm.load %f5_at : !ptr -> f64
  %f6_at = llvm.getelementptr %words[240] : (!ptr) -> !ptr, i8  %f6 = llvm.load %f6_at : !ptr -> f64
  %f7_at = llvm.getelementptr %words[248] : (!ptr) -> !ptr, i8  %f7 = llvm.load %f7_at : !ptr -> f64
  %from_large = llvm.call %function(
    %f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7, %w0, %w1, %w2, %w3, %w4, %w5, %w6, %w7, %w8, %w9, %w10, %w11, %w12,
    %w13, %w14, %w15, %w16, %w17, %w18, %w19, %w20, %w21, %w22, %w23)
    : !ptr, (f64, f64, f64, f64, f64, f64, f64, f64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64,
    i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64) -> i64
  llvm.br ^made(%from_large : i64)
^made(%value: i64):
  %is_unread = llvm.icmp "eq" %gives, %null : !ptr
  llvm.cond_br %is_unread, ^status, ^store
^store:
  llvm.store %value, %gives : i64, !ptr
  llvm.br ^status
^status:
  %checked = llvm.and %how, %c1 : i64
  %is_status = llvm.icmp "ne" %checked, %c0 : i64
  %status = llvm.trunc %value : i64 to i32
  %is_bad = llvm.icmp "ne" %status, %ok : i32
  %is_failure = llvm.and %is_status, %is_bad : i1
  %is_first = llvm.icmp "eq" %failed, %null : !ptr
  %is_told = llvm.and %is_failure, %is_first : i1
  llvm.cond_br %is_told, ^fail, ^head(%following, %failed : i64, !ptr)
^fail:
  %long_status = llvm.sext %status : i32 to i64
  llvm.store %long_status, %failure_at : i64, !ptr
  llvm.br ^head(%following, %name : i64, !ptr)
}
