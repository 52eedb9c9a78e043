# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-compile %s --target 'c{name=net}' --bind n:1..99 -o %t.folder/
# RUN: FileCheck %s < %t.folder/net.c
# RUN: relax-compile %s --target 'c{name=net loops=plain}' --bind n:1..99 -o %t.plain/
# RUN: FileCheck %s --check-prefix=PLAIN < %t.plain/net.c

# What is not the same for all columns is read once for all rows. Rows that only the run counts: eight at a time, then
# one by one; 50 columns are 32 and 18.
# CHECK:      #pragma GCC optimize("no-loop-interchange")
# CHECK:      /* relax.matmul + relax.nn.relu */
# CHECK-NEXT: static void fused_matmul_nn_relu(const float *x1, int64_t x1_size0, const float *x2, float *out) {
# CHECK-NEXT:     for (int64_t i0 = 0; i0 < x1_size0 - x1_size0 % 8; i0 += 8) {
# CHECK-NEXT:         float sums[8][32];
# CHECK-NEXT:         for (int64_t row = 0; row < 8; row++) {
# CHECK-NEXT:             for (int64_t column = 0; column < 32; column++) {
# CHECK-NEXT:                 sums[row][column] = 0.0f;
# CHECK-NEXT:             }
# CHECK-NEXT:         }
# CHECK-NEXT:         for (int64_t i1 = 0; i1 < 20; i1++) {
# CHECK-NEXT:             for (int64_t row = 0; row < 8; row++) {
# CHECK-NEXT:                 for (int64_t column = 0; column < 32; column++) {
# CHECK-NEXT:                     sums[row][column] += x1[(i0 + row) * 20 + i1] * x2[i1 * 50 + column];
# CHECK-NEXT:                 }
# CHECK-NEXT:             }
# CHECK-NEXT:         }
# CHECK-NEXT:         for (int64_t row = 0; row < 8; row++) {
# CHECK-NEXT:             for (int64_t column = 0; column < 32; column++) {
# CHECK-NEXT:                 out[(i0 + row) * 50 + column] = max_f32(sums[row][column], 0.0f);
# CHECK-NEXT:             }
# CHECK-NEXT:         }
# CHECK-NEXT:     }
# CHECK-NEXT:     for (int64_t i0 = x1_size0 - x1_size0 % 8; i0 < x1_size0; i0++) {
# CHECK-NEXT:         float sums_2[32];
# CHECK:          float sums_3[8][18];
# CHECK:                      sums_3[row][column] += x1[(i0 + row) * 20 + i1] * x2[i1 * 50 + column + 32];
# CHECK:          float sums_4[18];

# PLAIN-NOT:   sums
# PLAIN:       sum += x1[i0 * 20 + i2] * x2[i2 * 50 + i1];
@I.ir_module(ssa=True)
class Module:
    @R.function
    def main(x: R.Tensor(("n", 20), "float32"), w: R.Tensor((20, 50), "float32")) -> R.Tensor(("n", 50), "float32"):
        y = R.matmul(x, w)
        z = R.nn.relu(y)
        return z
