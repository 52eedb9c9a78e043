// RUN: relax-opt %s --relax-legalize-ops=target=llvm --split-input-file --verify-diagnostics
// Nothing is changed before all targets are known.

func.func @fine(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// expected-error-re @+1 {{attribute 'relax.target': unknown target 'lvm'; did you mean 'llvm'? (known: c, cpu, cuda, default, gpu, llvm, opencl, reference, spirv, vulkan{{.*}})}}
func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.target = "lvm"} {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' op @number has attribute 'relax.target' that must be the name of a target, got 1 : i64}}
func.func @number(%x: tensor<4xf32>) attributes {relax.target = 1} {
  return
}

// -----

func.func @operator(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'relax.exp' op cannot have the attribute 'relax.target': only graph functions, and operations with regions in them, can have it}}
  %0 = "relax.exp"(%x) {relax.target = "llvm"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' op cannot have the attribute 'relax.target'}}
func.func @prim(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func, relax.target = "llvm"} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{'builtin.module' op cannot have the attribute 'relax.target'}}
module attributes {relax.target = "llvm"} {}

// -----

// The message names the target of the rules that were tried.
func.func @declined(%a: tensor<*xf32>) attributes {relax.target = "default"} {
  // expected-error @+2 {{legalization for target 'default' cannot convert 'relax.add' op}}
  // expected-note-re @+1 {{pattern 'arithmetic for default {{.*}} declined: the rank of an operand (tensor<*xf32>) is not known}}
  %0 = "relax.add"(%a, %a) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  return
}
