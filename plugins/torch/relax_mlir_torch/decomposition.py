# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decomposition of torch operators without a converter into operators that have one.

A node is decomposed by itself if the graph around it can stay unchanged. torch decomposes the whole program if it has
updates in place that the importer cannot follow, or functions that are not operators, mainly of torch.vmap.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

from relax_mlir.support.errors import ModelError
from relax_mlir.support.quiet import ignoring_warnings

from . import fused_layers
from .fx_operators import functional_name, name_of
from .in_place import Updates, is_mutable, is_updating
from .pt2.targets import READS_SUBCLASS
from .registry import find_converter

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import GraphModule
    from torch.fx import Node as FxNode


class Decomposer:
    """Decompositions of single nodes during one import."""

    def graph_of(self, fx: FxNode) -> GraphModule | None:
        """Return the graph that computes a node from its inputs, or None if torch has no decomposition of the node.

        The placeholders are `fx.all_input_nodes`. Raise what torch raises.
        """
        if not can_be_decomposed(fx.target):
            return None
        from torch._higher_order_ops.effects import _EffectType
        from torch._subclasses.functional_tensor import FunctionalTensorMode, dispatch_functionalize

        import torch

        inputs = fx.all_input_nodes
        # torch's default mode is shared by all calls.
        mode = FunctionalTensorMode()

        def compute(*given: object) -> Any:
            # Without tokens, the mode refuses operators with effects.
            mode._tokens = {effect: torch.ops.prims._make_token() for effect in _EffectType}
            held = dict(zip(inputs, given, strict=True))
            args, kwargs = torch.fx.node.map_arg((fx.args, fx.kwargs), held.__getitem__)
            return fx.target(*args, **kwargs)

        with torch.no_grad(), ignoring_warnings():
            operands = [input_.meta["val"] for input_ in inputs]
            # An operator that creates a tensor from sizes has a tensor only as its result.
            module = traced(dispatch_functionalize(compute, mode), operands, self._table, beside=[fx.meta.get("val")])
        calls = [node for node in module.graph.nodes if node.op == "call_function"]
        if any(each.target is fx.target for each in calls):
            return None
        for call in calls:
            # Problems of inner nodes name the user's line.
            call.meta["stack_trace"] = fx.meta.get("stack_trace")
        return module

    @cached_property
    def _table(self) -> Any:
        return table()


def traced(
    function: Callable[..., Any], operands: Sequence[object], table: Mapping[Any, Any], *, beside: Sequence[object] = ()
) -> GraphModule:
    """Return the graph of a function of tensors and sizes, decomposed by a table.

    The mode of fake tensors is the mode of the operands and of the values `beside` them. Raise ModelError if the graph
    is valid for some sizes only.
    """
    from torch._dispatch.python import enable_python_dispatcher
    from torch._guards import detect_fake_mode
    from torch.fx.experimental.proxy_tensor import make_fx

    # The mode is for tensors that a function creates from sizes, the dispatcher for sizes that are symbols.
    mode = detect_fake_mode([*operands, *beside])
    replaced = {} if mode is None or mode.shape_env is None else mode.shape_env.replacements
    known = set(replaced)
    with mode or nullcontext(), enable_python_dispatcher():
        module: GraphModule = make_fx(function, decomposition_table=table)(*operands)
    fixed = [str(symbol) for symbol, value in replaced.items() if symbol not in known and value.is_number]
    if fixed:
        raise ModelError(f"torch decomposes it for one value of {', '.join(fixed)} only")
    module.graph.eliminate_dead_code(_is_impure)
    return module


def _is_impure(fx: FxNode) -> bool:
    """Check whether a node has an effect. torch removes with_effects if no node uses its token."""
    return fx.is_impure() or name_of(fx.target) == "higher_order::with_effects"


def can_be_decomposed(target: object) -> bool:
    """Check whether torch may decompose a node by itself: its operator has no updates and no subgraphs."""
    return hasattr(target, "_schema") and hasattr(target, "decompose") and not is_mutable(target)


def functional(program: ExportedProgram) -> ExportedProgram:
    """Return the program without updates in place that the importer cannot follow."""
    graphs = list(_graphs(program.graph_module))
    calls = [fx for graph in graphs for fx in graph.nodes if fx.op == "call_function"]
    if all(Updates(graph).are_all_simple for graph in graphs) and not any(_needs_program(fx.target) for fx in calls):
        return program
    updating = {fx.target for fx in calls if is_updating(fx)}
    views = nullcontext() if updating else _views_that_may_copy(calls)
    with ignoring_warnings(), _transforms_restored(), views:  # Ignores warnings of torch's own files.
        try:
            return program.run_decompositions(table(updating))
        except Exception as error:
            first = str(error).strip().partition("\n")[0]
            raise ModelError(
                f"torch cannot decompose the program: {type(error).__name__}: {first}",
                notes=["exported.run_decompositions() of torch.export.export(model, args) may say more"],
            ) from error


@contextmanager
def _transforms_restored() -> Iterator[None]:
    """Restore the levels of torch.vmap and of forward derivatives that the program's nodes enter.

    Nodes enter and leave levels one by one. A program in a file may not leave all of them, and an error ends the
    program early.
    """
    import torch

    functorch = torch._C._functorch
    depth = functorch.get_dynamic_layer_stack_depth()
    try:
        yield
    finally:
        functorch.pop_dynamic_layer_stack_and_undo_to_depth(depth)


@contextmanager
def _views_that_may_copy(calls: Sequence[Any]) -> Iterator[None]:
    """Replace views by reshapes in the context.

    Operators that are not decomposed may have results in another memory order than when they were traced. A view of
    such a result may be impossible. The program has no updates in place.
    """
    import torch

    views = [fx for fx in calls if fx.target is torch.ops.aten.view.default]
    for fx in views:
        fx.target = torch.ops.aten.reshape.default
    try:
        yield
    finally:
        for fx in views:
            fx.target = torch.ops.aten.view.default


def table(listed: Collection[object] = ()) -> Any:
    """Return torch's decompositions of operators without a converter, and of the listed operators."""
    from torch.export import default_decompositions

    decompositions = default_decompositions()
    for overload in [
        decomposition
        for decomposition in decompositions
        if decomposition not in listed and find_converter(name_of(decomposition))
    ]:
        del decompositions[overload]
    decompositions.update({key: how for key, how in _others().items() if key not in decompositions})
    return decompositions


def aot_table() -> dict[Any, Callable[..., object]]:
    """Return the decompositions for graphs of AOTAutograd, which has decomposed composite operators already."""
    from torch import _decomp

    # Without the decompositions of composite operators, which torch looks for among all operators: 0.2 s.
    core = getattr(_decomp, "_core_aten_decompositions_post_autograd", _decomp.core_aten_decompositions)()
    return {**_others(), **{key: how for key, how in core.items() if find_converter(name_of(key)) is None}}


def _others() -> dict[Any, Callable[..., object]]:
    """Return decompositions that torch does not apply by itself, mainly of backward steps, and our own."""
    from torch._decomp import decomposition_table

    return {
        key: how
        for key, how in {**decomposition_table, **fused_layers.decompositions()}.items()
        if getattr(key, "namespace", "") == "aten" and find_converter(functional_name(key)) is None
    }


def _graphs(module: Any) -> Iterator[Any]:
    """Yield the graph of a module, and the graphs in its nodes."""
    for each in module.modules():
        if hasattr(each, "graph"):
            yield each.graph


#: Modules of functions that compute with sizes.
_OF_SIZES = ("_operator", "builtins", "math", "torch", "torch.fx.experimental.symbolic_shapes")


def _needs_program(target: object) -> bool:
    """Check whether a function has no converter and cannot be decomposed by itself, as torch's functions of vmap.

    torch replaces a parameter of a subclass, such as torchao's weights, by its tensors in whole programs only.
    """
    if functional_name(target).startswith(READS_SUBCLASS):
        return True
    if getattr(target, "__module__", "") in _OF_SIZES or find_converter(functional_name(target)) is not None:
        return False
    return not can_be_decomposed(target)
