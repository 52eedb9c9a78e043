// RUN: relax-opt %s --cuda-make-tensor-maps --split-input-file --verify-diagnostics | FileCheck %s

// A kernel describes memory at an address that it is passed, 512 bytes behind it: the host makes a map of it before each
// launch, which passes the map by its bytes. Other kernels are as they were.
module attributes {gpu.container_module, relax.device = "cuda", relax.kernels = ["other", "kernel"]} {
  llvm.mlir.global internal @__relax_device() : !llvm.ptr
  // CHECK-LABEL: func.func @launched
  // CHECK: %[[MAP:.*]] = llvm.alloca %{{.*}} x i8 {alignment = 64 : i64}
  // CHECK: %[[WHOLE:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<4096xi8>
  // CHECK: %[[VIEW:.*]] = memref.view %[[WHOLE]]
  // CHECK: %[[PLACE:.*]] = llvm.getelementptr %{{.*}}[512] : (!llvm.ptr) -> !llvm.ptr, i8
  // CHECK: %[[NUMBERS:.*]] = llvm.mlir.addressof @[[STATED:.*]] : !llvm.ptr
  // CHECK: %[[KERNEL:.*]] = arith.constant 1 : i64
  // CHECK: %[[STATUS:.*]] = llvm.call @__relax_device_tensor_map(%{{.*}}, %[[KERNEL]], %[[MAP]], %[[PLACE]], %[[NUMBERS]])
  // CHECK: "tir.return_unless_ok"(%[[STATUS]])
  // CHECK: gpu.launch_func @kernels::@kernel {{.*}} args(%arg0 : !llvm.ptr, %arg1 : index, %[[MAP]] : !llvm.ptr)
  // CHECK: gpu.launch_func @kernels::@other {{.*}} args(%arg0 : !llvm.ptr)
  func.func @launched(%p: !llvm.ptr, %n: index) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@kernel blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%p : !llvm.ptr, %n : index)
    gpu.launch_func @kernels::@other blocks in (%n, %c1, %c1) threads in (%n, %c1, %c1) args(%p : !llvm.ptr)
    return
  }
  gpu.module @kernels {
    // CHECK: gpu.func @other(%{{.*}}: !llvm.ptr) kernel {
    gpu.func @other(%p: !llvm.ptr) kernel {
      gpu.return
    }
    // CHECK: gpu.func @kernel(%{{.*}}: !llvm.ptr, %{{.*}}: index, %[[GIVEN:.*]]: !llvm.ptr) kernel attributes {gpu.by_value = array<i64: 0, 0, 128>} {
    // CHECK-NOT: nvgpu
    // CHECK-NOT: memref.cast
    // CHECK: llvm.load %[[GIVEN]]
    gpu.func @kernel(%p: !llvm.ptr, %n: index) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %c64 = arith.constant 64 : index
      %0 = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %1 = llvm.insertvalue %p, %0[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %2 = builtin.unrealized_conversion_cast %1 : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> to memref<4096xi8>
      %3 = memref.view %2[%c0][] : memref<4096xi8> to memref<2048xf16>
      %4 = memref.reinterpret_cast %3 to offset: [256], sizes: [5, 30, 64], strides: [1920, 64, 1]
        : memref<2048xf16> to memref<5x30x64xf16, strided<[1920, 64, 1], offset: 256>>
      %5 = memref.cast %4 : memref<5x30x64xf16, strided<[1920, 64, 1], offset: 256>> to memref<*xf16>
      %6 = nvgpu.tma.create.descriptor %5 box[%c1, %c8, %c64] : memref<*xf16> -> <tensor = memref<1x8x64xf16, 3>,
        swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>
      %7 = builtin.unrealized_conversion_cast %6 : !nvgpu.tensormap.descriptor<tensor = memref<1x8x64xf16, 3>,
        swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none> to !llvm.ptr
      %8 = llvm.load %7 : !llvm.ptr -> i32
      gpu.return
    }
  }
  // Elements of two bytes, three axes, of sizes 64, 30 and 5, 128 and 3840 bytes apart; boxes of 64, 8 and 1.
  // CHECK: llvm.mlir.global internal constant @[[STATED]](dense<[1, 3, 64, 30, 5, 1, 1, 128, 3840, 0, 0, 34359738432, 4294967297, 1, 4294967297, 4294967297, 1]> : tensor<17xi64>)
}

// -----

// The host can make a map only from values that it knows.
module attributes {gpu.container_module, relax.device = "cuda", relax.kernels = ["kernel"]} {
  llvm.mlir.global internal @__relax_device() : !llvm.ptr
  func.func @launched(%p: !llvm.ptr, %n: index) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@kernel blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%p : !llvm.ptr)
    return
  }
  gpu.module @kernels {
    gpu.func @kernel(%p: !llvm.ptr) kernel {
      %c64 = arith.constant 64 : index
      cf.br ^next(%p : !llvm.ptr)
    ^next(%q: !llvm.ptr):
      %0 = builtin.unrealized_conversion_cast %q : !llvm.ptr to memref<4096xf16>
      %1 = memref.reinterpret_cast %0 to offset: [0], sizes: [64, 64], strides: [64, 1] : memref<4096xf16> to memref<64x64xf16, strided<[64, 1]>>
      %2 = memref.cast %1 : memref<64x64xf16, strided<[64, 1]>> to memref<*xf16>
      // expected-error @below {{'nvgpu.tma.create.descriptor' op describes memory that only the kernel knows: the host cannot make a map of it}}
      %3 = nvgpu.tma.create.descriptor %2 box[%c64, %c64] : memref<*xf16> -> <tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>
      gpu.return
    }
  }
}
