# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grammars of answers, with and without the scheduler, and a small byte-level tokenizer."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable

import numpy as np
import pytest
from paged_text import PagedText, answer, check_empty, run
from relax_mlir import RelaxError
from relax_mlir_llm.engine import Step
from relax_mlir_llm.grammar import Grammar, GrammarCompiler
from relax_mlir_llm.requests import ForcedTokens, Request, SamplingParameters
from relax_mlir_llm.scheduler import Scheduler
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

END = 1
#: More logits than tokens, as models with padded vocabularies have.
VOCABULARY = 320
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "tags": {"type": "array", "items": {"enum": ["red", "blue"]}, "maxItems": 3},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}


def small_tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(['{"name": "Ann", "age": 12, "tags": ["red", "blue"]}'] * 9, trainer)
    return tokenizer


TOKENIZER = small_tokenizer()


def decode(tokens: list[int]) -> str:
    return TOKENIZER.decode(tokens, skip_special_tokens=False)


@pytest.fixture(scope="module")
def compiler() -> GrammarCompiler:
    return GrammarCompiler(TOKENIZER, VOCABULARY, [END])


def allowed(grammar: Grammar) -> set[int]:
    bits = np.full(VOCABULARY // 32, -1, np.int32)
    grammar.fill(bits)
    return set(np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little")).tolist())


def accepts(grammar: Grammar, text: str) -> bool:
    """Return True if a text is a whole answer. Check each token with the mask before."""
    for token in TOKENIZER.encode(text).ids:
        if token not in allowed(grammar):
            with pytest.raises(RelaxError, match="grammar"):
                grammar.accept(token)
            return False
        grammar.accept(token)
    assert (END in allowed(grammar)) == grammar.is_accepting
    return grammar.is_accepting


@pytest.mark.parametrize(
    ("make", "good", "bad"),
    [
        (
            lambda compiler: compiler.json_schema(PERSON),
            ['{"name": "Ann", "age": 12, "tags": []}', '{"name": "A", "age": 0, "tags": ["red", "blue"]}'],
            ['{"name": "Ann"}', '{"name": 5', '{"name": "Ann", "age": 121, "tags": []}', "[]", '{"age": 1'],
        ),
        (
            lambda compiler: compiler.json_schema(json.dumps({"type": "array", "items": {"type": "null"}})),
            ["[]", "[null, null]"],
            ["[1]", "null", "[null,"],
        ),
        (
            lambda compiler: compiler.json_object(),
            ["{}", '{"a": [1, {"b": "\\n"}], "c": -2.5e3}', '{"ä": "日本"}'],
            ["[]", '{"a"}', "{" + " " * 60 + "}", "{a: 1}"],
        ),
        (lambda compiler: compiler.regex("[ab]{2,4}c"), ["abc", "aaaac"], ["ac", "abcc", "aaaaac", "ab"]),
        (
            lambda compiler: compiler.lark('start: sum\nsum: NUMBER ("+" NUMBER)*\nNUMBER: /[0-9]+/'),
            ["1", "12+3+45"],
            ["+", "1+", "1-2"],
        ),
    ],
)
def test_grammars_accept_their_texts_alone(
    compiler: GrammarCompiler, make: Callable[[GrammarCompiler], Grammar], good: list[str], bad: list[str]
) -> None:
    assert [text for text in good if not accepts(make(compiler), text)] == []
    assert [text for text in bad if accepts(make(compiler), text)] == []


def test_a_grammar_finishes_where_no_token_can_follow(compiler: GrammarCompiler) -> None:
    grammar = compiler.regex("ab?")
    grammar.accept(TOKENIZER.token_to_id("a"))
    assert grammar.is_accepting and not grammar.is_finished
    other = grammar.copy()
    grammar.accept(TOKENIZER.token_to_id("b"))
    assert grammar.is_finished and not other.is_finished
    assert allowed(other) == {END, TOKENIZER.token_to_id("b")}


def test_forced_tokens_are_the_text_that_must_follow(compiler: GrammarCompiler) -> None:
    grammar = compiler.regex('"name": [0-9]')
    assert isinstance(grammar, ForcedTokens)
    forced = grammar.forced()
    assert '"name": '.startswith(decode(forced)) and len(decode(forced)) > 5
    for token in forced:
        assert token in allowed(grammar)
        grammar.accept(token)
    assert compiler.regex("[0-9]").forced() == []


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda compiler: compiler.json_schema('{"type": "object"'), "JSON schema: EOF while parsing"),
        (lambda compiler: compiler.json_schema({"type": "nope"}), "JSON schema: Invalid type: nope"),
        (lambda compiler: compiler.json_schema({"properties": 3, "type": "object"}), "properties must be an object"),
        (lambda compiler: compiler.json_schema("[1]"), "JSON schema: "),
        (
            lambda compiler: compiler.json_schema({"type": "integer", "minimum": 5, "maximum": 3}),
            "minimum .5. is greater than maximum",
        ),
        (lambda compiler: compiler.json_schema({"$ref": "http://example.com/x"}), "http://example.com/x"),
        (lambda compiler: compiler.regex("(["), "regular expression: .*error: unclosed character class$"),
        (lambda compiler: compiler.lark("start: foo"), 'Lark grammar: at 1.8.: unknown name: "foo"$'),
        (lambda compiler: GrammarCompiler(TOKENIZER, 100, [END]), "the engine has 100 tokens, expected at least"),
        (lambda compiler: GrammarCompiler(TOKENIZER, VOCABULARY, []), "at least one end token"),
        (lambda compiler: compiler.regex("a").fill(np.zeros(9, np.int32)), "expected contiguous int32 of shape .10,"),
        (lambda compiler: compiler.regex("a").accept(TOKENIZER.token_to_id("b")), "grammar: .*satisfy the grammar"),
    ],
)
def test_invalid_grammars_are_refused_with_one_line(
    compiler: GrammarCompiler, make: Callable[[GrammarCompiler], object], text: str
) -> None:
    with pytest.raises(RelaxError, match=text) as raised:
        make(compiler)
    assert "\n" not in raised.value.message


class SpellingModel(PagedText):
    """Engine with random logits over the tokenizer's tokens."""

    vocabulary = VOCABULARY

    def step(self, step: Step) -> np.ndarray:
        logits = super().step(step)
        logits[:, 300:] = 50.0  # The grammar must exclude padding.
        return logits


def ask(place: int, grammar: Grammar, **parameters: float | int) -> Request:
    chosen = SamplingParameters(seed=place, max_tokens=180, **parameters)  # type: ignore[arg-type]
    return Request([place, 5, 6], chosen, grammar, id=str(place))


@pytest.mark.parametrize("temperature", [0, 1.0])
def test_answers_follow_a_schema_with_any_schedule(compiler: GrammarCompiler, temperature: float) -> None:
    answers = []
    for draft, pages, batched in [(None, 900, 512), ("ngram", 900, 512), (SpellingModel(900), 900, 20), (None, 24, 64)]:
        scheduler = Scheduler(
            SpellingModel(pages), draft=draft, max_batched_tokens=batched, end_tokens=[END], decode=decode
        )
        requests = [ask(place, compiler.json_schema(PERSON), temperature=temperature) for place in range(6)]
        outputs = run(scheduler, requests)
        answers.append([decode(answer(outputs[each.id])) for each in requests])
        reasons = [outputs[each.id][-1].finish_reason for each in requests]
        assert set(reasons) <= {"stop", "length"} and reasons.count("stop") >= 3
        for text, reason in zip(answers[-1], reasons, strict=True):
            if reason == "stop":
                person = json.loads(text)
                assert set(person) == {"name", "age", "tags"} and 0 <= person["age"] <= 120
        # Forced tokens are drafts of a grammar.
        assert scheduler.statistics.accepted_drafts > 0
        assert (scheduler.statistics.preempted > 0) == (pages < 100)
        check_empty(scheduler)
    assert answers == answers[:1] * 4


def test_an_answer_ends_at_the_end_token_or_where_the_grammar_ends(compiler: GrammarCompiler) -> None:
    scheduler = Scheduler(SpellingModel(), end_tokens=[END])
    requests = [ask(place, compiler.regex("[ab]*c?"), temperature=1) for place in range(8)]
    outputs = run(scheduler, requests)
    texts = [decode(answer(outputs[each.id])) for each in requests]
    assert {outputs[each.id][-1].finish_reason for each in requests} == {"stop"}
    assert all(re.fullmatch("[ab]*c?", text) for text in texts)
    assert {text.endswith("c") for text in texts} == {True, False}


def test_a_grammar_without_a_next_token_ends_only_its_request(compiler: GrammarCompiler) -> None:
    class Empty:
        """Grammar that allows nothing."""

        is_finished = False

        def fill(self, bitmask: np.ndarray) -> None:
            bitmask[:] = 0

        def accept(self, token: int) -> None:
            raise AssertionError(f"token {token} was not allowed")

    used = compiler.regex("a")
    used.accept(TOKENIZER.token_to_id("a"))
    with pytest.raises(RelaxError):
        used.accept(TOKENIZER.token_to_id("a"))
    bad = [Request([1], grammar=Empty(), id="empty"), Request([2], grammar=used, id="used")]
    good = ask(7, compiler.regex("[0-9]{3}"), temperature=0)
    scheduler = Scheduler(SpellingModel(), end_tokens=[END])
    outputs = run(scheduler, [*bad, good])
    assert re.fullmatch("[0-9]{3}", decode(answer(outputs[good.id])))
    assert outputs["empty"][-1].finish_reason == outputs["used"][-1].finish_reason == "error"
    assert "request 'empty': no token may follow" in str(outputs["empty"][-1].error)
    assert "request 'used': grammar: " in str(outputs["used"][-1].error)
    check_empty(scheduler)


LARGE = [
    ("regex", "((((a{100}){100}){100}){100}){100}", "the grammar is too large: its expressions repeat"),
    ("regex", "a" * (1 << 18) + "b", "it has 262,145 bytes, expected at most 262,144"),
    ("lark", "start: " + " | ".join(f'"X{number}"' for number in range(22_000)), "grammar size"),
    ("lark", "start: start", "no text matches the grammar"),
    ("json_schema", {"$ref": "#"}, "no text matches the grammar"),
    ("json_schema", {"properties": {f"X{number}": {"type": "string"} for number in range(5000)}}, "grammar size"),
]


@pytest.mark.parametrize(("kind", "source", "problem"), LARGE)
def test_grammars_beyond_the_limits(kind: str, source: object, problem: str, compiler: GrammarCompiler) -> None:
    start, kept = time.process_time(), len(compiler._compiled)
    with pytest.raises(RelaxError) as caught:
        getattr(compiler, kind)(source)
    assert problem in caught.value.message and "\n" not in caught.value.message
    assert time.process_time() - start < 4
    assert len(compiler._compiled) == kept


def test_the_cache_is_bounded_by_sources() -> None:
    compiler = GrammarCompiler(TOKENIZER, VOCABULARY, [END])
    for number in range(12):
        compiler.choice([f"{number} {other}" for other in range(15_000)])
        assert sum(map(len, compiler._compiled)) <= 1 << 20
    assert 3 <= len(compiler._compiled) < 12


def test_choices_are_texts_and_no_expressions(compiler: GrammarCompiler) -> None:
    marks = r"\.+*?()|[]{}^$#&~/-<>'\"%@!,;:=_ a1" + "\nü"
    random = np.random.default_rng(5)
    texts = ["".join(random.choice(list(marks), int(random.integers(1, 6)))) for _ in range(300)]
    grammar = compiler.choice(texts[:150])
    assert all(accepts(grammar.copy(), text) for text in texts[:150])
    others = [text for text in texts[150:] if text not in texts[:150]]
    assert len(others) > 50 and not any(accepts(grammar.copy(), text) for text in others)


def test_many_choices(compiler: GrammarCompiler) -> None:
    grammar = compiler.choice([f"X{number}" for number in range(20_000)])
    assert accepts(grammar.copy(), "X19999") and not accepts(grammar.copy(), "X20000")
