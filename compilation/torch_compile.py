# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler behind torch.compile: `torch.compile(model, backend="relax_mlir", options={"target": "llvm"})`.

Dynamo gives a graph of the user's calls, AOTAutograd makes graphs of ATen's operators of it, forward and backward, and
each is a program here. A graph becomes a program when it is called for the first time: then its parameters are there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter, is_, itemgetter
from typing import TYPE_CHECKING, Any

from ..frontends.core.problems import Problems
from ..frontends.module import Module
from ..frontends.torch.exported_program import aot_table, import_torch
from ..frontends.torch.from_torch import WORDS
from ..frontends.torch.model_constants import constant
from ..frontends.torch.program_main import Inputs, add_graph, no_token, passed_as
from ..frontends.torch.steps_back import leave_out_unread, tell_results
from ..runtime import Executable
from ..support.collector import uncollected
from ..support.errors import OptionError
from ..support.suggest import suggest
from .compiling import compile

if TYPE_CHECKING:
    from torch.fx import GraphModule
    from torch.fx import Node as FxNode

# Of rx.compile: what belongs to one module cannot be said for graphs that Dynamo makes.
_NOT_OPTIONS = {"module", "functions", "bind", "donate", "journal", "instruments"}
#: Whether parameters are constants of programs for inference, which are made anew where they change.
_FREEZE = "freeze"
# A model whose parameters have changed so often between calls is one that has them as arguments.
_MOST_CHANGES = 2


def torch_backend(
    graph: GraphModule, example_inputs: Sequence[object], *, options: Mapping[str, Any] | None = None
) -> Callable[..., object]:
    """A backend of torch.compile, which finds it by its name, "relax_mlir". `options` are those of rx.compile: target,
    partition, precision, opt_level, jobs, cache, ...; and `freeze` (True): parameters of a model that is called without
    gradients are constants of the program, which is compiled again where they change.
    """
    import_torch()
    from torch._dynamo.backends.common import aot_autograd

    found = dict(options or {})
    freezes = bool(found.pop(_FREEZE, True))
    _check(found)
    wrap = aot_autograd(
        fw_compiler=lambda inner, _: TorchProgram(inner, found, freezes=False),
        bw_compiler=lambda inner, _: TorchProgram(inner, found, freezes=False),
        inference_compiler=lambda inner, _: TorchProgram(inner, found, freezes=freezes),
        decompositions=aot_table(),
        partition_fn=_partitioned,
    )
    return wrap(graph, example_inputs)


def _partitioned(joint: GraphModule, *arguments: Any, **settings: Any) -> tuple[GraphModule, GraphModule]:
    """The forward and the backward graph of one; what no backward step reads is not computed for it."""
    from functorch.compile import min_cut_rematerialization_partition

    leave_out_unread(joint)
    forward, backward = min_cut_rematerialization_partition(joint, *arguments, **settings)
    tell_results(forward)
    tell_results(backward)
    return forward, backward


def _check(options: Mapping[str, object]) -> None:
    known = [name for name in inspect.signature(compile).parameters if name not in _NOT_OPTIONS]
    for name in options:
        if name not in known:
            listed = ", ".join((*known, _FREEZE))
            raise OptionError(
                f"torch.compile(backend='relax_mlir'): no option '{name}'{suggest(name, known)}; there are {listed}"
            )


class TorchProgram:
    """A graph of ATen's operators as a program, compiled when it is called for the first time.

    It is called with a list, as AOTAutograd calls what says that it is boxed.
    """

    def __init__(self, graph: GraphModule, options: Mapping[str, Any], *, freezes: bool) -> None:
        # Of the object: torch wraps it in a function that has what the object's dictionary has.
        self._boxed_call = True
        self._graph, self._options, self._freezes = graph, options, freezes
        self._changes = 0
        self._placeholders = list(graph.graph.find_nodes(op="placeholder"))
        self._call: Callable[[Sequence[Any]], list[Any]] | None = None
        #: Parameters that are constants, how they are taken from the arguments, and how often they had been changed.
        self._frozen: tuple[Any, ...] = ()
        self._take: Callable[[Sequence[Any]], tuple[Any, ...]] = tuple
        self._versions = 0

    def __call__(self, arguments: list[Any]) -> list[Any]:
        given = list(arguments)
        arguments.clear()  # so that what nobody else holds is free while the program runs
        if self._call is None or self._has_changed(given):
            self._call = self._compiled(given)
        return self._call(given)

    def _has_changed(self, given: Sequence[Any]) -> bool:
        if not self._frozen:
            return False
        # Versions only grow: as long as the parameters are the same ones, their sum tells whether one has.
        if all(map(is_, self._take(given), self._frozen)) and sum(map(_VERSION, self._frozen)) == self._versions:
            return False
        self._changes += 1
        self._freezes = self._changes < _MOST_CHANGES
        return True

    def _compiled(self, given: Sequence[Any]) -> Callable[[Sequence[Any]], list[Any]]:
        places = [index for index, each in enumerate(given) if self._freezes and _is_static(each)]
        self._frozen = tuple(given[place] for place in places)
        self._versions = sum(map(_VERSION, self._frozen))
        if places:
            self._take = _taking(places)
        # From a device they are copied: the program brings its constants there by itself.
        fixed = {
            self._placeholders[place]: constant(given[place].cpu(), self._placeholders[place].name) for place in places
        }
        # Tokens, which say the order of effects and are None in calls.
        fixed |= {fx: no_token() for fx, each in zip(self._placeholders, given, strict=True) if each is None}
        return _Calls(self._graph, self._placeholders, fixed, self._options).call


_VERSION = attrgetter("_version")


def _taking(places: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Takes what is at some places."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda given: tuple(given[place] for place in places)


def _is_static(argument: object) -> bool:
    """Whether it is a parameter or a buffer of a module."""
    return hasattr(argument, "_dynamo_static_input_type")


def _of_torch(found: Any) -> tuple[Any, ...]:
    """Results of a program that takes no tensor, whose framework would be that of its results."""
    import torch

    return tuple(torch.from_dlpack(each) for each in (found if isinstance(found, (tuple, list)) else (found,)))


class _Calls:
    """How a graph's outputs come from its arguments: some are arguments, some None, the others a program's results."""

    def __init__(
        self,
        graph: GraphModule,
        placeholders: Sequence[FxNode],
        fixed: Mapping[FxNode, Any],
        options: Mapping[str, Any],
    ) -> None:
        places = {fx: place for place, fx in enumerate(placeholders)}
        (outputs,) = graph.graph.output_node().args
        #: For each output the place of an argument, of a result behind all arguments, or None.
        self._sources: list[int | None] = []
        self._numbers: list[int] = []
        computed: list[int] = []
        for index, each in enumerate(outputs):
            if each in places:
                self._sources.append(places[each])
            elif each is None:
                self._sources.append(None)
            else:
                if not hasattr(getattr(each, "meta", {}).get("val"), "shape"):
                    self._numbers.append(index)
                self._sources.append(len(places) + len(computed))
                computed.append(index)
        #: Whether what it gives is the results, as they are.
        self._gives_all = len(computed) == len(self._sources) and not self._numbers
        self._take: Callable[[Sequence[Any]], tuple[Any, ...]] = tuple
        self._scalars: set[int] = set()
        self._executable: Executable | None = None
        if computed:
            self._build(graph, placeholders, places, fixed, computed, options)

    def _build(
        self,
        graph: GraphModule,
        placeholders: Sequence[FxNode],
        places: Mapping[FxNode, int],
        fixed: Mapping[FxNode, Any],
        computed: Sequence[int],
        options: Mapping[str, Any],
    ) -> None:
        def results(outputs: Sequence[Any]) -> list[Any]:
            return [(outputs[index], f"result{index}") for index in computed]

        with uncollected():
            module, problems = Module(), Problems(WORDS)
            inputs = Inputs(fixed, [passed_as(fx, fx.name) for fx in placeholders if fx not in fixed])
            passed = add_graph(module.operation, graph, inputs, results, problems)
            problems.check()
            module.verify()
            self._executable = compile(module, **options)
        self._take = _taking([places[each.fx] for each in passed])
        self._scalars = {places[each.fx] for each in passed if each.symbol is not None}
        main = self._executable["main"]
        self._main = main if passed else lambda: _of_torch(main())

    def call(self, given: Sequence[Any]) -> list[Any]:
        if self._executable is None:
            return [None if each is None else given[each] for each in self._sources]
        if self._scalars:
            import torch

            given = [torch.tensor(each) if place in self._scalars else each for place, each in enumerate(given)]
        found = self._main(*self._take(given))
        results = found if isinstance(found, tuple) else (found,)
        if self._gives_all:
            return list(results)
        everything = [*given, *results]
        outputs = [None if each is None else everything[each] for each in self._sources]
        for index in self._numbers:
            outputs[index] = outputs[index].item()  # type: ignore[union-attr]
        return outputs
