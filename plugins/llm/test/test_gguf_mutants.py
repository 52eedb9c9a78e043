# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damaged GGUF files: each one is refused in one sentence, or has the tensors and sizes of the original."""

from __future__ import annotations

import resource
import struct
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import gguf
import numpy
import pytest
import relax_mlir as rx
from relax_mlir_llm.architectures import find_architecture
from relax_mlir_llm.config import Config
from relax_mlir_llm.gguf_source import GgufSource
from tiny_models import tiny, write_gguf

#: All mutants are in this many tests. Runs of a part draw some of the tests.
GROUPS, MUTANTS = 25, 500
MOST_SECONDS, MOST_MIB = 2.0, 200
INTEGERS = (0, 1, 3, 5, 1 << 16, 1 << 31, (1 << 32) - 1)
FLOATS = (float("nan"), float("inf"), -1.0, 0.0)
#: Sizes of a tensor's fields behind its name: dimensions, two sizes, type, offset.
FIELDS = {"I": (0, 20), "Q": (4, 12, 24)}
#: Parts of a configuration that only the metadata state.
FREE = ("epsilon", "rope", "context")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_gguf(tiny("llama"), tmp_path_factory.mktemp("llm") / "tiny.gguf", "Q8_0").read_bytes()


def changed(data: bytes, place: int, form: str, value: float) -> bytes:
    return data[:place] + struct.pack(f"<{form}", value) + data[place + struct.calcsize(form) :]


def metadata_mutants(data: bytes) -> Iterator[bytes]:
    """Yield files with an extreme value of each number in the metadata."""
    for name, value in tiny("llama").metadata.items():
        key = f"llama.{name}".encode()
        place = data.index(key) + len(key) + 4
        form, values = ("f", FLOATS) if isinstance(value, float) else ("I", INTEGERS)
        yield from (changed(data, place, form, each) for each in values)
    for name in (b"bos", b"eos"):
        key = b"tokenizer.ggml." + name + b"_token_id"
        yield from (changed(data, data.index(key) + len(key) + 4, "I", each) for each in (300, (1 << 32) - 1))


def tensor_mutants(data: bytes) -> Iterator[bytes]:
    """Yield files with an extreme value of each field of some tensors, and with exchanged names."""
    for name in (b"token_embd.weight", b"blk.1.attn_q.weight", b"output.weight"):
        begin = data.index(name) + len(name)
        for form, places in FIELDS.items():
            values = [*INTEGERS, *((1 << 62, (1 << 64) - 32, 32, 1 << 40) if form == "Q" else (8, 12))]
            yield from (changed(data, begin + place, form, each) for place in places for each in values)
    for name, other in (
        (b"blk.1.attn_k", b"blk.1.attn_q"),
        (b"blk.1.attn_k", b"blk.3.attn_k"),
        (b"output.", b"outpux."),
    ):
        yield data.replace(name, other, 1)


def count_mutants(data: bytes) -> Iterator[bytes]:
    """Yield files with extreme counts of tensors, keys and entries of arrays, and cut files."""
    counts = (0, 1 << 24, 1 << 40, 1 << 63)
    arrays = [data.index(name) + len(name) + 8 for name in (b"ggml.tokens", b"ggml.token_type", b"ggml.merges")]
    for place in (8, 16, 24, *arrays):
        yield from (changed(data, place, "Q", each) for each in counts)
    yield from (changed(data, place - 4, "I", each) for place in arrays for each in (0, 6, 7, 8, 9, 12))
    yield from (data[: int(len(data) * each)] for each in numpy.linspace(0.0001, 0.9999, 20))
    yield data + b"\0" * 4096


def random_mutants(data: bytes, count: int) -> Iterator[bytes]:
    """Yield files with a changed byte in the header."""
    random = numpy.random.default_rng(11)
    header = data.index(b"output.weight") + 64
    for number in range(count):
        low, high = ((0, 700), (header - 1500, header), (0, header))[number % 3]
        place = int(random.integers(low, high))
        byte = (data[place] ^ (1 << int(random.integers(8))), 0xFF, 0, int(random.integers(256)))[number % 4]
        yield changed(data, place, "B", byte)


def config_of(path: Path) -> tuple[Config, dict[str, bytes]]:
    source = GgufSource(str(path))
    weights = {name: source.read(name, source.shape(name) or ()).data.tobytes() for name in source.names}
    return find_architecture(source).configure(source, None), weights


def problem_of(path: Path) -> str | None:
    """Return the sentence that refuses a file, or None for a file that could be compiled."""
    try:
        rx.llm.load(path, cache=False, target="no-such-target")
    except rx.RelaxError as error:
        return None if "no-such-target" in str(error) else str(error)
    raise AssertionError("a target that does not exist was accepted")


@pytest.mark.parametrize("group", range(GROUPS))
def test_mutants(group: int, original: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(original)
    expected, weights = config_of(path)
    assert problem_of(path) is None
    chosen = [*metadata_mutants(original), *tensor_mutants(original), *count_mutants(original)]
    chosen += random_mutants(original, MUTANTS - len(chosen))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused = 0
    for data in chosen[group::GROUPS]:
        path.write_bytes(data)
        start = time.process_time()
        problem = problem_of(path)
        assert time.process_time() - start < MOST_SECONDS
        if problem is None:
            config, own = config_of(path)
            assert own == weights
            assert replace(config, **{name: getattr(expected, name) for name in FREE}) == expected
        else:
            refused += 1
            assert "\n" not in problem and str(path) in problem
    assert refused > 5
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10 < MOST_MIB


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16", "Q8_0"])
@pytest.mark.parametrize("name", ["blk.1.ffn_down.weight", "token_embd.weight", "output_norm.weight"])
def test_numbers_that_are_not_finite(name: str, kind: str, tmp_path: Path) -> None:
    path = write_gguf(tiny("llama"), tmp_path / "tiny.gguf", kind)
    (tensor,) = (each for each in gguf.GGUFReader(path).tensors if each.name == name)
    data = bytearray(path.read_bytes())
    size = {"F32": 4}.get(tensor.tensor_type.name, 2)
    data[tensor.data_offset : tensor.data_offset + size] = b"\0\0\xc0\x7f"[4 - size :] if size == 4 else b"\xff\xff"
    path.write_bytes(data)
    assert f"the tensor '{name}' has 1 numbers that are infinite or NaN near element 0" in str(problem_of(path))


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ({"rope.scaling.type": "linear", "rope.scaling.factor": 0.0}, "the factor of the model's rope is 0.0"),
        ({"rope.scaling.type": "linear", "rope.scaling.factor": float("nan")}, "'llama.rope.scaling.factor' in the"),
        ({"rope.scaling.type": "yarn", "rope.freq_base": 1.0}, "give no frequencies above 0"),
        ({"rope.dimension_count": 14}, "'llama.rope.dimension_count' in the model's metadata is 14, expected 16"),
        ({"expert_count": 8}, "'llama.expert_count' in the model's metadata is 8, and no layer has a router"),
        ({"attention.value_length": 8}, "'llama.attention.value_length' in the model's metadata is 8, expected 16"),
    ],
)
def test_contradictions(metadata: dict[str, object], problem: str, tmp_path: Path) -> None:
    model = tiny("llama")
    path = write_gguf(replace(model, metadata={**model.metadata, **metadata}, tensors={}), tmp_path / "tiny.gguf")
    assert problem in str(problem_of(path))


@pytest.mark.parametrize("name", ["blk.1.attn_q.bias", "blk.2.attn_norm.weight", "blk.0.ffn_gate_exps.weight"])
def test_tensors_without_a_use(name: str, tmp_path: Path) -> None:
    model = tiny("llama")
    weights = {**model.weights, name: numpy.ones(64, "f4")}
    problem = str(problem_of(write_gguf(replace(model, weights=weights), tmp_path / "tiny.gguf")))
    assert "has no use for 1 tensors of the file, such as" in problem or "the file has tensors of 3 layers" in problem
