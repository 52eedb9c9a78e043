# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of jax as programs take and give them: the same memory, but for complex numbers of results."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..runtime.arrays import CPU, to_numpy
from ..runtime.complex_arrays import in_pairs, of_pairs
from ..support.errors import ModelError

_OLDEST = (0, 6)
#: The version of jax whose private functions are used here.
TESTED = "0.10"
#: What jax calls us: the platform that functions are lowered for.
PLATFORM = "relax"
#: Complex numbers are pairs in programs.
PARTS = {"complex64": "float32", "complex128": "float64"}
#: Numbers of four bits have a byte each, which jax does not exchange.
_BELOW_A_BYTE = ("int4", "uint4")
Convert = Callable[[Any], Any]


def import_jax() -> Any:
    """The package jax. Raises ModelError where it is missing or too old."""
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


def passer(leaf: Any, aval: Any) -> Convert | None:
    """How such a leaf is passed to a program; None as it is."""
    import jax
    import numpy

    if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key):
        return jax.random.key_data
    dtype = aval.dtype
    if dtype.name in PARTS:
        part = PARTS[dtype.name]
        return lambda value: _shared(in_pairs(numpy.asarray(value, dtype), part, "rx.jit"))
    if isinstance(leaf, jax.Array) and dtype.name not in _BELOW_A_BYTE:
        return None
    return lambda value: numpy.asarray(value, dtype)


def _shared(array: Any) -> Any:
    """Arrays of jax are read-only in numpy."""
    from ..runtime.arrays import share

    return share(array)


def giver(aval: Any) -> Convert:
    """How a program's result becomes an array of jax."""
    import jax

    take = taker()
    if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key):
        implementation = getattr(aval.dtype, "_impl", None)
        return lambda result: jax.random.wrap_key_data(take(result), impl=implementation)
    if aval.dtype.name in PARTS:
        return lambda result: take(of_pairs(to_numpy(result)))
    if aval.dtype.name in _BELOW_A_BYTE:
        return lambda result: jax.device_put(to_numpy(result, aval.dtype))
    if aval.weak_type:
        weaken = _weakening()
        return lambda result: weaken(take(result))
    return take


@functools.lru_cache(maxsize=1)
def taker() -> Convert:
    """Makes an array of jax of a tensor's memory. jax's own from_dlpack asks for the device and the type each time; the
    function of jaxlib below it is private, and is used where it gives what is expected.
    """
    import jax
    import numpy

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


@functools.lru_cache(maxsize=1)
def _weakening() -> Convert:
    """Makes an array's type one that gives way, as that of a Python number; jax has it as a private function."""
    try:
        from jax._src.lax.lax import _convert_element_type
    except ImportError:
        return lambda array: array
    return functools.partial(_convert_element_type, weak_type=True)
