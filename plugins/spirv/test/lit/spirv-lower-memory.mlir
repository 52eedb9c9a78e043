// RUN: relax-opt %s --spirv-lower-memory --canonicalize --split-input-file --verify-diagnostics | FileCheck %s
// RUN: relax-opt %s --spirv-lower-memory=api=opencl --canonicalize --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=OPENCL

// Addresses are numbers. Elements are of their size, truth values bytes.
// CHECK-LABEL: gpu.func @elements
// CHECK-SAME: (%[[ADDRESS:.*]]: i64, %[[N:.*]]: i64, %[[I:.*]]: index, %[[J:.*]]: index)
// CHECK-DAG: %[[FOUR:.*]] = arith.constant 4 : i64
// CHECK: %[[WIDTH:.*]] = arith.index_cast %[[N]] : i64 to index
// CHECK: %[[ROW:.*]] = arith.muli %[[I]], %[[WIDTH]] : index
// CHECK: %[[PLACE:.*]] = arith.addi %[[J]], %[[ROW]] : index
// CHECK: %[[BYTES:.*]] = arith.muli %{{.*}}, %[[FOUR]] : i64
// CHECK: %[[AT:.*]] = arith.addi %[[ADDRESS]], %[[BYTES]] : i64
// CHECK: %[[P:.*]] = spirv.ConvertUToPtr %[[AT]] : i64 to !spirv.ptr<f32, PhysicalStorageBuffer>
// CHECK: %[[V:.*]] = spirv.Load "PhysicalStorageBuffer" %[[P]] ["Aligned", 4] : f32
// CHECK: spirv.Load "PhysicalStorageBuffer" %{{.*}} ["Aligned", 1] : i8
// CHECK: arith.cmpi ne
// CHECK: arith.extui %{{.*}} : i1 to i8
// CHECK: spirv.Store "PhysicalStorageBuffer" %{{.*}}, %{{.*}} ["Aligned", 1] : i8
// CHECK-NOT: memref
// CHECK-NOT: llvm.
// OPENCL-LABEL: gpu.func @elements
// OPENCL: spirv.ConvertUToPtr %{{.*}} : i64 to !spirv.ptr<f32, CrossWorkgroup>
// OPENCL: spirv.Load "CrossWorkgroup" %{{.*}} ["Aligned", 4] : f32
gpu.module @kernels {
  gpu.func @elements(%a: i64, %n: i64, %i: index, %j: index) kernel {
    %p = builtin.unrealized_conversion_cast %a : i64 to !llvm.ptr
    %0 = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
    %1 = llvm.insertvalue %p, %0[0] : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
    %2 = llvm.insertvalue %p, %1[1] : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
    %3 = llvm.insertvalue %n, %2[3, 0] : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
    %4 = llvm.insertvalue %n, %3[3, 1] : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
    %5 = llvm.insertvalue %n, %4[4, 0] : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
    %x = builtin.unrealized_conversion_cast %5 : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)> to memref<?x?xf32>
    %6 = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %7 = llvm.insertvalue %p, %6[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %y = builtin.unrealized_conversion_cast %7 : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> to memref<8xi1>
    %v = memref.load %x[%i, %j] : memref<?x?xf32>
    %is = memref.load %y[%i] : memref<8xi1>
    %zero = arith.constant 0.0 : f32
    %other = arith.cmpf ogt, %v, %zero : f32
    %both = arith.andi %is, %other : i1
    memref.store %both, %y[%i] : memref<8xi1>
    gpu.return
  }
}

// -----

// Vectors are read four lanes at a time, with the alignment that is said; shared memory and a thread's own, element by
// element, are variables.
// CHECK-LABEL: gpu.module @kernels
// CHECK: spirv.GlobalVariable @shared : !spirv.ptr<!spirv.array<64 x i16>, Workgroup>
// CHECK-NOT: memref.global
// CHECK-LABEL: gpu.func @vectors
// CHECK: spirv.Variable : !spirv.ptr<!spirv.array<2 x f32>, Function>
// CHECK: spirv.Load "PhysicalStorageBuffer" %{{.*}} ["Aligned", 16] : vector<4xi16>
// CHECK: spirv.Load "PhysicalStorageBuffer" %{{.*}} ["Aligned", 8] : vector<4xi16>
// CHECK-COUNT-8: spirv.Store "Workgroup" %{{.*}}, %{{.*}} : i16
// CHECK: spirv.AccessChain %{{.*}} : !spirv.ptr<!spirv.array<64 x i16>, Workgroup>, i64 -> !spirv.ptr<i16, Workgroup>
// CHECK: spirv.Load "Workgroup" %{{.*}} : i16
// CHECK: spirv.Store "Function" %{{.*}}, %{{.*}} : f32
// CHECK: spirv.AtomicSMax <Device> <AcquireRelease|UniformMemory> %{{.*}}, %{{.*}} : !spirv.ptr<i32, PhysicalStorageBuffer>
// OPENCL: spirv.AtomicSMax <Device> <AcquireRelease|CrossWorkgroupMemory> %{{.*}} : !spirv.ptr<i32, CrossWorkgroup>
gpu.module @kernels {
  memref.global "private" @shared : memref<8x8xi16, 3> = uninitialized {alignment = 16 : i64}
  gpu.func @vectors(%a: i64, %i: index, %f: f32, %n: i32) kernel {
    %p = builtin.unrealized_conversion_cast %a : i64 to !llvm.ptr
    %0 = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %1 = llvm.insertvalue %p, %0[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %x = builtin.unrealized_conversion_cast %1 : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> to memref<64xi16>
    %y = builtin.unrealized_conversion_cast %1 : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> to memref<64xi32>
    %s = memref.get_global @shared : memref<8x8xi16, 3>
    %own = memref.alloca() : memref<2xf32>
    %v = vector.load %x[%i] {alignment = 16 : i64} : memref<64xi16>, vector<8xi16>
    vector.store %v, %s[%i, %i] : memref<8x8xi16, 3>, vector<8xi16>
    %e = memref.load %s[%i, %i] : memref<8x8xi16, 3>
    memref.store %e, %x[%i] : memref<64xi16>
    memref.store %f, %own[%i] : memref<2xf32>
    %old = memref.atomic_rmw maxs %n, %y[%i] : (i32, memref<64xi32>) -> i32
    gpu.return
  }

  // The lowering of asserts.
  // CHECK-LABEL: gpu.func @addresses
  // CHECK: %[[OLD:.*]] = spirv.AtomicCompareExchange <Device> <AcquireRelease|UniformMemory> <Acquire|UniformMemory> %{{.*}}, %[[ONE:.*]], %[[ZERO:.*]] : !spirv.ptr<i32, PhysicalStorageBuffer>
  // CHECK: arith.cmpi eq, %[[OLD]], %[[ZERO]] : i32
  // CHECK: arith.addi %{{.*}}, %{{.*}} : i64
  // CHECK: %[[RECORD:.*]] = spirv.Load "PhysicalStorageBuffer" %{{.*}} ["Aligned", 8] : i64
  // CHECK: %[[AT:.*]] = spirv.ConvertUToPtr %[[RECORD]] : i64 to !spirv.ptr<i32, PhysicalStorageBuffer>
  // CHECK: spirv.Store "PhysicalStorageBuffer" %[[AT]], %[[ONE]] ["Aligned", 4] : i32
  gpu.func @addresses(%a: i64) kernel {
    %flag = builtin.unrealized_conversion_cast %a : i64 to !llvm.ptr
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %0 = llvm.cmpxchg %flag, %zero, %one acq_rel monotonic : !llvm.ptr, i32
    %1 = llvm.extractvalue %0[1] : !llvm.struct<(i32, i1)>
    scf.if %1 {
      %2 = llvm.getelementptr %flag[8] : (!llvm.ptr) -> !llvm.ptr, i8
      %3 = llvm.load %2 : !llvm.ptr -> !llvm.ptr
      llvm.store %one, %3 : i32, !llvm.ptr
    }
    gpu.return
  }
}

// -----

// A piece of memory that is bytes: its address, dense.
// CHECK-LABEL: gpu.func @viewed
// CHECK-SAME: (%[[ADDRESS:.*]]: i64, %[[SHIFT:.*]]: index, %[[N:.*]]: index, %[[I:.*]]: index)
// CHECK: %[[BEHIND:.*]] = arith.index_cast %[[SHIFT]] : index to i64
// CHECK: %[[BEGIN:.*]] = arith.addi %[[ADDRESS]], %[[BEHIND]] : i64
// CHECK: arith.muli %[[I]], %[[N]] : index
// CHECK: arith.addi %[[BEGIN]], %{{.*}} : i64
// CHECK: spirv.Store "PhysicalStorageBuffer" %{{.*}}, %{{.*}} ["Aligned", 4] : f32
gpu.module @kernels {
  gpu.func @viewed(%a: i64, %shift: index, %n: index, %i: index) kernel {
    %p = builtin.unrealized_conversion_cast %a : i64 to !llvm.ptr
    %0 = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %1 = llvm.insertvalue %p, %0[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %x = builtin.unrealized_conversion_cast %1 : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> to memref<4096xi8>
    %y = memref.view %x[%shift][%n] : memref<4096xi8> to memref<4x?xf32>
    %f = arith.constant 0.0 : f32
    memref.store %f, %y[%i, %i] : memref<4x?xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @kernel(%is: i1, %i: index) kernel {
    %f = arith.constant 0.0 : f32
    %0 = memref.alloca() : memref<2xf32>
    %1 = memref.alloca() : memref<2xf32>
    // expected-error @+1 {{'scf.if' op returns memory that SPIR-V cannot address}}
    %2 = scf.if %is -> (memref<2xf32>) {
      scf.yield %0 : memref<2xf32>
    } else {
      scf.yield %1 : memref<2xf32>
    }
    memref.store %f, %2[%i] : memref<2xf32>
    gpu.return
  }
}
