# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The codegen `example_npu`, which is there to be read: docs/codegens/example_npu.md."""
