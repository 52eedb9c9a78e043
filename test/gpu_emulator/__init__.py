# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emulator of NVIDIA's PTX and of libcuda, for tests on machines without a GPU: it finds errors in kernels."""
