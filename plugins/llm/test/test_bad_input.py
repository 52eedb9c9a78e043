# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damaged and unsupported models, and prompts that a model refuses: one sentence that says what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gguf
import numpy
import pytest
import relax_mlir as rx
import tiny_models
import tiny_tokenizer
from relax_mlir_llm import Model
from relax_mlir_llm.gguf_source import GgufSource
from tiny_models import Tiny, tiny, write_folder, write_gguf


def problem_of(path: Path, **options: object) -> str:
    """Return the sentence with which loading fails."""
    with pytest.raises(rx.RelaxError) as caught:
        rx.llm.load(path, cache=False, **options)  # type: ignore[arg-type]
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_gguf(tiny("llama"), tmp_path / "tiny.gguf", "Q8_0")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return rx.llm.load(write_gguf(tiny("llama"), tmp_path_factory.mktemp("llm") / "tiny.gguf"), cache=False)


@pytest.mark.parametrize("share", [0.001, 0.01, 0.05, 0.1, 0.3, 0.6, 0.9, 0.9999])
def test_a_cut_gguf(share: float, path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    found = problem_of(path)
    assert f"{path} is damaged or cut: it has {int(len(data) * share):,} bytes" in found
    assert found.endswith("load the file again from its origin")


def test_parts_of_a_file(tmp_path: Path, path: Path) -> None:
    (tmp_path / "split").mkdir()
    first = write_gguf(tiny("llama"), tmp_path / "split" / "tiny.gguf", "Q8_0", part_tensors=8)
    parts = sorted(first.parent.iterdir())
    assert len(parts) == 3
    whole, joined = GgufSource(str(path)), GgufSource(str(first))
    assert whole.names == joined.names
    for name in whole.names:
        shape = whole.shape(name) or ()
        numpy.testing.assert_array_equal(whole.read(name, shape).data, joined.read(name, shape).data)
    expected = rx.llm.load(path, cache=False).logits([5, 60, 7])
    numpy.testing.assert_array_equal(rx.llm.load(first, cache=False).logits([5, 60, 7]), expected)
    assert "is part 1 (from 0) of 3 of a split file: pass the first part" in problem_of(parts[1])
    second = parts[1].read_bytes()
    parts[1].write_bytes(parts[2].read_bytes())
    assert "they belong to different files; load all of them again from their origin" in problem_of(first)
    parts[1].write_bytes(second[:-100])
    assert f"{parts[1]} is damaged or cut" in problem_of(first)
    parts[1].unlink()
    assert problem_of(first) == f"cannot read {parts[1]}: No such file or directory"


def test_random_bytes_in_the_header(path: Path) -> None:
    data = path.read_bytes()
    random = numpy.random.default_rng(3)
    refused = 0
    for _ in range(40):
        changed = bytearray(data)
        for place in random.integers(4, 11000, 6):
            changed[place] = random.integers(0, 256)
        path.write_bytes(changed)
        try:
            rx.llm.load(path, cache=False, target="no-such-target")
        except rx.RelaxError as error:
            refused += "no-such-target" not in str(error)
            assert "\n" not in str(error).partition("note:")[0].strip()
    assert refused > 10


def test_another_file(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04 some archive")
    assert problem_of(path) == f"{path} is no GGUF file: it begins with b'PK\\x03\\x04', expected b'GGUF'"


def test_unknown_type_of_a_tensor(path: Path) -> None:
    data = bytearray(path.read_bytes())
    name = b"blk.0.attn_q.weight"
    place = data.index(name) + len(name) + 4 + 2 * 8  # behind the number of sizes, and two sizes
    assert data[place] == gguf.GGMLQuantizationType.Q8_0
    data[place] = 199
    path.write_bytes(data)
    found = problem_of(path)
    assert found.startswith(
        f"{path} has a tensor of the unknown type 199: the installed package gguf knows the types 0"
    )
    assert found.endswith("convert the file to another type, such as Q4_K_M")


def test_unknown_architecture(tmp_path: Path) -> None:
    path = write_gguf(replace(tiny("llama"), architecture="rwkv9"), tmp_path / "tiny.gguf")
    assert problem_of(path).startswith(f"{path}: the architecture 'rwkv9' is not supported (supported: llama, mistral")


@pytest.mark.parametrize("write", [write_gguf, write_folder])
def test_missing_tensor(write: Callable[[Tiny, Path], Path], tmp_path: Path) -> None:
    model = tiny("llama")
    weights = {name: each for name, each in model.weights.items() if name != "blk.1.attn_k.weight"}
    path = write(replace(model, weights=weights), tmp_path / "model")
    name = "blk.1.attn_k.weight" if write is write_gguf else "model.layers.1.self_attn.k_proj.weight"
    assert f"{path}: the tensor '{name}' is missing among the " in problem_of(path)


@pytest.mark.parametrize("write", [write_gguf, write_folder])
def test_wrong_shape(write: Callable[[Tiny, Path], Path], tmp_path: Path) -> None:
    model = tiny("llama")
    weights = {**model.weights, "blk.0.ffn_down.weight": numpy.zeros((64, 64), "f4")}
    path = write(replace(model, weights=weights), tmp_path / "model")
    assert "has the shape (64, 64), and the sizes in the model's configuration imply (64, 96)" in problem_of(path)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"hidden_size": None}, "'hidden_size' in the model's configuration is missing"),
        ({"hidden_size": "64"}, "'hidden_size' in the model's configuration is '64', expected a number"),
        ({"num_hidden_layers": 0}, "'num_hidden_layers' in the model's configuration is 0, expected a positive"),
        ({"num_key_value_heads": 3}, "is 3, which does not divide the number of heads, 4"),
        ({"rope_scaling": {"type": "ntk"}}, "the rope scaling 'ntk' is not supported (supported: none, linear"),
        ({"hidden_act": "relu"}, "the activation 'relu' is not supported (supported: silu"),
        ({"layer_types": ["full_attention"]}, "'layer_types' in the model's configuration has 1 entries, expected 2"),
        ({"model_type": None}, "the configuration lacks 'model_type', the name of the architecture"),
    ],
)
def test_configurations(changes: dict[str, object], problem: str, tmp_path: Path) -> None:
    folder = write_folder(tiny("mistral"), tmp_path / "model")
    config = {**json.loads((folder / "config.json").read_text()), **changes}
    (folder / "config.json").write_text(json.dumps({name: each for name, each in config.items() if each is not None}))
    found = problem_of(folder)
    assert str(folder) in found and problem in found


def test_incomplete_folders(tmp_path: Path) -> None:
    folder = write_folder(tiny("llama"), tmp_path / "model")
    weights = folder / "model.safetensors"
    data = weights.read_bytes()
    weights.write_bytes(data[:-7])
    assert problem_of(folder).startswith(f"{weights} is damaged or cut: ")
    weights.unlink()
    assert problem_of(folder) == f"{folder} has no *.safetensors files: convert the model's weights to safetensors"
    weights.write_bytes(data)
    (folder / "tokenizer.json").write_text("{}")
    assert problem_of(folder).startswith(f"{folder / 'tokenizer.json'} is no tokenizer that the package tokenizers")
    (folder / "tokenizer.json").unlink()
    assert problem_of(folder) == f"{folder} has no tokenizer.json: copy it from the model's origin"
    (folder / "config.json").write_text("{")
    assert problem_of(folder).startswith(f"{folder / 'config.json'} is no valid JSON: ")
    (folder / "config.json").unlink()
    assert problem_of(folder) == (
        f"{folder} has no config.json: it describes the architecture of the model; copy it from the model's origin"
    )


def test_wrong_options(path: Path) -> None:
    assert problem_of(path, context=65).startswith(f"context=65: {path} was trained for sequences of 1 to 64 tokens")
    assert problem_of(path, kv="f8") == "kv='f8': expected one of f32, f16, i8"
    assert problem_of(path, activations="i4") == "activations='i4': expected one of f32, i8"
    assert problem_of(path.parent / "missing.gguf").startswith(f"{path.parent / 'missing.gguf'} does not exist: pass")


@pytest.mark.parametrize(
    ("prompt", "problem"),
    [
        ([1] * 65, "the prompt has 65 tokens, and the context of tiny has 64: shorten the prompt, or load the model"),
        ([], "the prompt has no tokens, expected at least one"),
        ("", "the prompt has no tokens, expected at least one"),
        ([1, 300], "the prompt has the token 300, and the vocabulary has 0 to 299"),
    ],
)
def test_refused_prompts(model: Model, prompt: str | list[int], problem: str) -> None:
    with pytest.raises(rx.OptionError) as caught:
        model.generate(prompt)
    assert str(caught.value).startswith(problem)
    if isinstance(prompt, list):
        with pytest.raises(rx.OptionError):
            model.logits(prompt)


def test_a_template_that_does_not_parse_is_refused_at_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (tiny_models, tiny_tokenizer):
        monkeypatch.setattr(module, "TEMPLATE", "first\n{% if messages %}\n{{ messages[0 }}")
    reason = "the model's chat template is invalid: line 3: "
    help_ = "; correct the template, or load the model's files again from their origin"
    path = write_gguf(tiny("llama"), tmp_path / "tiny.gguf")
    found = problem_of(path)
    assert found.startswith(f"{path}: 'tokenizer.chat_template' in the metadata: {reason}") and found.endswith(help_)
    folder = write_folder(tiny("llama"), tmp_path / "folder")
    assert problem_of(folder).startswith(f"{folder / 'tokenizer_config.json'}: 'chat_template': {reason}")
    own = folder / "chat_template.jinja"
    own.write_text("{{ 1|unknown }}")
    problem = f"{own}: the model's chat template is invalid: line 1: No filter named 'unknown'.{help_}"
    assert problem_of(folder) == problem
    own.write_text("{{ raise_exception('always') }}")  # it parses, and refuses each chat
    with pytest.raises(rx.ModelError, match="refuses these messages"):
        rx.llm.load(folder, cache=False).chat([{"role": "user", "content": "hello"}])


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"max_tokens": 0}, "max_tokens is 0, expected an integer of at least 1"),
        ({"temperature": -0.5}, "temperature is -0.5, expected a number from 0"),
        ({"temperature": float("nan")}, "temperature is nan, expected a number from 0"),
        ({"top_p": 0.0}, "top_p is 0, expected a number above 0"),
    ],
)
def test_refused_sampling(model: Model, options: dict[str, float], problem: str) -> None:
    with pytest.raises(rx.RelaxError) as caught:
        model.generate("hello", **options)  # type: ignore[arg-type]
    assert str(caught.value).startswith(problem)


def test_damaged_saved_models(model: Model, tmp_path: Path) -> None:
    folder = tmp_path / "model.rxl"
    for name in ("model.json", "template.json", "tokens.json", "tokenizer.json", "program.rxa"):
        model.save(folder)
        (folder / name).write_text("[")
        assert str(folder / name) in problem_of(folder)
        model.save(folder)
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(rx.OptionError, match="exists and is no saved model: choose another name, or remove it"):
        model.save(other)
