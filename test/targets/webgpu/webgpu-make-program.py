# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-compile %s --target webgpu --stop=program | FileCheck %s
# RUN: relax-compile %s --target webgpu --emit=asm | FileCheck %s --check-prefix=WGSL
# RUN: relax-compile %s --target webgpu -o %t.folder/
# RUN: FileCheck %s --check-prefix=PROGRAM < %t.folder/program.json

# Functions call what runs the program, which is a part of the module.
# CHECK:     relax.external_mods = [{codegen = "webgpu", data = dense_resource<webgpu> : tensor<{{[0-9]+}}xi8>
# CHECK:     func.func @main(%arg0: tensor<?x6xf32{{.*}}) -> tensor<?x6xf32
# CHECK:       "relax.call_pure_packed"(%arg0) {{.*}}func = "webgpu.main"
# CHECK-NOT: gpu.

# All memory is one array of words.
# WGSL:      // nn_relu
# WGSL:      @group(0) @binding(0) var<storage, read_write> memory: array<u32>;
# WGSL:      fn read(place: i32) -> u32 { return memory[place]; }
# WGSL:      @compute @workgroup_size(256)
# WGSL:          let block = i32(group.y * groups.x + group.x);
# WGSL-NEXT:     if (u32(block) >= arguments[0].x) { return; }
# WGSL:          bitcast<f32>(read(
# WGSL:          write({{.*}}, bitcast<u32>(

# PROGRAM: "made_by": "relax-mlir
# PROGRAM: "version": 1
# PROGRAM: "entries":
# PROGRAM: "main":
# PROGRAM: "launch",

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 6), "float32")) -> R.Tensor(("n", 6), "float32"):
        return R.nn.relu(x)
