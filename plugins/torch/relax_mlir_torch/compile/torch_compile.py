# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Backend of torch.compile: `torch.compile(model, backend="relax_mlir", options={"target": "llvm"})`.

Dynamo records a graph of the user's calls. AOTAutograd turns it into forward and backward graphs of ATen operators,
and each graph is compiled to a program. Compilation happens at the first call, when the parameters are available.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, NamedTuple

from relax_mlir.compilation.compiling import compile
from relax_mlir.frontends.core.problems import Problems
from relax_mlir.frontends.module import Module
from relax_mlir.support.collector import uncollected
from relax_mlir.support.errors import OptionError, RelaxError
from relax_mlir.support.suggest import suggest

from ..decomposition import aot_table
from ..draws import draws_in, save_drawn
from ..exported_program import import_torch
from ..from_torch import WORDS
from ..model_constants import constant
from ..program_main import Inputs, add_graph, no_token, passed_as
from ..steps_back import leave_out_unread, tell_results
from .torch_fallback import PartlyEager, refused_by
from .torch_results import TorchResults, permute_arguments, taking

if TYPE_CHECKING:
    from torch.fx import GraphModule
    from torch.fx import Node as FxNode

# Options of rx.compile that refer to one module, and make no sense for graphs made by Dynamo.
_NOT_OPTIONS = {"module", "functions", "bind", "donate", "journal", "instruments"}
#: Option: parameters are constants of inference programs, which are compiled again after a change.
_FREEZE = "freeze"
#: Option: treatment of nodes that cannot be compiled.
_FALLBACK = "fallback"
#: Options of rx.compile for torch's modes. Every mode uses tuned kernels, and graphs where they are estimated to pay.
_MODES: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "reduce-overhead": {},
    "max-autotune": {"opt_level": 3},
    "max-autotune-no-cudagraphs": {"graphs": False, "opt_level": 3},
}
# Number of parameter changes between calls after which parameters become arguments.
_MOST_CHANGES = 2


def torch_backend(
    graph: GraphModule,
    example_inputs: Sequence[object],
    *,
    mode: str = "default",
    options: Mapping[str, Any] | None = None,
) -> Callable[..., object]:
    """Compile a graph for torch.compile, which finds this function by the name "relax_mlir".

    `options` are options of rx.compile (target, partition, precision, opt_level, tuned, cache, ...) and two others.

    - `freeze` (True): parameters of a model called without gradients are constants of the program, which is compiled
      again after a change.
    - `fallback` ("eager"): nodes that cannot be compiled run in eager mode with a warning that names them. "error"
      makes such nodes an error.

    `mode` is one of torch's modes. Those with "max-autotune" compile at -O3.
    """
    import_torch()
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch import config

    if getattr(config, "bundled_autograd_cache", False):  # as set by aot_compile, which stores Inductor's code
        raise OptionError(
            "torch.compile(backend='relax_mlir') has no aot_compile",
            notes=[
                "export the model, and save the program: rx.compile(rx.from_torch(torch.export.export(...))).save(path)"
            ],
        )
    if mode not in _MODES:
        known = f"there are {', '.join(_MODES)}"
        raise OptionError(f"torch.compile(backend='relax_mlir'): no mode '{mode}'{suggest(mode, _MODES)}; {known}")
    found = {**_MODES[mode], **(options or {})}
    freezes = bool(found.pop(_FREEZE, True))
    falls_back = _fallback(found.pop(_FALLBACK, "eager"))
    _check(found)

    def program(graph: GraphModule, _: object, freezes: bool = False) -> TorchProgram:
        return TorchProgram(graph, found, freezes=freezes, falls_back=falls_back)

    wrap = aot_autograd(
        fw_compiler=program,
        bw_compiler=program,
        inference_compiler=partial(program, freezes=freezes),
        decompositions=aot_table(),
        partition_fn=_partition_joint,
    )
    return wrap(graph, example_inputs)


def _partition_joint(joint: GraphModule, *arguments: Any, **settings: Any) -> tuple[GraphModule, GraphModule]:
    """Split a joint graph into forward and backward graphs, without values that no backward step reads."""
    from functorch.compile import min_cut_rematerialization_partition

    leave_out_unread(joint)
    save_drawn(joint)
    forward, backward = min_cut_rematerialization_partition(joint, *arguments, **settings)
    tell_results(forward)
    tell_results(backward)
    return forward, backward


def _fallback(given: object) -> bool:
    """Return True if nodes that cannot be compiled run in eager mode. Raise OptionError for an invalid option."""
    if given not in ("eager", "error"):
        raise OptionError(f"torch.compile(backend='relax_mlir'): fallback is 'eager' or 'error', got {given!r}")
    return given == "eager"


def _check(options: Mapping[str, object]) -> None:
    taken = [name for name in inspect.signature(compile).parameters if name not in _NOT_OPTIONS]
    known = [*taken, _FREEZE, _FALLBACK]
    for name in options:
        if name not in taken:
            listed = ", ".join(known)
            raise OptionError(
                f"torch.compile(backend='relax_mlir'): no option '{name}'{suggest(name, known)}; there are {listed}"
            )


class _Importable(NamedTuple):
    """Graph that returns the results of a program, and the recipe for the original outputs."""

    graph: GraphModule
    #: Arguments of the graph, without the random key.
    placeholders: Sequence[FxNode]
    results: TorchResults
    #: Orders of the dimensions of arguments that the graph takes permuted or copied, by position.
    orders: Mapping[int, Sequence[int]]
    #: Key of the call's random numbers, if the graph may draw random numbers.
    key: FxNode | None


class TorchProgram:
    """Program of a graph of ATen operators, compiled at the first call.

    AOTAutograd calls the program with a single list, because the program declares itself boxed.
    """

    def __init__(self, graph: GraphModule, options: Mapping[str, Any], *, freezes: bool, falls_back: bool) -> None:
        # An instance attribute: torch wraps the object in a function that copies the instance dictionary.
        self._boxed_call = True
        self._source, self._options, self._freezes, self._falls_back = graph, options, freezes, falls_back
        self._changes = 0
        self._importable = _importable(graph)
        self._compiling = threading.Lock()
        #: Replaced as a whole: other threads may be calling the program.
        self._calls: _Calls | PartlyEager | None = None

    def __call__(self, arguments: list[Any]) -> list[Any]:
        calls = self._calls
        if calls is None or (calls.frozen and calls.frozen.has_changed(arguments)):
            calls = self._compiled(arguments)
        return calls.call(arguments)

    def _compiled(self, given: Sequence[Any]) -> _Calls | PartlyEager:
        with self._compiling:
            if self._calls is not None:
                if self._calls.frozen is None or not self._calls.frozen.has_changed(given):
                    return self._calls  # compiled by another thread
                self._changes += 1
            freezes = self._freezes and self._changes < _MOST_CHANGES
            places = [place for place, each in enumerate(given) if freezes and _is_constant(each)]
            # Copy constants from the device to the CPU: the program uploads its constants itself.
            names = self._importable.placeholders
            orders, fixed = self._importable.orders, {}
            for place in places:
                tensor = given[place].cpu()
                tensor = tensor.permute(orders[place]) if place in orders else tensor
                fixed[names[place]] = constant(tensor, names[place].name)
            # Tokens, which order effects, are None in calls.
            fixed |= {fx: no_token() for fx, each in zip(names, given, strict=True) if each is None}
            # Sizes of jagged dimensions have no value. A node that reads such a size is refused with this text.
            fixed |= {fx: "a jagged size" for fx, each in zip(names, given, strict=True) if _is_jagged(each)}
            frozen = _Frozen(given, places) if places else None
            self._calls = self._calls_with(fixed, frozen)
            return self._calls

    def _calls_with(self, fixed: Mapping[FxNode, Any], frozen: _Frozen | None) -> _Calls | PartlyEager:
        """Compile the graph. With the fallback "eager", refused nodes run in eager mode."""
        refused: set[str] = set()
        try:
            return _Calls(self._importable, fixed, frozen, self._options, refused)
        except OptionError:
            raise
        except RelaxError as error:
            if not self._falls_back:
                raise
            # The importable graph has additional nodes that order results; none of them is in the source graph.
            names = refused & {fx.name for fx in self._source.graph.nodes} or refused_by(error, self._source)
            return PartlyEager(self._source, names, error, self._part)

    def _part(self, graph: GraphModule) -> TorchProgram:
        return TorchProgram(graph, self._options, freezes=self._freezes, falls_back=True)


class _Frozen:
    """Parameters that are constants of a program, with a check for changes.

    In-place operations increment a tensor's version, and `tensor.data = other` changes its memory. Writes that bypass
    torch's version counter, through `tensor.data` or a NumPy array, are not detected, as in autograd.
    """

    def __init__(self, given: Sequence[Any], places: Sequence[int]) -> None:
        from torch import Tensor

        self._take, self._address = taking(places), Tensor.data_ptr
        self._tensors = self._take(given)
        #: Versions only grow, so the sum for equal tensors changes if any version does.
        self._versions = sum(map(_VERSION, self._tensors))
        self._addresses = list(map(self._address, self._tensors))
        #: References to the memory, so that no other tensor gets the address.
        self._memory = [tensor.detach() for tensor in self._tensors]

    def has_changed(self, given: Sequence[Any]) -> bool:
        tensors = self._tensors
        return not (
            all(map(is_, self._take(given), tensors))
            and list(map(self._address, tensors)) == self._addresses
            # Checked last: a tensor that now has inference-mode memory has no version.
            and sum(map(_VERSION, tensors)) == self._versions
        )


_VERSION = attrgetter("_version")


def _is_constant(argument: Any) -> bool:
    """Check whether an argument is a module's parameter or buffer with a version counter: not an inference tensor."""
    return hasattr(argument, "_dynamo_static_input_type") and not argument.is_inference()


def _is_jagged(argument: Any) -> bool:
    """Check whether an argument is the size of a nested tensor's jagged dimension. All other sizes are numbers."""
    return hasattr(argument, "node") and argument.node.is_nested_int()


def _convert_to_torch(found: Any) -> tuple[Any, ...]:
    """Convert results to torch tensors for a program without tensor arguments. Its results have no framework."""
    import torch

    return tuple(torch.from_dlpack(each) for each in (found if isinstance(found, (tuple, list)) else (found,)))


class _Calls:
    """Compiled program of a graph, with the mapping from the graph's arguments to the program's."""

    def __init__(
        self,
        importable: _Importable,
        fixed: Mapping[FxNode, Any],
        frozen: _Frozen | None,
        options: Mapping[str, Any],
        refused: set[str],
    ) -> None:
        """Compile the graph. `refused` receives the names of nodes that cannot be imported."""
        self.frozen = frozen
        results = importable.results
        self._outputs = None if results.are_outputs else results.outputs
        self._scalars: list[int] = []
        #: Function that creates the key of a call's random numbers.
        self._key: Callable[[], Any] | None = None
        self._main: Callable[..., Any] | None = None
        if results.count or _has_effects(importable.graph):
            self._build(importable, fixed, options, refused)

    def _build(
        self, importable: _Importable, fixed: Mapping[FxNode, Any], options: Mapping[str, Any], refused: set[str]
    ) -> None:
        graph, placeholders, _, orders, key = importable
        given = [*placeholders, *([] if key is None else [key])]
        with uncollected():
            module, problems = Module(), Problems(WORDS)
            inputs = Inputs(fixed, [passed_as(fx, fx.name) for fx in given if fx not in fixed], key)
            passed, draws, unknown = add_graph(module.operation, graph, inputs, _named, problems)
            refused.update(fx.name for fx in unknown)
            problems.check()
            module.verify()
            executable = compile(module, **options)
        places = {fx: place for place, fx in enumerate(given)}
        self._take = taking([places[each.fx] for each in passed])
        #: Orders of the dimensions of passed arguments that are permuted or copied, by position.
        self._orders = [
            (place, orders[places[each.fx]]) for place, each in enumerate(passed) if places[each.fx] in orders
        ]
        if key is not None:
            self._key = _key_source(key.meta["val"].device, is_drawn=draws > 0)
        #: Positions of numbers in the passed arguments, which are passed as 0-D tensors.
        self._scalars = [place for place, each in enumerate(passed) if each.symbol is not None]
        main = executable["main"]
        main.warns_of_gradients = False  # AOTAutograd computes gradients by another program
        self._main = main if passed else lambda: _convert_to_torch(main())

    def call(self, given: Sequence[Any]) -> list[Any]:
        """Return the outputs of the graph for its arguments."""
        if self._main is None:
            return [] if self._outputs is None else self._outputs(given, ())
        passed = self._take(given if self._key is None else [*given, self._key()])
        if self._scalars or self._orders:
            passed = self._converted(passed)
        try:
            returned = self._main(*passed)
        except ValueError as error:
            # torch guards the sizes of arguments. A data-dependent size fails torch._check, as in eager mode.
            raise RuntimeError(str(error)) from error
        results = returned if isinstance(returned, tuple) else (returned,)
        return list(results) if self._outputs is None else self._outputs(given, results)

    def _converted(self, passed: Sequence[Any]) -> list[Any]:
        """Return the arguments with their dimensions in memory order, and numbers as tensors."""
        import torch

        found = list(passed)
        for place, order in self._orders:
            found[place] = found[place].permute(order).contiguous()
        for place in self._scalars:
            found[place] = torch.tensor(found[place])
        return found


def _importable(source: GraphModule) -> _Importable:
    """Return a copy of a graph. Its outputs are the results of a program."""
    from torch import fx

    copy = fx.Graph()
    copy.output(copy.graph_copy(source.graph, {}))
    graph = fx.GraphModule(source, copy)
    placeholders = list(copy.find_nodes(op="placeholder"))
    return _Importable(graph, placeholders, TorchResults(graph), permute_arguments(graph), _key_argument(graph))


def _has_effects(graph: GraphModule) -> bool:
    """Check whether a graph must run even without outputs, for example for an assertion."""
    return any(fx.op == "call_function" and fx.is_impure() for fx in graph.graph.nodes)


def _key_argument(graph: GraphModule) -> FxNode | None:
    """Add the random key to the arguments of a graph that may draw random numbers."""
    import torch

    if not draws_in(graph):
        return None
    first = next(fx for fx in graph.graph.nodes if fx.op != "placeholder")
    with graph.graph.inserting_before(first):
        placeholder = graph.graph.placeholder("random_key")
    placeholder.meta["val"] = torch.zeros((), dtype=torch.int64, device=_device_of(graph))
    return placeholder


def _device_of(graph: GraphModule) -> Any:
    """Return the device of a graph's tensors. Numbers may be on the CPU."""
    devices = [fx.meta["val"].device for fx in graph.graph.nodes if hasattr(fx.meta.get("val"), "device")]
    return next((device for device in devices if device.type != "cpu"), "cpu")


def _key_source(device: Any, *, is_drawn: bool) -> Callable[[], Any]:
    """Return a function that draws a key from torch's generator of a device, or returns 0 if no numbers are drawn."""
    import torch

    make = partial(torch.empty if is_drawn else torch.zeros, (), dtype=torch.int64, device=device)
    return (lambda: make().random_()) if is_drawn else make


def _named(outputs: Sequence[Any]) -> list[tuple[Any, str]]:
    return [(output, f"result{index}") for index, output in enumerate(outputs)]
