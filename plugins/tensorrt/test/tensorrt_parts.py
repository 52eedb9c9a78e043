# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers that record a module's parts for TensorRT as networks, evaluate them, and compare with the default path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import recording_tensorrt
import relax_mlir as rx
from before_after import changed, random_arrays, results_of
from dnnl_models import floats
from external_parts import assert_close, built, is_left, main_of
from relax_mlir.bindings.navigation import callee_of, last_of, operations_of
from relax_mlir.dialects.relax.known_constants import elements_of
from relax_mlir.passes.graph.parts.flat_graph import public_functions
from relax_mlir_tensorrt.converter import Converter
from relax_mlir_tensorrt.runtime import input_name, output_name

__all__ = ["agrees", "built", "floats", "recorded"]

PASSES = "relax-fuse-ops-by-pattern{codegen=tensorrt},relax-merge-composite-functions"


def recorded(module: rx.Module) -> tuple[rx.Module, dict[str, recording_tensorrt.Network]]:
    """Return the module with a main that only calls parts for TensorRT, and the parts' networks."""
    apart = changed(module, PASSES)
    networks = {}
    for graph in public_functions(apart.operation):
        networks[graph.name] = network = recording_tensorrt.Network()
        Converter(network, recording_tensorrt, graph).convert()
    return apart, networks


def _evaluate(apart: rx.Module, networks: Mapping[str, recording_tensorrt.Network], arrays: Sequence[Any]) -> list[Any]:
    """Return main's results. Parts compute all of them."""
    main = main_of(apart)
    known: dict[Any, Any] = dict(zip(main.arguments, arrays, strict=True))
    for op in operations_of(main):
        if is_left(op):
            known.update((value, elements_of(value)) for value in op.results)
            continue
        assert op.name == "func.call", apart.script()
        network = networks[callee_of(op)]
        made = network.evaluate({input_name(number): known[value] for number, value in enumerate(op.operands)})
        known.update((value, made[output_name(number)]) for number, value in enumerate(op.results))
    return [known[value] for value in last_of(main).operands]


def agrees(
    module: rx.Module,
    arrays: Sequence[Any] | None = None,
    *,
    sizes: Mapping[str, int] | None = None,
    tolerance: float = 2e-5,
) -> list[str]:
    """Check that the networks compute what the default path computes.

    Return the kinds of the networks' layers, without constants.
    """
    given = random_arrays(module, "main", sizes or {}) if arrays is None else arrays
    expected = results_of(module, given)
    apart, networks = recorded(module)
    assert_close(expected, _evaluate(apart, networks, given), tolerance)
    return [layer.kind for each in networks.values() for layer in each.layers if layer.kind != "constant"]
