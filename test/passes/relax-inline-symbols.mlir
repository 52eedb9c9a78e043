// RUN: relax-opt %s --relax-inline | FileCheck %s

// A name is one size within a function. A call's operands have the types of the parameters, so the names in them
// mean the same in the caller and in the function.
func.func private @same(%x: tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?xf32, #relax.sym<["4*n"]>> {
  %0 = "relax.flatten"(%x) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?xf32, #relax.sym<["4*n"]>>
  return %0 : tensor<?xf32, #relax.sym<["4*n"]>>
}
// CHECK-LABEL: func.func @the_same_name(
// CHECK-NEXT: %[[F:.*]] = "relax.flatten"(%arg0) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?xf32, #relax.sym<["4*n"]>>
// CHECK-NEXT: return %[[F]]
func.func @the_same_name(%x: tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?xf32, #relax.sym<["4*n"]>> {
  %0 = call @same(%x) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?xf32, #relax.sym<["4*n"]>>
  return %0 : tensor<?xf32, #relax.sym<["4*n"]>>
}

// A match_cast is how a caller with other names calls: the body gets the caller's sizes, users keep their types.
// CHECK-LABEL: func.func @another_name(
// CHECK-NEXT: "relax.match_cast"(%arg0)
// CHECK-NEXT: %[[F:.*]] = "relax.flatten"(%arg0) : (tensor<?x4xf32, #relax.sym<["2*m", 4]>>) -> tensor<?xf32, #relax.sym<["8*m"]>>
// CHECK-NEXT: %[[R:.*]] = "relax.match_cast"(%[[F]]) : (tensor<?xf32, #relax.sym<["8*m"]>>) -> tensor<?xf32, #relax.sym<["4*n"]>>
// CHECK-NEXT: return %[[R]]
func.func @another_name(%x: tensor<?x4xf32, #relax.sym<["2*m", 4]>>) -> tensor<?xf32, #relax.sym<["4*n"]>> {
  %n = "relax.match_cast"(%x) : (tensor<?x4xf32, #relax.sym<["2*m", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %0 = call @same(%n) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?xf32, #relax.sym<["4*n"]>>
  return %0 : tensor<?xf32, #relax.sym<["4*n"]>>
}

// CHECK-LABEL: func.func @a_number(
// CHECK-NEXT: "relax.match_cast"(%arg0)
// CHECK-NEXT: %[[F:.*]] = "relax.flatten"(%arg0) : (tensor<8x4xf32>) -> tensor<32xf32>
// CHECK-NEXT: %[[R:.*]] = "relax.match_cast"(%[[F]]) : (tensor<32xf32>) -> tensor<?xf32, #relax.sym<["4*n"]>>
func.func @a_number(%x: tensor<8x4xf32>) -> tensor<?xf32, #relax.sym<["4*n"]>> {
  %n = "relax.match_cast"(%x) : (tensor<8x4xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %0 = call @same(%n) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?xf32, #relax.sym<["4*n"]>>
  return %0 : tensor<?xf32, #relax.sym<["4*n"]>>
}

// Other dialects' operations say sizes by operands too: there a name can take another's place, a number cannot.
func.func private @upstream(%x: tensor<?xf32, #relax.sym<["n"]>>, %i: index) -> tensor<?xf32> {
  %0 = tensor.empty(%i) : tensor<?xf32, #relax.sym<["n"]>>
  %1 = "relax.add"(%0, %x) : (tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}
// CHECK-LABEL: func.func @upstream_operations(
// CHECK: tensor.empty(%arg2) : tensor<?xf32, #relax.sym<["n"]>>
// CHECK: tensor.empty(%arg2) : tensor<?xf32, #relax.sym<["m"]>>
func.func @upstream_operations(%x: tensor<4xf32>, %y: tensor<?xf32, #relax.sym<["m"]>>, %i: index) -> (tensor<?xf32>, tensor<?xf32>) {
  %a = "relax.match_cast"(%x) : (tensor<4xf32>) -> tensor<?xf32, #relax.sym<["n"]>>
  %0 = call @upstream(%a, %i) : (tensor<?xf32, #relax.sym<["n"]>>, index) -> tensor<?xf32>
  %b = "relax.match_cast"(%y) : (tensor<?xf32, #relax.sym<["m"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  %1 = call @upstream(%b, %i) : (tensor<?xf32, #relax.sym<["n"]>>, index) -> tensor<?xf32>
  return %0, %1 : tensor<?xf32>, tensor<?xf32>
}

// Names that only the body knows are told apart from the caller's, and those of one call from those of the next.
func.func private @own_names(%x: tensor<?xf32>) -> tensor<?xf32> {
  %k = "relax.match_cast"(%x) : (tensor<?xf32>) -> tensor<?xf32, #relax.sym<["k"]>>
  %s = "relax.shape_expr"() {dims = ["2*k"]} : () -> !relax.shape<["2*k"]>
  %p = "relax.prim_value"() {value = "k + 1"} : () -> i64
  "relax.print"(%p, %s) : (i64, !relax.shape<["2*k"]>) -> ()
  %r = "relax.match_cast"(%k) : (tensor<?xf32, #relax.sym<["k"]>>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
// CHECK-LABEL: func.func @told_apart(
// CHECK: "relax.match_cast"(%arg1) : (tensor<?xf32>) -> tensor<?xf32, #relax.sym<["k_1"]>>
// CHECK-NEXT: "relax.shape_expr"() {dims = ["2*k_1"]} : () -> !relax.shape<["2*k_1"]>
// CHECK-NEXT: "relax.prim_value"() {value = "k_1 + 1"}
// CHECK: "relax.match_cast"(%{{.*}}) : (tensor<?xf32>) -> tensor<?xf32, #relax.sym<["k_2"]>>
// CHECK-NEXT: dims = ["2*k_2"]
func.func @told_apart(%k: tensor<?xf32, #relax.sym<["k"]>>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = call @own_names(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %1 = call @own_names(%0) : (tensor<?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// A call that stays fixes the names in its types: where they clash the function is not inlined.
func.func private @outside(tensor<?xf32, #relax.sym<["k"]>>) -> tensor<?xf32>
func.func private @fixed_names(%x: tensor<?xf32>) -> tensor<?xf32> {
  %k = "relax.match_cast"(%x) : (tensor<?xf32>) -> tensor<?xf32, #relax.sym<["k"]>>
  %r = call @outside(%k) : (tensor<?xf32, #relax.sym<["k"]>>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
// CHECK-LABEL: func.func @clash(
// CHECK-NEXT: call @fixed_names
// CHECK-LABEL: func.func @no_clash(
// CHECK-NEXT: relax.match_cast
// CHECK-NEXT: call @outside
func.func @clash(%k: tensor<?xf32, #relax.sym<["k"]>>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = call @fixed_names(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func @no_clash(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = call @fixed_names(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// It also keeps the caller's sizes from taking the place of the names.
func.func private @outside_n(tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32>
func.func private @passes_on(%x: tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32> {
  %r = call @outside_n(%x) : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
// CHECK-LABEL: func.func @bound(
// CHECK-NEXT: %[[N:.*]] = "relax.match_cast"(%arg0) : (tensor<?xf32, #relax.sym<["m"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
// CHECK-NEXT: call @outside_n(%[[N]])
func.func @bound(%x: tensor<?xf32, #relax.sym<["m"]>>) -> tensor<?xf32> {
  %n = "relax.match_cast"(%x) : (tensor<?xf32, #relax.sym<["m"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  %r = call @passes_on(%n) : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// Where the caller's sizes cannot be right, the body keeps its own: a match_cast will fail when the program runs.
func.func private @three(%x: tensor<?xf32, #relax.sym<["n"]>>) -> tensor<3xf32> {
  %s = "relax.shape_expr"() {dims = [3]} : () -> !relax.shape<[3]>
  %r = "relax.reshape"(%x, %s) : (tensor<?xf32, #relax.sym<["n"]>>, !relax.shape<[3]>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
// CHECK-LABEL: func.func @four(
// CHECK: "relax.reshape"(%{{.*}}) : (tensor<?xf32, #relax.sym<["n"]>>, !relax.shape<[3]>) -> tensor<3xf32>
func.func @four(%x: tensor<4xf32>) -> tensor<3xf32> {
  %n = "relax.match_cast"(%x) : (tensor<4xf32>) -> tensor<?xf32, #relax.sym<["n"]>>
  %r = call @three(%n) : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// Expressions in attributes are the caller's, too.
func.func private @first(%x: tensor<?xf32, #relax.sym<["n"]>>, %y: tensor<?xf32, #relax.sym<["k"]>>) -> tensor<?xf32> {
  %r = "relax.strided_slice"(%x) {axes = array<i64: 0>, begin = [1], end = ["2*k"]} : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
// CHECK-LABEL: func.func @of_others(
// CHECK: begin = [1], end = ["2*m"]
func.func @of_others(%x: tensor<?xf32>, %y: tensor<?xf32, #relax.sym<["m"]>>) -> tensor<?xf32> {
  %n = "relax.match_cast"(%x) : (tensor<?xf32>) -> tensor<?xf32, #relax.sym<["n"]>>
  %k = "relax.match_cast"(%y) : (tensor<?xf32, #relax.sym<["m"]>>) -> tensor<?xf32, #relax.sym<["k"]>>
  %r = call @first(%n, %k) : (tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["k"]>>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// A name that is free in the caller may still be one of the function's own: here n_1, so that n becomes n_2.
func.func private @two_sizes(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %0 = "relax.match_cast"(%a) : (tensor<?xf32>) -> tensor<?xf32, #relax.sym<["n"]>>
  %1 = "relax.match_cast"(%b) : (tensor<?xf32>) -> tensor<?xf32, #relax.sym<["n_1"]>>
  %2 = "relax.concat"(%0, %1) : (tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["n_1"]>>) -> tensor<?xf32>
  return %2 : tensor<?xf32>
}
// CHECK-LABEL: func.func @two_sizes_stay_two(
// CHECK: "relax.match_cast"(%arg1) {{.*}} -> tensor<?xf32, #relax.sym<["n_2"]>>
// CHECK: "relax.match_cast"(%arg2) {{.*}} -> tensor<?xf32, #relax.sym<["n_1"]>>
func.func @two_sizes_stay_two(%x: tensor<?xf32, #relax.sym<["n"]>>, %a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %0 = call @two_sizes(%a, %b) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
