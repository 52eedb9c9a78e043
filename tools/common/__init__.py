# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared parts of the tools: command lines, crash guard, expected diagnostics."""
