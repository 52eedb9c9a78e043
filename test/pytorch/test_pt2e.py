# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that torchao's PT2E has quantized by any quantizer: equal to torch, and computed on integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from pt2e_models import Convolutions, Perceptron, Transformer, check_converted, converted, integer_products
from torchao.quantization.granularity import PerAxis, PerGroup, PerTensor
from torchao.quantization.pt2e import HistogramObserver, MinMaxObserver, PerChannelMinMaxObserver, PlaceholderObserver
from torchao.quantization.pt2e._affine_quantization import AffineQuantizedMinMaxObserver
from torchao.quantization.pt2e.quantizer import (
    ComposableQuantizer,
    DerivedQuantizationSpec,
    FixedQParamsQuantizationSpec,
    QuantizationAnnotation,
    QuantizationSpec,
    Quantizer,
    SharedQuantizationSpec,
)
from torchao.quantization.pt2e.quantizer.embedding_quantizer import EmbeddingQuantizer
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer,
    get_default_x86_inductor_quantization_config,
)
from torchao.quantization.quant_primitives import MappingType

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
aten = torch.ops.aten
_LAYERS = (aten.conv2d.default, aten.linear.default)
_ACTIVATIONS = (aten.relu.default, aten.relu6.default, aten.hardtanh.default)
_SHARED = (aten.max_pool2d.default, aten.adaptive_avg_pool2d.default, aten.flatten.using_ints)


def x86(**options: Any) -> Quantizer:
    quantizer = X86InductorQuantizer()
    quantizer.set_global(get_default_x86_inductor_quantization_config(**options))
    return quantizer


class PowersOfTwo(MinMaxObserver):  # type: ignore[misc]
    def calculate_qparams(self) -> tuple[torch.Tensor, torch.Tensor]:
        scale, zero_point = super().calculate_qparams()
        return 2 ** torch.ceil(torch.log2(scale)), zero_point


class Own(Quantizer):  # type: ignore[misc]
    """Quantizer like a vendor's, with each kind of specification."""

    def __init__(self, x: QuantizationSpec | None = None, w: QuantizationSpec | None = None, *, bias: bool = True):
        self.x = activation() if x is None else x
        self.w = weights() if w is None else w
        self.bias = bias

    def annotate(self, model: torch.fx.GraphModule) -> torch.fx.GraphModule:
        for node in model.graph.nodes:
            made = self._annotation(node) if node.op == "call_function" else None
            if made is not None:
                made._annotated = True
                node.meta["quantization_annotation"] = made
        return model

    def _annotation(self, node: torch.fx.Node) -> QuantizationAnnotation | None:
        result = None if self.x.is_dynamic else self.x
        if node.target in _LAYERS:
            is_inside = any(user.target in _ACTIVATIONS for user in node.users)
            return QuantizationAnnotation(self._inputs(node), None if is_inside else result)
        if self.x.is_dynamic:
            return None
        if node.target in _ACTIVATIONS:
            return QuantizationAnnotation({}, result)
        if node.target in (aten.add.Tensor, aten.matmul.default):
            return QuantizationAnnotation(dict.fromkeys(node.all_input_nodes, self.x), result)
        if node.target is aten.cat.default:
            first, *others = node.all_input_nodes
            shared = SharedQuantizationSpec((first, node))
            return QuantizationAnnotation({first: self.x, **dict.fromkeys(others, shared)}, shared)
        if node.target in _SHARED:
            source = node.args[0]
            return QuantizationAnnotation({source: self.x}, SharedQuantizationSpec((source, node)))
        if node.target is aten.softmax.int:
            fixed = FixedQParamsQuantizationSpec(torch.uint8, 1 / 256, 0, 0, 255, torch.per_tensor_affine)
            return QuantizationAnnotation({}, fixed)
        return None

    def _inputs(self, node: torch.fx.Node) -> dict[Any, Any]:
        x, w, *rest = node.args
        inputs: dict[Any, Any] = {x: self.x, w: self.w}
        if self.bias and rest and rest[0] is not None:
            is_per_channel = self.w.ch_axis is not None
            scheme = torch.per_channel_symmetric if is_per_channel else torch.per_tensor_symmetric
            limits = (torch.int32, -(2**31), 2**31 - 1)
            inputs[rest[0]] = DerivedQuantizationSpec([(x, node), (w, node)], _product, *limits, scheme, self.w.ch_axis)
        return inputs

    def validate(self, model: torch.fx.GraphModule) -> None:
        pass


def _product(observers: list[Any]) -> tuple[torch.Tensor, torch.Tensor]:
    (x, _), (w, _) = (each.calculate_qparams() for each in observers)
    return x * w, torch.zeros_like(x * w, dtype=torch.int32)


def activation(
    dtype: torch.dtype = torch.int8,
    low: int = -128,
    high: int = 127,
    observer: Any = HistogramObserver,
    scheme: Any = torch.per_tensor_affine,
    **options: Any,
) -> QuantizationSpec:
    return QuantizationSpec(dtype, observer, low, high, scheme, **options)


def weights(observer: Any = PerChannelMinMaxObserver) -> QuantizationSpec:
    if observer is PerChannelMinMaxObserver:
        return QuantizationSpec(torch.int8, observer, -127, 127, torch.per_channel_symmetric, 0)
    return QuantizationSpec(torch.int8, observer, -128, 127, torch.per_tensor_symmetric)


def affine(granularity: Any, kind: MappingType) -> QuantizationSpec:
    """Return a specification of torchao's own primitives."""
    types = {"scale_dtype": torch.float32, "zero_point_dtype": torch.int32, "target_dtype": torch.int8}
    observer = AffineQuantizedMinMaxObserver.with_args(granularity=granularity, mapping_type=kind, eps=1e-9, **types)
    return QuantizationSpec(torch.int8, observer, -128, 127, torch.per_tensor_affine)


_QUANTIZERS: dict[str, Callable[[], Quantizer]] = {
    "x86": x86,
    "x86, 7 bits": lambda: x86(reduce_range=True),
    "x86, dynamic": lambda: x86(is_dynamic=True),
    "i8": Own,
    "i8, real bias": lambda: Own(bias=False),
    "u8": lambda: Own(activation(torch.uint8, 0, 255)),
    "one scale for weights": lambda: Own(w=weights(MinMaxObserver)),
    "powers of two": lambda: Own(activation(observer=PowersOfTwo, scheme=torch.per_tensor_symmetric)),
    "dynamic": lambda: Own(activation(observer=PlaceholderObserver, is_dynamic=True), bias=False),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", _QUANTIZERS)
@pytest.mark.parametrize("kind", [Convolutions, Perceptron, Transformer])
def test_layers_compute_on_integers(kind: Any, name: str) -> None:
    torch.manual_seed(0)
    model = converted(kind(), _QUANTIZERS[name]())
    # Sums of integers are exact, and torch's sums of reals are not: a result may be a step of 1/255 away.
    module = check_converted(model, (torch.randn(kind.example),), step=0.02)
    # A zero point of run time cannot pad a convolution, and torchao's own quantizer leaves these real.
    is_padded = "dynamic" in name and kind is Convolutions
    assert integer_products(module) >= (1 if is_padded else kind.products)


@pytest.mark.parametrize("quantizer", [lambda: x86(is_qat=True), Own])
def test_models_that_were_trained_for_it(quantizer: Callable[[], Quantizer]) -> None:
    torch.manual_seed(0)
    model = converted(Convolutions(), quantizer(), is_qat=True)
    module = check_converted(model, (torch.randn(Convolutions.example),), step=0.02)
    assert integer_products(module) == Convolutions.products


def test_activations_of_16_bits() -> None:
    """Keep the types: a CPU computes such layers on real numbers."""
    wide = activation(torch.int16, -(2**15), 2**15 - 1, scheme=torch.per_tensor_symmetric)
    module = check_converted(converted(Perceptron(), Own(wide)), (torch.randn(Perceptron.example),), step=1e-3)
    assert 'out_dtype="int16"' in module.script()


@pytest.mark.parametrize("options", [{"fold_quantize": False}, {"use_reference_representation": True}], ids=str)
@pytest.mark.parametrize("kind", [Convolutions, Perceptron])
def test_other_forms_of_conversion(kind: Any, options: dict[str, bool]) -> None:
    """Convert weights that are quantized at run time, and torch's arithmetic on integers."""
    model = converted(kind(), Own(w=weights(MinMaxObserver), bias=False), **options)
    check_converted(model, (torch.randn(kind.example),), step=0.02)


@pytest.mark.parametrize(("granularity", "products"), [(PerTensor(), 3), (PerAxis(0), 3), (PerGroup(16), 0)], ids=str)
def test_observers_of_blocks(granularity: Any, products: int) -> None:
    quantizer = Own(affine(PerTensor(), MappingType.ASYMMETRIC), affine(granularity, MappingType.SYMMETRIC), bias=False)

    class Plain(Perceptron):
        example = (4, 32)  # type: ignore[assignment]

    module = check_converted(converted(Plain(), quantizer), (torch.randn(4, 32),))
    assert integer_products(module) == products


def test_embeddings_have_real_zero_points() -> None:
    model = torch.nn.Sequential(torch.nn.Embedding(50, 32), torch.nn.Linear(32, 8))
    args = (torch.randint(0, 50, (2, 7)),)
    quantizer = ComposableQuantizer([EmbeddingQuantizer(), x86()])
    assert integer_products(check_converted(converted(model, quantizer, args=args), args)) == 1
