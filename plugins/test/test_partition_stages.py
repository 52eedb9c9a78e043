# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegens receive models before rewrites, at every optimization level. Only remaining operators are rewritten."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from dnnl_models import floats
from external_parts import built
from partitioning import codegen, matmul, product
from relax_mlir import relax
from relax_mlir.passes.graph.mixed_precision.precision_stages import with_precision
from relax_mlir.passes.graph.partition.codegen import all_codegens
from relax_mlir.passes.graph.partition_stages import with_partition
from relax_mlir.passes.patterns.tree import GraphPattern
from relax_mlir.patterns import is_const, is_op, wildcard
from relax_mlir.support.external_bytes import unpacked
from relax_mlir_dnnl.runtime.description import DnnlPart

const = relax.const


def dequantized(numbers: GraphPattern) -> GraphPattern:
    return is_op("relax.dequantize")(numbers, is_const(), is_const())


#: Layer in the form of onnxruntime's quantizer: a product of bytes, with a bias of 32 bits.
PRODUCT = matmul(dequantized(wildcard()), dequantized(is_const()))
LAYER = [("npu.layer", is_op("relax.add")(PRODUCT, dequantized(is_const())))]


def scaled(x: Any, scale: float, zero_point: Any) -> Any:
    return relax.dequantize(x, const(numpy.float32(scale)), const(zero_point))


def rounded(x: Any, scale: float, zero_point: Any) -> Any:
    return relax.quantize(x, const(numpy.float32(scale)), const(zero_point), out_dtype=zero_point.dtype.name)


def weights(*shape: int, dtype: str = "int8", most: int = 60, scale: float = 0.01, seed: int = 7) -> Any:
    numbers = numpy.random.default_rng(seed).integers(-most, most, shape).astype(dtype)
    return scaled(const(numbers), scale, numpy.zeros((), dtype)[()])


def quantized(x: Any, zero_point: Any) -> Any:
    return scaled(rounded(x, 0.05, zero_point), 0.05, zero_point)


# ---- models ----


def layers() -> rx.Module:
    """Return two layers with small weights. Early constant folding, a former defect, never affected large weights."""

    def body(x: Any) -> Any:
        for seed in range(2):
            bias = weights(16, dtype="int32", most=900, scale=0.0005, seed=seed)
            x = relax.matmul(quantized(x, numpy.int8(3)), weights(16, 16, seed=seed))
            x = relax.nn.relu(relax.add(x, bias))
        return x

    return built(body, ("n", 16))


def images() -> rx.Module:
    def body(x: Any) -> Any:
        y = relax.nn.conv2d(quantized(x, numpy.uint8(128)), weights(4, 4, 3, 3), padding=1)
        return relax.nn.max_pool2d(quantized(relax.nn.relu(y), numpy.uint8(0)), pool_size=[2, 2])

    return built(body, ("n", 4, 6, 6))


def attention() -> rx.Module:
    """Return attention as single operators, with keys and values that heads share."""

    def body(q: Any, k: Any, v: Any) -> Any:
        k, v = (relax.repeat(each, 2, axis=1) for each in (k, v))
        scores = relax.multiply(relax.matmul(q, relax.permute_dims(k, [0, 1, 3, 2])), const(numpy.float32(0.25)))
        return relax.matmul(relax.nn.softmax(scores, axis=-1), v)

    return built(body, (1, 4, 16, 16), (1, 2, 16, 16), (1, 2, 16, 16))


def products() -> rx.Module:
    """Return products of one operand, and a product with transposed weights."""

    def body(x: Any, w: Any) -> Any:
        several = [relax.matmul(x, const(floats(32, columns, seed=columns))) for columns in (16, 24)]
        return *several, relax.matmul(x, relax.permute_dims(w, [1, 0]))

    return built(body, (8, 32), (8, 32))


def real_products_of_quantized_weights() -> rx.Module:
    return built(lambda x: relax.add(relax.matmul(x, weights(16, 48)), const(floats(48))), ("n", 16))


MODELS: dict[str, Callable[[], rx.Module]] = {
    each.__name__: each for each in (layers, images, attention, products, real_products_of_quantized_weights)
}
SHIPPED = [each.name for each in all_codegens() if any("relax.call_tir" not in one.heads for one in each.composites())]


def taken(module: rx.Module, name: str, level: int, precision: str = "f32") -> dict[str, int]:
    """Return the number of operators that each pattern matched."""
    partition, target = rx.Partition(codegens=(name,)), "cuda" if name in ("cublas", "cudnn") else "llvm"
    stages = with_precision(with_partition(rx.stages(target, level), partition), precision)
    journal = rx.Journal()
    with journal.recording():
        stages.replace("partition", partition).until("partition").run(module.copy(), target)
    (fact,) = [fact for fact in journal.facts if fact["kind"] == "partition"]
    return dict(fact["matched"])


# ---- the same at all levels ----


@pytest.mark.parametrize("level", range(4))
@pytest.mark.parametrize("precision", ["f32", "bf16"])
def test_products_of_quantized_numbers_are_seen(level: int, precision: str) -> None:
    """Match products of quantized numbers with the weights and biases of the file."""
    with codegen(LAYER) as npu:
        assert taken(layers(), npu, level, precision) == {"npu.layer": 10}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", SHIPPED)
def test_partitions_do_not_depend_on_the_level(name: str, model: str) -> None:
    module = MODELS[model]()
    assert taken(module, name, 1) == taken(module, name, 2) == taken(module, name, 3)


@pytest.mark.parametrize("name", ["dnnl", "onnxruntime", "c"])
def test_all_of_a_quantized_model_is_taken(name: str) -> None:
    assert sum(taken(layers(), name, 2).values()) == 14
    assert sum(taken(images(), name, 2).values()) == 8


@pytest.mark.parametrize("name", ["cublas", "cudnn", "tensorrt", "example_npu"])
def test_float_libraries_leave_quantized_products_to_the_target(name: str) -> None:
    """Leave products of integers to the target, which supports them."""
    for model in (layers, images):
        for level in range(4):
            words = " ".join(taken(model(), name, level))
            assert not any(word in words for word in ("matmul", "conv", "transposed", "dense")), words
    assert any(taken(real_products_of_quantized_weights(), name, 2)) is (name != "cudnn")


@pytest.mark.parametrize("level", range(4))
def test_dnnl_multiplies_bytes(level: int) -> None:
    """Multiply bytes at every level: the oneDNN steps have quantized operands."""
    for model, kind, count in ((layers, "matmul", 2), (images, "convolution", 1)):
        program = rx.compile(model(), partition=["dnnl"], opt_level=level, partition_elsewhere=True)
        (external,) = program._artifact.externals
        part = unpacked("dnnl", external.data, DnnlPart)
        products = [step for function in part.functions for step in function.steps if step.kind == kind]
        assert len(products) == count and all({"src", "weights"} <= step.quantized.keys() for step in products)


def test_dnnl_takes_what_attention_is_made_of() -> None:
    assert taken(attention(), "dnnl", 2) == {"dnnl.view": 1, "dnnl.matmul_with_post_ops": 3, "dnnl.softmax": 1}


def test_weights_of_real_products_are_constants() -> None:
    """Pass weights as floats to a pattern of float products, and as written to a pattern with relax.dequantize."""
    module = real_products_of_quantized_weights()
    for level in range(4):
        with codegen([("npu.product", matmul(wildcard(), is_const()))]) as npu:
            assert taken(module, npu, level) == {"npu.product": 1}
        with codegen([("npu.product", matmul(wildcard(), dequantized(is_const())))]) as npu:
            assert taken(module, npu, level) == {"npu.product": 2}


def test_attention_stays_whole_unless_patterns_name_its_parts() -> None:
    """Keep attention unless the codegen's patterns name its parts."""
    attend = ("npu.attention", is_op("relax.nn.attention"))
    with codegen([attend]) as npu:
        assert taken(attention(), npu, 2) == {"npu.attention": 1}
    with codegen([attend, ("npu.softmax", is_op("relax.nn.softmax")), ("npu.product", product)]) as npu:
        assert taken(attention(), npu, 2) == {"npu.softmax": 1, "npu.product": 2}


# ---- remaining operators ----


@pytest.mark.parametrize("model", ["layers", "images", "attention", "products"])
def test_remaining_operators_lower_as_without_a_codegen(model: str) -> None:
    """Lower the remaining operators as without a codegen. Only the names of constants differ."""
    module = MODELS[model]()
    with codegen([("npu.erf", is_op("relax.erf"))]) as npu:
        for level in range(4):
            stages = rx.stages("llvm", level).until("legalize")
            lowered = [rx.lower(module, pipeline=each).script() for each in (with_partition(stages, [npu]), stages)]
            partitioned, whole = (re.sub(r"\bconst_\d+", "const", text) for text in lowered)
            assert partitioned == whole, level


def test_rewrites_of_remaining_operators_follow_the_partition() -> None:
    """Order the stages: rewrites of the remaining operators after the partition, and kernels after legalization."""
    with codegen([("npu.exp", is_op("relax.exp"))]) as npu, codegen([("dsp.any", is_op("relax.call_tir"))], "dsp"):
        names = with_partition(rx.stages("llvm", 3), [npu, "dsp"]).names
    ahead, behind = names[: names.index("partition")], names[names.index("partition") + 1 :]
    assert ahead == ["simplify", "blocks", "norms", "fold", "partition-input"]
    assert behind[:7] == ["integers", "simplify-rest", "attention", "heads", "products", "fold-rest", "layouts"]
    assert behind[7:9] == ["legalize", "partition-kernels"]
