# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Execution of WebGPU programs on this machine's devices, with the package wgpu."""
