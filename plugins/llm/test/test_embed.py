# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Embeddings of tiny models beside a NumPy model in f64: pooling, batches, saved models, files that state a pooling."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import gguf
import numpy
import numpy_decoder
import pytest
import relax_mlir as rx
import safetensors.numpy
import tokenizers
from numpy import ndarray
from relax_mlir_llm import Model
from relax_mlir_llm.embedding_batches import EmbeddedText, EmbeddingBatches
from relax_mlir_llm.gguf_source import GgufSource
from relax_mlir_llm.model_pooling import model_pooling
from tiny_models import CONTEXT, VOCABULARY, WIDTH, Tiny, tiny, write_folder, write_gguf

RANDOM = numpy.random.default_rng(11)
#: Texts of many lengths. One has the length of the context.
TEXTS = [RANDOM.integers(0, VOCABULARY, count).tolist() for count in (21, 1, CONTEXT, 5, 16, 17, 40)]


@pytest.fixture(scope="module")
def made() -> Tiny:
    return tiny("llama")


@pytest.fixture(scope="module")
def folder(made: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(made, tmp_path_factory.mktemp("llm") / "tiny")


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return rx.llm.load(folder, cache=False, embeddings=True)


def expected(made: Tiny, tokens: Sequence[int], pooling: str) -> ndarray:
    """Return the embedding of a text, f64."""
    states = numpy_decoder.hidden_states(made.variant, made.weights, tokens)
    pooled = states[-1] if pooling == "last" else states.mean(0)
    return pooled / numpy.linalg.norm(pooled)


@pytest.mark.parametrize("pooling", ["last", "mean"])
def test_embeddings_equal_the_reference(model: Model, made: Tiny, pooling: str) -> None:
    found = model.embed(TEXTS, pooling=pooling)
    assert found.dtype == numpy.float32 and found.shape == (len(TEXTS), WIDTH)
    reference = numpy.stack([expected(made, each, pooling) for each in TEXTS])
    numpy.testing.assert_allclose(found, reference, rtol=1e-4, atol=1e-5)
    other = numpy.stack([expected(made, each, "mean" if pooling == "last" else "last") for each in TEXTS])
    assert numpy.abs(found - other).max() > 0.1


def test_another_architecture_and_pages_of_8_bits(tmp_path: Path) -> None:
    made = tiny("gemma2")
    loaded = rx.llm.load(write_folder(made, tmp_path / "model"), kv="i8", cache=False, embeddings=True)
    found = loaded.embed(TEXTS, pooling="mean")
    reference = numpy.stack([expected(made, each, "mean") for each in TEXTS])
    numpy.testing.assert_allclose(found, reference, atol=0.02)
    numpy.testing.assert_allclose(
        loaded.logits(TEXTS[0]), numpy_decoder.logits(made.variant, made.weights, TEXTS[0]), atol=0.05
    )


@pytest.mark.parametrize("pooling", ["last", "mean"])
def test_batches_and_chunks_do_not_change_bits(model: Model, pooling: str) -> None:
    alone = numpy.stack([model.embed(each, pooling=pooling) for each in TEXTS])
    numpy.testing.assert_array_equal(model.embed(TEXTS, pooling=pooling), alone)
    whole = model.embed(TEXTS, pooling=pooling, normalize=False)
    for most in (1, 7, 50):
        batches = model.embedding_batches(most)
        numpy.testing.assert_array_equal(pooled(batches, TEXTS, pooling).astype("f4"), whole)


def pooled(batches: EmbeddingBatches, texts: Sequence[Sequence[int]], pooling: str) -> ndarray:
    """Return the pooled hidden states that batches compute."""
    embedded = [EmbeddedText(each, pooling) for each in texts]  # type: ignore[arg-type]
    for each in embedded:
        batches.add(each)
    order: list[EmbeddedText] = []
    while not batches.is_idle:
        order += batches.step()
    assert [id(each) for each in order] == [id(each) for each in embedded]
    return numpy.stack([each.pooled for each in embedded])


def test_pages_are_given_back(model: Model) -> None:
    batches = model.embedding_batches(32)
    first = pooled(batches, TEXTS, "mean")
    count = batches._engine.page_count
    for _ in range(3):
        numpy.testing.assert_array_equal(pooled(batches, TEXTS, "mean"), first)
    assert batches._engine.page_count == count < 4 * (CONTEXT + 32) // model.description.page_size
    assert sorted(batches._free) == list(range(count))


def test_a_failed_step_leaves_no_text(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    before = model.embed(TEXTS)
    engine = model._batches._engine
    with monkeypatch.context() as patch:

        def fail(*_: object) -> ndarray:
            raise FloatingPointError("no numbers left")

        patch.setattr(engine, "step", fail)
        with pytest.raises(FloatingPointError, match="no numbers left"):
            model.embed(TEXTS)
    assert model._batches.is_idle
    numpy.testing.assert_array_equal(model.embed(TEXTS), before)


def test_forms_of_texts(model: Model) -> None:
    text, tokens = "hello world", model.tokenizer.encode("hello world")
    one = model.embed(text)
    assert one.shape == (WIDTH,)
    for same in (tokens, numpy.array(tokens)):
        numpy.testing.assert_array_equal(model.embed(same), one)
    for several in ([text, "x"], [tokens, "x"], [numpy.array(tokens), "x"]):
        found = model.embed(several)
        assert found.shape == (2, WIDTH)
        numpy.testing.assert_array_equal(found[0], one)


def test_dimensions_are_cut_before_the_normalization(model: Model) -> None:
    whole, cut = model.embed("hello", normalize=False), model.embed("hello", dimensions=7)
    numpy.testing.assert_allclose(cut, whole[:7] / numpy.linalg.norm(whole[:7]), rtol=1e-6)
    assert model.embed("hello", dimensions=WIDTH, normalize=False).tolist() == whole.tolist()
    assert abs(numpy.linalg.norm(whole) - 1) > 0.5


@pytest.mark.parametrize(
    "texts, options, message",
    [
        ("", {}, "the text has no tokens"),
        ([], {}, "the text has no tokens"),
        (["a", []], {}, "the text has no tokens"),
        ([1] * (CONTEXT + 1), {}, f"has {CONTEXT + 1} tokens, and the context of tiny has {CONTEXT}"),
        ([VOCABULARY], {}, f"the token {VOCABULARY}, and the vocabulary has 0 to {VOCABULARY - 1}"),
        ([[-1]], {}, "the token -1"),
        ([1.5], {}, "expected a text, or a list of tokens"),
        (5, {}, "expected a text, or a list of tokens"),
        ("a", {"pooling": "cls"}, "pooling='cls': expected one of last, mean"),
        ("a", {"dimensions": 0}, f"dimensions=0: expected an integer from 1 to {WIDTH}"),
        ("a", {"dimensions": WIDTH + 1}, f"expected an integer from 1 to {WIDTH}"),
        ("a", {"dimensions": "8"}, "dimensions='8'"),
    ],
)
def test_bad_input(model: Model, texts: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(rx.OptionError, match=message):
        model.embed(texts, **options)  # type: ignore[arg-type]


def test_a_saved_model_keeps_embeddings(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path / "saved")
    loaded = rx.llm.load(tmp_path / "saved", embeddings=True)
    numpy.testing.assert_array_equal(loaded.embed(TEXTS), model.embed(TEXTS))
    numpy.testing.assert_array_equal(loaded.logits(TEXTS[0]), model.logits(TEXTS[0]))
    numpy.testing.assert_array_equal(rx.llm.load(tmp_path / "saved").embed(TEXTS), model.embed(TEXTS))


def test_a_model_without_embeddings_refuses_embed(model: Model, folder: Path, tmp_path: Path) -> None:
    plain = rx.llm.load(folder, cache=tmp_path / "cache")
    assert list(plain.program) == ["main"]
    with pytest.raises(rx.OptionError, match="tiny was compiled without embeddings: load the model with"):
        plain.embed("a")
    plain.save(tmp_path / "saved")
    with pytest.raises(rx.OptionError, match="was compiled without embeddings: load the model's own files"):
        rx.llm.load(tmp_path / "saved", embeddings=True)
    cached = rx.llm.load(folder, cache=tmp_path / "cache", embeddings=True)  # another entry of the cache
    numpy.testing.assert_array_equal(cached.embed(TEXTS), model.embed(TEXTS))
    numpy.testing.assert_array_equal(cached.logits(TEXTS[0]), plain.logits(TEXTS[0]))


def write_pooling(folder: Path, *modules: str, **stated: bool) -> None:
    """Write the files of sentence-transformers."""
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": WIDTH, **stated}))
    parts = [{"type": f"sentence_transformers.models.{each}"} for each in ("Transformer", "Pooling", *modules)]
    (folder / "modules.json").write_text(json.dumps(parts))


def test_a_model_of_embeddings_from_a_folder(made: Tiny, tmp_path: Path) -> None:
    """The folder has no head, names without `model.`, a pooling, and a tokenizer that ends each text."""
    tied = tiny("qwen2")
    folder = write_folder(tied, tmp_path / "model")
    file = folder / "model.safetensors"
    tensors = {name.removeprefix("model."): each for name, each in safetensors.numpy.load_file(file).items()}
    safetensors.numpy.save_file(tensors, file)
    write_pooling(folder, "Normalize", pooling_mode_cls_token=False, pooling_mode_mean_tokens=True)
    backend = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    backend.post_processor = tokenizers.processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    backend.save(str(folder / "tokenizer.json"))
    loaded = rx.llm.load(folder, cache=False, embeddings=True)
    assert loaded.description.pooling == "mean"
    tokens = [*loaded.tokenizer.encode("hello world"), 1]
    assert tokens.count(1) == 1  # prompts of answers have no end
    found = loaded.embed("hello world")
    numpy.testing.assert_allclose(found, expected(tied, tokens, "mean"), rtol=1e-4, atol=1e-5)
    loaded.save(tmp_path / "saved")
    numpy.testing.assert_array_equal(rx.llm.load(tmp_path / "saved").embed("hello world"), found)


def gguf_with(made: Tiny, path: Path, **metadata: object) -> Path:
    """Write a GGUF file with more metadata of the architecture."""
    return write_gguf(replace(made, metadata={**made.metadata, **metadata}), path)


@pytest.mark.parametrize("number, pooling", [(0, "last"), (1, "mean"), (3, "last")])
def test_the_pooling_of_a_gguf_file(made: Tiny, tmp_path: Path, number: int, pooling: str) -> None:
    assert gguf.PoolingType(number).name in ("NONE", pooling.upper())
    path = gguf_with(made, tmp_path / "model.gguf", pooling_type=number)
    assert model_pooling(GgufSource(str(path))) == pooling


def test_files_that_no_embedding_is_right_for(made: Tiny, tmp_path: Path) -> None:
    path = gguf_with(made, tmp_path / "cls.gguf", pooling_type=2)
    with pytest.raises(rx.RefusalError, match="the pooling 'cls' is not supported"):
        rx.llm.load(path, cache=False, embeddings=True)
    folder = write_folder(made, tmp_path / "weighted")
    write_pooling(folder, pooling_mode_weightedmean_tokens=True)
    with pytest.raises(rx.RefusalError, match="the pooling 'weightedmean_tokens' is not supported"):
        rx.llm.load(folder, cache=False, embeddings=True)
    folder = write_folder(made, tmp_path / "dense")
    write_pooling(folder, "Dense", pooling_mode_lasttoken=True)
    with pytest.raises(rx.RefusalError, match="the part 'Dense' of embeddings is not supported"):
        rx.llm.load(folder, cache=False, embeddings=True)
    (folder / "modules.json").write_text("[")
    with pytest.raises(rx.ModelError, match=r"cannot read .*modules.json"):
        rx.llm.load(folder, cache=False, embeddings=True)


@pytest.mark.parametrize("entry", [{"use_bidirectional_attention": True}, {"is_causal": False}])
def test_attention_in_both_directions_is_refused(entry: dict[str, bool], tmp_path: Path) -> None:
    made = tiny("gemma3")
    folder = write_folder(replace(made, config={**made.config, **entry}), tmp_path / "model")
    with pytest.raises(rx.RefusalError, match="attention in both directions"):
        rx.llm.load(folder, cache=False)
