// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor maps: how a device is told of a matrix of which it copies blocks by itself. Beside device.mlir, which says what
// `%table` is, for programs that need it (support.py). The driver writes them, for an address, in the host's memory.

!ptr = !llvm.ptr

llvm.func @__relax_device_status(!ptr, !ptr, !ptr, i32) -> i32

llvm.mlir.global internal constant @__relax_map_name("cuTensorMapEncodeTiled\00")

// The map of a matrix at an address for a launch of a kernel, by its place in the table: 128 bytes at %map, a multiple of
// 64. `%described` has numbers of 64 bits: 0 the type of elements, 1 how many axes there are, 2 to 6 their sizes, the
// innermost first, 7 to 10 by how many bytes the points of all but the first are apart; and of 32 bits, from 11 on what
// a block has of each, from 14 on by how many elements it goes along them.
llvm.func hidden @__relax_device_tensor_map(%table: !ptr, %kernel: i64, %map: !ptr, %address: !ptr,
    %described: !ptr) -> i32 {
  %zero = llvm.mlir.constant(0 : i32) : i32  %turned = llvm.mlir.constant(3 : i32) : i32  // lines of 128 bytes
  %promoted = llvm.mlir.constant(2 : i32) : i32  // to lines of 128 bytes in the second cache
  %names_at = llvm.getelementptr %table[4] : (!ptr) -> !ptr, !llvm.ptr
  %names = llvm.load %names_at : !ptr -> !ptr
  %name_at = llvm.getelementptr %names[%kernel] : (!ptr, i64) -> !ptr, !llvm.ptr
  %where = llvm.load %name_at : !ptr -> !ptr
  %encode_at = llvm.getelementptr %table[24] : (!ptr) -> !ptr, !llvm.ptr
  %encode = llvm.load %encode_at : !ptr -> !ptr
  %rank_at = llvm.getelementptr %described[8] : (!ptr) -> !ptr, i8
  %sizes = llvm.getelementptr %described[16] : (!ptr) -> !ptr, i8
  %strides = llvm.getelementptr %described[56] : (!ptr) -> !ptr, i8
  %box = llvm.getelementptr %described[88] : (!ptr) -> !ptr, i8
  %steps = llvm.getelementptr %described[112] : (!ptr) -> !ptr, i8
  %type = llvm.load %described : !ptr -> i64
  %rank = llvm.load %rank_at : !ptr -> i64
  %type32 = llvm.trunc %type : i64 to i32
  %rank32 = llvm.trunc %rank : i64 to i32
  %status = llvm.call %encode(%map, %type32, %rank32, %address, %sizes, %strides, %box, %steps, %zero, %turned, %promoted,
    %zero) : !ptr, (!ptr, i32, i32, !ptr, !ptr, !ptr, !ptr, !ptr, i32, i32, i32, i32) -> i32
  %name = llvm.mlir.addressof @__relax_map_name : !ptr
  %made = llvm.call @__relax_device_status(%table, %where, %name, %status) : (!ptr, !ptr, !ptr, i32) -> i32
  llvm.return %made : i32
}
