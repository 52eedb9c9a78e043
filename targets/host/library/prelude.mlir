// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prelude of each unit: types, names of exceptions, functions of C and of tvm-ffi.
//
// A function with relax.entry can fail: it returns an i32 status, 0 or -1 with the error set. It returns at once if a
// callee fails (host-lower-errors). Private functions are local to the unit, others to the program.

!ptr = !llvm.ptr
// TVMFFIAny: type index and padding, payload. For type indices below 64 the payload is a value, else a counted reference.
!any = !llvm.struct<(i64, i64)>
// DLTensor: data, device type and number, rank, element type, sizes, strides, offset in bytes.
!tensor = !llvm.struct<(ptr, i32, i32, i32, i32, ptr, ptr, i64)>
// Result of llvm.cmpxchg: the previous value, and whether it equals the expected value.
!swapped = !llvm.struct<(i64, i1)>

llvm.mlir.global internal constant @__relax_type_error("TypeError\00")
llvm.mlir.global internal constant @__relax_value_error("ValueError\00")
llvm.mlir.global internal constant @__relax_memory_error("MemoryError\00")
llvm.mlir.global internal constant @__relax_runtime_error("RuntimeError\00")
llvm.mlir.global internal constant @__relax_out_of_memory("out of memory\00")

llvm.func @free(!ptr)
func.func private @aligned_alloc(i64, i64) -> !ptr
func.func private @clock_gettime(i32, !ptr) -> i32
func.func private @madvise(!ptr, i64, i32) -> i32
func.func private @malloc(i64) -> !ptr
func.func private @pthread_self() -> i64
func.func private @TVMFFIEnvGetDLPackManagedTensorAllocator() -> !ptr
func.func private @TVMFFIEnvGetStream(i32, i32) -> !ptr
func.func private @TVMFFIEnvTensorAlloc(!ptr, !ptr) -> i32
func.func private @TVMFFIErrorMoveFromRaised(!ptr)
func.func private @TVMFFIErrorSetRaised(!ptr)
func.func private @TVMFFIFunctionCall(!ptr, !ptr, i32, !ptr) -> i32
func.func private @TVMFFIObjectDecRef(!ptr) -> i32
func.func private @TVMFFIObjectIncRef(!ptr) -> i32
func.func private @TVMFFITensorFromDLPackVersioned(!ptr, i32, i32, !ptr) -> i32

// Return the product of a first number and a number of sizes.
func.func private @__relax_product(%first: i64, %rank: i32, %sizes: !ptr) -> i64 {
  %c0 = arith.constant 0 : i32  %c1 = arith.constant 1 : i32
  %product = scf.for %axis = %c0 to %rank step %c1 iter_args(%so_far = %first) -> (i64) : i32 {
    %size_at = llvm.getelementptr %sizes[%axis] : (!ptr, i32) -> !ptr, i64  %size = llvm.load %size_at : !ptr -> i64
    %next = arith.muli %so_far, %size : i64
    scf.yield %next : i64
  }
  return %product : i64
}

// Return the bytes of a new tensor, or -1 if a size is negative or the total is 2^62 bytes or more.
func.func private @__relax_bytes(%rank: i32, %element: i64, %shape: !ptr) -> i64 {
  %c0 = arith.constant 0 : i64  %none = arith.constant -1 : i64  %largest = arith.constant 4.0e18 : f64
  %i0 = arith.constant 0 : i32  %i1 = arith.constant 1 : i32  %one = arith.constant 1.0 : f64
  %no = arith.constant false  %float = arith.sitofp %element : i64 to f64
  %upper, %bytes, %bad = scf.for %axis = %i0 to %rank step %i1
      iter_args(%upper = %float, %total = %element, %bad = %no) -> (f64, i64, i1) : i32 {
    %size_at = llvm.getelementptr %shape[%axis] : (!ptr, i32) -> !ptr, i64  %size = llvm.load %size_at : !ptr -> i64
    %float_size = arith.sitofp %size : i64 to f64  %some = arith.maxnumf %float_size, %one : f64
    %new_upper = arith.mulf %upper, %some : f64  %new_total = arith.muli %total, %size : i64
    %is_negative = arith.cmpi slt, %size, %c0 : i64  %new_bad = arith.ori %bad, %is_negative : i1
    scf.yield %new_upper, %new_total, %new_bad : f64, i64, i1
  }
  %is_large = arith.cmpf ugt, %upper, %largest : f64  %is_impossible = arith.ori %bad, %is_large : i1
  %result = arith.select %is_impossible, %none, %bytes : i64
  return %result : i64
}

// Copy a shape, and append its row-major strides.
func.func private @__relax_lay_out(%rank: i64, %shape: !ptr, %own_shape: !ptr) {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64
  %own_strides = llvm.getelementptr %own_shape[%rank] : (!ptr, i64) -> !ptr, i64
  %all = scf.for %i = %c0 to %rank step %c1 iter_args(%stride = %c1) -> (i64) : i64 {
    %behind = arith.subi %rank, %i : i64  %axis = arith.subi %behind, %c1 : i64
    %size_at = llvm.getelementptr %shape[%axis] : (!ptr, i64) -> !ptr, i64  %size = llvm.load %size_at : !ptr -> i64
    %own_size_at = llvm.getelementptr %own_shape[%axis] : (!ptr, i64) -> !ptr, i64
    llvm.store %size, %own_size_at : i64, !ptr
    %stride_at = llvm.getelementptr %own_strides[%axis] : (!ptr, i64) -> !ptr, i64
    llvm.store %stride, %stride_at : i64, !ptr
    %next = arith.muli %stride, %size : i64
    scf.yield %next : i64
  }
  return
}

// Add the time of a call to the program's table (support.py): to the total, and to the calls and the time of the place.
func.func private @__relax_add_spent(%table: !ptr, %place: i64, %spent: i64) {
  %c1 = arith.constant 1 : i64  %all_at = llvm.getelementptr %table[1] : (!ptr) -> !ptr, i64
  func.call @__relax_add(%all_at, %spent) : (!ptr, i64) -> ()
  %index = arith.addi %place, %c1 : i64  %calls_at = llvm.getelementptr %table[%index] : (!ptr, i64) -> !ptr, !any
  func.call @__relax_add(%calls_at, %c1) : (!ptr, i64) -> ()
  %spent_at = llvm.getelementptr %calls_at[1] : (!ptr) -> !ptr, i64
  func.call @__relax_add(%spent_at, %spent) : (!ptr, i64) -> ()
  return
}
func.func private @__relax_add(%place: !ptr, %more: i64) {
  %before = llvm.load %place : !ptr -> i64  %after = arith.addi %before, %more : i64
  llvm.store %after, %place : i64, !ptr
  return
}

