// RUN: relax-opt %s --print-script -o %t.py && FileCheck %s --input-file=%t.py
// RUN: relax-opt %t.py --print-script | diff %t.py -

// Results of an operator that has several are called as its row calls them; where it gives only some, and where the
// row says nothing, after the operator.
// CHECK: result_0, indices_0 = R.topk(
// CHECK: result_1, indices_1 = R.topk(
// CHECK: topk_0: R.Tensor((3, 2), "int32") = R.topk(arg0, k=2, ret_type="indices")
// CHECK: split_0, split_1 = R.split(
// CHECK: return indices_0, result_1, topk_0, split_1
func.func @several(%x: tensor<3x8xf32>) -> (tensor<3x2xi32>, tensor<3x2xf32>, tensor<3x2xi32>, tensor<3x4xf32>) {
  %0:2 = "relax.topk"(%x) {k = 2} : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
  %1:2 = "relax.topk"(%x) {k = 2, largest = false} : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
  %2 = "relax.topk"(%x) {k = 2, ret_type = "indices"} : (tensor<3x8xf32>) -> tensor<3x2xi32>
  %3:2 = "relax.split"(%x) {axis = 1, indices_or_sections = 2} : (tensor<3x8xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)
  return %0#1, %1#0, %2, %3#1 : tensor<3x2xi32>, tensor<3x2xf32>, tensor<3x2xi32>, tensor<3x4xf32>
}
