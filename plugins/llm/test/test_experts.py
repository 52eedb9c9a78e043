# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixtures of experts: files of GGUF, ties of the router, equal bits in any batch, and damaged files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy
import numpy_decoder
import pytest
import relax_mlir as rx
from dequantized import Dequantized
from relax_mlir_llm.requests import Request, SamplingParameters
from relax_mlir_llm.scheduler import Scheduler
from tiny_models import EXPERTS, VOCABULARY, Tiny, gguf_weights, mixtral_as_llama, tiny, write_folder, write_gguf

TOKENS = [int(token) for token in numpy.random.default_rng(5).integers(0, VOCABULARY, 40)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> rx.llm.Model:
    path = write_gguf(tiny("qwen3moe"), tmp_path_factory.mktemp("experts") / "model.gguf", "Q8_0")
    return rx.llm.load(path, cache=False)


def test_mixtral_is_a_llama_in_gguf(tmp_path: Path) -> None:
    mixtral = mixtral_as_llama()
    loaded = rx.llm.load(write_gguf(mixtral, tmp_path / "model.gguf"), cache=False)
    expected = numpy_decoder.logits(replace(mixtral.variant, adjacent=True), gguf_weights(mixtral), TOKENS)
    numpy.testing.assert_allclose(loaded.logits(TOKENS), expected, rtol=1e-4, atol=1e-4)


def test_older_files_have_a_weight_of_each_expert(tmp_path: Path) -> None:
    mixtral = mixtral_as_llama()
    apart = {name: weight for name, weight in mixtral.weights.items() if weight.ndim < 3}
    for name, weight in mixtral.weights.items():
        if weight.ndim == 3:
            before = name.removesuffix("_exps.weight")
            apart.update((f"{before}.{number}.weight", matrix) for number, matrix in enumerate(weight))
    one = rx.llm.load(write_gguf(mixtral, tmp_path / "one.gguf"), cache=False)
    many = rx.llm.load(write_gguf(replace(mixtral, weights=apart), tmp_path / "many.gguf"), cache=False)
    numpy.testing.assert_array_equal(one.logits(TOKENS), many.logits(TOKENS))


def test_experts_of_equal_probability_are_taken_in_their_order(tmp_path: Path) -> None:
    base = tiny("mixtral")
    weights = dict(base.weights)
    for name, weight in weights.items():
        if name.endswith("ffn_gate_inp.weight"):
            weights[name] = numpy.zeros_like(weight)
    loaded = rx.llm.load(write_folder(replace(base, weights=weights), tmp_path / "model"), cache=False)
    expected = numpy_decoder.logits(base.variant, weights, TOKENS)
    numpy.testing.assert_allclose(loaded.logits(TOKENS), expected, rtol=1e-4, atol=1e-4)
    # The last experts are never used.
    for name, weight in weights.items():
        if weight.ndim == 3:
            weights[name] = weight.copy()
            weights[name][base.variant.used_experts :] = 7
    other = rx.llm.load(write_folder(replace(base, weights=weights), tmp_path / "other"), cache=False)
    numpy.testing.assert_array_equal(other.logits(TOKENS), loaded.logits(TOKENS))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 39])
def test_parts_of_a_prompt_have_equal_bits(model: rx.llm.Model, size: int) -> None:
    whole = model.logits(TOKENS)
    numpy.testing.assert_array_equal(model.logits(TOKENS[:size]), whole[:size])
    requests = [Request(TOKENS[:size], SamplingParameters(max_tokens=6, temperature=0, logprobs=2))]
    alone = _answers(model, requests, chunk=256)
    assert _answers(model, requests, chunk=3) == alone


def test_requests_of_one_batch_have_the_tokens_of_each_alone(model: rx.llm.Model) -> None:
    greedy = SamplingParameters(max_tokens=8, temperature=0, logprobs=3)
    prompts = [TOKENS[begin : begin + 5 + begin] for begin in range(9)]
    alone = [_answers(model, [Request(prompt, greedy)])[0] for prompt in prompts]
    assert _answers(model, [Request(prompt, greedy) for prompt in prompts]) == alone


def _answers(model: rx.llm.Model, requests: list[Request], chunk: int = 16) -> list[list[object]]:
    """Return the tokens of answers with their log-probabilities."""
    scheduler = Scheduler(model.engine(64), max_sequences=16, prefill_chunk=chunk)
    again = [Request(request.prompt, request.parameters) for request in requests]
    for request in again:
        scheduler.add(request)
    tokens: dict[str, list[object]] = {request.id: [] for request in again}
    while not scheduler.is_idle:
        for output in scheduler.step():
            assert output.error is None
            tokens[output.request.id] += output.tokens
    return [tokens[request.id] for request in again]


def _wide() -> Tiny:
    """Return a mixture of experts with rows of 256 numbers, as some types of GGUF need."""
    base = mixtral_as_llama()
    random = numpy.random.default_rng(3)

    def widened(name: str, shape: tuple[int, ...]) -> numpy.ndarray:
        sizes = tuple({64: 256, 96: 256, 32: 128}.get(size, size) for size in shape)
        if "norm" in name:
            return (1 + 0.2 * random.standard_normal(sizes)).astype("f4")
        return (random.standard_normal(sizes) * sizes[-1] ** -0.5).astype("f4")

    weights = {name: widened(name, weight.shape) for name, weight in base.weights.items()}
    metadata: Mapping[str, object] = {
        **base.metadata, "embedding_length": 256, "feed_forward_length": 256, "attention.key_length": 64,
    }  # fmt: skip
    frequencies = (numpy_decoder.plain_frequencies(10000.0, 64),) * 2
    variant = replace(base.variant, head_size=64, frequencies=frequencies, adjacent=True)
    return replace(base, weights=weights, metadata=metadata, variant=variant)


@pytest.mark.parametrize("type_", ["Q4_0", "Q8_0", "Q4_K", "Q6_K", "F16", "BF16"])
def test_types_of_experts(type_: str, tmp_path: Path) -> None:
    wide = _wide()
    types = {"ffn_gate_inp": "F32"}
    path = write_gguf(wide, tmp_path / "model.gguf", type_, types=types)
    expected = numpy_decoder.logits(wide.variant, Dequantized(path), TOKENS[:13])
    found = rx.llm.load(path, cache=False).logits(TOKENS[:13])
    numpy.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * numpy.abs(expected).max())


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"expert_used_count": 9}, "'llama.expert_used_count' in the model's metadata is 9, expected at most 5"),
        ({"expert_count": 6}, "the tensor 'blk.0.ffn_gate_inp.weight' has the shape (5, 64)"),
        ({"expert_count": 2**31}, "the tensor 'blk.0.ffn_gate_inp.weight' has the shape (5, 64)"),
        ({"expert_shared_count": 1}, "'llama.expert_shared_count' is 1, which is not supported"),
        ({"expert_count": 0}, "the tensor 'blk.0.ffn_up.weight' is missing"),
    ],
)
def test_damaged_metadata(changes: Mapping[str, object], problem: str, tmp_path: Path) -> None:
    base = mixtral_as_llama()
    path = write_gguf(replace(base, metadata={**base.metadata, **changes}), tmp_path / "model.gguf")
    with pytest.raises(rx.RelaxError) as caught:
        rx.llm.load(path, cache=False)
    assert problem in str(caught.value)


def test_experts_without_tensors_are_refused(tmp_path: Path) -> None:
    base = tiny("qwen3")
    path = write_gguf(replace(base, metadata={**base.metadata, "expert_count": EXPERTS}), tmp_path / "other.gguf")
    with pytest.raises(rx.RefusalError, match="the model has 5 experts, which are not supported for the architecture"):
        rx.llm.load(path, cache=False)
    base = tiny("llama")
    path = write_gguf(replace(base, metadata={**base.metadata, "expert_count": EXPERTS}), tmp_path / "model.gguf")
    with pytest.raises(rx.ModelError, match="is 5, and no layer has a router of experts"):
        rx.llm.load(path, cache=False)
