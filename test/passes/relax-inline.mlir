// RUN: relax-opt %s --relax-inline | FileCheck %s
// RUN: relax-opt %s --relax-inline='remove-dead=false' | FileCheck %s --check-prefix=KEEP
// RUN: relax-opt %s --relax-inline='include-public=true' | FileCheck %s --check-prefix=PUBLIC
// RUN: relax-opt %s --relax-inline --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=LOC

// Bottom-up: what is inlined has been inlined into before. Dead private functions go, others stay.
// CHECK-NOT: @leaf
// CHECK-NOT: @middle
// KEEP: func.func private @leaf(
// KEEP: func.func private @middle(
func.func private @leaf(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("leaf.py":1:2)
  return %0 : tensor<4xf32>
}
func.func private @middle(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = call @leaf(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("middle.py":3:4)
  %1 = "relax.sin"(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("sin"("middle.py":7:8))
  return %1, %x : tensor<4xf32>, tensor<4xf32>
}
// CHECK: func.func private @unused(
func.func private @unused() {
  return
}

// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: %[[EXP:.*]] = "relax.exp"(%arg0)
// CHECK-NEXT: %[[SIN:.*]] = "relax.sin"(%[[EXP]])
// CHECK-NEXT: %[[ADD:.*]] = "relax.add"(%[[SIN]], %arg0)
// CHECK-NEXT: return %[[ADD]]
// LOC-LABEL: func.func @chain(
// LOC: "relax.exp"{{.*}} loc(callsite(callsite("leaf.py":1:2 at "middle.py":3:4) at "chain.py":5:6))
// LOC: "relax.sin"{{.*}} loc(callsite("sin"("middle.py":7:8) at "chain.py":5:6))
// LOC: "relax.add"{{.*}} loc("chain.py":9:10)
func.func @chain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = call @middle(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) loc("chain.py":5:6)
  %1 = "relax.add"(%0#0, %0#1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("chain.py":9:10)
  return %1 : tensor<4xf32>
}

// Calls inside control flow.
// CHECK-LABEL: func.func @inside(
// CHECK: scf.if
// CHECK-NEXT: %[[EXP:.*]] = "relax.exp"(%arg1)
// CHECK-NEXT: scf.yield %[[EXP]]
func.func @inside(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = scf.if %c -> tensor<4xf32> {
    %1 = func.call @leaf(%x) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// Several blocks go into an scf.execute_region.
func.func private @blocks(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  cf.cond_br %c, ^a, ^b(%x : tensor<4xf32>)
^a:
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
^b(%y: tensor<4xf32>):
  %1 = "relax.sin"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
// CHECK-LABEL: func.func @several_blocks(
// CHECK-NEXT: %[[R:.*]] = scf.execute_region -> tensor<4xf32> {
// CHECK-NEXT: cf.cond_br %arg0, ^bb1, ^bb2(%arg1 : tensor<4xf32>)
// CHECK: %[[EXP:.*]] = "relax.exp"(%arg1)
// CHECK-NEXT: scf.yield %[[EXP]]
// CHECK: ^bb2(%[[Y:.*]]: tensor<4xf32>):
// CHECK-NEXT: %[[SIN:.*]] = "relax.sin"(%[[Y]])
// CHECK-NEXT: scf.yield %[[SIN]]
// CHECK: return %[[R]]
func.func @several_blocks(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @blocks(%c, %x) : (i1, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Functions that must stay functions, and what nobody has a body or a right to change of.
// CHECK-DAG: func.func private @marked(
// CHECK-DAG: func.func private @prim(
// CHECK-DAG: func.func private @codegen(
// CHECK-DAG: call @part(
// CHECK-DAG: func.func private @part(
// CHECK-DAG: func.func private @declared(
// CHECK-DAG: func.func @public(
func.func private @marked(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.no_inline} {
  return %x : tensor<4xf32>
}
func.func private @prim(%x: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func} {
  return %x : tensor<4xf32>
}
func.func private @codegen(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "dnnl"} {
  %0 = call @part(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @part(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.tan"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
func.func @public(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.cos"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK-LABEL: func.func @kept_calls(
// CHECK-NEXT: call @marked
// CHECK-NEXT: call @codegen
// CHECK-NEXT: call @declared
// CHECK-NEXT: call @public
// CHECK-NEXT: call @prim
// PUBLIC-LABEL: func.func @kept_calls(
// PUBLIC: call @declared
// PUBLIC-NEXT: relax.cos
func.func @kept_calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @marked(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @codegen(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = call @declared(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = call @public(%2) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = call @prim(%3, %3) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}
