# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models: text, equal bits however tokens are divided among calls, saved models and the cache."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pytest
import relax_mlir as rx
from relax_mlir_llm import Model, Request, SamplingParameters, Scheduler, Step, Token, compiling, loading, weight_store
from relax_mlir_llm.load_options import LoadOptions
from relax_mlir_llm.sampling import with_logprobs
from relax_mlir_llm.saved import Saved, read_saved
from tiny_models import CONTEXT, VOCABULARY, tiny, write_gguf

TOKENS = [int(each) for each in numpy.random.default_rng(7).integers(0, VOCABULARY, 40)]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(tiny("llama"), tmp_path_factory.mktemp("llm") / "tiny.gguf", "Q8_0")


@pytest.fixture(scope="module")
def model(path: Path) -> Model:
    return rx.llm.load(path, cache=False)


def step(tokens: list[int], first: int, pages: list[int], *, sequence: int = 0, sequences: int = 1) -> Step:
    """Return a step of one sequence with keys and values in these pages."""
    count = len(tokens)
    positions = numpy.arange(first, first + count, dtype=numpy.int32)
    table = numpy.zeros((sequences, len(pages)), numpy.int32)
    table[sequence] = pages
    return Step(
        numpy.array(tokens, numpy.int32),
        positions,
        numpy.full(count, sequence, numpy.int32),
        (numpy.array(pages)[positions // 16] * 16 + positions % 16).astype(numpy.int32),
        table,
        numpy.arange(count, dtype=numpy.int32),
        numpy.zeros(sequences, numpy.int32),
    )


def both(one: Step, other: Step) -> Step:
    """Return a step of the tokens of two steps in turn, with the sequences of both."""
    table = numpy.concatenate([one.table, other.table])
    other = other._replace(sequences=other.sequences + len(one.table))
    count = len(one.tokens) + len(other.tokens)
    order = numpy.argsort([*range(0, 2 * len(one.tokens), 2), *range(1, 2 * len(other.tokens), 2)])
    joined = (numpy.concatenate(pair)[order] for pair in zip(one[:4], other[:4], strict=True))
    adapters = numpy.concatenate([one.adapters, other.adapters])
    return Step(*joined, table, numpy.argsort(order)[:count].astype(numpy.int32), adapters)


def test_chunks_of_a_prompt_have_the_bits_of_the_whole(model: Model) -> None:
    whole = model.logits(TOKENS)
    engine = model.engine(8)
    parts = [slice(0, 1), slice(1, 18), slice(18, 33), *(slice(n, n + 1) for n in range(33, 40))]
    found = [engine.step(step(TOKENS[part], part.start, [5, 2, 7])) for part in parts]
    numpy.testing.assert_array_equal(numpy.concatenate(found), whole)


def test_the_batch_does_not_change_bits(model: Model) -> None:
    others = TOKENS[::-1][:23]
    engine = model.engine(8)
    found = engine.step(both(step(TOKENS, 0, [1, 4, 6]), step(others, 0, [0, 3, 5])))
    numpy.testing.assert_array_equal(found[: len(TOKENS)], model.logits(TOKENS))
    numpy.testing.assert_array_equal(found[len(TOKENS) :], model.logits(others))


def test_threads_do_not_change_bits(model: Model) -> None:
    expected = model.logits(TOKENS)
    model.threads = 1
    try:
        numpy.testing.assert_array_equal(model.logits(TOKENS), expected)
    finally:
        model.threads = 2


def test_a_copied_page_continues_a_sequence(model: Model) -> None:
    engine = model.engine(8)
    engine.step(step(TOKENS[:20], 0, [0, 1]))
    engine.copy_page(1, 3)
    engine.step(step(TOKENS[30:35], 20, [0, 1]))  # overwrites places of the original page only
    found = engine.step(step(TOKENS[20:25], 20, [0, 3]))
    numpy.testing.assert_array_equal(found, model.logits(TOKENS)[20:25])


def test_a_negative_slot_writes_nothing(model: Model) -> None:
    engine = model.engine(4)
    engine.step(step(TOKENS[:10], 0, [0]))
    dropped = step(TOKENS[20:22], 3, [0])
    engine.step(dropped._replace(slots=numpy.full(2, -1, numpy.int32)))
    found = engine.step(step(TOKENS[10:12], 10, [0]))
    numpy.testing.assert_array_equal(found, model.logits(TOKENS)[10:12])


def test_generated_tokens_are_the_likeliest(model: Model) -> None:
    tokens = TOKENS[:12]
    answer = model.generate(tokens, max_tokens=9)
    text = "".join(answer)
    for token in answer.tokens:
        assert token == model.logits(tokens)[-1].argmax()
        tokens.append(token)
    assert text == model.tokenizer.decode(answer.tokens)
    ends = model.tokenizer.ends
    assert len(answer.tokens) == 9 or int(model.logits(tokens)[-1].argmax()) in ends


def test_equal_seeds_give_equal_texts(model: Model) -> None:
    def answer(seed: int) -> list[int]:
        found = model.generate("hello", 20, temperature=1.0, top_p=0.9, seed=seed)
        for _ in found:
            pass
        return found.tokens

    assert answer(1) == answer(1)
    assert len({tuple(answer(seed)) for seed in range(4)}) > 1


def test_a_scheduler_gives_the_text_of_the_same_seed(model: Model) -> None:
    answer = model.generate("hello", 12, temperature=1.0, top_p=0.9, seed=5)
    for _ in answer:
        pass
    scheduler = Scheduler(model.engine(8), end_tokens=model.tokenizer.ends)
    scheduler.add(Request(answer.prompt, SamplingParameters(12, 1.0, 0.9, seed=5)))
    tokens: list[int] = []
    while not scheduler.is_idle:
        tokens += [each.token for output in scheduler.step() for each in output.tokens]
    assert tokens == answer.tokens


@pytest.mark.parametrize("chunk", [7, 64])
def test_scores_of_a_prompt_are_the_model_s_own(model: Model, chunk: int) -> None:
    rows = model.logits(TOKENS)
    expected = [with_logprobs(token, row, 3) for token, row in zip(TOKENS[1:], rows[:-1], strict=True)]
    scheduler = Scheduler(model.engine(16), prefill_chunk=chunk, draft="ngram")
    for place in range(3):  # the prefix cache has all pages of the prompt from the second time on
        scheduler.add(Request(TOKENS, SamplingParameters(4, 0.0, prompt_logprobs=3), id=f"{place} first"))
        scheduler.add(Request(TOKENS, SamplingParameters(4, 0.0, prompt_logprobs=3), id=f"{place} second"))
        found: dict[str, list[Token]] = {}
        while not scheduler.is_idle:
            for output in scheduler.step():
                found.setdefault(output.request.id, []).extend(output.prompt)
        assert len(found) == 2 and all(each == [Token(TOKENS[0]), *expected] for each in found.values())


def test_a_stop_text_ends_the_answer_and_is_left_out(model: Model) -> None:
    whole = "".join(model.generate("hello world", 24))
    cut = whole[5:8]
    assert len(cut) == 3
    pieces = list(model.generate("hello world", 24, stop=["never in the text", cut]))
    assert "".join(pieces) == whole[: whole.index(cut)]


def test_an_answer_ends_with_the_context(path: Path) -> None:
    short = rx.llm.load(path, context=20, cache=False)
    answer = short.generate(TOKENS[:15], 100, temperature=1.0, seed=3)
    for _ in answer:
        pass
    assert len(answer.tokens) <= 6
    assert len(short.logits(TOKENS[:20])) == 20


def test_a_saved_model_needs_no_compiler(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model.save(tmp_path / "model.rxl")

    def refuse(*_: object) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr(compiling, "compile_model", refuse)
    loaded = rx.llm.load(tmp_path / "model.rxl")
    numpy.testing.assert_array_equal(loaded.logits(TOKENS), model.logits(TOKENS))
    messages = [{"role": "user", "content": "hello"}]
    assert list(loaded.chat(messages, 8)) == list(model.chat(messages, 8))
    model.save(tmp_path / "model.rxl")  # over itself
    assert rx.llm.load(tmp_path / "model.rxl").description == model.description


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """Yield the paths that are compiled."""
    found: list[Path] = []
    original = compiling.compile_model

    def recording(path: Path, *rest: object) -> object:
        found.append(path)
        return original(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(compiling, "compile_model", recording)
    yield found


def test_the_cache_has_one_program_for_each_file_and_options(tmp_path: Path, compilations: list[Path]) -> None:
    cache, path = tmp_path / "cache", tmp_path / "tiny.gguf"
    write_gguf(tiny("llama"), path)
    first = rx.llm.load(path, cache=cache).logits(TOKENS)
    numpy.testing.assert_array_equal(rx.llm.load(path, cache=cache).logits(TOKENS), first)
    assert len(compilations) == 1
    write_gguf(tiny("llama", seed=1), path)
    assert (rx.llm.load(path, cache=cache).logits(TOKENS) != first).any()
    assert len(compilations) == 2
    assert len(list(cache.glob("llm/*/*/program.rxa"))) == 1
    rx.llm.load(path, kv="f16", cache=cache)
    assert len(list(cache.glob("llm/*/*/program.rxa"))) == 2


def test_contexts_share_a_program(tmp_path: Path, compilations: list[Path]) -> None:
    cache, path = tmp_path / "cache", write_gguf(tiny("llama"), tmp_path / "tiny.gguf")
    half = rx.llm.load(path, context=CONTEXT // 2, cache=cache)
    whole = rx.llm.load(path, cache=cache)
    assert (half.description.context, whole.description.context) == (CONTEXT // 2, CONTEXT)
    numpy.testing.assert_array_equal(half.logits(TOKENS[:20]), whole.logits(TOKENS[:20]))
    with pytest.raises(rx.OptionError, match="the prompt has 33 tokens, and the context of tiny has 32"):
        half.logits([1] * 33)
    with pytest.raises(rx.OptionError, match=r"context=65: .*tiny\.gguf was trained for sequences of 1 to 64 tokens"):
        rx.llm.load(path, context=65, cache=cache)
    assert len(compilations) == 1 and len(list(cache.glob("llm/*/*/program.rxa"))) == 1
    half.save(tmp_path / "half.rxl")
    assert rx.llm.load(tmp_path / "half.rxl").description.context == CONTEXT // 2
    assert rx.llm.load(tmp_path / "half.rxl", context=7).description.context == 7


def test_a_rope_that_depends_on_the_context_has_programs_of_its_own(tmp_path: Path, compilations: list[Path]) -> None:
    cache, path = tmp_path / "cache", write_gguf(tiny("phi3"), tmp_path / "tiny.gguf")
    short, long = (rx.llm.load(path, context=each, cache=cache).logits(TOKENS[:20]) for each in (20, None))
    assert (short != long).any()
    assert len(compilations) == 2 and len(list(cache.glob("llm/*/*/program.rxa"))) == 2
    for context, expected in ((20, short), (None, long)):
        numpy.testing.assert_array_equal(rx.llm.load(path, context=context, cache=cache).logits(TOKENS[:20]), expected)
    assert len(compilations) == 2
    rx.llm.load(path, cache=cache).save(tmp_path / "long.rxl")
    with pytest.raises(rx.OptionError, match="was compiled for a context of 64, on which its rope depends"):
        rx.llm.load(tmp_path / "long.rxl", context=20)


class Cached(NamedTuple):
    """Two models, and a cache that has both."""

    paths: Sequence[Path]
    cache: Path
    expected: Sequence[numpy.ndarray]


@pytest.fixture(scope="module")
def cached(tmp_path_factory: pytest.TempPathFactory) -> Cached:
    folder = tmp_path_factory.mktemp("cached")
    paths = [write_gguf(tiny("llama", seed=each), folder / f"{each}.gguf") for each in range(2)]
    loaded = [rx.llm.load(path, cache=folder / "cache") for path in paths]
    return Cached(paths, folder / "cache", [each.logits(TOKENS) for each in loaded])


@pytest.fixture
def anew(cached: Cached, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Read the entries of the first cache instead of compiling, and return the list of these compilations."""
    entries = [next(cached.cache.glob(f"llm/{_place(path)}/*")) for path in cached.paths]
    done: list[int] = []

    def compiled(path: Path, *_: object) -> Saved:
        done.append(cached.paths.index(path))
        return read_saved(entries[done[-1]])

    monkeypatch.setattr(loading, "_compiled", compiled)
    return done


def _place(path: Path) -> str:
    options = LoadOptions("llvm", None, "f32", "f32", "f32", None, None, (), False)
    return loading._hash([str(path.resolve()), json.dumps(asdict(options))])


@pytest.mark.parametrize("damage", ["cut", "gone", "other"])
@pytest.mark.parametrize("name", ["program.rxa", "model.json", "entry.json"])
def test_a_damaged_cache_entry_is_replaced(
    name: str, damage: str, cached: Cached, tmp_path: Path, anew: list[int]
) -> None:
    """Damage a file of an entry, or replace it by the file of another model of equal sizes."""
    shutil.copytree(cached.cache, tmp_path, dirs_exist_ok=True)
    own, other = (next(tmp_path.glob(f"llm/{_place(path)}/*/{name}")) for path in cached.paths)
    content = {"cut": own.read_bytes()[:1000][:-1], "gone": None, "other": other.read_bytes()}[damage]
    own.unlink()
    if content is not None:
        own.write_bytes(content)
    for _ in range(2):
        found = rx.llm.load(cached.paths[0], cache=tmp_path).logits(TOKENS)
        numpy.testing.assert_array_equal(found, cached.expected[0])
    assert anew == [0]


def test_entries_under_the_names_of_others_are_replaced(cached: Cached, tmp_path: Path, anew: list[int]) -> None:
    shutil.copytree(cached.cache, tmp_path / "cache")
    first, second = (next((tmp_path / "cache").glob(f"llm/{_place(path)}/*")) for path in cached.paths)
    first.rename(tmp_path / "held")
    second.rename(first)
    (tmp_path / "held").rename(second)
    for path, logits in zip(cached.paths, cached.expected, strict=True):
        found = rx.llm.load(path, cache=tmp_path / "cache").logits(TOKENS)
        numpy.testing.assert_array_equal(found, logits)
    assert anew == [0, 1]


def test_programs_of_other_options_share_weights(tmp_path: Path, compilations: list[Path]) -> None:
    cache, path = tmp_path / "cache", write_gguf(tiny("llama"), tmp_path / "tiny.gguf")
    options: list[dict[str, Any]] = [{}, {"kv": "f16"}, {"page_size": 8}]
    models = [rx.llm.load(path, cache=cache, **each) for each in options]
    assert len(compilations) == len(options)
    stored = sum(each.stat().st_size for each in cache.glob("llm/weights/*"))
    models[0].save(tmp_path / "whole.rxl")
    whole = (tmp_path / "whole.rxl" / "program.rxa").stat().st_size
    programs = [each.stat().st_size for each in cache.glob("llm/*/*/program.rxa")]
    assert len(list(cache.glob("llm/weights/*"))) == 1 and max(programs) + stored < 1.1 * whole
    for each in options:
        again, own = rx.llm.load(path, cache=cache, **each), rx.llm.load(path, cache=False, **each)
        numpy.testing.assert_array_equal(again.logits(TOKENS), own.logits(TOKENS))
    assert len(compilations) == 2 * len(options)
    saved = rx.llm.load(tmp_path / "whole.rxl")
    numpy.testing.assert_array_equal(saved.logits(TOKENS), models[0].logits(TOKENS))


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_damaged_shared_weights_are_replaced(damage: str, cached: Cached, tmp_path: Path, anew: list[int]) -> None:
    shutil.copytree(cached.cache, tmp_path, dirs_exist_ok=True)
    entry = next(tmp_path.glob(f"llm/{_place(cached.paths[0])}/*"))
    (name,) = json.loads((entry / "weights.json").read_text())["files"]
    own = tmp_path / "llm" / "weights" / name
    content = own.read_bytes()
    own.unlink()
    if damage == "cut":
        own.write_bytes(content[:-1])
    for _ in range(2):
        found = rx.llm.load(cached.paths[0], cache=tmp_path).logits(TOKENS)
        numpy.testing.assert_array_equal(found, cached.expected[0])
    assert anew == [0]
    assert own.read_bytes() == content


def test_weights_without_a_program_are_removed(tmp_path: Path) -> None:
    cache, path = tmp_path / "cache", write_gguf(tiny("llama"), tmp_path / "tiny.gguf")
    rx.llm.load(path, cache=cache)
    (old,) = cache.glob("llm/weights/*")
    write_gguf(tiny("llama", seed=1), path)
    rx.llm.load(path, cache=cache)
    assert old.exists()  # another process may be about to write the program of these weights
    os.utime(old, (0, 0))
    weight_store.remove_unused(cache / "llm")
    assert not old.exists()
    rx.llm.load(path, cache=cache).logits(TOKENS)
