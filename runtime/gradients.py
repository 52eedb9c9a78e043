# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Warning for callers who may expect gradients of a program's results: programs return tensors without gradients."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence

from ..support.importing import is_own_module


def warn_of_gradients(function: str, names: Sequence[str], arguments: Iterable[object]) -> bool:
    """Warn of a tensor of torch that requires gradients, unless torch records none. Return True after a warning."""
    place = next((place for place, argument in enumerate(arguments) if getattr(argument, "requires_grad", False)), None)
    if place is None:
        return False
    # Another thread may be importing torch.
    is_recording = getattr(sys.modules.get("torch"), "is_grad_enabled", None)
    if is_recording is None or not is_recording():
        return False
    name = f" '{names[place]}'" if place < len(names) and names[place] else f" #{place}"
    warnings.warn(
        f"{function}: argument{name} requires gradients, and a compiled program's results have none: call it under "
        "torch.no_grad(), or train by torch.compile(model, backend='relax_mlir')",
        stacklevel=_distance_to_caller(),
    )
    return True


def _distance_to_caller() -> int:
    """Return the stack level of the caller of a program, for a warning of the function that asks."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _is_inner(str(frame.f_globals.get("__name__"))):
        frame, level = frame.f_back, level + 1
    return level


def _is_inner(module: str) -> bool:
    return is_own_module(module) or module.startswith("torch.")
