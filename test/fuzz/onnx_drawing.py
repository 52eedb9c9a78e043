# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX models under construction, and the model of a drawn graph."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy
import onnx
import onnx_nodes
from drawing import SYMBOLS, Drawing, Value
from graphs import Graph, Node, Undefined, numpy_dtype
from relax_mlir_proof.testing import agreement

import relax_mlir as rx

_OPSETS = (18, 21, 21, 22, 23, 24)


class OnnxDrawing(Drawing):
    """Model under construction. Sizes of results are those of the calls."""

    def __init__(self, random: Random):
        super().__init__(random)
        self.opset = random.choice(_OPSETS)

    def compute(self, node: Node, arrays: Sequence[Any], sizes: dict[str, int]) -> list[Any]:
        results = onnx_nodes.oracle(node, arrays, sizes)
        if any(not isinstance(each, numpy.ndarray) for each in results):
            raise Undefined("no tensor")
        pairs = onnx_nodes.both(node, arrays)
        if pairs is not None and any(map(_differ, *pairs)):
            raise Undefined(f"{node.op}: onnxruntime and the reference evaluator do not agree")
        return results

    def add(self, op: str, inputs: Sequence[Any], outputs: int = 1, **attributes: Any) -> None:
        """Add an operator, if an evaluator supports it."""
        while inputs and inputs[-1] is None:  # models do not name these, and onnxruntime crashes of some
            inputs = inputs[:-1]
        for value in self.computed(op, inputs, attributes, outputs, self.opset):
            self.values.append(dataclasses.replace(value, sizes=self._observed(value.arrays)))

    def _observed(self, arrays: Sequence[Any]) -> tuple[int | str, ...]:
        sizes: list[int | str] = []
        if len({each.ndim for each in arrays}) > 1:
            raise Undefined("a rank that only the data decide")
        for axis in range(arrays[0].ndim):
            found = [each.shape[axis] for each in arrays]
            symbols = [name for name in SYMBOLS if [call[name] for call in self.symbols] == found]
            if len(found) > 1 and symbols:
                sizes.append(symbols[0])
            else:
                sizes.append(found[0] if len(set(found)) == 1 else "None")
        return tuple(sizes)

    def fixed(self, values: Any, dtype: str = "int64") -> Value:
        """Return a constant for sizes, axes and the like."""
        return self.constant(numpy.array(values, dtype), "fixed")

    def typed(self, op: str, kinds: str = "fib", **wanted: Any) -> Value:
        """Return a first input with a type that the operator supports."""
        return self.some(kinds, dtypes=_types(op, self.opset), **wanted)


def _differ(one: Any, other: Any) -> bool:
    """Check for a difference beyond rounding: then the oracles disagree about the operator, or one is wrong."""
    other = numpy.asarray(other)
    if one.dtype != other.dtype or one.shape != other.shape:
        return True
    return bool(agreement.difference(one, other, [other], agreement.ONNX_STEPS)) and not numpy.allclose(
        one.astype("float64"), other.astype("float64"), 1e-2 if one.dtype.itemsize < 4 else 1e-4, 1e-4, equal_nan=True
    )


@functools.cache
def _types(op: str, opset: int) -> tuple[str, ...]:
    """Return numpy's names of the types of the first input."""
    schema = onnx.defs.get_schema(op, opset)
    names = {"float": "float32", "double": "float64"}
    found = [each[len("tensor(") : -1] for each in schema.inputs[0].types if each.startswith("tensor(")]
    return tuple(names.get(each, each) for each in found)


def model(graph: Graph) -> onnx.ModelProto:
    """Return the model to compile."""
    helper = onnx.helper
    infos = [
        helper.make_tensor_value_info(name, tensor_type(each.dtype), list(each.sizes))
        for name, each in graph.inputs.items()
    ]
    computed = {name for node in graph.nodes for name in node.outputs}
    nodes = [onnx_nodes.make_node(node.op, _flat(node.inputs), node.outputs, node.attributes) for node in graph.nodes]
    # An input that is returned is a node of its own: a graph's output has one name.
    outputs = [name if name in computed else f"returned_{name}" for name in graph.outputs]
    nodes += [
        helper.make_node("Identity", [name], [output])
        for name, output in zip(graph.outputs, outputs, strict=True)
        if name != output
    ]
    initializers = [onnx.numpy_helper.from_array(array, name) for name, array in graph.constants.items()]
    declared = [onnx.ValueInfoProto(name=name) for name in outputs]
    made = helper.make_graph(nodes, "main", infos, declared, initializers)
    return onnx_nodes.model_of(made, graph.opset, *(node.domain for node in nodes))


def _flat(inputs: Sequence[Any]) -> list[str]:
    return [name for item in inputs for name in (item if isinstance(item, tuple) else (item,))]


def tensor_type(dtype: str) -> int:
    """Return ONNX's number of an element type."""
    return int(onnx.helper.np_dtype_to_tensor_dtype(numpy_dtype(dtype)))


def build(graph: Graph) -> rx.Module:
    return rx.from_onnx(model(graph))
