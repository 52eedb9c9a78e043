// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor maps: descriptions of matrices for the device's block copies, for programs that need it (units.py). The driver
// writes the map of an address to host memory. device.mlir describes `%table`.

func.func private @__relax_device_status(!ptr, !ptr, !ptr, i32) attributes {relax.entry}

llvm.mlir.global internal constant @__relax_map_name("cuTensorMapEncodeTiled\00")

// Write the tensor map of a matrix at an address, for a kernel by its place in the table: 128 bytes at %map, aligned to
// 64. `%described` has i64 words: 0 element type, 1 number of axes, 2 to 6 sizes, innermost first, 7 to 10 strides in
// bytes of all axes but the first. i32 words follow: from word 11 on the sizes of a block, from word 14 on the strides of
// the block in elements.
func.func @__relax_device_tensor_map(%table: !ptr, %kernel: i64, %map: !ptr, %address: !ptr,
    %described: !ptr) attributes {relax.entry} {
  %zero = arith.constant 0 : i32  %turned = arith.constant 3 : i32  // lines of 128 bytes
  %promoted = arith.constant 2 : i32  // to lines of 128 bytes in the second cache
  %names_at = llvm.getelementptr %table[4] : (!ptr) -> !ptr, !ptr  %names = llvm.load %names_at : !ptr -> !ptr
  %name_at = llvm.getelementptr %names[%kernel] : (!ptr, i64) -> !ptr, !ptr  %where = llvm.load %name_at : !ptr -> !ptr
  %encode_at = llvm.getelementptr %table[24] : (!ptr) -> !ptr, !ptr  %encode = llvm.load %encode_at : !ptr -> !ptr
  %both = llvm.load %described : !ptr -> !any
  %type64 = llvm.extractvalue %both[0] : !any  %type = arith.trunci %type64 : i64 to i32
  %rank64 = llvm.extractvalue %both[1] : !any  %rank = arith.trunci %rank64 : i64 to i32
  %sizes = llvm.getelementptr %described[16] : (!ptr) -> !ptr, i8
  %strides = llvm.getelementptr %described[56] : (!ptr) -> !ptr, i8
  %box = llvm.getelementptr %described[88] : (!ptr) -> !ptr, i8
  %steps = llvm.getelementptr %described[112] : (!ptr) -> !ptr, i8
  %status = llvm.call %encode(%map, %type, %rank, %address, %sizes, %strides, %box, %steps, %zero, %turned, %promoted,
    %zero) : !ptr, (!ptr, i32, i32, !ptr, !ptr, !ptr, !ptr, !ptr, i32, i32, i32, i32) -> i32
  %name = llvm.mlir.addressof @__relax_map_name : !ptr
  func.call @__relax_device_status(%table, %where, %name, %status) : (!ptr, !ptr, !ptr, i32) -> ()
  return
}
