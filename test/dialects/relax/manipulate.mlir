// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @reshape(
// CHECK: "relax.reshape"({{.*}}) : {{.*}} -> tensor<?x2x2xf32, #relax.sym<["n", 2, 2]>>
func.func @reshape(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>, %b: !relax.shape<["n", 2, 2]>) {
  %r = "relax.reshape"(%a, %b) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, !relax.shape<["n", 2, 2]>) -> tensor<?x2x2xf32, #relax.sym<["n", 2, 2]>>
  return
}

// CHECK-LABEL: func.func @reshape_2(
// CHECK: "relax.reshape"({{.*}}) : {{.*}} -> tensor<?x2xf32, #relax.sym<["2*n", 2]>>
func.func @reshape_2(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>, %b: !relax.shape<["2*n", 2]>) {
  %r = "relax.reshape"(%a, %b) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, !relax.shape<["2*n", 2]>) -> tensor<?x2xf32, #relax.sym<["2*n", 2]>>
  return
}

// CHECK-LABEL: func.func @reshape_3(
// CHECK: "relax.reshape"({{.*}}) : {{.*}} -> tensor<?x3xf32, #relax.sym<["2*n", 3]>>
func.func @reshape_3(%a: tensor<?x6xf32, #relax.sym<["n", 6]>>, %b: !relax.shape<["?", 3]>) {
  %r = "relax.reshape"(%a, %b) : (tensor<?x6xf32, #relax.sym<["n", 6]>>, !relax.shape<["?", 3]>) -> tensor<?x3xf32, #relax.sym<["2*n", 3]>>
  return
}

// CHECK-LABEL: func.func @reshape_4(
// CHECK: "relax.reshape"({{.*}}) : {{.*}} -> tensor<?x?xf32, #relax.sym<["?", "m"]>>
func.func @reshape_4(%a: tensor<?x6xf32, #relax.sym<["n", 6]>>, %b: !relax.shape<["?", "m"]>) {
  %r = "relax.reshape"(%a, %b) : (tensor<?x6xf32, #relax.sym<["n", 6]>>, !relax.shape<["?", "m"]>) -> tensor<?x?xf32, #relax.sym<["?", "m"]>>
  return
}

// CHECK-LABEL: func.func @reshape_5(
// CHECK: "relax.reshape"({{.*}}) : {{.*}} -> tensor<?x3xf32>
func.func @reshape_5(%a: tensor<?x?xf32, #relax.sym<["n", "?"]>>, %b: !relax.shape<["?", 3]>) {
  %r = "relax.reshape"(%a, %b) : (tensor<?x?xf32, #relax.sym<["n", "?"]>>, !relax.shape<["?", 3]>) -> tensor<?x3xf32>
  return
}

// CHECK-LABEL: func.func @flatten(
// CHECK: "relax.flatten"({{.*}}) : {{.*}} -> tensor<?xf32, #relax.sym<["3*m*n"]>>
func.func @flatten(%a: tensor<?x3x?xf32, #relax.sym<["n", 3, "m"]>>) {
  %r = "relax.flatten"(%a) : (tensor<?x3x?xf32, #relax.sym<["n", 3, "m"]>>) -> tensor<?xf32, #relax.sym<["3*m*n"]>>
  return
}

// CHECK-LABEL: func.func @flatten_2(
// CHECK: "relax.flatten"({{.*}}) : {{.*}} -> tensor<?xf32>
func.func @flatten_2(%a: tensor<?x?xf32, #relax.sym<["n", "?"]>>) {
  %r = "relax.flatten"(%a) : (tensor<?x?xf32, #relax.sym<["n", "?"]>>) -> tensor<?xf32>
  return
}

// CHECK-LABEL: func.func @flatten_3(
// CHECK: "relax.flatten"({{.*}}) : {{.*}} -> tensor<?xf32>
func.func @flatten_3(%a: tensor<*xf32>) {
  %r = "relax.flatten"(%a) : (tensor<*xf32>) -> tensor<?xf32>
  return
}

// CHECK-LABEL: func.func @expand_dims(
// CHECK: "relax.expand_dims"({{.*}}) {axis = array<i64: 0, -1>} : {{.*}} -> tensor<1x?x?x1xf32, #relax.sym<[1, "n", "?", 1]>>
func.func @expand_dims(%a: tensor<?x?xf32, #relax.sym<["n", "?"]>>) {
  %r = "relax.expand_dims"(%a) {axis = array<i64: 0, -1>} : (tensor<?x?xf32, #relax.sym<["n", "?"]>>) -> tensor<1x?x?x1xf32, #relax.sym<[1, "n", "?", 1]>>
  return
}

// CHECK-LABEL: func.func @expand_dims_2(
// CHECK: "relax.expand_dims"({{.*}}) {axis = array<i64: 0>} : {{.*}} -> tensor<*xf32>
func.func @expand_dims_2(%a: tensor<*xf32>) {
  %r = "relax.expand_dims"(%a) {axis = array<i64: 0>} : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: func.func @squeeze(
// CHECK: "relax.squeeze"({{.*}}) {axis = array<i64: 1>} : {{.*}} -> tensor<?x?xf32, #relax.sym<["n", "?"]>>
func.func @squeeze(%a: tensor<?x1x?xf32, #relax.sym<["n", 1, "?"]>>) {
  %r = "relax.squeeze"(%a) {axis = array<i64: 1>} : (tensor<?x1x?xf32, #relax.sym<["n", 1, "?"]>>) -> tensor<?x?xf32, #relax.sym<["n", "?"]>>
  return
}

// CHECK-LABEL: func.func @squeeze_2(
// CHECK: "relax.squeeze"({{.*}}) {axis = array<i64: 0, 1>} : {{.*}} -> tensor<2xf32>
func.func @squeeze_2(%a: tensor<?x?x2xf32, #relax.sym<["n", "?", 2]>>) {
  %r = "relax.squeeze"(%a) {axis = array<i64: 0, 1>} : (tensor<?x?x2xf32, #relax.sym<["n", "?", 2]>>) -> tensor<2xf32>
  return
}

// CHECK-LABEL: func.func @squeeze_3(
// CHECK: "relax.squeeze"({{.*}}) : {{.*}} -> tensor<*xf32>
func.func @squeeze_3(%a: tensor<?x1x2xf32, #relax.sym<["n", 1, 2]>>) {
  %r = "relax.squeeze"(%a) : (tensor<?x1x2xf32, #relax.sym<["n", 1, 2]>>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: func.func @broadcast_to(
// CHECK: "relax.broadcast_to"({{.*}}) : {{.*}} -> tensor<3x4xf32>
func.func @broadcast_to(%a: tensor<?xf32, #relax.sym<["n"]>>, %b: !relax.shape<[3, 4]>) {
  %r = "relax.broadcast_to"(%a, %b) : (tensor<?xf32, #relax.sym<["n"]>>, !relax.shape<[3, 4]>) -> tensor<3x4xf32>
  return
}

// CHECK-LABEL: func.func @broadcast_to_2(
// CHECK: "relax.broadcast_to"({{.*}}) : {{.*}} -> tensor<?xf32, #relax.sym<["n + 1"]>>
func.func @broadcast_to_2(%a: tensor<?xf32, #relax.sym<["n"]>>, %b: !relax.shape<["n + 1"]>) {
  %r = "relax.broadcast_to"(%a, %b) : (tensor<?xf32, #relax.sym<["n"]>>, !relax.shape<["n + 1"]>) -> tensor<?xf32, #relax.sym<["n + 1"]>>
  return
}

// CHECK-LABEL: func.func @broadcast_to_3(
// CHECK: "relax.broadcast_to"({{.*}}) : {{.*}} -> tensor<?x4x?xf32>
func.func @broadcast_to_3(%a: tensor<4x1xf32>, %b: !relax.shape<["?", "?", "?"]>) {
  %r = "relax.broadcast_to"(%a, %b) : (tensor<4x1xf32>, !relax.shape<["?", "?", "?"]>) -> tensor<?x4x?xf32>
  return
}

// CHECK-LABEL: func.func @collapse_sum_to(
// CHECK: "relax.collapse_sum_to"({{.*}}) : {{.*}} -> tensor<?xf32, #relax.sym<["n"]>>
func.func @collapse_sum_to(%a: tensor<2x?xf32, #relax.sym<[2, "n"]>>, %b: !relax.shape<["n"]>) {
  %r = "relax.collapse_sum_to"(%a, %b) : (tensor<2x?xf32, #relax.sym<[2, "n"]>>, !relax.shape<["n"]>) -> tensor<?xf32, #relax.sym<["n"]>>
  return
}

// CHECK-LABEL: func.func @collapse_sum_to_2(
// CHECK: "relax.collapse_sum_to"({{.*}}) : {{.*}} -> tensor<*xf32>
func.func @collapse_sum_to_2(%a: tensor<2x?xf32, #relax.sym<[2, "n"]>>, %b: !relax.shape<unit>) {
  %r = "relax.collapse_sum_to"(%a, %b) : (tensor<2x?xf32, #relax.sym<[2, "n"]>>, !relax.shape<unit>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: func.func @collapse_sum_like(
// CHECK: "relax.collapse_sum_like"({{.*}}) : {{.*}} -> tensor<1x?xf32, #relax.sym<[1, "m"]>>
func.func @collapse_sum_like(%a: tensor<2x?xf32, #relax.sym<[2, "n"]>>, %b: tensor<1x?xf64, #relax.sym<[1, "m"]>>) {
  %r = "relax.collapse_sum_like"(%a, %b) : (tensor<2x?xf32, #relax.sym<[2, "n"]>>, tensor<1x?xf64, #relax.sym<[1, "m"]>>) -> tensor<1x?xf32, #relax.sym<[1, "m"]>>
  return
}

// CHECK-LABEL: func.func @collapse_sum_like_2(
// CHECK: "relax.collapse_sum_like"({{.*}}) : {{.*}} -> tensor<1x?xf32, #relax.sym<[1, "m"]>>
func.func @collapse_sum_like_2(%a: tensor<*xf32>, %b: tensor<1x?xf32, #relax.sym<[1, "m"]>>) {
  %r = "relax.collapse_sum_like"(%a, %b) : (tensor<*xf32>, tensor<1x?xf32, #relax.sym<[1, "m"]>>) -> tensor<1x?xf32, #relax.sym<[1, "m"]>>
  return
}

// CHECK-LABEL: func.func @flip(
// CHECK: "relax.flip"({{.*}}) {axis = 3 : i64} : {{.*}} -> tensor<*xi1>
func.func @flip(%a: tensor<*xi1>) {
  %r = "relax.flip"(%a) {axis = 3 : i64} : (tensor<*xi1>) -> tensor<*xi1>
  return
}

// CHECK-LABEL: func.func @permute_dims(
// CHECK: "relax.permute_dims"({{.*}}) : {{.*}} -> tensor<3x?x?xf32, #relax.sym<[3, "m", "n"]>>
func.func @permute_dims(%a: tensor<?x?x3xf32, #relax.sym<["n", "m", 3]>>) {
  %r = "relax.permute_dims"(%a) : (tensor<?x?x3xf32, #relax.sym<["n", "m", 3]>>) -> tensor<3x?x?xf32, #relax.sym<[3, "m", "n"]>>
  return
}

// CHECK-LABEL: func.func @permute_dims_2(
// CHECK: "relax.permute_dims"({{.*}}) {axes = array<i64: 1, 0>} : {{.*}} -> tensor<?x?xf32>
func.func @permute_dims_2(%a: tensor<*xf32>) {
  %r = "relax.permute_dims"(%a) {axes = array<i64: 1, 0>} : (tensor<*xf32>) -> tensor<?x?xf32>
  return
}

// CHECK-LABEL: func.func @permute_dims_3(
// CHECK: "relax.permute_dims"({{.*}}) : {{.*}} -> tensor<*xf32>
func.func @permute_dims_3(%a: tensor<*xf32>) {
  %r = "relax.permute_dims"(%a) : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: func.func @repeat(
// CHECK: "relax.repeat"({{.*}}) {repeats = 2 : i64} : {{.*}} -> tensor<?xf32, #relax.sym<["2*m*n"]>>
func.func @repeat(%a: tensor<?x?xf32, #relax.sym<["n", "m"]>>) {
  %r = "relax.repeat"(%a) {repeats = 2 : i64} : (tensor<?x?xf32, #relax.sym<["n", "m"]>>) -> tensor<?xf32, #relax.sym<["2*m*n"]>>
  return
}

// CHECK-LABEL: func.func @repeat_2(
// CHECK: "relax.repeat"({{.*}}) {axis = -1 : i64, repeats = 2 : i64} : {{.*}} -> tensor<?x?xf32, #relax.sym<["n", "2*m"]>>
func.func @repeat_2(%a: tensor<?x?xf32, #relax.sym<["n", "m"]>>) {
  %r = "relax.repeat"(%a) {axis = -1 : i64, repeats = 2 : i64} : (tensor<?x?xf32, #relax.sym<["n", "m"]>>) -> tensor<?x?xf32, #relax.sym<["n", "2*m"]>>
  return
}

// CHECK-LABEL: func.func @repeat_3(
// CHECK: "relax.repeat"({{.*}}) {repeats = 2 : i64} : {{.*}} -> tensor<?xf32>
func.func @repeat_3(%a: tensor<*xf32>) {
  %r = "relax.repeat"(%a) {repeats = 2 : i64} : (tensor<*xf32>) -> tensor<?xf32>
  return
}

// CHECK-LABEL: func.func @tile(
// CHECK: "relax.tile"({{.*}}) {repeats = array<i64: 3, 2, 1>} : {{.*}} -> tensor<3x?x?xf32, #relax.sym<[3, "2*n", "?"]>>
func.func @tile(%a: tensor<?x?xf32, #relax.sym<["n", "?"]>>) {
  %r = "relax.tile"(%a) {repeats = array<i64: 3, 2, 1>} : (tensor<?x?xf32, #relax.sym<["n", "?"]>>) -> tensor<3x?x?xf32, #relax.sym<[3, "2*n", "?"]>>
  return
}

// CHECK-LABEL: func.func @tile_2(
// CHECK: "relax.tile"({{.*}}) {repeats = array<i64: 3>} : {{.*}} -> tensor<?x6xf32, #relax.sym<["n", 6]>>
func.func @tile_2(%a: tensor<?x2xf32, #relax.sym<["n", 2]>>) {
  %r = "relax.tile"(%a) {repeats = array<i64: 3>} : (tensor<?x2xf32, #relax.sym<["n", 2]>>) -> tensor<?x6xf32, #relax.sym<["n", 6]>>
  return
}

// CHECK-LABEL: func.func @tile_3(
// CHECK: "relax.tile"({{.*}}) {repeats = array<i64: 3>} : {{.*}} -> tensor<*xf32>
func.func @tile_3(%a: tensor<*xf32>) {
  %r = "relax.tile"(%a) {repeats = array<i64: 3>} : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: func.func @concat(
// CHECK: "relax.concat"({{.*}}) {axis = 1 : i64} : {{.*}} -> tensor<?x5xf32, #relax.sym<["n", 5]>>
func.func @concat(%a: tensor<?x2xf32, #relax.sym<["n", 2]>>, %b: tensor<?x3xf32>) {
  %r = "relax.concat"(%a, %b) {axis = 1 : i64} : (tensor<?x2xf32, #relax.sym<["n", 2]>>, tensor<?x3xf32>) -> tensor<?x5xf32, #relax.sym<["n", 5]>>
  return
}

// CHECK-LABEL: func.func @concat_2(
// CHECK: "relax.concat"({{.*}}) : {{.*}} -> tensor<?x2xf32, #relax.sym<["m + n", 2]>>
func.func @concat_2(%a: tensor<?x2xf32, #relax.sym<["n", 2]>>, %b: tensor<?x2xf32, #relax.sym<["m", 2]>>) {
  %r = "relax.concat"(%a, %b) : (tensor<?x2xf32, #relax.sym<["n", 2]>>, tensor<?x2xf32, #relax.sym<["m", 2]>>) -> tensor<?x2xf32, #relax.sym<["m + n", 2]>>
  return
}

// CHECK-LABEL: func.func @concat_3(
// CHECK: "relax.concat"({{.*}}) : {{.*}} -> tensor<?x2xf32>
func.func @concat_3(%a: tensor<*xf32>, %b: tensor<?x2xf32, #relax.sym<["n", 2]>>) {
  %r = "relax.concat"(%a, %b) : (tensor<*xf32>, tensor<?x2xf32, #relax.sym<["n", 2]>>) -> tensor<?x2xf32>
  return
}

// CHECK-LABEL: func.func @stack(
// CHECK: "relax.stack"({{.*}}) {axis = -1 : i64} : {{.*}} -> tensor<?x3x2xf32, #relax.sym<["n", 3, 2]>>
func.func @stack(%a: tensor<?x?xf32, #relax.sym<["n", "?"]>>, %b: tensor<?x3xf32>) {
  %r = "relax.stack"(%a, %b) {axis = -1 : i64} : (tensor<?x?xf32, #relax.sym<["n", "?"]>>, tensor<?x3xf32>) -> tensor<?x3x2xf32, #relax.sym<["n", 3, 2]>>
  return
}

// CHECK-LABEL: func.func @stack_2(
// CHECK: "relax.stack"({{.*}}) : {{.*}} -> tensor<*xf32>
func.func @stack_2(%a: tensor<*xf32>) {
  %r = "relax.stack"(%a) : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: func.func @meshgrid(
// CHECK: "relax.meshgrid"({{.*}}) : {{.*}} -> (tensor<?x?x1xf32, #relax.sym<["n", "?", 1]>>, tensor<?x?x1xf32, #relax.sym<["n", "?", 1]>>, tensor<?x?x1xf32, #relax.sym<["n", "?", 1]>>)
func.func @meshgrid(%a: tensor<?xf32, #relax.sym<["n"]>>, %b: tensor<*xf32>, %c: tensor<f32>) {
  %r:3 = "relax.meshgrid"(%a, %b, %c) : (tensor<?xf32, #relax.sym<["n"]>>, tensor<*xf32>, tensor<f32>) -> (tensor<?x?x1xf32, #relax.sym<["n", "?", 1]>>, tensor<?x?x1xf32, #relax.sym<["n", "?", 1]>>, tensor<?x?x1xf32, #relax.sym<["n", "?", 1]>>)
  return
}

// CHECK-LABEL: func.func @meshgrid_2(
// CHECK: "relax.meshgrid"({{.*}}) {indexing = "xy"} : {{.*}} -> (tensor<3x?xf32, #relax.sym<[3, "n"]>>, tensor<3x?xf32, #relax.sym<[3, "n"]>>)
func.func @meshgrid_2(%a: tensor<?xf32, #relax.sym<["n"]>>, %b: tensor<3xf32>) {
  %r:2 = "relax.meshgrid"(%a, %b) {indexing = "xy"} : (tensor<?xf32, #relax.sym<["n"]>>, tensor<3xf32>) -> (tensor<3x?xf32, #relax.sym<[3, "n"]>>, tensor<3x?xf32, #relax.sym<[3, "n"]>>)
  return
}

// CHECK-LABEL: func.func @split(
// CHECK: "relax.split"({{.*}}) {indices_or_sections = 2 : i64} : {{.*}} -> (tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["n"]>>)
func.func @split(%a: tensor<?xf32, #relax.sym<["2*n"]>>) {
  %r:2 = "relax.split"(%a) {indices_or_sections = 2 : i64} : (tensor<?xf32, #relax.sym<["2*n"]>>) -> (tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["n"]>>)
  return
}

// CHECK-LABEL: func.func @split_2(
// CHECK: "relax.split"({{.*}}) {indices_or_sections = 2 : i64} : {{.*}} -> (tensor<?xf32, #relax.sym<["(n + 1)//2"]>>, tensor<?xf32, #relax.sym<["n//2"]>>)
func.func @split_2(%a: tensor<?xf32, #relax.sym<["n"]>>) {
  %r:2 = "relax.split"(%a) {indices_or_sections = 2 : i64} : (tensor<?xf32, #relax.sym<["n"]>>) -> (tensor<?xf32, #relax.sym<["(n + 1)//2"]>>, tensor<?xf32, #relax.sym<["n//2"]>>)
  return
}

// CHECK-LABEL: func.func @split_3(
// CHECK: "relax.split"({{.*}}) {axis = -2 : i64, indices_or_sections = array<i64: 3>} : {{.*}} -> (tensor<?x2xf32, #relax.sym<["min(n, 3)", 2]>>, tensor<?x2xf32, #relax.sym<["max(n - 3, 0)", 2]>>)
func.func @split_3(%a: tensor<?x2xf32, #relax.sym<["n", 2]>>) {
  %r:2 = "relax.split"(%a) {axis = -2 : i64, indices_or_sections = array<i64: 3>} : (tensor<?x2xf32, #relax.sym<["n", 2]>>) -> (tensor<?x2xf32, #relax.sym<["min(n, 3)", 2]>>, tensor<?x2xf32, #relax.sym<["max(n - 3, 0)", 2]>>)
  return
}

// CHECK-LABEL: func.func @split_4(
// CHECK: "relax.split"({{.*}}) {indices_or_sections = array<i64: 3>} : {{.*}} -> (tensor<3xf32>, tensor<?xf32, #relax.sym<["n"]>>)
func.func @split_4(%a: tensor<?xf32, #relax.sym<["n + 3"]>>) {
  %r:2 = "relax.split"(%a) {indices_or_sections = array<i64: 3>} : (tensor<?xf32, #relax.sym<["n + 3"]>>) -> (tensor<3xf32>, tensor<?xf32, #relax.sym<["n"]>>)
  return
}

// CHECK-LABEL: func.func @split_5(
// CHECK: "relax.split"({{.*}}) {indices_or_sections = array<i64: 0, 3>} : {{.*}} -> (tensor<0xf32>, tensor<?xf32>, tensor<?xf32>)
func.func @split_5(%a: tensor<?xf32>) {
  %r:3 = "relax.split"(%a) {indices_or_sections = array<i64: 0, 3>} : (tensor<?xf32>) -> (tensor<0xf32>, tensor<?xf32>, tensor<?xf32>)
  return
}

// CHECK-LABEL: func.func @layout_transform(
// CHECK: "relax.layout_transform"({{.*}}) {index_map = #map{{[0-9]*}}, pad_value = 0 : i64} : {{.*}} -> tensor<?x?x4xf32, #relax.sym<["n", "(c + 3)//4", 4]>>
func.func @layout_transform(%a: tensor<?x?xf32, #relax.sym<["n", "c"]>>) {
  %r = "relax.layout_transform"(%a) {index_map = affine_map<(d0, d1) -> (d0, d1 floordiv 4, d1 mod 4)>, pad_value = 0 : i64} : (tensor<?x?xf32, #relax.sym<["n", "c"]>>) -> tensor<?x?x4xf32, #relax.sym<["n", "(c + 3)//4", 4]>>
  return
}

// CHECK-LABEL: func.func @layout_transform_2(
// CHECK: "relax.layout_transform"({{.*}}) {index_map = #map{{[0-9]*}}} : {{.*}} -> tensor<15xf32>
func.func @layout_transform_2(%a: tensor<3x5xf32>) {
  %r = "relax.layout_transform"(%a) {index_map = affine_map<(d0, d1) -> (d0 * 5 + d1)>} : (tensor<3x5xf32>) -> tensor<15xf32>
  return
}

// CHECK-LABEL: func.func @layout_transform_3(
// CHECK: "relax.layout_transform"({{.*}}) {index_map = #map{{[0-9]*}}} : {{.*}} -> tensor<4xf32>
func.func @layout_transform_3(%a: tensor<3xf32>) {
  %r = "relax.layout_transform"(%a) {index_map = affine_map<(d0) -> (d0 mod 4)>} : (tensor<3xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @layout_transform_4(
// CHECK: "relax.layout_transform"({{.*}}) {index_map = #map{{[0-9]*}}} : {{.*}} -> tensor<4x2x1xf32>
func.func @layout_transform_4(%a: tensor<7xf32>) {
  %r = "relax.layout_transform"(%a) {index_map = affine_map<(d0) -> (d0 ceildiv 2, d0 mod 2, 0)>} : (tensor<7xf32>) -> tensor<4x2x1xf32>
  return
}

// CHECK-LABEL: func.func @layout_transform_5(
// CHECK: "relax.layout_transform"({{.*}}) {index_map = #map{{[0-9]*}}} : {{.*}} -> tensor<2x?xf32>
func.func @layout_transform_5(%a: tensor<?x2xf32>) {
  %r = "relax.layout_transform"(%a) {index_map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<?x2xf32>) -> tensor<2x?xf32>
  return
}
