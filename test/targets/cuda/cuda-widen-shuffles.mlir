// RUN: relax-opt %s --cuda-widen-shuffles | FileCheck %s

// CHECK-LABEL: func.func @half
// CHECK-SAME: (%[[X:.*]]: f16, %[[LANE:.*]]: i32, %[[WIDTH:.*]]: i32)
// CHECK: %[[BITS:.*]] = arith.bitcast %[[X]] : f16 to i16
// CHECK: %[[WIDE:.*]] = arith.extui %[[BITS]] : i16 to i32
// CHECK: %[[GOT:.*]], %[[VALID:.*]] = gpu.shuffle xor %[[WIDE]], %[[LANE]], %[[WIDTH]] : i32
// CHECK: %[[LOW:.*]] = arith.trunci %[[GOT]] : i32 to i16
// CHECK: %[[BACK:.*]] = arith.bitcast %[[LOW]] : i16 to f16
// CHECK: return %[[BACK]], %[[VALID]] : f16, i1
func.func @half(%x: f16, %lane: i32, %width: i32) -> (f16, i1) {
  %0, %1 = gpu.shuffle xor %x, %lane, %width : f16
  return %0, %1 : f16, i1
}

// CHECK-LABEL: func.func @bytes
// CHECK-NOT: bitcast
// CHECK: arith.extui %{{.*}} : i8 to i32
// CHECK: gpu.shuffle down %{{.*}} : i32
// CHECK: arith.trunci %{{.*}} : i32 to i8
func.func @bytes(%x: i8, %lane: i32, %width: i32) -> i8 {
  %0, %1 = gpu.shuffle down %x, %lane, %width : i8
  return %0 : i8
}

// Shuffles that upstream can lower stay unchanged.
// CHECK-LABEL: func.func @wide
// CHECK-NEXT: gpu.shuffle idx %{{.*}} : f32
// CHECK-NEXT: gpu.shuffle up %{{.*}} : i64
// CHECK-NEXT: return
func.func @wide(%x: f32, %y: i64, %lane: i32, %width: i32) -> (f32, i64) {
  %0, %1 = gpu.shuffle idx %x, %lane, %width : f32
  %2, %3 = gpu.shuffle up %y, %lane, %width : i64
  return %0, %2 : f32, i64
}
