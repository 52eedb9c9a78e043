# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler behind torch.compile: `torch.compile(model, backend="relax_mlir", options={"target": "llvm"})`.

Dynamo gives a graph of the user's calls, AOTAutograd makes graphs of ATen's operators of it, forward and backward, and
each is a program here. A graph becomes a program when it is called for the first time: then its parameters are there.
"""

from __future__ import annotations

import inspect
import threading
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
        self._compiling = threading.Lock()
        #: Replaced as a whole: other threads call meanwhile.
        self._calls: _Calls | None = None

    def __call__(self, arguments: list[Any]) -> list[Any]:
        calls = self._calls
        if calls is None or (calls.frozen and calls.frozen.has_changed(arguments)):
            calls = self._compiled(arguments)
        return calls.call(arguments)

    def _compiled(self, given: Sequence[Any]) -> _Calls:
        with self._compiling:
            if self._calls is not None:
                if self._calls.frozen is None or not self._calls.frozen.has_changed(given):
                    return self._calls  # of another thread
                self._changes += 1
            freezes = self._freezes and self._changes < _MOST_CHANGES
            places = [place for place, each in enumerate(given) if freezes and _is_constant(each)]
            # From a device they are copied: the program brings its constants there by itself.
            fixed = {
                self._placeholders[place]: constant(given[place].cpu(), self._placeholders[place].name)
                for place in places
            }
            # Tokens, which say the order of effects and are None in calls.
            fixed |= {fx: no_token() for fx, each in zip(self._placeholders, given, strict=True) if each is None}
            frozen = _Frozen(given, places) if places else None
            self._calls = _Calls(self._graph, self._placeholders, fixed, frozen, self._options)
            return self._calls


class _Frozen:
    """Parameters that are constants of a program: whether a call's are these still, and as they were.

    In-place operations count a tensor's version up, and `tensor.data = other` gives it other memory. What is written to
    that past torch's count, through `tensor.data` or an array of numpy, is not seen, as autograd does not see it.
    """

    def __init__(self, given: Sequence[Any], places: Sequence[int]) -> None:
        from torch import Tensor

        self._take, self._address = _taking(places), Tensor.data_ptr
        self._tensors = self._take(given)
        #: Versions only grow: of the same tensors, their sum tells whether one has.
        self._versions = sum(map(_VERSION, self._tensors))
        self._addresses = list(map(self._address, self._tensors))
        #: Their memory, held so that no other tensor gets its address.
        self._memory = [each.detach() for each in self._tensors]

    def has_changed(self, given: Sequence[Any]) -> bool:
        tensors = self._tensors
        return not (
            all(map(is_, self._take(given), tensors))
            and list(map(self._address, tensors)) == self._addresses
            # The last: a tensor that has memory made for inference now has no version.
            and sum(map(_VERSION, tensors)) == self._versions
        )


_VERSION = attrgetter("_version")


def _taking(places: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Takes what is at some places of a list."""
    if len(places) > 1:
        return itemgetter(*places)
    first = places[0] if places else 0
    return itemgetter(slice(first, first + len(places)))


def _is_constant(argument: Any) -> bool:
    """Whether it is a parameter or a buffer of a module, of which torch counts the changes: not one for inference."""
    return hasattr(argument, "_dynamo_static_input_type") and not argument.is_inference()


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
        frozen: _Frozen | None,
        options: Mapping[str, Any],
    ) -> None:
        self.frozen = frozen
        places = {fx: place for place, fx in enumerate(placeholders)}
        (outputs,) = graph.graph.output_node().args
        #: The place of each output among: None, the arguments, the program's results.
        sources: list[int] = []
        self._numbers: list[int] = []
        computed: list[int] = []
        for index, each in enumerate(outputs):
            if each in places:
                sources.append(1 + places[each])
            elif each is None:
                sources.append(0)
            else:
                if not hasattr(getattr(each, "meta", {}).get("val"), "shape"):
                    self._numbers.append(index)
                sources.append(1 + len(places) + len(computed))
                computed.append(index)
        self._give = _taking(sources)
        #: Whether what it gives is the results, as they are.
        self._gives_all = len(computed) == len(sources) and not self._numbers
        self._scalars: list[int] = []
        self._main: Callable[..., Any] | None = None
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
            executable = compile(module, **options)
        self._take = _taking([places[each.fx] for each in passed])
        #: The places among what is passed of numbers, which are passed as 0-D tensors.
        self._scalars = [place for place, each in enumerate(passed) if each.symbol is not None]
        main = executable["main"]
        self._main = main if passed else lambda: _of_torch(main())

    def call(self, given: Sequence[Any]) -> list[Any]:
        if self._main is None:
            return list(self._give([None, *given]))
        passed = self._take(given)
        if self._scalars:
            passed = self._with_tensors(passed)
        found = self._main(*passed)
        results = found if isinstance(found, tuple) else (found,)
        if self._gives_all:
            return list(results)
        outputs = list(self._give([None, *given, *results]))
        for index in self._numbers:
            outputs[index] = outputs[index].item()
        return outputs

    def _with_tensors(self, passed: Sequence[Any]) -> list[Any]:
        import torch

        found = list(passed)
        for place in self._scalars:
            found[place] = torch.tensor(found[place])
        return found
