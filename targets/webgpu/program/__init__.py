# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What launches kernels, as data that a browser reads."""
