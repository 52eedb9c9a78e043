# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is imported for a dialect when its first operation is handed to Python, in place of upstream's own module.

Making the classes of a dialect's operations takes longer than most programs do. Who wants these imports upstream's
module; operations that are handed out from then on are of its classes.
"""

from __future__ import annotations

import sys
from types import ModuleType

# What kernels of GPUs become, and what passes of users hardly meet; others' classes are there, as with upstream.
for _name in ("bufferization", "cf", "complex", "gpu", "index", "nvvm", "ub"):
    sys.modules[f"{__name__}.{_name}"] = ModuleType(f"{__name__}.{_name}", f"No classes of {_name}'s operations.")
