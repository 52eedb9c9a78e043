# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion between JAX arrays and a program's tensors: shared memory, except for complex results."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from relax_mlir.runtime.arrays import CPU, exporter, share, to_numpy
from relax_mlir.runtime.complex_arrays import in_pairs, of_pairs
from relax_mlir.support.errors import ModelError

_OLDEST = (0, 6)
#: Version of JAX that these calls of private functions were tested with.
TESTED = "0.10"
#: Name of the JAX platform that functions are lowered for.
PLATFORM = "relax"
#: Element types of the pairs that represent complex numbers in programs.
PARTS = {"complex64": "float32", "complex128": "float64"}
#: Types of less than a byte. Programs use one byte per element, and JAX does not exchange these types by DLPack.
_BELOW_A_BYTE = ("int2", "uint2", "int4", "uint4", "float4_e2m1fn")
Convert = Callable[[Any], Any]


def import_jax() -> ModuleType:
    """Import JAX. Raise ModelError if it is missing or too old."""
    try:
        import jax
        from jax import export
    except ImportError:
        raise ModelError("functions of jax need the package jax: pip install relax-mlir[jax]") from None
    if jax.__version_info__[:2] < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise ModelError(f"jax {jax.__version__} is too old: {oldest} or newer is needed, pip install -U jax")
    del export
    return jax


def device_of(leaf: Any) -> Any:
    """Return the device of an array on the platform relax, or None."""
    import jax

    if not isinstance(leaf, jax.Array) or isinstance(leaf, jax.core.Tracer):
        return None
    return next((device for device in leaf.devices() if device.platform == PLATFORM), None)


def export_by_dlpack() -> None:
    """Let JAX's arrays on the platform relax export their memory by DLPack, as JAX lets arrays on CPUs do."""
    import numpy
    from jax._src.array import ArrayImpl

    export, place = ArrayImpl.__dlpack__, ArrayImpl.__dlpack_device__

    def exported(array: Any, *, dl_device: Any = None, copy: bool | None = None, **options: Any) -> Any:
        if array.platform() != PLATFORM:
            return export(array, dl_device=dl_device, copy=copy, **options)
        if array.dtype.name in _BELOW_A_BYTE or (dl_device or (CPU,))[0] != CPU:
            to = dl_device or "a CPU"
            raise BufferError(f"the platform relax exports elements of whole bytes to CPUs, not {array.dtype} to {to}")
        shown = numpy.array(array, copy=copy or None)
        # Without a version: readers of versioned tensors take memory that is not marked as read-only for writable.
        return share(shown if shown.dtype.isbuiltin == 1 else exporter(shown)).__dlpack__()

    ArrayImpl.__dlpack__ = exported
    ArrayImpl.__dlpack_device__ = lambda array: (CPU, 0) if array.platform() == PLATFORM else place(array)


def device_without_cpu() -> Any:
    """Return the device for results if JAX has no CPU platform, as under JAX_PLATFORMS=relax, else None."""
    import jax

    try:
        jax.devices("cpu")
    except RuntimeError:
        return jax.devices()[0]
    return None


def passer(leaf: Any, aval: Any) -> Convert | None:
    """Return the conversion of a leaf to a program argument, or None if the leaf is passed unchanged."""
    import numpy

    import jax

    dtype = aval.dtype
    if jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
        return lambda value: numpy.asarray(jax.random.key_data(value))
    if dtype.name in PARTS:
        part = PARTS[dtype.name]
        # NumPy views of JAX arrays are read-only.
        return lambda value: share(in_pairs(numpy.asarray(value, dtype), part, "rx.jit"))
    if isinstance(leaf, jax.Array) and dtype.name not in _BELOW_A_BYTE and device_of(leaf) is None:
        return None
    return lambda value: numpy.asarray(value, dtype)


def giver(aval: Any, device: Any = None) -> Convert:
    """Return the conversion of a program's result to a JAX array, optionally on a device of the platform relax."""
    import jax

    take = taker() if device is None else lambda result: jax.device_put(to_numpy(result), device)
    if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key):
        implementation = getattr(aval.dtype, "_impl", None)
        return lambda result: jax.random.wrap_key_data(take(result), impl=implementation)
    if aval.dtype.name in PARTS:
        return lambda result: take(of_pairs(to_numpy(result)))
    if aval.dtype.name in _BELOW_A_BYTE:
        return lambda result: jax.device_put(to_numpy(result, aval.dtype), device)
    if aval.weak_type:
        weaken = _weakening(aval) if device is None else _convert_weakly()
        return lambda result: weaken(take(result))
    return take


@functools.lru_cache(maxsize=1)
def taker() -> Convert:
    """Return a function that makes a JAX array of a tensor's memory.

    JAX's from_dlpack queries the device and the type on each call. The faster function of jaxlib below it is private,
    and is used only if a probe returns an array.
    """
    import numpy

    import jax

    public: Convert = jax.dlpack.from_dlpack
    try:
        from jaxlib import _jax

        make, device = _jax.dlpack_managed_tensor_to_buffer, jax.devices("cpu")[0]
        probe = make(numpy.zeros(1, "float32").__dlpack__(), device, None, None, CPU)
    except (AttributeError, ImportError, RuntimeError, TypeError):
        return public
    if not isinstance(probe, jax.Array):
        return public

    def take(tensor: Any) -> Any:
        if tensor.__dlpack_device__()[0] != CPU:
            return public(tensor)
        return make(tensor.__dlpack__(), device, None, None, CPU)

    return take


def _weakening(aval: Any) -> Convert:
    """Return a function that gives a CPU array the weak type of `aval`, the type of a Python number."""
    if (wrapping := _wrapping()) is None:
        return _convert_weakly()
    wrap = wrapping(aval)
    return lambda array: wrap([array])


@functools.lru_cache(maxsize=1)
def _wrapping() -> Convert | None:
    """Return a function from a type to a function that wraps arrays in it, or None if jaxlib's function does not work.

    The function is private. Wrapping takes 3 us, while JAX's conversion runs a program and takes 20 us.
    """
    import numpy

    import jax

    device = jax.devices("cpu")[0]
    probe = jax.device_put(numpy.zeros((), "float32"), device)
    try:
        from jaxlib import _jax

        make = functools.partial(_jax.array_result_handler, sharding=probe.sharding, committed=True, _skip_checks=True)
        found = make(probe.aval.update(weak_type=True))([probe])
    except (AttributeError, ImportError, RuntimeError, TypeError):
        return None
    return make if isinstance(found, jax.Array) and found.aval.weak_type else None


@functools.lru_cache(maxsize=1)
def _convert_weakly() -> Convert:
    """Return JAX's private function that converts an array to a weak type."""
    try:
        from jax._src.lax.lax import _convert_element_type
    except ImportError:
        return lambda array: array
    return functools.partial(_convert_element_type, weak_type=True)
