# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of Python that a module calls by name: the machine's, which are given arrays, or those that tvm-ffi knows,
which are given tensors of the same memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from ..bindings.ir import Type
from ..bindings.mlir import ir
from ..runtime.arrays import tensor, to_numpy
from ..support.blaming import blaming
from ..support.suggest import suggest
from .element_bits import element_of
from .sites import Site, Step


def python_function(site: Site, name: str) -> Callable[..., Any]:
    """A function of arrays and numbers."""
    if name in site.machine.functions:
        return given_function(site, name)
    import tvm_ffi

    registered = tvm_ffi.get_global_func(name, allow_missing=True)
    if registered is None:
        raise unknown(site, name)

    def call(*given: Any) -> Any:
        return registered(*[tensor(each) if isinstance(each, numpy.ndarray) else each for each in given])

    return call


def given_function(site: Site, name: str) -> Callable[..., Any]:
    """One of the machine's."""
    function = site.machine.functions.get(name)
    if function is None:
        raise unknown(site, name)

    def call(*given: Any) -> Any:
        with blaming(f'the function "{name}"', function, site.refusal):
            return function(*given)

    return call


def external_call(site: Site, name: str) -> Step:
    """A call of a function of C's, in whose place one of the machine's is: it is given numbers, and arrays for vectors
    and for memory.
    """
    function, results = given_function(site, name), results_of(site)
    return lambda frame, *operands: results(function(*map(plain_number, operands)))


def plain_number(value: Any) -> Any:
    """Python's numbers, and arrays."""
    return value.item() if isinstance(value, numpy.generic) else value


def results_of(site: Site) -> Callable[[Any], list[Any]]:
    """What a function has returned, as the operation's results."""
    types, numbers = list(site.operation.results.types), site.numbers

    def taken(value: Any, type_: Type) -> Any:
        if isinstance(type_, ir.ShapedType):
            return numbers.held(to_numpy(value), element_of(type_))
        return value if str(type_).startswith("!") else numbers.held(value, str(type_))[()]

    def results(found: Any) -> list[Any]:
        given: Sequence[Any] = [found] if len(types) == 1 else found if types else ()
        return [taken(each, type_) for each, type_ in zip(given, types, strict=True)]

    return results


def unknown(site: Site, name: str) -> Exception:
    known = suggest(name, site.machine.functions)
    return site.refusal(f'there is no function "{name}": give it, functions={{"{name}": ...}}{known}')
