# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules as ONNX models: `operators/<family>.py` says what relax operators become."""
