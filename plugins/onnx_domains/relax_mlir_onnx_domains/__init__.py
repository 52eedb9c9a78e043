# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of the ONNX domains ai.onnx.ml and com.microsoft. Nodes of these domains load them."""
