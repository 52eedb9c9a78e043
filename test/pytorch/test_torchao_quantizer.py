# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rx.torchao_quantizer: recipes annotate models of torch, and converted models have the recipe's layers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from pt2e_models import (
    CPU,
    Convolutions,
    Perceptron,
    Transformer,
    check_converted,
    converted,
    exported,
    integer_products,
)
from relax_mlir.passes.core.external import CODEGENS
from relax_mlir.support import external_runtime
from tutorial_npu import register_mynpu

import relax_mlir as rx
from relax_mlir.patterns import is_const, is_op, wildcard
from relax_mlir.recipes import Fixed, Op, Share

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
_BYTES = {"x": "i8", "w": "i8@channel symmetric narrow"}


class Gated(torch.nn.Module):
    """Product with one scale for a concatenation, and with a gate of known range."""

    example = (4, 16)

    def __init__(self, bias: bool = False) -> None:
        super().__init__()
        self.a, self.b, self.c = (torch.nn.Linear(size, 16, bias=bias) for size in (16, 16, 32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.c(torch.cat([self.a(x), self.b(torch.sigmoid(x))], 1))


@pytest.mark.parametrize(
    ("kind", "is_qat"), [(Convolutions, False), (Convolutions, True), (Perceptron, False), (Transformer, False)]
)
def test_layers_of_a_target(kind: Any, is_qat: bool) -> None:
    torch.manual_seed(0)
    quantizer = rx.torchao_quantizer(CPU, is_qat=is_qat)
    model = converted(kind(), quantizer, is_qat=is_qat)
    module = check_converted(model, (torch.randn(kind.example),), step=0.02)
    assert len(quantizer.report.rows) == kind.products <= integer_products(module)


@pytest.fixture
def mynpu() -> Iterator[None]:
    register_mynpu()
    yield
    CODEGENS.entries.pop("mynpu", None)
    external_runtime._RUNTIMES.entries.pop("mynpu", None)


def test_layers_of_a_codegen(mynpu: None) -> None:
    """Run each layer as a kernel of the codegen. The recipe names its patterns."""

    class Layers(torch.nn.Sequential):
        example = (4, 16)

    quantizer = rx.torchao_quantizer("mynpu")
    model = converted(Layers(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8)), quantizer)
    assert [row.pattern for row in quantizer.report.rows] == ["mynpu.linear"] * 2
    check_converted(model, (torch.randn(4, 16),), step=0.02, partition=["mynpu"], strict_partition=True)


def _specs(recipe: rx.Recipe, model: Any, **options: Any) -> tuple[Any, dict[str, Any]]:
    quantizer = rx.torchao_quantizer(recipe, **options)
    graph = exported(model.eval(), torch.zeros(model.example))
    quantizer.annotate(graph)
    found = {node.name: node.meta.get("quantization_annotation") for node in graph.graph.nodes}
    return quantizer, {name: each for name, each in found.items() if each is not None}


def test_specifications() -> None:
    linear = Op("relax.matmul", x1="i8", x2="i8@channel symmetric narrow")
    recipe = rx.Recipe(linear, Share("relax.concat"), Fixed("relax.sigmoid", scale=1 / 256, zero=-128, type="i8"))
    _, found = _specs(recipe, Gated())
    weights = next(spec for node, spec in found["linear"].input_qspec_map.items() if "weight" in node.name)
    assert (weights.dtype, weights.quant_min, weights.quant_max) == (torch.int8, -127, 127)
    assert (weights.qscheme, weights.ch_axis) == (torch.per_channel_symmetric, 0)
    assert type(found["sigmoid"].output_qspec).__name__ == "FixedQParamsQuantizationSpec"
    assert type(found["cat"].output_qspec).__name__ == "SharedQuantizationSpec"
    check_converted(converted(Gated(), rx.torchao_quantizer(recipe)), (torch.randn(4, 16),), step=0.02)


def test_results_inside_of_nodes_stay_real() -> None:
    """Annotate no sum before its bias: torch's linear has both."""
    recipe = rx.Recipe(Op("relax.matmul", x1="i8", x2="i8@channel"))
    with pytest.raises(rx.ModelError, match="has no node for the result, which is a part of linear"):
        _specs(recipe, Gated(bias=True))


@pytest.mark.parametrize("x", ["i8 symmetric power_of_two", "i16 symmetric", "i8 dynamic"])
def test_types(x: str) -> None:
    pattern = is_op("relax.matmul")(wildcard().named("x"), is_const().named("w"))
    recipe = rx.Recipe(Op("linear", pattern=pattern, x=x, w="i8 symmetric", y=None))
    module = check_converted(converted(Perceptron(), rx.torchao_quantizer(recipe)), (torch.randn(2, 3, 32),), step=0.02)
    assert module.script().count("R.quantize(") >= 3


def test_sums_inside_of_layers() -> None:
    product = is_op("relax.nn.conv2d")(wildcard().named("x"), is_const().named("w"))
    biased = is_op("relax.add")(product, is_const().named("bias"))
    summed = is_op("relax.nn.relu")(is_op("relax.add")(biased, wildcard().named("residual")))
    types = {**_BYTES, "bias": "i32 derived"}
    recipe = rx.Recipe(
        Op("summed", pattern=summed, residual="i8", **types),
        Op("conv", pattern=is_op("relax.nn.relu", "relax.clip")(biased, ...), **types),
    )
    quantizer = rx.torchao_quantizer(recipe, keep="conv2d_1")
    check_converted(converted(Convolutions(), quantizer), (torch.randn(Convolutions.example),), step=0.02)
    assert [row.pattern for row in quantizer.report.rows] == ["conv", "summed"]
    assert quantizer.report.why("conv2d_1") == "kept by request: 'conv2d_1'"
    assert "relax.matmul" in quantizer.report.why("linear")


@pytest.mark.parametrize(
    ("w", "problem"),
    [
        ("i8@block32", "'i8@block32': converted models have no scales per block"),
        ("e4m3", "'e4m3': converted models have integers, not small floats"),
        (("i4@channel", "u4"), "'i4@channel': torch has no integers of 4 bits; 'u4': .* or use rx.quantize"),
    ],
)
def test_types_that_torchao_does_not_have(w: Any, problem: str) -> None:
    recipe = rx.Recipe(Op("relax.matmul", x1="i8", x2=w))
    with pytest.raises(rx.OptionError, match=problem):
        rx.torchao_quantizer(recipe)


def test_other_types_of_a_list_are_tried() -> None:
    _, found = _specs(rx.Recipe(Op("relax.matmul", x1="i8", x2=("i4@block32", "i8@channel"))), Gated())
    assert found["linear"].input_qspec_map


def test_bad_models(monkeypatch: pytest.MonkeyPatch) -> None:
    quantizer = rx.torchao_quantizer(CPU)
    with pytest.raises(rx.ModelError, match="no layer of @main matches the recipe"):
        quantizer.annotate(exported(torch.nn.Softmax(-1), torch.zeros(3)))
    with pytest.raises(rx.ModelError, match=r"the model is quantized already: relax.dequantize"):
        quantizer.annotate(exported_again(converted(Perceptron(), rx.torchao_quantizer(CPU))))
    with pytest.raises(rx.OptionError, match="keep='nothing': no operator and no node"):
        rx.torchao_quantizer(CPU, keep="nothing").annotate(exported(Perceptron(), torch.zeros(2, 3, 32)))
    with pytest.raises(rx.ModelError, match=r"the input has no type: .* torch.export.export"):
        quantizer.annotate(torch.fx.symbolic_trace(torch.nn.Linear(3, 3)))
    monkeypatch.setitem(sys.modules, "torchao.quantization.pt2e.quantizer", None)
    with pytest.raises(rx.OptionError, match="needs the package torchao: pip install torchao"):
        rx.torchao_quantizer(CPU)


def exported_again(model: torch.fx.GraphModule) -> torch.fx.GraphModule:
    return torch.export.export(model, (torch.zeros(Perceptron.example),)).module()  # type: ignore[no-any-return]
