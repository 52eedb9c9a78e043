# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-compile %s --target 'c{name=net}' -o %t.folder/
# RUN: FileCheck %s --check-prefix=HEADER < %t.folder/net.h
# RUN: FileCheck %s < %t.folder/net.c
# RUN: FileCheck %s --check-prefix=DATA < %t.folder/net_data.c

# HEADER:      /* main: 0, or a status. Tensors lie row by row; results are written to.
# HEADER-NEXT:    x: f32[1, 2, 4, 4]
# HEADER-NEXT:    result: f32[1, 3, 4] */
# HEADER-NEXT: int net_main(const float *x, float *result);

# The weight is laid out anew: channels are contiguous.
# DATA:      /* 1x1x2x3 */
# DATA-NEXT: const float net_constant_0[6] = {
# DATA-NEXT:     0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f,
# DATA-NEXT: };

# A sum starts in a variable, and its epilogue works on the variable.
# CHECK:      #include "net.h"
# CHECK:      extern const float net_constant_0[6];
# CHECK:      /* relax.nn.conv2d + relax.nn.relu */
# CHECK-NEXT: static void fused_nn_conv2d_nn_relu(const float *data, const float *weight, float *out) {
# CHECK-NEXT:     for (int64_t i0 = 0; i0 < 3; i0++) {
# CHECK-NEXT:         for (int64_t i1 = 0; i1 < 4; i1++) {
# CHECK-NEXT:             for (int64_t i2 = 0; i2 < 4; i2++) {
# CHECK-NEXT:                 float sum = 0.0f;
# CHECK-NEXT:                 for (int64_t i3 = 0; i3 < 2; i3++) {
# CHECK-NEXT:                     sum += data[i1 * 8 + i2 * 2 + i3] * weight[i3 * 3 + i0];
# CHECK-NEXT:                 }
# CHECK-NEXT:                 out[i1 * 12 + i2 * 3 + i0] = max_f32(sum, 0.0f);

# CHECK:      /* relax.max */
# CHECK-NEXT: static void max(const float *x, float *out) {
# CHECK-NEXT:     for (int64_t i0 = 0; i0 < 4; i0++) {
# CHECK-NEXT:         for (int64_t i1 = 0; i1 < 3; i1++) {
# CHECK-NEXT:             out[i0 * 3 + i1] = -INFINITY;
# CHECK:          max_f32(

# The model's names stand where its kernels are called; memory is one array, and each tensor has its place in it.
# CHECK:      int net_main(const float *x, float *result) {
# CHECK-NEXT:     int8_t *workspace = (int8_t *)(arena.bytes + 0);
# CHECK-NEXT:     float *permute_dims_2 = (float *)(workspace + 192);
# CHECK-EMPTY:
# CHECK-NEXT:     /* x: f32[1,2,4,4] -> f32[1,4,4,2] */
# CHECK-NEXT:     permute_dims(x, permute_dims_2);
# CHECK-NEXT:     float *nn_conv2d_nn_relu = (float *)workspace;
# CHECK-EMPTY:
# CHECK-NEXT:     /* y, z: f32[1,4,4,2], f32[1,1,2,3] -> f32[1,4,4,3] */
# CHECK-NEXT:     fused_nn_conv2d_nn_relu(permute_dims_2, net_constant_0, nn_conv2d_nn_relu);
# CHECK:          max(nn_conv2d_nn_relu, max_2);
# CHECK:          permute_dims_1(max_2, result);
# CHECK-NEXT:     return 0;
# CHECK-NEXT: }
@I.ir_module(ssa=True)
class Module:
    @R.function
    def main(x: R.Tensor((1, 2, 4, 4), "float32")) -> R.Tensor((1, 3, 4), "float32"):
        w = R.const([[[[0.5]], [[0.5]]], [[[0.5]], [[0.5]]], [[[0.5]], [[0.5]]]], "float32")
        y = R.nn.conv2d(x, w)
        z = R.nn.relu(y)
        m = R.max(z, axis=[3])
        return m
