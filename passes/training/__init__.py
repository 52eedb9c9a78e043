# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training: optimizers, and steps of a loss, its gradients and an optimizer's update."""
