# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python functions that a module calls by name.

The machine's own functions receive arrays. Functions registered with tvm-ffi receive tensors of the same memory.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy
from relax_mlir.runtime.arrays import tensor
from relax_mlir.support.blaming import blaming
from relax_mlir.support.suggest import suggest

from .sites import Site


def python_function(site: Site, name: str) -> Callable[..., object]:
    """Return the function of a name, called with arrays and numbers."""
    if name in site.machine.functions:
        return _own_function(site, name)
    import tvm_ffi

    if (registered := tvm_ffi.get_global_func(name, allow_missing=True)) is None:
        raise unknown(site, name)

    def call(*given: object) -> object:
        return registered(*[tensor(each) if isinstance(each, numpy.ndarray) else each for each in given])

    return call


def _own_function(site: Site, name: str) -> Callable[..., object]:
    """Return a function of the machine. Its exceptions name the function and the operation."""
    function = site.machine.functions[name]

    def call(*given: object) -> object:
        with blaming(f'the function "{name}"', function, site.refusal):
            return function(*given)

    return call


def unknown(site: Site, name: str) -> Exception:
    known = suggest(name, site.machine.functions)
    return site.refusal(f'there is no function "{name}": pass it by functions={{"{name}": ...}}{known}')
