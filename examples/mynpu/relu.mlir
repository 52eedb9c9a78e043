func.func @main(%x: tensor<?x8xf32, #relax.sym<["n", 8]>>) -> tensor<?x8xf32, #relax.sym<["n", 8]>> {
  %half = arith.constant dense<0.5> : tensor<f32>
  %0 = "relax.nn.relu"(%x) : (tensor<?x8xf32, #relax.sym<["n", 8]>>) -> tensor<?x8xf32, #relax.sym<["n", 8]>>
  %1 = "relax.multiply"(%0, %half) : (tensor<?x8xf32, #relax.sym<["n", 8]>>, tensor<f32>) -> tensor<?x8xf32, #relax.sym<["n", 8]>>
  return %1 : tensor<?x8xf32, #relax.sym<["n", 8]>>
}
