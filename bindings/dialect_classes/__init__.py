# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is imported for a dialect when its first operation is handed to Python, in place of upstream's own module.

Making the classes of a dialect's operations takes longer than most programs do. Who wants these imports upstream's
module; operations that are handed out from then on are of its classes.
"""

from __future__ import annotations

import sys
from types import ModuleType

# What kernels are lowered to; those of func, builtin and arith stay, which are asked for bodies and values.
for _name in (
    *("affine", "bufferization", "cf", "complex", "gpu", "index", "linalg", "math", "memref", "nvvm", "scf"),
    *("tensor", "ub", "vector"),
):
    sys.modules[f"{__name__}.{_name}"] = ModuleType(f"{__name__}.{_name}", f"No classes of {_name}'s operations.")
