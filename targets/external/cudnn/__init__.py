# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The codegen `cudnn`: convolutions, pools and softmax on NVIDIA's GPUs by cuDNN."""
