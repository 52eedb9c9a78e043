// RUN: relax-opt %s --relax-localize | FileCheck %s
// RUN: relax-opt %s --relax-localize='function=rows sums=split' | FileCheck %s --check-prefix=SPLIT
// RUN: relax-opt %s --relax-localize='function=uneven' | FileCheck %s --check-prefix=UNEVEN
// RUN: relax-opt %s --relax-localize='function=dynamic' | FileCheck %s --check-prefix=DYNAMIC
// RUN: relax-opt %s --relax-localize='function=plain mesh=dp=2,tp=2 specs=x:dp,_,result:_,dp+tp' | FileCheck %s --check-prefix=SPECS
// RUN: not relax-opt %s --relax-localize='mesh=tp=4,tp=2' 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not relax-opt %s --relax-localize='function=wrong' 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not relax-opt %s --relax-localize='sums=some' 2>&1 | FileCheck %s --check-prefix=SUMS

// The columns of both weights are divided. A rank needs all columns of the first product.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<8x16xf32> {ccl.sharding = "(_, _)"
// CHECK-SAME: tensor<16x8xf32> {ccl.sharding = "(_, tp)"
// CHECK-SAME: tensor<32x4xf32> {ccl.sharding = "(_, tp)"
// CHECK-SAME: -> (tensor<8x4xf32> {ccl.sharding = "(_, tp)"})
// CHECK: %[[H:.*]] = "relax.matmul"(%arg0, %arg1) : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
// CHECK: %[[R:.*]] = "relax.nn.relu"(%[[H]])
// CHECK: "ccl.all_gather"(%[[R]]) {axis = 1 : i64, group_size = 4 : i64, groups = array<i64: 0, 1, 2, 3>{{.*}}} : (tensor<8x8xf32>) -> tensor<8x32xf32>

// The rows of the weight are divided: partial sums are added.
// SPLIT-LABEL: func.func @rows
// SPLIT: %[[PARTS:.*]] = "relax.matmul"(%arg0, %arg1) : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
// SPLIT-NEXT: %[[SUM:.*]] = "ccl.all_reduce"(%[[PARTS]])
// SPLIT-NEXT: return %[[SUM]]

// The last part of 10 rows is short.
// UNEVEN-LABEL: func.func @uneven
// UNEVEN-SAME: tensor<3x4xf32>
// UNEVEN: "ccl.all_gather"{{.*}} size = 10 : i64} : (tensor<3x4xf32>) -> tensor<10x4xf32>

// DYNAMIC-LABEL: func.func @dynamic
// DYNAMIC-SAME: tensor<?x4xf32, #relax.sym<["n", 4]>> {ccl.sharding = "(tp, _)"
// DYNAMIC: "ccl.all_gather"{{.*}} -> tensor<?x4xf32, #relax.sym<["4*n", 4]>>

// SPECS-LABEL: func.func @plain(%arg0: tensor<4x4xf32> {ccl.sharding = "(dp, _)", relax.name = "x"})
// SPECS-SAME: -> (tensor<8x1xf32> {ccl.sharding = "(_, dp+tp)"}) attributes {ccl.is_divided, ccl.mesh = "dp=2,tp=2"}
// SPECS: func.func @relax_sharding_plan()

// TWICE: mesh 'tp=4,tp=2': axis 'tp' occurs twice
// WRONG: arg 0: the sharding (tp) has 1 dimensions, and the tensor has 2
// SUMS: pass 'relax-localize': sums must be 'same' or 'split', got 'some'

module {
  func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x32xf32> {ccl.sharding = "(_, tp)"}, %v: tensor<32x16xf32> {ccl.sharding = "(_, tp)"}) -> tensor<8x16xf32> attributes {ccl.mesh = "tp=4"} {
    %0 = "relax.matmul"(%x, %w) : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %1 = "relax.nn.relu"(%0) : (tensor<8x32xf32>) -> tensor<8x32xf32>
    %2 = "relax.matmul"(%1, %v) : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
    return %2 : tensor<8x16xf32>
  }
  func.func @rows(%x: tensor<8x32xf32> {ccl.sharding = "(_, tp)"}, %w: tensor<32x16xf32> {ccl.sharding = "(tp, _)"}) -> tensor<8x16xf32> attributes {ccl.mesh = "tp=4"} {
    %0 = "relax.matmul"(%x, %w) : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
    return %0 : tensor<8x16xf32>
  }
  func.func @uneven(%x: tensor<10x4xf32> {ccl.sharding = "(tp, _)"}) -> tensor<10x4xf32> attributes {ccl.mesh = "tp=4"} {
    %0 = "relax.cumsum"(%x) {axis = 0 : i64} : (tensor<10x4xf32>) -> tensor<10x4xf32>
    return %0 : tensor<10x4xf32>
  }
  func.func @dynamic(%x: tensor<?x4xf32, #relax.sym<["n", 4]>> {ccl.sharding = "(tp, _)"}) -> tensor<?x4xf32, #relax.sym<["n", 4]>> attributes {ccl.mesh = "tp=4"} {
    %0 = "relax.cumsum"(%x) {axis = 0 : i64} : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
    return %0 : tensor<?x4xf32, #relax.sym<["n", 4]>>
  }
  func.func @plain(%x: tensor<8x4xf32> {relax.name = "x"}) -> tensor<8x4xf32> {
    %0 = "relax.exp"(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
  func.func @wrong(%x: tensor<10x4xf32> {ccl.sharding = "(tp)"}) -> tensor<10x4xf32> attributes {ccl.mesh = "tp=4"} {
    return %x : tensor<10x4xf32>
  }
}
