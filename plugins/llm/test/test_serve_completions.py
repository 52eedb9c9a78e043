# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fields of /v1/completions, and the routes beside it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from relax_mlir_llm.engine import Step
from scipy.special import log_softmax
from served_text import END, TOKENIZER, SayingEngine, Texts, texts


@pytest.fixture(scope="module")
def served() -> Iterator[Texts]:
    with texts() as made:
        yield made


def test_an_answer_has_text_reason_and_usage(served: Texts) -> None:
    answer = served.post("completions", prompt="say:hello⏎", max_tokens=50).json()
    assert answer["object"] == "text_completion" and answer["model"] == "tiny" and answer["id"].startswith("cmpl-")
    assert answer["choices"] == [{"index": 0, "text": "hello", "logprobs": None, "finish_reason": "stop"}]
    prompt, completion = len(TOKENIZER.encode("say:hello⏎")), len(TOKENIZER.encode("hello"))
    assert answer["usage"]["prompt_tokens"] == prompt and answer["usage"]["completion_tokens"] == completion
    assert answer["usage"]["total_tokens"] == prompt + completion


def test_the_only_model_needs_no_name(served: Texts) -> None:
    answer = served.client.post("/v1/completions", json={"prompt": "say:hi⏎"}).json()
    assert (answer["model"], answer["choices"][0]["text"]) == ("tiny", "hi")


def test_max_tokens_ends_an_answer(served: Texts) -> None:
    choice = served.complete("abcdefgh", max_tokens=3)
    assert (choice["text"], choice["finish_reason"]) == ("abc", "length")
    assert served.post("completions", prompt=f"say:{'x' * 40}⏎").json()["usage"]["completion_tokens"] == 16


def test_stop_texts_end_inside_of_a_token(served: Texts) -> None:
    # `llo` is one token, and the stop text ends after its first two characters.
    choice = served.complete("hello world", stop="el")
    assert (choice["text"], choice["finish_reason"]) == ("h", "stop")
    choice = served.complete("hello world", stop=["ld", "o w"])
    assert choice["text"] == "hell"
    choice = served.complete("hello world", stop=["worlds"])
    assert (choice["text"], choice["finish_reason"]) == ("hello world", "stop")


def test_a_stream_holds_back_what_may_be_a_stop_text(served: Texts) -> None:
    events = served.stream("completions", prompt="say:one two three⏎", max_tokens=50, stop=[" three", "two f"])
    texts = [event["choices"][0]["text"] for event in events]
    # ` ` waits for `tw`, which does not begin ` three`; `two ` waits for `t`, which does not end `two f`.
    assert [text for text in texts if text] == ["o", "n", "e", " ", "two"]
    assert [event["choices"][0]["finish_reason"] for event in events][-1] == "stop"


def test_characters_of_several_tokens_are_whole(served: Texts) -> None:
    assert served.complete("naïve 日本 🙂")["text"] == "naïve 日本 🙂"
    events = served.stream("completions", prompt="say:日本⏎", max_tokens=50)
    assert [event["choices"][0]["text"] for event in events if event["choices"][0]["text"]] == ["日", "本"]
    assert served.complete("日", max_tokens=2)["text"] == "\ufffd"


def test_a_stream_can_end_with_the_usage(served: Texts) -> None:
    body = {"prompt": "say:hi⏎", "stream_options": {"include_usage": True}}
    events = served.stream("completions", **body)
    assert events[-1]["choices"] == [] and events[-1]["usage"]["completion_tokens"] == 2
    assert all(event["usage"] is None for event in events[:-1])
    assert len({event["id"] for event in events}) == 1
    assert all("usage" not in event for event in served.stream("completions", prompt="say:hi⏎"))


def test_several_prompts_and_choices_have_indices(served: Texts) -> None:
    answer = served.post("completions", prompt=["say:one⏎", "say:two⏎"], n=2).json()
    assert [(each["index"], each["text"]) for each in answer["choices"]] == [
        (0, "one"), (1, "one"), (2, "two"), (3, "two")
    ]  # fmt: skip
    assert answer["usage"]["prompt_tokens"] == 2 * len(TOKENIZER.encode("say:one⏎"))
    events = served.stream("completions", prompt=["say:one⏎", "say:two⏎"])
    found = ["", ""]
    for event in events:
        found[event["choices"][0]["index"]] += event["choices"][0]["text"]
    assert found == ["one", "two"]


def test_tokens_as_prompt(served: Texts) -> None:
    tokens = TOKENIZER.encode("say:hello⏎")
    assert served.post("completions", prompt=tokens).json()["choices"][0]["text"] == "hello"
    answer = served.post("completions", prompt=[tokens, TOKENIZER.encode("say:you⏎")]).json()
    assert [each["text"] for each in answer["choices"]] == ["hello", "you"]


def test_echo_returns_the_prompt_first(served: Texts) -> None:
    assert served.complete("hi", echo=True)["text"] == "say:hihi"  # special tokens have no text
    events = served.stream("completions", prompt="say:hi⏎", echo=True)
    assert [event["choices"][0]["text"] for event in events][:2] == ["say:hi", "h"]


def test_logprobs_come_with_texts_and_offsets(served: Texts) -> None:
    choice = served.complete("hello", logprobs=3)
    found = choice["logprobs"]
    assert found["tokens"] == ["h", "e", "llo"] and found["text_offset"] == [0, 1, 2]
    assert all(
        len(top) == 3 and token in top for token, top in zip(found["tokens"], found["top_logprobs"], strict=True)
    )
    assert all(-0.1 < each <= 0 for each in found["token_logprobs"])
    events = served.stream("completions", prompt="say:hello⏎", logprobs=0)
    tokens = [token for event in events for token in event["choices"][0]["logprobs"]["tokens"]]
    assert tokens == ["h", "e", "llo"]


def logprobs_behind(prompt: list[int]) -> np.ndarray:
    """Return the log-probabilities behind each token, of an engine without a scheduler."""
    engine, places = SayingEngine(1, 100), np.arange(len(prompt), dtype=np.int32)
    table = np.zeros((1, 1), np.int32)
    zeros = np.zeros_like(places)
    logits = engine.step(Step(np.array(prompt, np.int32), places, zeros, places, table, places, zeros[:1]))
    return log_softmax(logits.astype(np.float64), axis=-1)


@pytest.mark.parametrize("max_tokens", [0, 1, 3])
def test_echo_with_logprobs_scores_the_prompt(served: Texts, max_tokens: int) -> None:
    prompt = TOKENIZER.encode("say:hello é⏎")
    answer = [*TOKENIZER.encode("hello")][:max_tokens]
    rows = logprobs_behind([*prompt, *answer])
    for _ in range(2):  # the prefix cache has the prompt at the second time
        result = served.post("completions", prompt=prompt, echo=True, logprobs=2, max_tokens=max_tokens).json()
        (choice,) = result["choices"]
        found, expected = choice["logprobs"], [*prompt, *answer]
        assert choice["text"] == TOKENIZER.decode(expected) and choice["finish_reason"] == "length"
        assert found["tokens"][:3] == ["s", "a", "y"] and len(found["tokens"]) == len(expected)
        assert found["token_logprobs"][0] is None and found["top_logprobs"][0] is None
        scores = rows[np.arange(len(expected) - 1), expected[1:]]
        np.testing.assert_allclose(found["token_logprobs"][1:], scores, rtol=1e-12)
        for text, score, top, row in zip(
            found["tokens"][1:], found["token_logprobs"][1:], found["top_logprobs"][1:], rows, strict=False
        ):
            assert top[text] == score and max(top.values()) == pytest.approx(row.max(), rel=1e-12)
            assert 2 <= len(top) <= 3  # the token itself may be a third one
        assert result["usage"]["completion_tokens"] == max_tokens
        whole = TOKENIZER.decode(expected)
        assert found["text_offset"][4:9] == [4, 5, 6, 9, 10] and found["text_offset"][-1] <= len(whole)
        assert all(whole[at:].startswith(text) for at, text in zip(found["text_offset"], found["tokens"], strict=True)
                   if not text.startswith("bytes:") and text != "⏎")  # fmt: skip


def test_a_stream_has_the_scored_prompt_first(served: Texts) -> None:
    events = served.stream("completions", prompt="say:hello⏎", echo=True, logprobs=1, max_tokens=3)
    choices = [event["choices"][0] for event in events]
    assert choices[0]["text"].startswith("say:hello") and choices[0]["logprobs"]["token_logprobs"][0] is None
    whole = served.complete("hello", echo=True, logprobs=1, max_tokens=3)
    assert "".join(choice["text"] for choice in choices) == whole["text"]
    for name, expected in whole["logprobs"].items():
        assert [each for choice in choices for each in choice["logprobs"][name]] == expected


def test_a_scored_prompt_has_a_token_behind_it_even_at_the_end_of_the_text(served: Texts) -> None:
    """lm-evaluation-harness drops the last of the log-probabilities, and asks for one token."""
    prompt = TOKENIZER.encode("say:hi⏎hi")
    choice = served.post("completions", prompt=prompt, echo=True, logprobs=1, max_tokens=1).json()["choices"][0]
    assert choice["logprobs"]["tokens"][len(prompt) :] == ["<|end|>"] and choice["text"] == "say:hihi"
    assert served.post("completions", prompt=prompt, echo=True, max_tokens=1).json()["choices"][0]["logprobs"] is None
    (usual,) = served.post("completions", prompt=prompt, logprobs=1, max_tokens=1).json()["choices"]
    assert usual["logprobs"]["tokens"] == [] and usual["finish_reason"] == "stop"


def test_echo_without_tokens_is_the_prompt(served: Texts) -> None:
    choice = served.complete("hi", echo=True, max_tokens=0)
    assert (choice["text"], choice["logprobs"], choice["finish_reason"]) == ("say:hi", None, "length")


def test_several_choices_have_scored_prompts(served: Texts) -> None:
    body = {"prompt": ["say:one⏎", "say:two⏎"], "n": 2, "echo": True, "logprobs": 0, "max_tokens": 1}
    choices = served.post("completions", **body).json()["choices"]
    assert [each["text"] for each in choices] == ["say:oneo", "say:oneo", "say:twot", "say:twot"]
    assert choices[0]["logprobs"] == choices[1]["logprobs"] and choices[2]["logprobs"] == choices[3]["logprobs"]
    assert all(len(each["logprobs"]["tokens"]) == 9 for each in choices)


def test_logprobs_end_before_a_stop_text(served: Texts) -> None:
    found = served.complete("ab cd", logprobs=1, stop=" c")["logprobs"]
    assert found["tokens"] == ["a", "b"]


def test_parts_of_characters_have_bytes(served: Texts) -> None:
    found = served.complete("é", logprobs=0)["logprobs"]
    assert found["tokens"] == ["bytes:\\xc3", "bytes:\\xa9"]


def test_sampling_fields_reach_the_scheduler(served: Texts) -> None:
    fields = {
        "temperature": 0.5, "top_p": 0.9, "min_p": 0.01, "presence_penalty": 0.1, "frequency_penalty": -0.1,
        "repetition_penalty": 1.1, "top_k": 7, "seed": 11, "ignore_eos": True,
    }  # fmt: skip
    served.complete("hello", **fields, logit_bias={"5": -10}, stop_token_ids=[9], max_tokens=4, n=2)
    first, second = (request.parameters for request in served.scheduler.added[-2:])
    assert {name: getattr(first, name) for name in fields} == fields
    assert first.logit_bias == {5: -10.0} and first.stop_tokens == (9,) and first.max_tokens == 4
    assert second.seed == 12  # each answer has a seed of its own


def test_vllm_s_top_k_of_minus_one_means_all(served: Texts) -> None:
    served.complete("a", top_k=-1)
    assert served.scheduler.added[-1].parameters.top_k == 0


def test_logit_bias_changes_the_answer(served: Texts) -> None:
    (token,) = TOKENIZER.encode("b")
    assert served.complete("abc", temperature=0, logit_bias={str(token): -100})["text"][:2] != "ab"


def test_equal_seeds_give_equal_answers(served: Texts) -> None:
    body = {"temperature": 100.0, "ignore_eos": True, "max_tokens": 12, "logit_bias": {str(END): -100}}
    first, second, other = (served.complete("a", seed=seed, **body)["text"] for seed in (1, 1, 2))
    assert first == second != other


def test_cached_tokens_are_in_the_usage(served: Texts) -> None:
    prompt = "say:cached cached⏎"
    counts = [
        served.post("completions", prompt=prompt).json()["usage"]["prompt_tokens_details"]["cached_tokens"]
        for _ in range(2)
    ]
    page, length = served.engine.page_size, len(TOKENIZER.encode(prompt))
    # Another test may have computed the first page, `say:`.
    assert counts[0] in (0, page) and counts[1] == (length - 1) // page * page


@pytest.mark.parametrize(
    "body, text",
    [
        ({"guided_regex": "[0-9]{3}"}, "3 digits"),
        ({"guided_choice": ["yes", "no"]}, "a choice"),
        ({"structured_outputs": {"grammar": 'start: "<" /[a-c]{2}/ ">"'}}, "lark"),
        ({"guided_json": {"enum": [1, 2]}}, "json"),
    ],
)
def test_grammars_bind_answers(served: Texts, body: dict[str, object], text: str) -> None:
    found = served.complete("zzz", **body)
    allowed = {"3 digits": str.isdigit, "a choice": ("yes", "no").__contains__,
               "lark": lambda each: len(each) == 4 and set(each[1:3]) <= set("abc") and each[0] + each[3] == "<>",
               "json": lambda each: each.strip() in ("1", "2")}  # fmt: skip
    assert allowed[text](found["text"]) and found["finish_reason"] == "stop"


def test_models_and_health(served: Texts) -> None:
    (model,) = served.client.get("/v1/models").json()["data"]
    assert model["id"] == "tiny" and model["object"] == "model" and model["max_model_len"] == 200
    assert served.client.get("/v1/models/tiny").json() == model
    assert served.client.get("/health").json() == {"status": "ok"}


def test_metrics_count_requests_tokens_and_pages(served: Texts) -> None:
    served.complete("hello")
    found = served.client.get("/metrics")
    assert found.headers["content-type"].startswith("text/plain; version=0.0.4")
    values = dict(line.rsplit(" ", 1) for line in found.text.splitlines() if not line.startswith("#"))
    assert float(values['relax_requests_total{model="tiny",reason="stop"}']) >= 1
    assert float(values['relax_pages_free{model="tiny"}']) + float(values['relax_pages_cached{model="tiny"}']) == 64
    assert float(values['relax_pages_used{model="tiny"}']) == 0
    count = float(values['relax_time_to_first_token_seconds_count{model="tiny"}'])
    assert count >= 1 and float(values['relax_time_between_tokens_seconds_sum{model="tiny"}']) > 0
    assert float(values['relax_time_to_first_token_seconds_bucket{model="tiny",le="+Inf"}']) == count
    kinds = [line for line in found.text.splitlines() if line.startswith("# TYPE")]
    assert len(kinds) == len(set(kinds)) == found.text.count("# HELP")


def test_drafts_do_not_change_answers() -> None:
    text = "ab ab ab ab ab ab ab ab"
    with texts(SayingEngine(), draft="ngram") as served:
        assert served.complete(text)["text"] == text
        assert served.complete(text, stop="b a")["text"] == "a"
        assert "relax_accepted_draft_tokens_total" in served.client.get("/metrics").text
        assert served.scheduler.statistics.accepted_drafts > 0


def test_adapters_are_models_of_the_same_scheduler() -> None:
    with texts(adapters=["loud"]) as served:
        models = served.client.get("/v1/models").json()["data"]
        assert [(each["id"], each["parent"]) for each in models] == [("tiny", None), ("loud", "tiny")]
        assert served.client.get("/v1/models/loud").json()["parent"] == "tiny"
        prompt = f"say:{'hello ' * 4}⏎"
        for _ in range(2):  # the second time, the prefix cache has both prompts
            for name, text in (("tiny", "hello " * 4), ("loud", "HELLO " * 4)):
                answer = served.post("completions", model=name, prompt=prompt, max_tokens=50).json()
                assert (answer["model"], answer["choices"][0]["text"]) == (name, text)
        assert {each.adapter for each in served.scheduler.added} == {None, "loud"}
        cached = answer["usage"]["prompt_tokens_details"]["cached_tokens"]
        assert 0 < cached < answer["usage"]["prompt_tokens"]
        unnamed = served.client.post("/v1/completions", json={"prompt": prompt})
        assert unnamed.status_code == 400 and "model" in unnamed.json()["error"]["message"]
        assert served.post("completions", model="shy", prompt=prompt).status_code == 404
        assert 'model="loud"' not in served.client.get("/metrics").text


@pytest.mark.parametrize("draft", [None, "ngram"])
def test_an_answer_has_a_least_number_of_tokens(draft: str | None) -> None:
    with texts(draft=draft) as served:
        body = {"prompt": "say:ab⏎", "max_tokens": 12, "stop_token_ids": [300, 12], "seed": 3}
        for least in (0, 2, 3, 9, 12):
            answer = served.post("completions", **body, min_tokens=least).json()
            count = answer["usage"]["completion_tokens"]
            assert answer["choices"][0]["text"].startswith("ab")
            assert count == 2 if least <= 2 else least <= count <= 12
        assert served.complete("abcdefghi", min_tokens=3)["text"] == "abcdefghi"
