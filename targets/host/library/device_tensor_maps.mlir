// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor maps: descriptions of matrices of which a device copies blocks by itself. Next to device.mlir, which says what
// `%table` is, for programs that need it (units.py). The driver writes them, for an address, in the host's memory.

func.func private @__relax_device_status(!ptr, !ptr, !ptr, i32) attributes {relax.entry}

llvm.mlir.global internal constant @__relax_map_name("cuTensorMapEncodeTiled\00")

// The map of a matrix at an address for a launch of a kernel, by its place in the table: 128 bytes at %map, a multiple of
// 64. `%described` has numbers of 64 bits: 0 the type of elements, 1 how many axes there are, 2 to 6 their sizes, the
// innermost first, 7 to 10 by how many bytes the points of all but the first are apart; and of 32 bits, from 11 on what
// a block has of each, from 14 on by how many elements it goes along them.
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
