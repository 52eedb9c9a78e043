// RUN: relax-opt %s --host-name-functions | FileCheck %s
// RUN: relax-opt %s --host-name-functions --host-name-functions | FileCheck %s

// Definitions in the module get unique names; declarations keep their names, since the linker looks them up.

// CHECK: memref.global "private" constant @__relax_defined.free : memref<2xf32>
memref.global "private" constant @free : memref<2xf32> = dense<1.0>
// CHECK: func.func private @expf(f32) -> f32
func.func private @expf(f32) -> f32
// CHECK: func.func private @__relax_defined.malloc(%{{.*}}: f32) -> f32 {
func.func private @malloc(%x: f32) -> f32 {
  // CHECK: call @expf(
  %0 = func.call @expf(%x) : (f32) -> f32
  return %0 : f32
}
// CHECK: func.func @__relax_defined.main
func.func @main(%x: f32) -> f32 {
  // CHECK: memref.get_global @__relax_defined.free
  %0 = memref.get_global @free : memref<2xf32>
  // CHECK: call @__relax_defined.malloc(
  %1 = func.call @malloc(%x) : (f32) -> f32
  return %1 : f32
}
