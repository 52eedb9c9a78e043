# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Definition, registration, pipelines and instrumentation of passes."""
