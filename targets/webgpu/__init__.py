# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs for WebGPU: kernels in WGSL, and what launches them as data."""
