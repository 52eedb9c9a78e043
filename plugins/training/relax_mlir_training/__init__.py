# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training: gradients, optimizers, training steps and a trainer."""
