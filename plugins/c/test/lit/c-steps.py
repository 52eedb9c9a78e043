# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-compile %s --target 'c{name=net}' --bind n:1..99 -o %t.folder/
# RUN: FileCheck %s < %t.folder/net.c
# RUN: relax-compile %s --target 'c{name=net loops=plain}' --bind n:1..99 -o %t.plain/
# RUN: FileCheck %s --check-prefix=PLAIN < %t.plain/net.c

# A value that depends on the row only is read once per row. Dynamic rows: eight at a time, then one by one; 50 columns
# are 32 and 18.
# CHECK:      #pragma GCC optimize("no-loop-interchange")
# CHECK:      /* relax.matmul + relax.nn.relu */
# CHECK-NEXT: static void fused_matmul_nn_relu(const float *x1, int64_t x1_size0, const float *x2, float *out) {
# CHECK-NEXT:     const int64_t t = x1_size0 / 8;
# CHECK-NEXT:     for (int64_t i0 = 0; i0 < t; i0++) {
# CHECK-NEXT:         float sums[8][32];
# CHECK-NEXT:         for (int64_t i1 = 0; i1 < 8; i1++) {
# CHECK-NEXT:             for (int64_t i2 = 0; i2 < 32; i2++) {
# CHECK-NEXT:                 sums[i1][i2] = 0.0f;
# CHECK-NEXT:             }
# CHECK-NEXT:         }
# CHECK-NEXT:         for (int64_t i1 = 0; i1 < 20; i1++) {
# CHECK-NEXT:             for (int64_t i2 = 0; i2 < 8; i2++) {
# CHECK-NEXT:                 for (int64_t i3 = 0; i3 < 32; i3++) {
# CHECK-NEXT:                     sums[i2][i3] += x1[(i0 * 8 + i2) * 20 + i1] * x2[i1 * 50 + i3];
# CHECK-NEXT:                 }
# CHECK-NEXT:             }
# CHECK-NEXT:         }
# CHECK-NEXT:         for (int64_t i1 = 0; i1 < 8; i1++) {
# CHECK-NEXT:             for (int64_t i2 = 0; i2 < 32; i2++) {
# CHECK-NEXT:                 out[(i1 + i0 * 8) * 50 + i2] = max_f32(sums[i1][i2], 0.0f);
# CHECK-NEXT:             }
# CHECK-NEXT:         }
# CHECK-NEXT:     }
# CHECK-NEXT:     const int64_t t_2 = x1_size0 % 8;
# CHECK-NEXT:     for (int64_t i0 = 0; i0 < t_2; i0++) {
# CHECK-NEXT:         float sums_2[8][32];
# CHECK-NEXT:         for (int64_t i1 = 0; i1 < 32; i1++) {
# CHECK-NEXT:             sums_2[i0][i1] = 0.0f;
# CHECK:                  sums_2[i0][i2] += x1[(t * 8 + i0) * 20 + i1] * x2[i1 * 50 + i2];
# CHECK:              for (int64_t i2 = 0; i2 < 8; i2++) {
# CHECK-NEXT:             for (int64_t i3 = 0; i3 < 18; i3++) {
# CHECK-NEXT:                 sums_3[i2][i3] += x1[(i0 * 8 + i2) * 20 + i1] * x2[i1 * 50 + i3 + 32];
# CHECK:              sums_4[i0][i2] += x1[(t * 8 + i0) * 20 + i1] * x2[i1 * 50 + i2 + 32];

# PLAIN-NOT:   sums
# PLAIN:       sum += x1[i0 * 20 + i2] * x2[i2 * 50 + i1];
@I.ir_module(ssa=True)
class Module:
    @R.function
    def main(x: R.Tensor(("n", 20), "float32"), w: R.Tensor((20, 50), "float32")) -> R.Tensor(("n", 50), "float32"):
        y = R.matmul(x, w)
        z = R.nn.relu(y)
        return z
