# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How passes are written, named, combined into pipelines and watched."""
