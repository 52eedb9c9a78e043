# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Partition of a model into parts for external codegens, and their outlining into functions."""
