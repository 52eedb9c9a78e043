# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen `dnnl`: parts of models for oneDNN."""
