# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Two layers; the accelerator lacks the activation of one of them. The file is read as a script and never run.
from relax_mlir.script import relax as R


@R.function
def main(x: R.Tensor(("n", 4), "float32")):
    w1 = R.const([[0.5, -1.0, 0.25], [1.0, 0.0, -0.5], [-0.25, 2.0, 1.0], [0.0, 0.5, -1.5]], "float32")
    w2 = R.const([[1.0, -1.0], [0.5, 0.5], [-2.0, 1.0]], "float32")
    hidden = R.nn.relu(R.add(R.matmul(x, w1), R.const([0.5, -0.25, 1.0], "float32")))
    scores = R.tanh(R.add(R.matmul(hidden, w2), R.const([0.25, -0.5], "float32")))
    return R.nn.softmax(scores, axis=-1)
