// RUN: relax-opt %s --llvm-load-tiles | FileCheck %s

// Tiles are loaded and stored directly, instead of as vectors that become tiles or tiles that become vectors.
// CHECK-LABEL: llvm.func @through
// CHECK-SAME: (%[[FROM:.*]]: !llvm.ptr, %[[TO:.*]]: !llvm.ptr)
// CHECK-NOT: vector<
// CHECK-DAG: %[[STRIDE:.*]] = llvm.mlir.constant(64 : i64) : i64
// CHECK-DAG: %[[ROWS:.*]] = llvm.mlir.constant(16 : i16) : i16
// CHECK-DAG: %[[BYTES:.*]] = llvm.mlir.constant(64 : i16) : i16
// CHECK: %[[TILE:.*]] = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%[[ROWS]], %[[BYTES]], %[[FROM]], %[[STRIDE]]) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
// CHECK: llvm.call @between
// CHECK: llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%{{.*}}, %{{.*}}, %[[TO]], %{{.*}}, %[[TILE]]) : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
// CHECK-NEXT: llvm.return
llvm.func @between()
llvm.func @through(%from: !llvm.ptr, %to: !llvm.ptr) {
  %0 = llvm.load %from {alignment = 2 : i64} : !llvm.ptr -> vector<512xi16>
  %1 = llvm.bitcast %0 : vector<512xi16> to vector<256xi32>
  llvm.call @between() : () -> ()
  %2 = llvm.call_intrinsic "llvm.x86.cast.vector.to.tile"(%1) : (vector<256xi32>) -> !llvm.x86_amx
  %3 = llvm.call_intrinsic "llvm.x86.cast.tile.to.vector"(%2) : (!llvm.x86_amx) -> vector<256xi32>
  %4 = llvm.bitcast %3 : vector<256xi32> to vector<256xf32>
  llvm.store %4, %to {alignment = 4 : i64} : vector<256xf32>, !llvm.ptr
  llvm.return
}

// Other uses of the vector stay.
// CHECK-LABEL: llvm.func @both
// CHECK: llvm.call_intrinsic "llvm.x86.tileloadd64.internal"
// CHECK: %[[VECTOR:.*]] = llvm.load %{{.*}} -> vector<256xi32>
// CHECK: %[[CAST:.*]] = llvm.call_intrinsic "llvm.x86.cast.tile.to.vector"
// CHECK: llvm.store %[[VECTOR]]
// CHECK: llvm.store %[[CAST]]
// CHECK: llvm.store %[[CAST]]
llvm.func @both(%from: !llvm.ptr, %to: !llvm.ptr, %more: !llvm.ptr) {
  %0 = llvm.load %from : !llvm.ptr -> vector<256xi32>
  %1 = llvm.call_intrinsic "llvm.x86.cast.vector.to.tile"(%0) : (vector<256xi32>) -> !llvm.x86_amx
  %2 = llvm.call_intrinsic "llvm.x86.cast.tile.to.vector"(%1) : (!llvm.x86_amx) -> vector<256xi32>
  llvm.store %0, %more : vector<256xi32>, !llvm.ptr
  llvm.store %2, %to : vector<256xi32>, !llvm.ptr
  llvm.store %2, %from : vector<256xi32>, !llvm.ptr
  llvm.return
}

// CHECK-LABEL: llvm.func @passed
// CHECK: llvm.call_intrinsic "llvm.x86.cast.vector.to.tile"(%arg0)
// CHECK: llvm.call_intrinsic "llvm.x86.cast.tile.to.vector"
llvm.func @passed(%v: vector<256xi32>) -> vector<256xi32> {
  %0 = llvm.call_intrinsic "llvm.x86.cast.vector.to.tile"(%v) : (vector<256xi32>) -> !llvm.x86_amx
  %1 = llvm.call_intrinsic "llvm.x86.cast.tile.to.vector"(%0) : (!llvm.x86_amx) -> vector<256xi32>
  llvm.return %1 : vector<256xi32>
}
