# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target webgpu: kernels in WGSL, and host code as data that interpreters execute."""
