# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Two convolutions with kernels in HWIO. example_npu takes the first, which has windows; the second has none.
from relax_mlir.script import relax as R


@R.function
def main(x: R.Tensor(("n", 8, 8, 1), "float32")):
    kernel = R.const([[[[0.0, 1.0]], [[2.0, 3.0]]], [[[4.0, 5.0]], [[6.0, 7.0]]]], "float32")
    large = R.nn.conv2d(x, kernel, data_layout="NHWC", kernel_layout="HWIO")
    return R.nn.conv2d(large, R.const([[[[0.5], [1.0]]]], "float32"), data_layout="NHWC", kernel_layout="HWIO")
