// The steps of relax-compile on a module, and a run of the result by relax-run.

// RUN: relax-compile %s --emit=relax | FileCheck %s --check-prefix=RELAX
// RUN: cat %s | relax-compile - --emit=relax | FileCheck %s --check-prefix=RELAX
// RUN: relax-compile %s --emit=tir | FileCheck %s --check-prefix=TIR
// RUN: relax-compile %s --emit=llvm -o %t.mlir && FileCheck %s --check-prefix=LLVM --input-file=%t.mlir
// RUN: relax-compile %s --emit=llvm --target=llvm{vector-bytes=16} | FileCheck %s --check-prefix=LLVM

// RUN: rm -rf %t.ir && relax-compile %s -o %t.rxa -O3 --save-ir-dir=%t.ir | FileCheck %s --allow-empty --check-prefix=NOTHING
// RUN: relax-run %t.rxa --shape x:3,4 | FileCheck %s --check-prefix=TABLE
// RUN: cat %t.ir/*-fuse.mlir | FileCheck %s --check-prefix=TIR

// The second program comes from the cache. Features leave this machine's cores.
// RUN: relax-compile %s -o %t.rxa --target=llvm{cpu=x86-64-v3} 2>&1 | FileCheck %s --check-prefix=CORES
// RUN: relax-compile %s -o %t.rxa --target=llvm{cpu=x86-64-v3} 2>&1 | FileCheck %s --check-prefix=CORES
// RUN: relax-compile %s -o %t.rxa --target='llvm{cpu=x86-64-v3 cores=2}' 2>&1 | FileCheck %s --allow-empty --check-prefix=NOTHING
// RUN: relax-compile %s -o %t.rxa --target=llvm{features=-avx512bf16} 2>&1 | FileCheck %s --allow-empty --check-prefix=NOTHING

// RUN: relax-compile %s -o %t.rxa -v 2>&1 | FileCheck %s --check-prefix=TIMES

// RELAX: relax.tanh
// RELAX: relax.multiply

// TIR: call_tir{{.*}}@fused_tanh_multiply
// TIR: @fused_tanh_multiply
// TIR: linalg.generic
// TIR-NOT: relax.tanh

// LLVM: llvm.func @__tvm_ffi_main
// LLVM-NOT: func.func

// NOTHING-NOT: {{.}}

// CORES: relax-compile: note: the code is for 4 cores: cores= is not given

// TABLE-LABEL: output{{ +}}dtype{{ +}}shape{{ +}}min{{ +}}max{{ +}}mean
// TABLE-NEXT: squares{{ +}}float32{{ +}}(3, 4){{ +}}

// TIMES: import
// TIMES: simplify
// TIMES: fold
// TIMES-NEXT: layouts
// TIMES-NEXT: legalize
// TIMES: code
// TIMES-NEXT: write
// TIMES-NEXT: machine{{.*}}cores
// TIMES-NEXT: total

func.func @main(%x: tensor<?x4xf32, #relax.sym<["n", 4]>> {relax.name = "x"})
    -> tensor<?x4xf32, #relax.sym<["n", 4]>> attributes {relax.result_names = ["squares"]} {
  %0 = "relax.tanh"(%x) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %1 = "relax.multiply"(%0, %0) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return %1 : tensor<?x4xf32, #relax.sym<["n", 4]>>
}
