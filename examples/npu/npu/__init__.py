# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Simulated accelerator, and the target "npu" for it: `import npu`, then rx.compile(module, target="npu")."""

from . import runtime, target

__all__ = ["runtime", "target"]
