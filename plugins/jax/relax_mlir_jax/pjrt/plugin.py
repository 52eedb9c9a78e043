# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX plug-in: the entry point `relax` of `jax_plugins`, which does little unless the platform is requested."""

from __future__ import annotations

import atexit
import ctypes
from typing import Any

from relax_mlir.support.errors import ModelError, OptionError

from ..jax_arrays import PLATFORM, TESTED, export_by_dlpack, import_jax

_registered: list[str] = []


def initialize() -> None:
    """Register the platform if JAX_PLATFORMS names it.

    JAX calls this function at start-up.

    Installing this package changes nothing for programs that do not request the platform.
    """
    import jax

    if PLATFORM in str(jax.config.jax_platforms or "").split(","):
        register()


def register(**options: str | int) -> None:
    """Register the platform in JAX, before its first array.

    target=, partition="a,b", opt_level= and tuned= are options of rx.compile.

    Raises ModelError if JAX's private functions are not as expected, and OptionError for options in a second call. A
    second call without options does nothing.
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
        from jax._src import compilation_cache, xla_bridge
        from jax._src.interpreters import mlir

        add, donating = xla_bridge.register_plugin, mlir._platforms_with_donation
        is_enabled, is_used = compilation_cache._is_cache_enabled, compilation_cache.is_cache_used
        export_by_dlpack()
    except (AttributeError, ImportError):
        import jax

        raise ModelError(f"jax {jax.__version__} is not known: the platform relax was tested with {TESTED}") from None
    # Lower than the priority of JAX's CPU platform, which stays the default.
    add(PLATFORM, c_api=_capsule(), options=options or None, priority=-1)
    # jax lists the platforms that its compilation cache is for.
    uses_cache: Any = lambda backend: is_enabled() if backend.platform == PLATFORM else is_used(backend)  # noqa: E731
    compilation_cache.is_cache_used = uses_cache
    if PLATFORM not in donating:
        donating.append(PLATFORM)
    _registered.append(PLATFORM)


def _capsule() -> object:
    """Return PJRT's table as the capsule that JAX expects."""
    from . import call_queue, client, platform_arrays, programs  # noqa: F401  # each declares functions of the table
    from .api import VERSION, Table
    from .c_handles import for_ever, memory, stubs
    from .entries import functions

    table: ctypes.Structure = Table()
    table.struct_size, table.version_size = ctypes.sizeof(Table), 24
    table.major, table.minor = VERSION
    for name, address in functions().items():
        setattr(table, name, address)
    for_ever(table)

    def leave() -> None:
        """Replace callbacks at exit: Python functions must not be called afterwards, but C code frees its objects
        later."""
        call_queue.end_calls()
        for name in ("Buffer_Delete", "LoadedExecutable_Delete"):
            setattr(table, name, stubs().nothing)

    atexit.register(leave)
    make: Any = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    return make(ctypes.addressof(table), memory.text("pjrt_c_api")[0], None)
