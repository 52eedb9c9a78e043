// Independent loops become functions with adjacent calls, so that they may run at the same time.

// RUN: relax-opt %s --relax-outline-branches | FileCheck %s
// RUN: relax-opt %s --relax-outline-branches --tir-apply-plan --tir-bufferize --relax-plan-memory | FileCheck %s --check-prefix=MEMORY
// RUN: relax-opt %s --relax-outline-branches --tir-apply-plan --tir-bufferize --relax-plan-memory --relax-lower-calls --tir-outline-parallel | FileCheck %s --check-prefix=SHARED

!t = tensor<1024xf32>
#map = affine_map<(d0) -> (d0)>
func.func private @step(%x: !t, %out: !t) -> !t attributes {tir.prim_func} {
  %r = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : !t) outs(%out : !t)
    attrs = {tir.plan = "order 0; vector 0 x 8; rule own"} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %a : f32
    linalg.yield %c : f32
  } -> !t
  return %r : !t
}
func.func private @shared(%x: !t, %out: !t) -> !t attributes {tir.prim_func} {
  %r = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : !t) outs(%out : !t)
    attrs = {tir.plan = "order 0; vector 0 x 8; parallel 0: 512; rule own"} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %a : f32
    linalg.yield %c : f32
  } -> !t
  return %r : !t
}
func.func private @calling(%x: memref<1024xf32>, %out: memref<1024xf32>) attributes {tir.prim_func} {
  "tir.call_packed"() {func = "f"} : () -> ()
  return
}

// Operations between the two loops move before the first one, or stay after both.
// CHECK-LABEL: func.func private @independent.branch(
// CHECK: scf.for
// CHECK: return %{{.*}} : tensor<1024xf32>
// CHECK-LABEL: func.func private @independent.branch_1(
// CHECK: scf.for
// CHECK-LABEL: func.func @independent(
// CHECK: %[[Y:.*]] = "relax.call_tir"(%arg0) {func = @step}
// CHECK-NEXT: %[[A:.*]] = call @independent.branch(%arg0) {relax.concurrent = 0 : i64}
// CHECK-NEXT: %[[B:.*]] = call @independent.branch_1(%[[Y]]) {relax.concurrent = 0 : i64}
// CHECK-NEXT: %[[C:.*]] = "relax.call_tir"(%[[A]]) {func = @step}
// CHECK-NEXT: return %[[C]], %[[B]]

// The second loop's results do not reuse memory that the first one reads, since both run at the same time.
// MEMORY-LABEL: func.func @independent(
// MEMORY: "relax.call_tir"(%arg0) {func = @step, relax.memory = ["{{.*}}; live [[BEFORE:[0-9]+]] to {{[0-9]+}}"]}
// MEMORY: call @independent.branch(%arg0) {{.*}}relax.memory = ["{{.*}}; live [[AT:[0-9]+]] to {{[0-9]+}}"]
// MEMORY: call @independent.branch_1({{.*}}relax.memory = ["{{.*}}; live [[AT]] to {{[0-9]+}}"]

// Each is a step of a loop that threads share.
// SHARED-LABEL: func.func @independent(
// SHARED: call @independent.parallel(%{{.*}}) {tir.parallel}
// SHARED-LABEL: func.func private @independent.parallel(
// SHARED: scf.for %[[STEP:.*]] =
// SHARED: cmpi eq, %[[STEP]]
// SHARED: scf.if
// SHARED: func.call @independent.branch(
// SHARED: cmpi eq, %[[STEP]]
// SHARED: scf.if
// SHARED: func.call @independent.branch_1(
func.func @independent(%x: !t) -> (!t, !t) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %n = arith.constant 5000 : i64
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> (!t) : i64 {
    %s = "relax.call_tir"(%p) {func = @step} : (!t) -> !t
    scf.yield %s : !t
  }
  %c = "relax.call_tir"(%a) {func = @step} : (!t) -> !t
  %y = "relax.call_tir"(%x) {func = @step} : (!t) -> !t
  %b = scf.for %i = %c0 to %n step %c1 iter_args(%p = %y) -> (!t) : i64 {
    %s = "relax.call_tir"(%p) {func = @step} : (!t) -> !t
    scf.yield %s : !t
  }
  return %c, %b : !t, !t
}

// The second loop needs the first one's result.
// CHECK-LABEL: func.func @chained(
// CHECK-COUNT-2: scf.for
func.func @chained(%x: !t) -> !t {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %n = arith.constant 5000 : i64
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> (!t) : i64 {
    %s = "relax.call_tir"(%p) {func = @step} : (!t) -> !t
    scf.yield %s : !t
  }
  %b = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a) -> (!t) : i64 {
    %s = "relax.call_tir"(%p) {func = @step} : (!t) -> !t
    scf.yield %s : !t
  }
  return %b : !t
}

// There is too little to do, or kernels are shared themselves, or they call what belongs to the calling thread.
// CHECK-LABEL: func.func @not_worth_it(
// CHECK-COUNT-6: scf.for
func.func @not_worth_it(%x: !t) -> (!t, !t, !t, !t, !t, !t) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %few = arith.constant 9 : i64
  %n = arith.constant 5000 : i64
  %a = scf.for %i = %c0 to %few step %c1 iter_args(%p = %x) -> (!t) : i64 {
    %s = "relax.call_tir"(%p) {func = @step} : (!t) -> !t
    scf.yield %s : !t
  }
  %b = scf.for %i = %c0 to %few step %c1 iter_args(%p = %x) -> (!t) : i64 {
    %s = "relax.call_tir"(%p) {func = @step} : (!t) -> !t
    scf.yield %s : !t
  }
  %c = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> (!t) : i64 {
    %s = "relax.call_tir"(%p) {func = @shared} : (!t) -> !t
    scf.yield %s : !t
  }
  %d = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> (!t) : i64 {
    %s = "relax.call_tir"(%p) {func = @shared} : (!t) -> !t
    scf.yield %s : !t
  }
  %e = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> (!t) : i64 {
    %s = "relax.call_tir"(%p) {func = @step} : (!t) -> !t
    %t = "relax.call_tir"(%s) {func = @calling} : (!t) -> !t
    scf.yield %t : !t
  }
  %f = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> (!t) : i64 {
    %s = "relax.call_tir"(%p) {func = @step} : (!t) -> !t
    %t = "relax.call_tir"(%s) {func = @calling} : (!t) -> !t
    scf.yield %t : !t
  }
  return %a, %b, %c, %d, %e, %f : !t, !t, !t, !t, !t, !t
}

// Later readers see a tensor that is written in place between the two.
// CHECK-LABEL: func.func @written_between(
// CHECK-COUNT-2: scf.for
func.func @written_between(%x: !t, %y: !t) -> (!t, !t, !t) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %n = arith.constant 5000 : i64
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> (!t) : i64 {
    %s = "relax.call_tir"(%p) {func = @step} : (!t) -> !t
    scf.yield %s : !t
  }
  %z = "relax.call_tir_inplace"(%y) {func = @change, inplace_indices = [0]} : (!t) -> !t
  %b = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> (!t) : i64 {
    %s = "relax.call_tir"(%p) {func = @step} : (!t) -> !t
    scf.yield %s : !t
  }
  return %a, %b, %z : !t, !t, !t
}
func.func private @change(%x: memref<1024xf32>) attributes {tir.prim_func} {
  return
}
