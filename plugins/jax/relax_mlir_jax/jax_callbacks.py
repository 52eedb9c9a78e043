# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX lowering rules for the platform relax: the CPU's rules, with Python callbacks as calls of packed functions."""

from __future__ import annotations

import functools
import itertools
import weakref
from collections import ChainMap
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.runtime.arrays import tensor, to_numpy
from relax_mlir.runtime.complex_arrays import in_pairs, of_pairs
from relax_mlir.support.errors import ModelError

from .jax_arrays import PARTS, PLATFORM, TESTED
from .stablehlo.operators.python_calls import CALL_BACK, GIVEN, TARGET


class Callback:
    """Python function that programs call by number. JAX keeps the object as long as the program."""

    def __init__(self, function: Callable[..., Sequence[Any]], given: Sequence[Any], results: Sequence[Any]) -> None:
        self._function, self._given, self._results = function, given, results

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        import numpy
        from jax.dtypes import canonicalize_dtype

        both = zip(arguments, self._given, strict=True)
        given = [of_pairs(each) if aval.dtype.name in PARTS else each for each, aval in both]
        try:
            found = self._function(*given)
        except Exception as error:  # the exception's own type cannot pass through a program
            raise RuntimeError(f"a callback of jax raised {type(error).__name__}: {error}") from error
        if len(found) != len(self._results):
            raise RuntimeError(f"a callback of jax gave {len(found)} results, {len(self._results)} were expected")
        made = []
        for place, (each, aval) in enumerate(zip(found, self._results, strict=True)):
            array = numpy.asarray(each)
            array = numpy.array(array, canonicalize_dtype(array.dtype), order="C")
            if (array.shape, array.dtype) != (aval.shape, aval.dtype):
                raise RuntimeError(
                    f"a callback of jax gave {array.dtype}{[*array.shape]} as result #{place}, "
                    f"{aval.dtype}{[*aval.shape]} was expected"
                )
            part = PARTS.get(aval.dtype.name)
            pairs: Any = array if part is None else in_pairs(array, part, "a callback of jax")
            made.append(tensor(pairs))
        return made


_callbacks: weakref.WeakValueDictionary[int, Callback] = weakref.WeakValueDictionary()
_numbers = itertools.count()


def _given(*arguments: Any) -> list[Any]:
    """Return copies of the arguments, because a program's memory is released after a call."""
    import numpy

    return [tensor(numpy.array(to_numpy(argument))) for argument in arguments]


def _call_back(number: int, arguments: Sequence[Any]) -> list[Any]:
    if (callback := _callbacks.get(int(number))) is None:
        raise RuntimeError("the program calls a function of Python that lives in the process which compiled it only")
    return callback([to_numpy(argument) for argument in arguments])


@functools.lru_cache(maxsize=1)
def register_lowerings() -> None:
    """Register the lowering rules for PLATFORM. Raise ModelError if JAX's private functions are not as expected."""
    import jax

    try:
        from jax._src import callback, debugging
        from jax._src.interpreters import mlir

        known: Any = mlir._platform_specific_lowerings
        implementations = {
            callback.pure_callback_p: (callback.pure_callback_impl, False),
            callback.io_callback_p: (callback.io_callback_impl, True),
            debugging.debug_callback_p: (debugging.debug_callback_impl, True),
            debugging.debug_print_p: (debugging.debug_print_impl, True),
        }
        rules = {key: mlir.LoweringRuleEntry(_rule(*how), True) for key, how in implementations.items()}
        known[PLATFORM] = ChainMap(rules, known["cpu"])
    except (AttributeError, ImportError, TypeError):
        raise ModelError(f"jax {jax.__version__} is not known: {TESTED} was tested") from None
    from relax_mlir.runtime.ffi import tvm_ffi

    tvm_ffi.register_global_func(GIVEN, _given, override=True)
    tvm_ffi.register_global_func(CALL_BACK, _call_back, override=True)


def _rule(implementation: Callable[..., Any], has_effect: bool) -> Callable[..., Any]:
    """Return a lowering rule that calls JAX's implementation of a primitive. The program keeps the order of effects."""
    import jax

    def lower(context: Any, *operands: Any, **parameters: Any) -> Any:
        made = Callback(functools.partial(implementation, **parameters), context.avals_in, context.avals_out)
        number = next(_numbers)
        _callbacks[number] = made
        context.module_context.add_keepalive(made)
        if context.tokens_in:
            context.set_tokens_out(context.tokens_in)
        return jax.ffi.ffi_lowering(TARGET, has_side_effect=has_effect)(context, *operands, number=number)

    return lower


def calls_python(program: Any) -> bool:
    """Check whether a JAX module contains Python callbacks."""
    from jaxlib.mlir import ir

    found: list[object] = []

    def visit(operation: Any) -> Any:
        if operation.name != "stablehlo.custom_call" or operation.attributes["call_target_name"].value != TARGET:
            return ir.WalkResult.ADVANCE
        found.append(operation)
        return ir.WalkResult.INTERRUPT

    program.operation.walk(visit)
    return bool(found)
