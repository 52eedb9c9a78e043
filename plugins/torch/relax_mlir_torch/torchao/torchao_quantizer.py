# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rx.torchao_quantizer: the recipe of a codegen or a target as a quantizer of torchao, for prepare_pt2e."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from relax_mlir.bindings.ir import Value
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.compilation.compiling import lower
from relax_mlir.passes.graph.recipes.recipe import RESULT, Recipe
from relax_mlir.passes.graph.recipes.stated_types import DATA
from relax_mlir.support.argument_types import types_checked
from relax_mlir.support.callbacks import enters
from relax_mlir.support.errors import OptionError
from relax_mlir_quantize.calibration import function_named
from relax_mlir_quantize.checks import check_keep, unused_entries
from relax_mlir_quantize.placement import Layer, Placement, ScaleGroup, place
from relax_mlir_quantize.quantization_report import Report
from relax_mlir_quantize.quantize import recipe_and_stages, refuse_nothing, refuse_quantized
from relax_mlir_quantize.scales import fixed_scale

from .exported_nodes import Edge, ExportedGraph
from .torchao_specs import Specs, derived_spec, expressible, fixed_spec

if TYPE_CHECKING:
    from torch.fx import GraphModule, Node

_KEY = "quantization_annotation"
#: Operators that have output channels of weights in another axis than the first one.
_CHANNELS_SECOND = ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
_CHANNELS_LAST = ("matmul", "mm", "bmm", "addmm")


@types_checked
@enters
def torchao_quantizer(for_: str | Recipe = "llvm", *, keep: Collection[str] = (), is_qat: bool = False) -> Any:
    """Return a torchao `Quantizer` that annotates models by the recipe of a codegen or a target.

        >>> quantizer = rx.torchao_quantizer("mynpu")
        >>> prepared = prepare_pt2e(torch.export.export(model, args).module(), quantizer)
        >>> prepared(*args)  # and further samples
        >>> module = rx.from_torch(convert_pt2e(prepared), args)

    rx.quantize finds the same layers. `quantizer.report.why(node)` tells why a node stays real.

    for_: a codegen, a target, or an rx.Recipe. keep: operators and nodes that stay real, by name or pattern (`head.*`).
    is_qat: observe with fake quantization, for `prepare_qat_pt2e`.

    Raises OptionError without torchao, and for recipes with types that torchao does not have.
    """
    try:
        from torchao.quantization.pt2e.quantizer import Quantizer
    except ImportError as error:
        raise OptionError(f"rx.torchao_quantizer needs the package torchao: pip install torchao ({error})") from None
    found, stages = recipe_and_stages(for_)
    recipe = expressible(found.recipe)
    kept = (keep,) if isinstance(keep, str) else tuple(keep)

    class RecipeQuantizer(Quantizer):
        """Quantizer of torchao that annotates the layers of a recipe."""

        def __init__(self) -> None:
            super().__init__()
            #: Layers, and reasons why other nodes stay real, of the model that was annotated last.
            self.report = Report()

        def annotate(self, model: GraphModule) -> GraphModule:
            graph = ExportedGraph(model)
            refuse_quantized(graph.module)
            function = function_named(lower(graph.module, stages.target, pipeline=stages), "main")
            check_keep(function, kept)
            placement = place(function, recipe, found.rows(), kept)
            mentioned = graph.nodes_of(operations_in(function))
            Annotation(graph, placement, Specs(is_qat=is_qat), mentioned).run()
            refuse_nothing(placement, "main")
            self.report = Report.of(placement)
            self.report.add_folded(function_named(graph.module, "main"))
            self.report.rename(graph.name_of)
            self.report.notes += unused_entries(placement, recipe)
            return model

        def validate(self, model: GraphModule) -> None:
            """Accept the model: `annotate` refuses others."""

    return RecipeQuantizer()


class Annotation:
    """Annotation of a graph's nodes by a placement."""

    def __init__(self, graph: ExportedGraph, placement: Placement, specs: Specs, mentioned: Collection[Node]):
        self._graph, self._placement, self._specs = graph, placement, specs
        #: Nodes that operations of the lowered module compute. Others became part of their readers.
        self._mentioned = frozenset(mentioned)
        #: The first node or edge of each group. The others share its observer.
        self._first: dict[ScaleGroup, Node | Edge] = {}

    def run(self) -> None:
        """Annotate the nodes. Layers that the graph does not show become nodes that stay real, with the reason."""
        nodes = {layer: self._nodes_of(layer) for layer in self._placement.layers}
        for layer, inside in nodes.items():
            if reason := self._refusal(layer, inside):
                self._placement.layers.remove(layer)
                self._placement.results.pop(layer.result, None)
                # First, because an operation of the same node may have a reason of its own.
                self._placement.kept = {**dict.fromkeys(layer.match.operations, reason), **self._placement.kept}
        for value in self._placement.results:
            self._annotate_result(value)
        for layer in self._placement.layers:
            self._annotate_layer(layer, nodes[layer])

    def _nodes_of(self, layer: Layer) -> list[Node]:
        """Return the nodes of a layer in order, with the nodes that became part of their readers, as norms do."""
        inside = self._graph.nodes_of(layer.match.operations)
        for node in inside:  # which grows
            inside += [
                input_node
                for input_node in node.all_input_nodes
                if input_node.op == "call_function"
                and input_node not in self._mentioned
                and set(input_node.users) <= set(inside)
            ]
        return self._graph.in_order(inside)

    def _refusal(self, layer: Layer, inside: list[Node]) -> str:
        for node in inside:
            if _KEY in node.meta and node.meta[_KEY]._annotated:
                return f"another quantizer annotated {node.name}"
        if RESULT in layer.types and self._graph.producer_of(layer.result) is None:
            return f"the exported graph has no node for the result, which is a part of {inside[-1].name}"
        for name, value in layer.activations():
            if self._graph.edge_of(value, inside) is None:
                return f"the exported graph has no edge for '{name}', which comes from a part of a node"
        for name, value in layer.weights():
            is_bias = layer.types[name].derived
            if not is_bias and self._graph.constant_edge_of(value, inside, is_bias=False) is None:
                return f"the exported graph has no parameter for '{name}', which is computed of several"
        return ""

    def _spec(self, group: ScaleGroup, where: Node | Edge) -> Any:
        from torchao.quantization.pt2e.quantizer import SharedQuantizationSpec

        if (first := self._first.setdefault(group, where)) != where:
            return SharedQuantizationSpec(first)
        return (
            fixed_spec(fixed_scale(group.fixed, group.type)) if group.fixed is not None else self._specs.of(group.type)
        )

    def _annotate_result(self, value: Value) -> None:
        node = self._graph.producer_of(value)
        group = self._placement.groups[value, self._placement.results[value]]
        if node is None:
            return
        if node.op != "placeholder":
            _annotation_of(node).output_qspec = self._spec(group, node)
            return
        # torchao observes inputs of the model at their readers only.
        for user in (each for each in node.users if each.op == "call_function"):
            _annotation_of(user).input_qspec_map[node] = self._spec(group, (node, user))

    def _annotate_layer(self, layer: Layer, inside: list[Node]) -> None:
        edges: dict[str, Edge] = {}
        for node in inside:
            _annotation_of(node)
        for name, value in layer.activations():
            edge = self._graph.edge_of(value, inside)
            assert edge is not None, "run drops such layers"
            edges[name] = edge
            type_ = layer.types[name]
            spec = self._specs.of(type_) if type_.dynamic else self._spec(self._placement.groups[value, type_], edge)
            _annotation_of(edge[1]).input_qspec_map[edge[0]] = spec
        weights = None
        for name, value in layer.weights():
            type_ = layer.types[name]
            if (found := self._graph.constant_edge_of(value, inside, is_bias=type_.derived)) is None:
                continue  # a bias that only the norm behind the layer has
            if not type_.derived:
                weights = found
                spec = self._specs.of(type_, _channel_axis(found[1], value))
            elif weights is None or DATA not in edges:
                continue
            else:
                axis = 0 if any(each.granularity == "channel" for each in layer.types.values()) else None
                spec = derived_spec(type_, [edges[DATA], weights], axis)
            _annotation_of(found[1]).input_qspec_map[found[0]] = spec


def _annotation_of(node: Node) -> Any:
    from torchao.quantization.pt2e.quantizer import QuantizationAnnotation

    return node.meta.setdefault(_KEY, QuantizationAnnotation(_annotated=True))


def _channel_axis(node: Node, value: Value) -> int:
    if (name := str(node.target).split(".")[1]) in _CHANNELS_LAST:
        return len(value.type.shape) - 1
    return 1 if name in _CHANNELS_SECOND else 0
