// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that are lists of C calls. runtime/native_calls.py builds the structures that they read. Uses the names of
// support.mlir, for programs that need it (units.py).

// A frame: the next idle frame, the tensors that it accepts (for each: rank, 1 if contiguous, sizes, strides), the
// addresses to pass, and the calls.
!frame = !llvm.struct<(ptr, ptr, i64, ptr, i64, ptr)>
// Copies the address of an argument plus an offset to a place.
!passed = !llvm.struct<(ptr, i64, i64)>
// A function, its flags (1: it returns a status, 2: it is called after a failure, too, 4: it takes many words, 8: it is
// the number of a kernel of this file), its words, the place of its result, and its name.
!ccall = !llvm.struct<(ptr, i64, ptr, ptr, ptr)>
// The idle frames, the function that creates frames, the number of arguments, the largest number of idle frames, the
// part's name, and a mutex.
!native = !llvm.struct<(ptr, ptr, i64, i64, ptr, array<8 x i64>)>

// The words of a call, few or many: integers, then floats. Each kind has its own registers, in any order of parameters.
!few = !llvm.array<6 x i64>
!many = !llvm.array<24 x i64>
!reals = !llvm.array<8 x f64>

func.func private @memcmp(!ptr, !ptr, i64) -> i32
func.func private @pthread_mutex_lock(!ptr) -> i32
func.func private @pthread_mutex_unlock(!ptr) -> i32
func.func private @TVMFFIFunctionCreate(!ptr, !ptr, !ptr, !ptr) -> i32
func.func private @__relax_fail(!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
func.func private @__relax_is_logged() -> i1
func.func private @__relax_log(i64, i64, i64, i64)
func.func private @__relax_now() -> i64

llvm.mlir.global internal constant @__relax_native_arguments("%s takes a pointer and a function\00")
llvm.mlir.global internal constant @__relax_native_name("__relax_native_function\00")
// Create a function that is a list of calls, from the address of its description and from the function that creates its
// frames. The new function owns a reference to the latter.
func.func @__relax_native_function(%args: !ptr, %count: i32, %result: !ptr) -> i32 {
  %kind = arith.constant 68 : i32  %pointer_kind = arith.constant 4 : i32  %two = arith.constant 2 : i32
  %c0 = arith.constant 0 : i64  %no = arith.constant false  %enough = arith.cmpi eq, %count, %two : i32
  %second = llvm.getelementptr %args[1] : (!ptr) -> !ptr, !any
  %are_right = scf.if %enough -> i1 {
    %kind0 = llvm.load %args : !ptr -> i32  %is_pointer = arith.cmpi eq, %kind0, %pointer_kind : i32
    %kind1 = llvm.load %second : !ptr -> i32  %is_function = arith.cmpi eq, %kind1, %kind : i32
    %both = arith.andi %is_pointer, %is_function : i1
    scf.yield %both : i1
  } else {
    scf.yield %no : i1
  }
  %status = scf.if %are_right -> i32 {
    %call = llvm.mlir.addressof @__relax_native_call : !ptr  %drop = llvm.mlir.addressof @__relax_native_drop : !ptr
    %native_at = llvm.getelementptr %args[8] : (!ptr) -> !ptr, i8  %native = llvm.load %native_at : !ptr -> !ptr
    %make_at = llvm.getelementptr %second[8] : (!ptr) -> !ptr, i8  %make = llvm.load %make_at : !ptr -> !ptr
    %counted = func.call @TVMFFIObjectIncRef(%make) : (!ptr) -> i32
    %make_slot = llvm.getelementptr %native[0, 1] : (!ptr) -> !ptr, !native
    llvm.store %make, %make_slot : !ptr, !ptr
    %payload = llvm.getelementptr %result[8] : (!ptr) -> !ptr, i8
    %created = func.call @TVMFFIFunctionCreate(%native, %call, %drop, %payload) : (!ptr, !ptr, !ptr, !ptr) -> i32
    llvm.store %kind, %result : i32, !ptr
    scf.yield %created : i32
  } else {
    %error = llvm.mlir.addressof @__relax_type_error : !ptr  %name = llvm.mlir.addressof @__relax_native_name : !ptr
    %format = llvm.mlir.addressof @__relax_native_arguments : !ptr
    %refused = func.call @__relax_fail(%error, %format, %name, %c0, %c0, %c0, %c0)
      : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
    scf.yield %refused : i32
  }
  return %status : i32
}

llvm.func internal @__relax_native_drop(%native: !ptr) {
  %make_at = llvm.getelementptr %native[0, 1] : (!ptr) -> !ptr, !native  %make = llvm.load %make_at : !ptr -> !ptr
  %status = func.call @TVMFFIObjectDecRef(%make) : (!ptr) -> i32
  llvm.return
}

// Return the tensor of an argument, or null.
func.func private @__relax_native_tensor(%arg: !ptr) -> !ptr {
  %object_kind = arith.constant 70 : i32  %pointer_kind = arith.constant 7 : i32  %null = llvm.mlir.zero : !ptr
  %payload_at = llvm.getelementptr %arg[8] : (!ptr) -> !ptr, i8  %payload = llvm.load %payload_at : !ptr -> !ptr
  %behind = llvm.getelementptr %payload[24] : (!ptr) -> !ptr, i8  %kind = llvm.load %arg : !ptr -> i32
  %is_pointer = arith.cmpi eq, %kind, %pointer_kind : i32  %plain = arith.select %is_pointer, %payload, %null : !ptr
  %is_object = arith.cmpi eq, %kind, %object_kind : i32  %tensor = arith.select %is_object, %behind, %plain : !ptr
  return %tensor : !ptr
}

// Check whether a frame accepts these arguments.
func.func private @__relax_native_fits(%layouts: !ptr, %args: !ptr, %count: i64) -> i1 {
  %yes = arith.constant true  %no = arith.constant false  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %c8 = arith.constant 8 : i64
  %null = llvm.mlir.zero : !ptr
  cf.br ^head(%c0, %layouts : i64, !ptr)
^head(%i: i64, %layout: !ptr):
  %more = arith.cmpi ult, %i, %count : i64
  cf.cond_br %more, ^body, ^return(%yes : i1)
^return(%fits: i1):
  return %fits : i1
^body:
  %arg = llvm.getelementptr %args[%i] : (!ptr, i64) -> !ptr, !any
  %tensor_at = func.call @__relax_native_tensor(%arg) : (!ptr) -> !ptr
  %is_none = llvm.icmp "eq" %tensor_at, %null : !ptr
  cf.cond_br %is_none, ^return(%no : i1), ^rank
^rank:
  %tensor = llvm.load %tensor_at : !ptr -> !tensor  %given_rank = llvm.extractvalue %tensor[3] : !tensor
  %rank = llvm.load %layout : !ptr -> i64  %long_rank = arith.extui %given_rank : i32 to i64
  %same_rank = arith.cmpi eq, %rank, %long_rank : i64
  cf.cond_br %same_rank, ^sizes, ^return(%no : i1)
^sizes:
  %bytes = arith.muli %rank, %c8 : i64  %sizes = llvm.getelementptr %layout[16] : (!ptr) -> !ptr, i8
  %shape = llvm.extractvalue %tensor[5] : !tensor
  %by_size = func.call @memcmp(%shape, %sizes, %bytes) : (!ptr, !ptr, i64) -> i32
  %same_sizes = arith.cmpi eq, %by_size, %zero : i32
  cf.cond_br %same_sizes, ^strides, ^return(%no : i1)
^strides:
  %wanted = llvm.getelementptr %sizes[%rank] : (!ptr, i64) -> !ptr, i64
  %next = llvm.getelementptr %wanted[%rank] : (!ptr, i64) -> !ptr, i64  %following = arith.addi %i, %c1 : i64
  %strides = llvm.extractvalue %tensor[6] : !tensor  %is_unstated = llvm.icmp "eq" %strides, %null : !ptr
  %is_same = scf.if %is_unstated -> i1 {
    %gapless_at = llvm.getelementptr %layout[8] : (!ptr) -> !ptr, i8  %gapless = llvm.load %gapless_at : !ptr -> i64
    %is_gapless = arith.cmpi ne, %gapless, %c0 : i64
    scf.yield %is_gapless : i1
  } else {
    %by_stride = func.call @memcmp(%strides, %wanted, %bytes) : (!ptr, !ptr, i64) -> i32
    %same_strides = arith.cmpi eq, %by_stride, %zero : i32
    scf.yield %same_strides : i1
  }
  cf.cond_br %is_same, ^head(%following, %next : i64, !ptr), ^return(%no : i1)
}

llvm.mlir.global internal constant @__relax_native_failed("%s: %s gave %lld\00")
// Run the function: the call takes an idle frame that fits, or a new frame, and no other call uses the frame meanwhile.
llvm.func internal @__relax_native_call(%self: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64
  %null = llvm.mlir.zero : !ptr  %failure_at = llvm.alloca %c1 x i64 : (i64) -> !ptr
  %count_at = llvm.getelementptr %self[0, 2] : (!ptr) -> !ptr, !native  %wanted = llvm.load %count_at : !ptr -> i64
  %given = arith.extui %count : i32 to i64  %enough = arith.cmpi eq, %wanted, %given : i64
  %mutex = llvm.getelementptr %self[0, 5] : (!ptr) -> !ptr, !native
  cf.cond_br %enough, ^look, ^make
^look:
  %locked = func.call @pthread_mutex_lock(%mutex) : (!ptr) -> i32
  cf.br ^next(%self : !ptr)
^next(%link: !ptr):
  %idle = llvm.load %link : !ptr -> !ptr  %is_end = llvm.icmp "eq" %idle, %null : !ptr
  cf.cond_br %is_end, ^unlock, ^try
^try:
  %layouts_at = llvm.getelementptr %idle[0, 1] : (!ptr) -> !ptr, !frame  %layouts = llvm.load %layouts_at : !ptr -> !ptr
  %fits = func.call @__relax_native_fits(%layouts, %args, %wanted) : (!ptr, !ptr, i64) -> i1
  cf.cond_br %fits, ^take, ^next(%idle : !ptr)
^take:
  %behind = llvm.load %idle : !ptr -> !ptr
  llvm.store %behind, %link : !ptr, !ptr
  %taken = func.call @pthread_mutex_unlock(%mutex) : (!ptr) -> i32
  cf.br ^run(%idle : !ptr)
^unlock:
  %unlocked = func.call @pthread_mutex_unlock(%mutex) : (!ptr) -> i32
  cf.br ^make
^make:
  %status = func.call @__relax_native_make(%self, %args, %count, %result) : (!ptr, !ptr, i32, !ptr) -> i32
  %made_at = llvm.getelementptr %result[8] : (!ptr) -> !ptr, i8  %made = llvm.load %made_at : !ptr -> !ptr
  %none = llvm.mlir.zero : !any
  llvm.store %none, %result : !any, !ptr
  %is_done = llvm.icmp "eq" %made, %null : !ptr
  cf.cond_br %is_done, ^return(%status : i32), ^run(%made : !ptr)
^run(%frame: !ptr):
  func.call @__relax_native_pass(%frame, %args) : (!ptr, !ptr) -> ()
  %failed = func.call @__relax_native_run(%frame, %failure_at) : (!ptr, !ptr) -> !ptr
  %again = func.call @pthread_mutex_lock(%mutex) : (!ptr) -> i32
  %first = llvm.load %self : !ptr -> !ptr
  llvm.store %first, %frame : !ptr, !ptr
  llvm.store %frame, %self : !ptr, !ptr
  %left = func.call @pthread_mutex_unlock(%mutex) : (!ptr) -> i32
  %is_good = llvm.icmp "eq" %failed, %null : !ptr
  cf.cond_br %is_good, ^return(%ok : i32), ^refuse
^refuse:
  %kind = llvm.mlir.addressof @__relax_runtime_error : !ptr
  %format = llvm.mlir.addressof @__relax_native_failed : !ptr
  %where_at = llvm.getelementptr %self[0, 4] : (!ptr) -> !ptr, !native  %where = llvm.load %where_at : !ptr -> !ptr
  %name = llvm.ptrtoint %failed : !ptr to i64  %gave = llvm.load %failure_at : !ptr -> i64
  %refusal = func.call @__relax_fail(%kind, %format, %where, %name, %gave, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  cf.br ^return(%refusal : i32)
^return(%done: i32):
  llvm.return %done : i32
}

// Let Python create a frame. Return its address, or 0 if Python has done the work itself, or failed. If there are enough
// frames, first return the frame with the longest idle time to Python.
func.func private @__relax_native_make(%self: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32
    attributes {llvm.cold, llvm.no_inline} {
  %ok = arith.constant 0 : i32  %one = arith.constant 1 : i32  %c1 = arith.constant 1 : i64
  %null = llvm.mlir.zero : !ptr  %none = llvm.mlir.zero : !any  %frame = llvm.alloca %c1 x !any : (i64) -> !ptr
  llvm.store %none, %result : !any, !ptr
  %make_at = llvm.getelementptr %self[0, 1] : (!ptr) -> !ptr, !native  %make = llvm.load %make_at : !ptr -> !ptr
  %most_at = llvm.getelementptr %self[0, 3] : (!ptr) -> !ptr, !native  %most = llvm.load %most_at : !ptr -> i64
  %mutex = llvm.getelementptr %self[0, 5] : (!ptr) -> !ptr, !native
  %locked = func.call @pthread_mutex_lock(%mutex) : (!ptr) -> i32
  %first = llvm.load %self : !ptr -> !ptr  %is_empty = llvm.icmp "eq" %first, %null : !ptr
  cf.cond_br %is_empty, ^unlock(%null : !ptr), ^next(%self, %first, %c1 : !ptr, !ptr, i64)
^next(%link: !ptr, %at: !ptr, %idle: i64):
  %behind = llvm.load %at : !ptr -> !ptr  %is_last = llvm.icmp "eq" %behind, %null : !ptr
  %one_more = arith.addi %idle, %c1 : i64
  cf.cond_br %is_last, ^last, ^next(%at, %behind, %one_more : !ptr, !ptr, i64)
^last:
  %is_full = arith.cmpi sge, %idle, %most : i64
  cf.cond_br %is_full, ^unlink, ^unlock(%null : !ptr)
^unlink:
  llvm.store %null, %link : !ptr, !ptr
  cf.br ^unlock(%at : !ptr)
^unlock(%oldest: !ptr):
  %unlocked = func.call @pthread_mutex_unlock(%mutex) : (!ptr) -> i32
  %is_one = llvm.icmp "ne" %oldest, %null : !ptr
  scf.if %is_one {
    %address = llvm.ptrtoint %oldest : !ptr to i64  %kind = llvm.insertvalue %c1, %none[0] : !any
    %number = llvm.insertvalue %address, %kind[1] : !any
    llvm.store %number, %frame : !any, !ptr
    %given = func.call @TVMFFIFunctionCall(%make, %frame, %one, %result) : (!ptr, !ptr, i32, !ptr) -> i32
    llvm.store %none, %result : !any, !ptr
  }
  %status = func.call @TVMFFIFunctionCall(%make, %args, %count, %result) : (!ptr, !ptr, i32, !ptr) -> i32
  %has_failed = arith.cmpi ne, %status, %ok : i32
  scf.if %has_failed {
    llvm.store %none, %result : !any, !ptr
  }
  return %status : i32
}

// Store the addresses of the arguments for the calls.
func.func private @__relax_native_pass(%frame: !ptr, %args: !ptr) {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64
  %count_at = llvm.getelementptr %frame[0, 2] : (!ptr) -> !ptr, !frame  %count = llvm.load %count_at : !ptr -> i64
  %all_at = llvm.getelementptr %frame[0, 3] : (!ptr) -> !ptr, !frame  %all = llvm.load %all_at : !ptr -> !ptr
  scf.for %i = %c0 to %count step %c1 : i64 {
    %one_at = llvm.getelementptr %all[%i] : (!ptr, i64) -> !ptr, !passed  %one = llvm.load %one_at : !ptr -> !passed
    %place = llvm.extractvalue %one[0] : !passed  %number = llvm.extractvalue %one[1] : !passed
    %arg = llvm.getelementptr %args[%number] : (!ptr, i64) -> !ptr, !any
    %tensor_at = func.call @__relax_native_tensor(%arg) : (!ptr) -> !ptr
    %tensor = llvm.load %tensor_at : !ptr -> !tensor  %data = llvm.extractvalue %tensor[0] : !tensor
    %own_offset = llvm.extractvalue %tensor[7] : !tensor  %offset = llvm.extractvalue %one[2] : !passed
    %moved = llvm.getelementptr %data[%own_offset] : (!ptr, i64) -> !ptr, i8
    %address = llvm.getelementptr %moved[%offset] : (!ptr, i64) -> !ptr, i8
    llvm.store %address, %place : !ptr, !ptr
  }
  return
}

// Add a row to contiguous rows and clamp elements below `least`: the epilogue that BLAS libraries lack.
llvm.func internal @__relax_native_finish_f32(%least: f32, %out: !ptr, %row: !ptr, %rows: i64, %columns: i64) {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64
  scf.for %i = %c0 to %rows step %c1 : i64 {
    %offset = arith.muli %i, %columns : i64  %at = llvm.getelementptr %out[%offset] : (!ptr, i64) -> !ptr, f32
    scf.for %j = %c0 to %columns step %c1 : i64 {
      %place = llvm.getelementptr %at[%j] : (!ptr, i64) -> !ptr, f32  %value = llvm.load %place : !ptr -> f32
      %added_at = llvm.getelementptr %row[%j] : (!ptr, i64) -> !ptr, f32  %added = llvm.load %added_at : !ptr -> f32
      %sum = arith.addf %value, %added : f32  %raised = arith.maximumf %sum, %least : f32
      llvm.store %raised, %place : f32, !ptr
    }
  }
  llvm.return
}
llvm.func internal @__relax_native_finish_f64(%least: f64, %out: !ptr, %row: !ptr, %rows: i64, %columns: i64) {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64
  scf.for %i = %c0 to %rows step %c1 : i64 {
    %offset = arith.muli %i, %columns : i64  %at = llvm.getelementptr %out[%offset] : (!ptr, i64) -> !ptr, f64
    scf.for %j = %c0 to %columns step %c1 : i64 {
      %place = llvm.getelementptr %at[%j] : (!ptr, i64) -> !ptr, f64  %value = llvm.load %place : !ptr -> f64
      %added_at = llvm.getelementptr %row[%j] : (!ptr, i64) -> !ptr, f64  %added = llvm.load %added_at : !ptr -> f64
      %sum = arith.addf %value, %added : f64  %raised = arith.maximumf %sum, %least : f64
      llvm.store %raised, %place : f64, !ptr
    }
  }
  llvm.return
}

// Kernels by their numbers in KERNELS of runtime/native_calls.py.
llvm.mlir.global internal constant @__relax_native_kernels() {alignment = 8 : i64} : !llvm.array<2 x ptr> {
  %none = llvm.mlir.undef : !llvm.array<2 x ptr>
  %f32 = llvm.mlir.addressof @__relax_native_finish_f32 : !ptr
  %f64 = llvm.mlir.addressof @__relax_native_finish_f64 : !ptr
  %one = llvm.insertvalue %f32, %none[0] : !llvm.array<2 x ptr>
  %both = llvm.insertvalue %f64, %one[1] : !llvm.array<2 x ptr>
  llvm.return %both : !llvm.array<2 x ptr>
}

// Make the calls of a frame. Return the name and status of the first call that failed, or null.
func.func private @__relax_native_run(%frame: !ptr, %failure_at: !ptr) -> !ptr {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %null = llvm.mlir.zero : !ptr
  %count_at = llvm.getelementptr %frame[0, 4] : (!ptr) -> !ptr, !frame  %count = llvm.load %count_at : !ptr -> i64
  %all_at = llvm.getelementptr %frame[0, 5] : (!ptr) -> !ptr, !frame  %all = llvm.load %all_at : !ptr -> !ptr
  %is_logged = func.call @__relax_is_logged() : () -> i1
  %first = scf.for %i = %c0 to %count step %c1 iter_args(%failed = %null) -> (!ptr) : i64 {
    %call_at = llvm.getelementptr %all[%i] : (!ptr, i64) -> !ptr, !ccall  %call = llvm.load %call_at : !ptr -> !ccall
    %how = llvm.extractvalue %call[1] : !ccall
    %c2 = arith.constant 2 : i64  %always = arith.andi %how, %c2 : i64  %is_always = arith.cmpi ne, %always, %c0 : i64
    %is_good = llvm.icmp "eq" %failed, %null : !ptr  %is_made = arith.ori %is_good, %is_always : i1
    %now_failed = scf.if %is_made -> !ptr {
      %value = scf.if %is_logged -> i64 {
        %frame_address = llvm.ptrtoint %frame : !ptr to i64
        %logged = func.call @__relax_native_log_one(%call, %i, %frame_address) : (!ccall, i64, i64) -> i64
        scf.yield %logged : i64
      } else {
        %unlogged = func.call @__relax_native_call_one(%call) : (!ccall) -> i64
        scf.yield %unlogged : i64
      }
      %gives = llvm.extractvalue %call[3] : !ccall  %is_read = llvm.icmp "ne" %gives, %null : !ptr
      scf.if %is_read {
        llvm.store %value, %gives : i64, !ptr
      }
      %zero = arith.constant 0 : i32  %status = arith.trunci %value : i64 to i32
      %is_bad = arith.cmpi ne, %status, %zero : i32
      %checked = arith.andi %how, %c1 : i64  %is_status = arith.cmpi ne, %checked, %c0 : i64
      %is_failure = arith.andi %is_status, %is_bad : i1  %is_noted = arith.andi %is_failure, %is_good : i1
      scf.if %is_noted {
        %long_status = arith.extsi %status : i32 to i64
        llvm.store %long_status, %failure_at : i64, !ptr
      }
      %name = llvm.extractvalue %call[4] : !ccall  %noted = arith.select %is_noted, %name, %failed : !ptr
      scf.yield %noted : !ptr
    } else {
      scf.yield %failed : !ptr
    }
    scf.yield %now_failed : !ptr
  }
  return %first : !ptr
}
func.func private @__relax_native_log_one(%call: !ccall, %number: i64, %frame: i64) -> i64
    attributes {llvm.cold, llvm.no_inline} {
  %c8 = arith.constant 8 : i64  %call_kind = arith.constant 3 : i64
  %begin = func.call @__relax_now() : () -> i64
  %value = func.call @__relax_native_call_one(%call) : (!ccall) -> i64
  %end = func.call @__relax_now() : () -> i64
  %shifted = arith.shli %number, %c8 : i64  %what = arith.ori %shifted, %call_kind : i64
  func.call @__relax_log(%what, %frame, %begin, %end) : (i64, i64, i64, i64) -> ()
  return %value : i64
}
func.func private @__relax_native_call_one(%call: !ccall) -> i64 {
  %c0 = arith.constant 0 : i64  %c4 = arith.constant 4 : i64  %c8 = arith.constant 8 : i64
  %stated = llvm.extractvalue %call[0] : !ccall  %how = llvm.extractvalue %call[1] : !ccall
  %words = llvm.extractvalue %call[2] : !ccall
  %own = arith.andi %how, %c8 : i64  %is_own = arith.cmpi ne, %own, %c0 : i64
  %function = scf.if %is_own -> !ptr {
    %kernels = llvm.mlir.addressof @__relax_native_kernels : !ptr  %number = llvm.ptrtoint %stated : !ptr to i64
    %kernel_at = llvm.getelementptr %kernels[%number] : (!ptr, i64) -> !ptr, !ptr
    %kernel = llvm.load %kernel_at : !ptr -> !ptr
    scf.yield %kernel : !ptr
  } else {
    scf.yield %stated : !ptr
  }
  %many = arith.andi %how, %c4 : i64  %are_few = arith.cmpi eq, %many, %c0 : i64
  %value = scf.if %are_few -> i64 {
    %s = llvm.load %words : !ptr -> !few
    %s0 = llvm.extractvalue %s[0] : !few  %s1 = llvm.extractvalue %s[1] : !few  %s2 = llvm.extractvalue %s[2] : !few
    %s3 = llvm.extractvalue %s[3] : !few  %s4 = llvm.extractvalue %s[4] : !few  %s5 = llvm.extractvalue %s[5] : !few
    %given = llvm.call %function(%s0, %s1, %s2, %s3, %s4, %s5) : !ptr, (i64, i64, i64, i64, i64, i64) -> i64
    scf.yield %given : i64
  } else {
    %w = llvm.load %words : !ptr -> !many
    %w0 = llvm.extractvalue %w[0] : !many  %w1 = llvm.extractvalue %w[1] : !many  %w2 = llvm.extractvalue %w[2] : !many
    %w3 = llvm.extractvalue %w[3] : !many  %w4 = llvm.extractvalue %w[4] : !many  %w5 = llvm.extractvalue %w[5] : !many
    %w6 = llvm.extractvalue %w[6] : !many  %w7 = llvm.extractvalue %w[7] : !many  %w8 = llvm.extractvalue %w[8] : !many
    %w9 = llvm.extractvalue %w[9] : !many  %w10 = llvm.extractvalue %w[10] : !many  %w11 = llvm.extractvalue %w[11] : !many
    %w12 = llvm.extractvalue %w[12] : !many  %w13 = llvm.extractvalue %w[13] : !many  %w14 = llvm.extractvalue %w[14] : !many
    %w15 = llvm.extractvalue %w[15] : !many  %w16 = llvm.extractvalue %w[16] : !many  %w17 = llvm.extractvalue %w[17] : !many
    %w18 = llvm.extractvalue %w[18] : !many  %w19 = llvm.extractvalue %w[19] : !many  %w20 = llvm.extractvalue %w[20] : !many
    %w21 = llvm.extractvalue %w[21] : !many  %w22 = llvm.extractvalue %w[22] : !many  %w23 = llvm.extractvalue %w[23] : !many
    %f_at = llvm.getelementptr %words[192] : (!ptr) -> !ptr, i8  %f = llvm.load %f_at : !ptr -> !reals
    %f0 = llvm.extractvalue %f[0] : !reals  %f1 = llvm.extractvalue %f[1] : !reals  %f2 = llvm.extractvalue %f[2] : !reals
    %f3 = llvm.extractvalue %f[3] : !reals  %f4 = llvm.extractvalue %f[4] : !reals  %f5 = llvm.extractvalue %f[5] : !reals
    %f6 = llvm.extractvalue %f[6] : !reals  %f7 = llvm.extractvalue %f[7] : !reals
    %given = llvm.call %function(
      %f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7, %w0, %w1, %w2, %w3, %w4, %w5, %w6, %w7, %w8, %w9, %w10, %w11, %w12, %w13,
      %w14, %w15, %w16, %w17, %w18, %w19, %w20, %w21, %w22, %w23)
      : !ptr, (f64, f64, f64, f64, f64, f64, f64, f64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64,
      i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64) -> i64
    scf.yield %given : i64
  }
  return %value : i64
}
