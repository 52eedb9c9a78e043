# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not relax-compile %s --target c --emit=source 2>&1 | FileCheck %s --check-prefix=FOLDER
# FOLDER: error: --emit=source needs a folder to write to: -o <folder>/
# RUN: not relax-compile %s --target c --emit=source -o %s 2>&1 | FileCheck %s --check-prefix=FILE
# FILE: error: --emit=source needs a folder to write to: '{{.*}}' is none
# RUN: not relax-compile %s -o %t.llvm/ 2>&1 | FileCheck %s --check-prefix=LLVM
# LLVM: error: target 'llvm' makes no source files: --emit=artifact, the default, makes a program
# RUN: not relax-compile %s --target c -o %t.rxa 2>&1 | FileCheck %s --check-prefix=ARTIFACT
# ARTIFACT: error: target 'c' writes source files, not a program to load
# ARTIFACT-NEXT: note: relax-compile --target c -o folder/ writes them
# RUN: not relax-compile %s --target 'c{name=3net}' -o %t.folder/ 2>&1 | FileCheck %s --check-prefix=NAME
# NAME: error: target 'c': name=3net: expected a C identifier
# RUN: not relax-compile %s --target 'c{memory=haep}' -o %t.folder/ 2>&1 | FileCheck %s --check-prefix=MEMORY
# MEMORY: error: target 'c': memory=haep: expected static or heap; did you mean 'heap'?
# RUN: not relax-compile %s --target 'c{constants=incbim}' -o %t.folder/ 2>&1 | FileCheck %s --check-prefix=CONSTANTS
# CONSTANTS: error: target 'c': constants=incbim: expected text or incbin; did you mean 'incbin'?

# RUN: not relax-compile %s --target c -o %t.folder/ 2>&1 | FileCheck %s
# CHECK: error: "s" at {{.*}}c-bad-input.py:{{[0-9]+:[0-9]+}}: target 'c' cannot write 'memref.alloc' op in @nn_softmax: its size has no bound
# CHECK: note: state the range of symbolic sizes, bind={"n": "1..64"} or --bind n:1..64; or allocate memory with malloc: c{memory=heap}
@I.ir_module(ssa=True)
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", "n"), "float32"):
        y = R.permute_dims(x)
        z = R.matmul(x, y)
        s = R.nn.softmax(z)
        return s
