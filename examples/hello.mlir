// A perceptron for any batch size n. The second transpose undoes the first, the multiplication by one does
// nothing, one product is computed twice and one never used: the passes clean that up.
module {
  func.func private @dense(%x: tensor<?x64xf32, #relax.sym<["n", 64]>>, %w: tensor<64x64xf32>, %b: tensor<64xf32>) -> tensor<?x64xf32, #relax.sym<["n", 64]>> {
    %0 = "relax.matmul"(%x, %w) : (tensor<?x64xf32, #relax.sym<["n", 64]>>, tensor<64x64xf32>) -> tensor<?x64xf32, #relax.sym<["n", 64]>>
    %1 = "relax.add"(%0, %b) : (tensor<?x64xf32, #relax.sym<["n", 64]>>, tensor<64xf32>) -> tensor<?x64xf32, #relax.sym<["n", 64]>>
    return %1 : tensor<?x64xf32, #relax.sym<["n", 64]>>
  }
  func.func @main(%x: tensor<?x64xf32, #relax.sym<["n", 64]>>, %w: tensor<64x64xf32>, %b: tensor<64xf32>) -> tensor<?x64xf32, #relax.sym<["n", 64]>> {
    %one = arith.constant dense<1.0> : tensor<f32>
    %t = "relax.permute_dims"(%w) {axes = array<i64: 1, 0>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %u = "relax.permute_dims"(%t) {axes = array<i64: 1, 0>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %0 = func.call @dense(%x, %u, %b) : (tensor<?x64xf32, #relax.sym<["n", 64]>>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x64xf32, #relax.sym<["n", 64]>>
    %1 = func.call @dense(%x, %w, %b) : (tensor<?x64xf32, #relax.sym<["n", 64]>>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x64xf32, #relax.sym<["n", 64]>>
    %2 = "relax.nn.gelu"(%0) : (tensor<?x64xf32, #relax.sym<["n", 64]>>) -> tensor<?x64xf32, #relax.sym<["n", 64]>>
    %3 = "relax.nn.relu"(%1) : (tensor<?x64xf32, #relax.sym<["n", 64]>>) -> tensor<?x64xf32, #relax.sym<["n", 64]>>
    %4 = "relax.add"(%2, %3) : (tensor<?x64xf32, #relax.sym<["n", 64]>>, tensor<?x64xf32, #relax.sym<["n", 64]>>) -> tensor<?x64xf32, #relax.sym<["n", 64]>>
    %5 = "relax.multiply"(%4, %one) : (tensor<?x64xf32, #relax.sym<["n", 64]>>, tensor<f32>) -> tensor<?x64xf32, #relax.sym<["n", 64]>>
    %6 = "relax.exp"(%5) : (tensor<?x64xf32, #relax.sym<["n", 64]>>) -> tensor<?x64xf32, #relax.sym<["n", 64]>>
    return %5 : tensor<?x64xf32, #relax.sym<["n", 64]>>
  }
}
