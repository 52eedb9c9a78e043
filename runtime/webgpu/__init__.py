# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs for WebGPU on this machine's devices, by the package wgpu."""
