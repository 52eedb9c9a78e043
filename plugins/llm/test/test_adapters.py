# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LoRA adapters inside of a program: each sequence of a batch has its own, beside a NumPy model of merged weights."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy
import numpy_decoder
import pytest
import relax_mlir as rx
import safetensors.numpy
from numpy import ndarray
from relax_mlir_llm import Model, Request, SamplingParameters, Scheduler
from test_model import both, step
from tiny_models import VOCABULARY, Tiny, their_name, tiny, wide, write_folder, write_gguf

TOKENS = [int(each) for each in numpy.random.default_rng(8).integers(0, VOCABULARY, 20)]
#: Parts of the names of weights that the second adapter changes.
FEW = ("attn_v", "attn_qkv", "ffn_down")


def write_lora(folder: Path, model: Tiny, names: Iterable[str], rank: int) -> dict[str, ndarray]:
    """Write an adapter that changes weights with GGUF's names. Return the merged weights of the model."""
    random = numpy.random.default_rng(rank)
    merged, tensors = dict(model.weights), {}
    for name in names:
        own = name if name in model.weights else "token_embd.weight"  # the head of a tied model
        rows, columns = model.weights[own].shape
        theirs = f"base_model.model.{their_name(model, name).removesuffix('.weight')}"
        a = 0.3 * random.standard_normal((rank, columns), "f4")
        b = 0.3 * random.standard_normal((rows, rank), "f4")
        tensors.update({f"{theirs}.lora_A.weight": a, f"{theirs}.lora_B.weight": b})
        merged[name] = model.weights[own].astype("f8") + 1.5 * b.astype("f8") @ a.astype("f8")
    folder.mkdir()
    safetensors.numpy.save_file(tensors, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({"r": rank, "lora_alpha": 1.5 * rank}))
    return merged


class Written(NamedTuple):
    """Adapters `all`, of all matrices, and `few`, with the merged weights of each."""

    folders: Mapping[str, Path]
    merged: Mapping[str, Mapping[str, ndarray]]


def write_both(folder: Path, model: Tiny) -> Written:
    matrices = [name for name, each in model.weights.items() if each.ndim == 2 and not name.startswith("token_embd")]
    matrices += [] if "output.weight" in matrices else ["output.weight"]
    few = [name for name in matrices if name.split(".")[-2] in FEW]
    folders = {name: folder / name for name in ("all", "few")}
    merged = {
        name: write_lora(folders[name], model, names, rank)
        for name, names, rank in (("all", matrices, 5), ("few", few, 3))
    }
    return Written(folders, merged)


@pytest.mark.parametrize("name, is_gguf", [("llama", True), ("gemma3", True), ("phi3", True), ("qwen2", False)])
def test_logits_are_those_of_merged_weights(name: str, is_gguf: bool, tmp_path: Path) -> None:
    model = tiny(name)
    path = write_gguf(model, tmp_path / "model.gguf") if is_gguf else write_folder(model, tmp_path / "model")
    written = write_both(tmp_path, model)
    loaded = rx.llm.load(path, adapters=written.folders, cache=False)
    assert loaded.description.adapters == ("all", "few")
    found = {}
    for adapter, weights in {None: model.weights, **written.merged}.items():
        found[adapter] = loaded.logits(TOKENS, adapter=adapter)
        expected = numpy_decoder.logits(model.variant, weights, TOKENS)
        numpy.testing.assert_allclose(found[adapter], expected, rtol=1e-3, atol=1e-4 * numpy.abs(expected).max())
    for adapter in written.folders:
        assert numpy.abs(found[adapter] - found[None]).max() > 0.1


class Loaded(NamedTuple):
    """Model with two adapters, and the same model without adapters."""

    path: Path
    written: Written
    model: Model
    plain: Model


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    folder, model = tmp_path_factory.mktemp("llm"), tiny("llama")
    path = write_gguf(model, folder / "tiny.gguf", "Q8_0")
    written = write_both(folder, model)
    changed = rx.llm.load(path, adapters=written.folders, cache=False)
    return Loaded(path, written, changed, rx.llm.load(path, cache=False))


def test_other_sequences_do_not_change_bits(loaded: Loaded) -> None:
    """Compare the bits of two sequences in one call with calls of their own, and with the model without adapters."""
    lists = {None: TOKENS, "all": TOKENS[::-1], "few": TOKENS[3:]}
    alone = {each: loaded.model.logits(tokens, adapter=each) for each, tokens in lists.items()}
    numpy.testing.assert_array_equal(alone[None], loaded.plain.logits(TOKENS))
    for pair in ((None, "all"), ("few", None), ("all", "few")):
        numbers = [numpy.array([loaded.model.description.adapter_number(each)], numpy.int32) for each in pair]
        steps = [step(lists[each], 0, pages) for each, pages in zip(pair, ([1, 4], [0, 3]), strict=True)]
        steps = [each._replace(adapters=number) for each, number in zip(steps, numbers, strict=True)]
        found = loaded.model.engine(8).step(both(*steps))
        numpy.testing.assert_array_equal(found, numpy.concatenate([alone[each] for each in pair]))


def test_other_adapters_do_not_change_bits(loaded: Loaded) -> None:
    one = rx.llm.load(loaded.path, adapters={"own": loaded.written.folders["few"]}, cache=False)
    numpy.testing.assert_array_equal(one.logits(TOKENS, adapter="own"), loaded.model.logits(TOKENS, adapter="few"))


def test_a_scheduler_gives_each_request_the_answer_of_its_adapter(loaded: Loaded) -> None:
    """Compare answers with few pages, drafts, parts of prompts and a prefix cache with answers one at a time."""
    scheduler = Scheduler(
        loaded.model.engine(7), max_sequences=6, prefill_chunk=8, max_batched_tokens=24, draft="ngram"
    )
    prompt = [*TOKENS[:9], *TOKENS[:9]]
    requests = [
        Request(prompt, SamplingParameters(40, 0.5, seed=seed, ignore_eos=True), adapter=adapter)
        for seed in range(3)
        for adapter in (None, "all", "few")
    ]
    found: dict[str, list[int]] = {each.id: [] for each in requests}
    for each in requests:
        scheduler.add(each)
    while not scheduler.is_idle:
        for output in scheduler.step():
            found[output.request.id] += [token.token for token in output.tokens]
    for each in requests:
        engine = loaded.model if each.adapter else loaded.plain
        expected = Scheduler(engine.engine(4), prefix_cache=False)
        expected.add(replace(each, id="alone"))
        tokens: list[int] = []
        while not expected.is_idle:
            tokens += [token.token for output in expected.step() for token in output.tokens]
        assert found[each.id] == tokens
    assert len({tuple(each) for each in found.values()}) > 3
    statistics = scheduler.statistics
    assert statistics.preempted and statistics.prefix_hits and statistics.proposed_drafts


def test_texts_by_name(loaded: Loaded) -> None:
    """Change the adapter between texts with the same begin: keys and values of the other adapter are not used."""
    texts = {}
    for adapter in (None, "all", "few", None, "all"):
        found = loaded.model.generate(TOKENS, 8, adapter=adapter)
        for _ in found:
            pass
        assert texts.setdefault(adapter, found.tokens) == found.tokens
    for adapter, tokens in texts.items():
        likeliest = loaded.model.logits([*TOKENS, *tokens], adapter=adapter)[len(TOKENS) - 1 : -1].argmax(1)
        assert likeliest.tolist() == tokens
    messages = [{"role": "user", "content": "hello"}]
    assert list(loaded.model.chat(messages, 8, adapter="all")) != list(loaded.model.chat(messages, 8))
    with pytest.raises(rx.OptionError, match="adapter='other': tiny has no such adapter; it has all, few"):
        loaded.model.logits(TOKENS, adapter="other")
    with pytest.raises(rx.OptionError, match="adapter='all': tiny has no such adapter; load the model with `adapters`"):
        loaded.plain.generate(TOKENS, adapter="all")


def test_a_saved_model_has_its_adapters(loaded: Loaded, tmp_path: Path) -> None:
    loaded.model.save(tmp_path / "saved")
    again = rx.llm.load(tmp_path / "saved")
    assert again.description == loaded.model.description
    for adapter in (None, "few"):
        expected = loaded.model.logits(TOKENS, adapter=adapter)
        numpy.testing.assert_array_equal(again.logits(TOKENS, adapter=adapter), expected)
    with pytest.raises(rx.RefusalError, match=r"is compiled, and has no place for .*few"):
        rx.llm.load(tmp_path / "saved", adapters={"few": loaded.written.folders["few"]})


def test_the_program_has_the_weights_once(tmp_path: Path) -> None:
    model = wide("llama")
    path = write_gguf(model, tmp_path / "model.gguf")
    write_lora(tmp_path / "adapter", model, ["blk.0.attn_q.weight"], 2)
    rx.llm.load(path, adapters={"one": tmp_path / "adapter"}, cache=False).save(tmp_path / "saved")
    weights = sum(each.nbytes for each in model.weights.values())
    assert weights < (tmp_path / "saved" / "program.rxa").stat().st_size < 1.4 * weights


def test_the_cache_knows_the_files_of_adapters(tmp_path: Path) -> None:
    model = tiny("llama")
    path, cache = write_gguf(model, tmp_path / "model.gguf"), tmp_path / "cache"
    folder = tmp_path / "adapter"
    write_lora(folder, model, ["blk.0.attn_k.weight"], 2)
    first = rx.llm.load(path, adapters={"one": folder}, cache=cache).logits(TOKENS, adapter="one")
    (folder / "adapter_config.json").write_text(json.dumps({"r": 2, "lora_alpha": 4}))
    second = rx.llm.load(path, adapters={"one": folder}, cache=cache).logits(TOKENS, adapter="one")
    assert numpy.abs(first - second).max() > 1e-3


@pytest.mark.parametrize("is_gguf", [True, False])
def test_adapters_of_other_models_are_refused(is_gguf: bool, tmp_path: Path) -> None:
    model, other = tiny("llama"), tiny("phi3")
    path = write_gguf(model, tmp_path / "model.gguf") if is_gguf else write_folder(model, tmp_path / "model")
    write_lora(tmp_path / "fused", other, ["blk.1.attn_qkv.weight"], 2)
    with pytest.raises(rx.ModelError, match=r"fused: .*'model.layers.1.self_attn.qkv_proj.weight', which .* lacks"):
        rx.llm.load(path, adapters={"a": tmp_path / "fused"}, cache=False)
    write_lora(tmp_path / "wide", tiny("qwen3"), ["blk.0.attn_q.weight"], 2)
    with pytest.raises(rx.ModelError, match=r"A \(2, 64\) and B \(128, 2\), .* the shape \(64, 64\)"):
        rx.llm.load(path, adapters={"a": tmp_path / "wide"}, cache=False)
