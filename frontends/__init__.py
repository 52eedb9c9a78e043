# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of models: each front end converts a format to graphs of relax operators."""
