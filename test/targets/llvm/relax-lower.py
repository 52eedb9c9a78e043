# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --pass-pipeline='relax-lower{stop=legalize}' --print-script | FileCheck %s --check-prefix=LEGALIZE
# RUN: graphs %s | relax-opt - --pass-pipeline='relax-lower{stop=intrinsics}' --print-script | FileCheck %s --check-prefix=INTRINSICS
# RUN: graphs %s | relax-opt - --pass-pipeline='relax-lower{stop=bufferize}' --print-script | FileCheck %s --check-prefix=BUFFERIZE
# RUN: graphs %s | relax-opt - --pass-pipeline='relax-lower{stop=bufferize},relax-lower{start=small-types}' | FileCheck %s --check-prefix=LLVM
# RUN: graphs %s | relax-opt - --pass-pipeline='relax-lower{target=llvm}' | FileCheck %s --check-prefix=LLVM
# RUN: graphs %s | not relax-opt - --pass-pipeline='relax-lower{stop=legalise}' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
# RUN: graphs %s | not relax-opt - --pass-pipeline='relax-lower{target=cpu}' 2>&1 | FileCheck %s --check-prefix=NO-CODE
# LEGALIZE: y = R.call_tir(cls.exp, (x,),
# LEGALIZE: B[i] = T.exp(A[i])
# INTRINSICS: y = R.call_tir(cls.exp, (x,),
# INTRINSICS-NOT: T.exp
# BUFFERIZE: def main(arg0: T.Buffer((4,), "float32"), arg1: T.Buffer((4,), "float32")):
# BUFFERIZE-NEXT: cls.exp(
# BUFFERIZE-NEXT: arg0, arg1,
# LLVM: llvm.func internal @__relax_defined.main
# LLVM-NOT: func.func
# LLVM: llvm.func @__tvm_ffi_main(
# UNKNOWN: target 'llvm' has no stage 'legalise'; did you mean 'legalize'? (it has {{.*}}fold, {{.*}}legalize,
# NO-CODE: target 'cpu' has no code generator: neither it nor a parent of it names one


def main(x: f32[4]) -> f32[4]:
    y = R.exp(x)
    return y
