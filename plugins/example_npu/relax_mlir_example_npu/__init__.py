# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen `example_npu`, a sample to read: docs/codegens/example_npu.md."""
