# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An emulator of NVIDIA's PTX and of libcuda, for tests on machines without a GPU: finds what kernels do wrong."""
