// RUN: relax-opt %s --spirv-take-words | FileCheck %s
// RUN: relax-opt %s --spirv-take-words=api=opencl | FileCheck %s --check-prefix=OPENCL

// CHECK: spirv.GlobalVariable @kernel_words : !spirv.ptr<!spirv.struct<(!spirv.array<7 x i64, stride=8> [0])>, PushConstant>
// CHECK-LABEL: gpu.func @kernel()
// CHECK-SAME: relax.words = array<i64: 7>
// CHECK: %[[WORDS:.*]] = spirv.mlir.addressof @kernel_words
// CHECK-COUNT-7: spirv.Load "PushConstant" %{{.*}} : i64
// CHECK: builtin.unrealized_conversion_cast %{{.*}} : i64 to !llvm.ptr
// CHECK: arith.index_cast %{{.*}} : i64 to index
// CHECK: %[[BITS:.*]] = arith.trunci %{{.*}} : i64 to i32
// CHECK: arith.bitcast %[[BITS]] : i32 to f32
// CHECK: arith.bitcast %{{.*}} : i64 to f64
// CHECK: arith.trunci %{{.*}} : i64 to i8
// CHECK: %[[BIT:.*]] = arith.andi
// CHECK: arith.cmpi ne, %[[BIT]]

// OPENCL-NOT: spirv.GlobalVariable
// OPENCL-LABEL: gpu.func @kernel(%{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64)
// OPENCL: builtin.unrealized_conversion_cast %{{.*}} : i64 to !llvm.ptr
gpu.module @kernels {
  func.func private @use_block(index)
  func.func private @use(!llvm.ptr, index, f32, f64, i8, i1)
  gpu.func @kernel(%p: !llvm.ptr, %n: index, %x: f32, %y: f64, %z: i8, %is: i1) kernel {
    func.call @use(%p, %n, %x, %y, %z, %is) : (!llvm.ptr, index, f32, f64, i8, i1) -> ()
    gpu.return
  }

  // More than can be pushed: their address is.
  // CHECK: spirv.GlobalVariable @more_words : !spirv.ptr<!spirv.struct<(!spirv.array<1 x i64, stride=8> [0])>, PushConstant>
  // CHECK-LABEL: gpu.func @more()
  // CHECK-SAME: relax.words = array<i64: 18>
  // CHECK: %[[ADDRESS:.*]] = spirv.Load "PushConstant"
  // CHECK: spirv.ConvertUToPtr %[[ADDRESS]] : i64 to !spirv.ptr<i64, PhysicalStorageBuffer>
  // CHECK: %[[EIGHT:.*]] = arith.constant 8 : i64
  // CHECK: arith.addi %[[ADDRESS]], %[[EIGHT]] : i64
  // OPENCL-LABEL: gpu.func @more(%{{.*}}: i64, {{.*}}%arg16: i64)
  gpu.func @more(%0: i64, %1: i64, %2: i64, %3: i64, %4: i64, %5: i64, %6: i64, %7: i64, %8: i64, %9: i64, %10: i64,
                 %11: i64, %12: i64, %13: i64, %14: i64, %15: i64, %16: i64) kernel {
    gpu.return
  }

  // The number of a block is that of two dimensions; those behind the last word's do nothing.
  // CHECK: spirv.GlobalVariable @none_words : !spirv.ptr<!spirv.struct<(!spirv.array<1 x i64, stride=8> [0])>, PushConstant>
  // CHECK-LABEL: gpu.func @none()
  // CHECK: %[[COUNT:.*]] = spirv.Load "PushConstant"
  // CHECK: %[[X:.*]] = gpu.block_id{{ +}}x
  // CHECK: %[[Y:.*]] = gpu.block_id{{ +}}y
  // CHECK: %[[N:.*]] = gpu.grid_dim{{ +}}x
  // CHECK: %[[ROW:.*]] = arith.muli %[[Y]], %[[N]] : index
  // CHECK: %[[OWN:.*]] = arith.addi %[[ROW]], %[[X]] : index
  // CHECK: %[[BLOCKS:.*]] = arith.index_cast %[[COUNT]] : i64 to index
  // CHECK: %[[IS:.*]] = arith.cmpi slt, %[[OWN]], %[[BLOCKS]] : index
  // CHECK: scf.if %[[IS]] {
  // CHECK: %[[Z:.*]] = gpu.block_id{{ +}}z
  // CHECK: func.call @use_block(%[[OWN]])
  // CHECK: func.call @use_block(%[[Z]])
  // CHECK: }
  // CHECK-NEXT: gpu.return
  // OPENCL-LABEL: gpu.func @none() kernel
  // OPENCL-NEXT: gpu.block_id x
  gpu.func @none() kernel {
    %block_id_x = gpu.block_id x
    %block_id_z = gpu.block_id z
    func.call @use_block(%block_id_x) : (index) -> ()
    func.call @use_block(%block_id_z) : (index) -> ()
    gpu.return
  }
}
