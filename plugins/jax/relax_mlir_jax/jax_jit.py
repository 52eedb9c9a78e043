# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rx.jit: JAX functions, traced by JAX and compiled here. JAX arrays are passed and returned without a copy."""

from __future__ import annotations

import functools
import inspect
import os
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any

from relax_mlir.compilation.compiling import compile
from relax_mlir.runtime.function import REFUSALS
from relax_mlir.support.argument_types import types_checked
from relax_mlir.support.errors import ModelError, OptionError
from relax_mlir.targets.core.code_options import USUAL_LEVEL

from .jax_arrays import PLATFORM, device_of, device_without_cpu, giver, import_jax, passer
from .jax_callbacks import calls_python, register_lowerings
from .jax_exit import begin, end
from .jax_modules import imported, main_of

if TYPE_CHECKING:
    from jax.stages import Traced
    from relax_mlir.passes.graph.partition_stages import Wanted
    from relax_mlir.runtime import Executable

#: Static arguments by position and by name, with their types.
_Statics = tuple[tuple[Hashable, ...], tuple[tuple[str, Hashable], ...]]
_NO_STATICS: _Statics = (), ()


@types_checked
def jit(
    function: Callable[..., Any] | None = None,
    *,
    target: str = "llvm",
    partition: Wanted = (),
    opt_level: int = USUAL_LEVEL,
    tuned: str | os.PathLike[str] | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
    donate_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:
    """Compile a JAX function like jax.jit: `rx.jit(f)(x)`, or as a decorator, `@rx.jit`, `@rx.jit(opt_level=3)`.

    JAX traces the function once for each combination of shapes, element types, pytrees and static arguments; the
    program is cached for later calls. `target`, `partition`, `opt_level` and `tuned` are options of rx.compile.
    The other options are jax.jit's: static arguments are constants of the program, donated arguments are deleted by a
    call. Take gradients inside: `rx.jit(jax.grad(f))`.
    """
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    options = {"target": target, "partition": partition, "opt_level": opt_level, "tuned": tuned}

    def made(function: Callable[..., Any]) -> JaxFunction:
        if not callable(function):
            raise OptionError(f"rx.jit takes a function, got {type(function).__name__}")
        import_jax()
        register_lowerings()
        return JaxFunction(function, options, _numbers(static_argnums), names, _numbers(donate_argnums))

    return made if function is None else made(function)


def _numbers(given: int | Sequence[int]) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(given)


class JaxFunction:
    """JAX function with one program for each kind of arguments.

    `executable(*args)` returns a program, which can be saved. Its `main` takes the leaves of the arguments one by one.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        options: Mapping[str, Any],
        static_argnums: tuple[int, ...],
        static_argnames: tuple[str, ...],
        donated: tuple[int, ...],
    ) -> None:
        import jax

        functools.update_wrapper(self, function)
        self._options, self._donated = options, donated
        places, names = _places_and_names(function, static_argnums, static_argnames)
        self._static_places, self._static_names = frozenset(places), frozenset(names)
        self._has_statics = bool(places or names)
        for number in donated:
            if number in places:
                raise OptionError(f"rx.jit: argument {number} is static and donated: a static one has no memory")
        self._jitted = jax.jit(
            function, static_argnums=static_argnums or None, static_argnames=static_argnames or None, keep_unused=True
        )
        self._flatten, self._config = jax.tree_util.tree_flatten, jax.config
        self._programs: dict[Hashable, _Program] = {}
        self._compiling = threading.Lock()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        program, leaves = self._program(arguments, named)
        return program(leaves)

    def executable(self, *arguments: Any, **named: Any) -> Executable:
        """Return the program that a call with such arguments runs."""
        return self._program(arguments, named)[0].executable

    def _program(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[_Program, list[Any]]:
        statics = self._statics(arguments, named) if self._has_statics else _NO_STATICS
        own, own_named = self._dynamic(arguments, named) if self._has_statics else (arguments, named)
        leaves, tree = self._flatten((own, own_named))
        key = tree, statics, self._config.jax_enable_x64, *map(_kind, leaves)
        if (program := self._programs.get(key)) is None:
            with self._compiling:
                if (program := self._programs.get(key)) is None:
                    program = self._programs[key] = self._compile(arguments, named, leaves, own)
        return program, leaves

    def _dynamic(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        places, names = self._static_places, self._static_names
        own = tuple([argument for place, argument in enumerate(arguments) if place not in places])
        return own, {name: value for name, value in named.items() if name not in names}

    def _statics(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> _Statics:
        """Return the static arguments with their types: 1, 1.0 and True compare equal."""
        by_place = [(place, arguments[place]) for place in sorted(self._static_places) if place < len(arguments)]
        by_name = [(name, named[name]) for name in sorted(self._static_names) if name in named]
        for which, each in (*by_place, *by_name):
            try:
                hash(each)
            except TypeError:
                kind = type(each).__name__
                raise TypeError(
                    f"rx.jit: static argument {which!r} of {self._name} is a {kind}, which cannot be hashed: "
                    "pass a tuple or another immutable value"
                ) from None
        return tuple((place, type(each), each) for place, each in by_place), tuple(
            (name, (type(each), each)) for name, each in by_name
        )

    def _compile(
        self, arguments: tuple[Any, ...], named: dict[str, Any], leaves: Sequence[Any], own: tuple[Any, ...]
    ) -> _Program:
        import jax

        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            raise ModelError(
                f"rx.jit: {self._name} is called while jax traces another function (jax.jit, grad, vmap, scan ...), "
                f"which it cannot become a part of: call the function itself there (`{self._name}.__wrapped__`), "
                "and give the whole to rx.jit: rx.jit(jax.grad(f))"
            )
        traced = self._jitted.trace(*arguments, **named)
        return _Program(traced, leaves, self._donated_leaves(own), self._options)

    @property
    def _name(self) -> str:
        return getattr(self, "__name__", "the function")

    def _donated_leaves(self, own: tuple[Any, ...]) -> list[int]:
        """Return the indices of the leaves of donated arguments."""
        from jax.tree_util import tree_leaves

        places = [place for place in range(len(own) + len(self._static_places)) if place not in self._static_places]
        donated_leaves: list[int] = []
        start = 0
        for place, each in zip(places, own, strict=False):
            count = len(tree_leaves(each))
            if place in self._donated:
                donated_leaves.extend(range(start, start + count))
            start += count
        return donated_leaves

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Bind the function to an instance when it is used as a method."""
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<rx.jit of {self._name}>"


def _kind(leaf: Any) -> Hashable:
    """Return a leaf's part of the program key: type and platform, not the elements."""
    try:
        return type(leaf), leaf.shape, leaf.dtype, leaf.weak_type, leaf.platform()
    except AttributeError:  # a NumPy array, a number, or a random key
        where = device_of(leaf) if hasattr(leaf, "devices") else None
        return type(leaf), getattr(leaf, "shape", None), getattr(leaf, "dtype", None), where


def _places_and_names(
    function: Callable[..., Any], places: tuple[int, ...], names: tuple[str, ...]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return static arguments by position and by name, since callers may use either.

    As in JAX, one list implies the other.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a C function without a signature
        return places, names
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    by_place = [parameter.name for parameter in parameters if parameter.kind in kinds]
    for name in names:
        if name not in by_place and not any(parameter.name == name for parameter in parameters):
            raise OptionError(f"rx.jit: no argument '{name}', which static_argnames names")
    if not (places := tuple(place + len(by_place) if place < 0 else place for place in places)):
        return tuple(by_place.index(name) for name in names if name in by_place), names
    if not names:
        return places, tuple(by_place[place] for place in places if place < len(by_place))
    return places, names


class _Program:
    """Program for one kind of arguments, called with all leaves."""

    def __init__(
        self, traced: Traced, leaves: Sequence[Any], donated: Sequence[int], options: Mapping[str, Any]
    ) -> None:
        import numpy
        from jax.tree_util import tree_leaves

        # Lower for CPUs with any target: JAX's lowerings for other devices call libraries of their vendors.
        lowered = traced.lower(lowering_platforms=(PLATFORM,))
        program = lowered.compiler_ir("stablehlo")
        #: Keeps the Python functions that the program calls alive.
        self._kept = lowered if calls_python(program) else None
        self.executable = compile(imported(program), **options)
        self._main = self.executable["main"]
        self._packed = self._main.packed
        self._passers = [passer(*each) for each in zip(leaves, tree_leaves(lowered.in_avals), strict=True)]
        # Tokens of ordered effects precede the other arguments and results, as arrays without elements.
        tokens = len(main_of(program).attributes["function_type"].value.inputs) - len(self._passers)
        self._tokens = [numpy.zeros(0, bool)] * tokens
        self._passes_all = not any(self._passers) and not tokens
        device = next(filter(None, map(device_of, leaves)), None) or device_without_cpu()
        self._givers = [giver(aval, device) for aval in traced.jaxpr.out_avals]
        self._donated = donated
        self._unflatten = lowered.out_tree.unflatten

    def __call__(self, leaves: Sequence[Any]) -> Any:
        given = leaves if self._passes_all else self._convert(leaves)
        begin()
        try:
            found = self._packed(*given)
        except REFUSALS as refusal:
            found = self._main.call_again(given, refusal)
        finally:
            end()
        if len(self._givers) == 1 and not self._tokens:
            results = [self._givers[0](found)]
        elif self._givers:
            # Slice the result: tvm-ffi's arrays count their elements again on each indexed access.
            results = [give(each) for give, each in zip(self._givers, found[len(self._tokens) :], strict=True)]
        else:
            results = []
        for place in self._donated:
            if hasattr(leaves[place], "delete"):
                leaves[place].delete()
        return self._unflatten(results)

    def _convert(self, leaves: Sequence[Any]) -> list[Any]:
        made = [leaf if make is None else make(leaf) for make, leaf in zip(self._passers, leaves, strict=True)]
        return [*self._tokens, *made]
