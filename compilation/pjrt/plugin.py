# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What jax finds: the entry point `relax` of `jax_plugins`. It is cheap where jax is not asked for this platform."""

from __future__ import annotations

import atexit
import ctypes
from typing import Any

from ...support.errors import ModelError, OptionError
from ..jax_arrays import PLATFORM, TESTED, import_jax

_registered: list[str] = []


def initialize() -> None:
    """Called by jax when it starts. Installing this package changes nothing for who does not ask for the platform: the
    platform is there where JAX_PLATFORMS names it.
    """
    import jax

    if PLATFORM in str(jax.config.jax_platforms or "").split(","):
        register()


def register(**options: str | int) -> None:
    """Adds the platform to jax, before its first array; target=, partition="a,b", opt_level= are rx.compile's.

    Raises ModelError for a jax whose functions for that are not known here; they are private. Once more without
    options it does nothing.
    """
    if _registered:
        if options:
            raise OptionError(
                "the platform relax is there already: give its options before, or as RELAX_JAX_TARGET ..."
            )
        return
    from ..jax_callbacks import register_lowerings

    import_jax()
    register_lowerings()
    try:
        from jax._src import xla_bridge
        from jax._src.interpreters import mlir

        add, donating = xla_bridge.register_plugin, mlir._platforms_with_donation
    except (AttributeError, ImportError):
        import jax

        raise ModelError(f"jax {jax.__version__} is not known: the platform relax was tested with {TESTED}") from None
    # Less than that of jax's own CPUs: who does not name a platform has those.
    add(PLATFORM, c_api=_capsule(), options=options or None, priority=-1)
    if PLATFORM not in donating:
        donating.append(PLATFORM)
    _registered.append(PLATFORM)


def _capsule() -> Any:
    """PJRT's table, as jax takes it."""
    from . import client, platform_arrays, programs  # noqa: F401  # each declares functions of the table
    from .api import VERSION, Table
    from .c_handles import for_ever, memory, stubs
    from .entries import functions

    table: Any = Table()
    table.struct_size, table.version_size = ctypes.sizeof(Table), 24
    table.major, table.minor = VERSION
    for name, address in functions().items():
        setattr(table, name, address)
    for_ever(table)

    def leave() -> None:
        """Functions of Python cannot be called when it has ended, and C code frees what it has later."""
        for name in ("Buffer_Delete", "LoadedExecutable_Delete"):
            setattr(table, name, stubs().nothing)

    atexit.register(leave)
    make: Any = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    return make(ctypes.addressof(table), memory.text("pjrt_c_api")[0], None)
