// RUN: relax-opt %s --spirv-rewrite-arithmetic | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @remainder
  // CHECK-SAME: (%[[X:.*]]: i64, %[[Y:.*]]: i64)
  // CHECK: %[[Q:.*]] = arith.divsi %[[X]], %[[Y]] : i64
  // CHECK: %[[P:.*]] = arith.muli %[[Q]], %[[Y]] : i64
  // CHECK: %[[R:.*]] = arith.subi %[[X]], %[[P]] : i64
  // CHECK: gpu.return %[[R]]
  gpu.func @remainder(%x: i64, %y: i64) -> i64 {
    %0 = arith.remsi %x, %y : i64
    gpu.return %0 : i64
  }

  // A number that was made wider is compared as it was before, on either side.
  // CHECK-LABEL: gpu.func @compared
  // CHECK-SAME: (%[[X:.*]]: i32
  // CHECK-DAG: %[[FOUR:.*]] = arith.constant 4 : i32
  // CHECK: arith.cmpi slt, %[[X]], %[[FOUR]] : i32
  // CHECK: %[[MINUS:.*]] = arith.constant -4 : i32
  // CHECK: arith.cmpi sge, %[[X]], %[[MINUS]] : i32
  gpu.func @compared(%x: i32, %b: i64) -> (i1, i1) {
    %c4 = arith.constant 4 : index
    %m4 = arith.constant -4 : i64
    %0 = arith.index_cast %x : i32 to index
    %1 = arith.cmpi slt, %0, %c4 : index
    %2 = arith.extsi %x : i32 to i64
    %3 = arith.cmpi sle, %m4, %2 : i64
    gpu.return %1, %3 : i1, i1
  }

  // With a number that no i32 is.
  // CHECK-LABEL: gpu.func @known
  // CHECK: %[[TRUE:.*]] = arith.constant true
  // CHECK: %[[FALSE:.*]] = arith.constant false
  // CHECK: gpu.return %[[TRUE]], %[[FALSE]]
  gpu.func @known(%x: i32) -> (i1, i1) {
    %large = arith.constant 5000000000 : i64
    %small = arith.constant -5000000000 : i64
    %0 = arith.extsi %x : i32 to i64
    %1 = arith.cmpi slt, %0, %large : i64
    %2 = arith.cmpi sle, %0, %small : i64
    gpu.return %1, %2 : i1, i1
  }

  // Operations on unknown and unsigned values stay.
  // CHECK-LABEL: gpu.func @others
  // CHECK: arith.cmpi slt, %{{.*}}, %{{.*}} : i64
  // CHECK: arith.cmpi ult, %{{.*}}, %{{.*}} : i64
  gpu.func @others(%x: i32, %y: i64) -> (i1, i1) {
    %c4 = arith.constant 4 : i64
    %0 = arith.extsi %x : i32 to i64
    %1 = arith.cmpi slt, %0, %y : i64
    %2 = arith.cmpi ult, %0, %c4 : i64
    gpu.return %1, %2 : i1, i1
  }

  // CHECK-LABEL: gpu.func @vectors
  // CHECK: arith.cmpi slt, %{{.*}}, %{{.*}} : vector<4xi32>
  gpu.func @vectors(%x: vector<4xi32>) -> vector<4xi1> {
    %c4 = arith.constant dense<4> : vector<4xi32>
    %0 = arith.cmpi slt, %x, %c4 : vector<4xi32>
    gpu.return %0 : vector<4xi1>
  }

  // CHECK-LABEL: gpu.func @widened
  // CHECK: %[[BETWEEN:.*]] = arith.extf %{{.*}} : bf16 to f32
  // CHECK: arith.extf %[[BETWEEN]] : f32 to f64
  // CHECK: %[[MORE:.*]] = arith.extf %{{.*}} : vector<4xbf16> to vector<4xf32>
  // CHECK: arith.extf %[[MORE]] : vector<4xf32> to vector<4xf64>
  gpu.func @widened(%x: bf16, %y: vector<4xbf16>) -> (f64, vector<4xf64>) {
    %0 = arith.extf %x : bf16 to f64
    %1 = arith.extf %y : vector<4xbf16> to vector<4xf64>
    gpu.return %0, %1 : f64, vector<4xf64>
  }

  // Integers of six bits.
  // CHECK-LABEL: gpu.func @low_bits
  // CHECK: %[[LOW:.*]] = arith.andi %{{.*}}, %c63_i32
  // CHECK: arith.trunci %[[LOW]] : i32 to i8
  // CHECK: arith.andi %{{.*}} : vector<4xi8>
  // CHECK-NEXT: arith.extui %{{.*}} : vector<4xi8> to vector<4xi32>
  // CHECK-NEXT: arith.trunci %{{.*}} : i8 to i4
  // CHECK-NOT: i6
  // CHECK: gpu.return
  gpu.func @low_bits(%x: i32, %y: vector<4xi8>, %z: i8) -> (i8, vector<4xi32>, i8) {
    %0 = arith.trunci %x : i32 to i6
    %1 = arith.extui %0 : i6 to i8
    %2 = arith.trunci %y : vector<4xi8> to vector<4xi6>
    %3 = arith.extui %2 : vector<4xi6> to vector<4xi32>
    %4 = arith.trunci %z : i8 to i4
    %5 = arith.extui %4 : i4 to i8
    gpu.return %1, %3, %5 : i8, vector<4xi32>, i8
  }
}

// The host's code stays.
// CHECK-LABEL: func.func @host
// CHECK: arith.remsi
func.func @host(%x: i64, %y: i64) -> i64 {
  %0 = arith.remsi %x, %y : i64
  return %0 : i64
}
