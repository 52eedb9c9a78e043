// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors on a device that registered functions take and return, and lists of results. Uses the names of device.mlir,
// device_tensors.mlir and calls.mlir, for programs that need it (units.py).

func.func private @__relax_borrow(i32, i32, !ptr, !ptr, !ptr) attributes {relax.entry}
func.func private @__relax_data(!ptr) -> !ptr
func.func private @__relax_exhausted(!ptr, i64) attributes {relax.entry}
func.func private @__relax_fail(!ptr, !ptr, !ptr, i64, i64, i64, i64) attributes {relax.entry}
func.func private @__relax_keep_where(i8, !ptr)
func.func private @__relax_separate_rows(!ptr, !ptr, !ptr, !ptr, !ptr, i64, i32, i32, i64, !ptr) attributes {relax.entry}
func.func private @__relax_tensor(!ptr) -> !ptr
func.func private @__relax_device_allocate(!ptr, !ptr, i32, i32, i64, !ptr, !ptr) -> i32
func.func private @__relax_device_copy(!ptr, !ptr, !ptr, i64) -> i32
func.func private @__relax_device_answer(!ptr, !ptr, i64, i32) attributes {relax.entry}
func.func private @__relax_device_free(!ptr, !ptr)
func.func private @__relax_device_read(!ptr, !ptr, !ptr, i64) attributes {relax.entry}
func.func private @__relax_device_take(!ptr, i64, !ptr) -> i32

func.func private @__relax_free(%block: !ptr) {
  llvm.call @free(%block) : (!ptr) -> ()
  return
}

// ---- registered functions ----

// Wrap existing device memory in a tensor for the duration of a call. The object has a header of its own, which DLPack
// exports return.
func.func @__relax_device_borrow(%table: !ptr, %rank: i32, %dtype: i32, %shape: !ptr, %data: !ptr,
    %any: !ptr) attributes {relax.entry} {
  %kind_at = llvm.getelementptr %table[25] : (!ptr) -> !ptr, !ptr  %kind = llvm.load %kind_at : !ptr -> i32
  func.call @__relax_borrow(%rank, %dtype, %shape, %data, %any) : (i32, i32, !ptr, !ptr, !ptr) -> ()
  %tensor = func.call @__relax_tensor(%any) : (!ptr) -> !ptr
  %number_at = llvm.getelementptr %table[1] : (!ptr) -> !ptr, !ptr  %number = llvm.load %number_at : !ptr -> i32
  %kind_place = llvm.getelementptr %tensor[8] : (!ptr) -> !ptr, i8
  %number_place = llvm.getelementptr %tensor[12] : (!ptr) -> !ptr, i8
  llvm.store %kind, %kind_place : i32, !ptr
  llvm.store %number, %number_place : i32, !ptr
  return
}
llvm.mlir.global internal constant @__relax_device_kept(
  "%s: a function that was called has kept a tensor that lives only during the call: it must copy it\00")
// Report a callee that still holds a reference to the tensor.
func.func @__relax_device_end_borrow(%name: !ptr, %any: !ptr) attributes {relax.entry} {
  %one = arith.constant 1 : i32  %c0 = arith.constant 0 : i64
  %object_at = llvm.getelementptr %any[8] : (!ptr) -> !ptr, i8  %object = llvm.load %object_at : !ptr -> !ptr
  %count = llvm.load %object atomic acquire {alignment = 8 : i64} : !ptr -> i32
  %is_kept = arith.cmpi ne, %count, %one : i32
  scf.if %is_kept {
    %kind = llvm.mlir.addressof @__relax_runtime_error : !ptr  %text = llvm.mlir.addressof @__relax_device_kept : !ptr
    func.call @__relax_fail(%kind, %text, %name, %c0, %c0, %c0, %c0) : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> ()
  }
  return
}
// Copy the elements of a checked tensor and store the address of the copy. The caller passes it to device_free.
func.func @__relax_device_take_tensor(%table: !ptr, %name: !ptr, %any: !ptr, %bytes: i64, %out: !ptr)
    attributes {relax.entry} {
  %ok = arith.constant 0 : i32
  %tensor_at = func.call @__relax_tensor(%any) : (!ptr) -> !ptr  %tensor = llvm.load %tensor_at : !ptr -> !tensor
  %rank = llvm.extractvalue %tensor[3] : !tensor  %shape = llvm.extractvalue %tensor[5] : !tensor
  %total = func.call @__relax_product(%bytes, %rank, %shape) : (i64, i32, !ptr) -> i64
  %taken = func.call @__relax_device_take(%table, %total, %out) : (!ptr, i64, !ptr) -> i32
  %takes = arith.constant 9 : i64
  func.call @__relax_device_answer(%table, %name, %takes, %taken) : (!ptr, !ptr, i64, i32) -> ()
  %to = llvm.load %out : !ptr -> !ptr  %data = func.call @__relax_data(%any) : (!ptr) -> !ptr
  %copied = func.call @__relax_device_copy(%table, %to, %data, %total) : (!ptr, !ptr, !ptr, i64) -> i32
  %has_failed = arith.cmpi ne, %copied, %ok : i32
  scf.if %has_failed {
    func.call @__relax_device_free(%table, %to) : (!ptr, !ptr) -> ()
  }
  "tir.return_unless_ok"(%copied) : (i32) -> ()
  return
}

// ---- lists of results ----

// Set a value to None unless the one bool of the tensor is true.
func.func @__relax_device_keep_if(%table: !ptr, %flag: !ptr, %any: !ptr) attributes {relax.entry} {
  %c1 = arith.constant 1 : i64  %truth_at = llvm.alloca %c1 x i8 : (i64) -> !ptr
  %data = func.call @__relax_data(%flag) : (!ptr) -> !ptr
  func.call @__relax_device_read(%table, %truth_at, %data, %c1) : (!ptr, !ptr, !ptr, i64) -> ()
  %truth = llvm.load %truth_at : !ptr -> i8
  func.call @__relax_keep_where(%truth, %any) : (i8, !ptr) -> ()
  return
}

llvm.mlir.global internal constant @__relax_no_rows("%s: %lld bytes needed\00")
// Like separate. The rows, with the lengths and shapes of the tensors, are read from the device in one copy.
func.func @__relax_device_separate(%table: !ptr, %label: !ptr, %items: !ptr, %count: i64, %rank: i32,
    %dtype: i32, %bytes: i64, %out: !ptr) attributes {relax.entry} {
  %c8 = arith.constant 8 : i64  %null = llvm.mlir.zero : !ptr
  %joined = llvm.getelementptr %items[%count] : (!ptr, i64) -> !ptr, !any
  %rows_any = llvm.getelementptr %joined[1] : (!ptr) -> !ptr, !any
  %tensor_at = func.call @__relax_tensor(%rows_any) : (!ptr) -> !ptr  %tensor = llvm.load %tensor_at : !ptr -> !tensor
  %rows_rank = llvm.extractvalue %tensor[3] : !tensor  %shape = llvm.extractvalue %tensor[5] : !tensor
  %rows_bytes = func.call @__relax_product(%c8, %rows_rank, %shape) : (i64, i32, !ptr) -> i64
  %asked = arith.addi %rows_bytes, %c8 : i64
  %rows = func.call @malloc(%asked) : (i64) -> !ptr  %is_exhausted = llvm.icmp "eq" %rows, %null : !ptr
  scf.if %is_exhausted {
    %format = llvm.mlir.addressof @__relax_no_rows : !ptr
    func.call @__relax_exhausted(%format, %asked) : (!ptr, i64) -> ()
  }
  %held = llvm.getelementptr %rows[0] {relax.ended_by = "free"} : (!ptr) -> !ptr, i8
  %from = func.call @__relax_data(%rows_any) : (!ptr) -> !ptr
  func.call @__relax_device_read(%table, %rows, %from, %rows_bytes) : (!ptr, !ptr, !ptr, i64) -> ()
  %make = llvm.mlir.addressof @__relax_device_give_row : !ptr
  func.call @__relax_separate_rows(%table, %make, %rows, %label, %items, %count, %rank, %dtype, %bytes, %out)
    : (!ptr, !ptr, !ptr, !ptr, !ptr, i64, i32, i32, i64, !ptr) -> ()
  "tir.release"(%held) : (!ptr) -> ()
  return
}
llvm.func internal @__relax_device_give_row(%table: !ptr, %label: !ptr, %rank: i32, %dtype: i32, %bytes: i64,
    %shape: !ptr, %data: !ptr, %any: !ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %made = func.call @__relax_device_allocate(%table, %label, %rank, %dtype, %bytes, %shape, %any)
    : (!ptr, !ptr, i32, i32, i64, !ptr, !ptr) -> i32
  %is_made = arith.cmpi eq, %made, %ok : i32
  %status = scf.if %is_made -> i32 {
    %total = func.call @__relax_product(%bytes, %rank, %shape) : (i64, i32, !ptr) -> i64
    %to = func.call @__relax_data(%any) : (!ptr) -> !ptr
    %copied = func.call @__relax_device_copy(%table, %to, %data, %total) : (!ptr, !ptr, !ptr, i64) -> i32
    scf.yield %copied : i32
  } else {
    scf.yield %made : i32
  }
  llvm.return %status : i32
}
