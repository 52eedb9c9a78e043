# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""BERT and Nomic BERT from GGUF files: embeddings beside a NumPy model in f64, WordPiece, batches, and a server."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import gguf
import numpy
import pytest
import relax_mlir as rx
import tokenizers
from numpy import ndarray
from relax_mlir_llm.embedding_batches import EmbeddedText
from served_process import server
from tokenizers import models, normalizers, pre_tokenizers, processors

LAYERS, WIDTH, INNER, HEADS, CONTEXT = 2, 64, 96, 4, 48
SIZE = WIDTH // HEADS
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh", "##a", "##b", "##c", "the", "cat", "##s", ",", "!"]
TEXTS = [[2, 5, 6, 3], [7], [int(token) for token in numpy.random.default_rng(2).integers(5, len(WORDS), 40)]]
SENTENCES = ["The cats, a  b!", "cat ABC abz", "É the日", "", "[MASK] the"]


def weights_of(architecture: str) -> dict[str, ndarray]:
    """Return random weights under GGUF's names."""
    random = numpy.random.default_rng(7)
    is_bert = architecture == "bert"

    def matrix(*shape: int) -> ndarray:
        return (random.standard_normal(shape) * shape[-1] ** -0.5).astype("f4")

    def vector(size: int, middle: float = 0.0) -> ndarray:
        return (middle + 0.2 * random.standard_normal(size)).astype("f4")

    found = {"token_embd.weight": matrix(len(WORDS), WIDTH) * 8, "token_types.weight": matrix(2, WIDTH) * 8}
    if is_bert:
        found["position_embd.weight"] = matrix(CONTEXT, WIDTH) * 8
    norms = ["token_embd_norm", *(f"blk.{n}.{part}_output_norm" for n in range(LAYERS) for part in ("attn", "layer"))]
    for name in norms:
        found |= {f"{name}.weight": vector(WIDTH, 1.0), f"{name}.bias": vector(WIDTH)}
    for n in range(LAYERS):
        sizes = {"attn_output": (WIDTH, WIDTH), "ffn_up": (INNER, WIDTH), "ffn_down": (WIDTH, INNER)}
        sizes |= dict.fromkeys(("attn_q", "attn_k", "attn_v"), (WIDTH, WIDTH)) if is_bert else {}
        sizes |= {} if is_bert else {"attn_qkv": (3 * WIDTH, WIDTH), "ffn_gate": (INNER, WIDTH)}
        for name, shape in sizes.items():
            found[f"blk.{n}.{name}.weight"] = matrix(*shape) * 2
            if is_bert:
                found[f"blk.{n}.{name}.bias"] = vector(shape[0])
    return found


def write_encoder(architecture: str, path: Path, **metadata: int) -> Path:
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(LAYERS)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_context_length(CONTEXT)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_rope_freq_base(1000.0)
    for name, value in metadata.items():
        writer.add_uint32(f"{architecture}.{name}", value)
    writer.add_tokenizer_model("bert")
    writer.add_token_list([_stored(word) for word in WORDS])
    writer.add_token_types([3 if word.startswith("[") else 1 for word in WORDS])
    writer.add_unk_token_id(1)
    # Older files name the first token in two ways.
    writer.add_uint32(f"tokenizer.ggml.{'cls' if architecture == 'bert' else 'bos'}_token_id", 2)
    writer.add_uint32("tokenizer.ggml.seperator_token_id", 3)
    for name, weight in weights_of(architecture).items():
        writer.add_tensor(name, weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _stored(word: str) -> str:
    """Return a token as llama.cpp's converter writes it."""
    if word.startswith("["):
        return word
    return word.removeprefix("##") if word.startswith("##") else f"\u2581{word}"


def states(architecture: str, w: Mapping[str, ndarray], tokens: Sequence[int]) -> ndarray:
    """Return the hidden states f64 [tokens, width], written from the papers."""
    count = len(tokens)
    x = w["token_embd.weight"][list(tokens)].astype("f8") + w["token_types.weight"][0]
    if architecture == "bert":
        x = x + w["position_embd.weight"][:count]
    x = _norm(w, "token_embd_norm", x)
    for n in range(LAYERS):
        if architecture == "bert":
            q, k, v = (_linear(w, f"blk.{n}.attn_{part}", x) for part in "qkv")
        else:
            q, k, v = numpy.split(_linear(w, f"blk.{n}.attn_qkv", x), 3, axis=1)
        q, k, v = (part.reshape(count, HEADS, SIZE).swapaxes(0, 1) for part in (q, k, v))
        if architecture != "bert":
            q, k = _turned(q), _turned(k)
        scores = numpy.exp(q @ k.swapaxes(1, 2) / math.sqrt(SIZE))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ v
        mixed = mixed.swapaxes(0, 1).reshape(count, WIDTH)
        x = _norm(w, f"blk.{n}.attn_output_norm", x + _linear(w, f"blk.{n}.attn_output", mixed))
        up = _linear(w, f"blk.{n}.ffn_up", x)
        if architecture == "bert":
            up = up * (1 + numpy.vectorize(math.erf)(up / math.sqrt(2))) / 2
        else:
            gate = _linear(w, f"blk.{n}.ffn_gate", x)
            up = gate / (1 + numpy.exp(-gate)) * up
        x = _norm(w, f"blk.{n}.layer_output_norm", x + _linear(w, f"blk.{n}.ffn_down", up))
    return x


def _linear(w: Mapping[str, ndarray], name: str, x: ndarray) -> ndarray:
    return x @ w[f"{name}.weight"].astype("f8").T + w.get(f"{name}.bias", 0.0)


def _norm(w: Mapping[str, ndarray], name: str, x: ndarray) -> ndarray:
    centered = x - x.mean(-1, keepdims=True)
    return (
        centered / numpy.sqrt((centered**2).mean(-1, keepdims=True) + 1e-12) * w[f"{name}.weight"] + w[f"{name}.bias"]
    )


def _turned(x: ndarray) -> ndarray:
    frequencies = 1000.0 ** (-numpy.arange(0, SIZE, 2) / SIZE)
    angles = numpy.outer(numpy.arange(x.shape[1]), frequencies)
    first, second = x[..., : SIZE // 2], x[..., SIZE // 2 :]
    cosine, sine = numpy.cos(angles), numpy.sin(angles)
    return numpy.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)


@pytest.fixture(scope="module", params=["bert", "nomic-bert"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> rx.llm.Model:
    path = write_encoder(request.param, tmp_path_factory.mktemp("encoder") / f"{request.param}.gguf")
    return rx.llm.load(path, embeddings=True, cache=False)


@pytest.mark.parametrize("pooling", ["mean", "last", "cls"])
def test_embeddings_equal_the_reference(model: rx.llm.Model, pooling: str) -> None:
    architecture = model.description.architecture
    rows = [states(architecture, weights_of(architecture), tokens) for tokens in TEXTS]
    pooled = [{"mean": row.mean(0), "last": row[-1], "cls": row[0]}[pooling] for row in rows]
    found = model.embed(TEXTS, pooling=pooling, normalize=False)
    numpy.testing.assert_allclose(found, numpy.stack(pooled), rtol=1e-4, atol=1e-4)


def test_bits_do_not_depend_on_other_texts(model: rx.llm.Model) -> None:
    alone = numpy.stack([model.embed(tokens, normalize=False) for tokens in TEXTS])
    numpy.testing.assert_array_equal(model.embed(TEXTS, normalize=False), alone)
    for most in (1, 5, 41, 64):  # a text is never divided
        batches = model.embedding_batches(most)
        texts = [EmbeddedText(tokens, "mean") for tokens in TEXTS]
        for text in texts:
            batches.add(text)
        while not batches.is_idle:
            batches.step()
        numpy.testing.assert_array_equal(numpy.stack([text.pooled for text in texts]).astype("f4"), alone)


def test_wordpiece(model: rx.llm.Model) -> None:
    numbers = {word: number for number, word in enumerate(WORDS)}
    oracle = tokenizers.Tokenizer(models.WordPiece(numbers, unk_token="[UNK]", max_input_chars_per_word=100))
    oracle.normalizer = normalizers.BertNormalizer(lowercase=True)
    oracle.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    oracle.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    oracle.add_special_tokens(WORDS[:5])
    for text in SENTENCES:
        assert model.tokenizer.encode(text, is_embedded=True) == oracle.encode(text).ids
    assert model.tokenizer.decode(model.tokenizer.encode("the", add_bos=False)) == "the"


def test_a_saved_encoder(model: rx.llm.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "saved")
    saved = rx.llm.load(tmp_path / "saved")
    assert saved.description.is_encoder and saved.description.pooling == "mean"
    numpy.testing.assert_array_equal(saved.embed(SENTENCES), model.embed(SENTENCES))


def test_an_encoder_has_no_answers(model: rx.llm.Model, tmp_path: Path) -> None:
    for use in (lambda: model.generate("a"), lambda: model.logits([5]), lambda: model.engine(4)):
        with pytest.raises(rx.RefusalError, match="is an encoder: it has embeddings, and neither logits nor answers"):
            use()
    path = write_encoder("bert", tmp_path / "bert.gguf")
    with pytest.raises(rx.OptionError, match="has embeddings only: load it with embeddings=True"):
        rx.llm.load(path, cache=False)
    with pytest.raises(rx.OptionError, match="pooling='max': expected one of last, mean, cls"):
        model.embed("a", pooling="max")
    with pytest.raises(rx.RefusalError, match="the pooling 'rank' is not supported"):
        rx.llm.load(write_encoder("bert", tmp_path / "rank.gguf", pooling_type=4), embeddings=True, cache=False)


def test_the_pooling_of_the_file(tmp_path: Path) -> None:
    loaded = rx.llm.load(write_encoder("bert", tmp_path / "cls.gguf", pooling_type=2), embeddings=True, cache=False)
    assert loaded.description.pooling == "cls"
    numpy.testing.assert_array_equal(loaded.embed("the cat"), loaded.embed("the cat", pooling="cls"))


def test_a_server_of_an_encoder(model: rx.llm.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "saved")
    with server(tmp_path / "saved", "--embeddings", "--prefill-chunk", "4", "--name", "encoder") as (_, client):
        inputs = ["the cat", "the " * 40]
        answer = client.post("/v1/embeddings", json={"model": "encoder", "input": inputs}).json()
        vectors = [result["embedding"] for result in answer["data"]]
        numpy.testing.assert_array_equal(numpy.array(vectors, "f4"), model.embed(inputs))
        ranked = client.post("/v1/rerank", json={"query": "the cat", "documents": ["abc", "the cats"]}).json()
        assert len(ranked["results"]) == 2
        for path, body in (("completions", {"prompt": "a"}), ("responses", {"input": "a"})):
            refused = client.post(f"/v1/{path}", json=body)
            message = "the model 'encoder' has embeddings only: use /v1/embeddings or /v1/rerank"
            assert refused.status_code == 400 and refused.json()["error"]["message"] == message
        assert client.get("/health").status_code == 200 and client.get("/metrics").status_code == 200
