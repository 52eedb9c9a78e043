# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Facts about a worker of a cluster. Neither MLIR nor NumPy is imported for them."""

from __future__ import annotations

from importlib.util import find_spec

from relax_mlir.bindings.wheel import find_root
from relax_mlir.support.errors import RelaxError
from relax_mlir.support.version import VERSION


def facts() -> dict[str, object]:
    """Return the version of this package, and the packages that calls may need."""
    try:
        has_compiler = bool(find_root())
    except RelaxError:
        has_compiler = False
    return {"version": VERSION, "compiler": has_compiler, "numpy": find_spec("numpy") is not None}
