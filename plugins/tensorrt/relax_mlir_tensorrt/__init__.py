# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen `tensorrt`: TensorRT builds and runs engines for parts of a model."""
