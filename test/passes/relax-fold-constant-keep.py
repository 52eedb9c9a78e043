# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-fold-constant='keep-quantized=true' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-canonicalize='keep-quantized=true' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-fold-constant='keep=relax.dequantize' --print-script | FileCheck %s --check-prefix=ALL
# RUN: graphs %s | relax-opt - --relax-canonicalize='keep=relax.dequantize' --print-script | FileCheck %s --check-prefix=ALL
# RUN: graphs %s | relax-opt - --relax-fold-constant --print-script | FileCheck %s --check-prefix=NONE

# Weights of a product of quantized numbers, and its bias, stay unchanged.
# CHECK-LABEL: def quantized(
# CHECK-COUNT-3: R.dequantize(
# ALL-LABEL: def quantized(
# ALL-COUNT-3: R.dequantize(
# NONE-LABEL: def quantized(
# NONE-NEXT: R.dequantize(x,
# NONE-NOT: R.dequantize(
def quantized(x: i8[n, 2]) -> f32[n, 2]:
    real = R.dequantize(x, R.const(0.5, "float32"), R.const(0, "int8"))
    weights = R.dequantize(R.const([[0, 1], [2, 4]], "int8"), R.const(0.5, "float32"), R.const(0, "int8"))
    bias = R.dequantize(R.const([3, 4], "int32"), R.const(0.25, "float32"), R.const(0, "int32"))
    return R.add(R.matmul(real, weights), bias)


# Weights of a product of real numbers become real.
# CHECK-LABEL: def real(
# CHECK-NEXT: R.matmul(x, R.const({{\[\[}}0.0, 0.5], [1.0, 2.0]], "float32"))
# ALL-LABEL: def real(
# ALL-NEXT: R.dequantize(
# NONE-LABEL: def real(
# NONE-NEXT: R.matmul(x, R.const({{\[\[}}0.0, 0.5], [1.0, 2.0]], "float32"))
def real(x: f32[n, 2]) -> f32[n, 2]:
    weights = R.dequantize(R.const([[0, 1], [2, 4]], "int8"), R.const(0.5, "float32"), R.const(0, "int8"))
    return R.matmul(x, weights)
