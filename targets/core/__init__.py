# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Definition of targets: the registry, chosen targets, code generation."""
