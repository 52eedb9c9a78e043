# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sampling: distributions by chi-square with fixed seeds, filters, penalties, masks and log-probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from relax_mlir import RelaxError
from relax_mlir_llm.requests import Request, SamplingParameters
from relax_mlir_llm.sampling import Sampler, exponential_noise, noise_bits, with_logprobs
from scipy import special, stats

LOGITS = np.array([2.0, 1.0, 0.0, -1.0, 1.5, -3.0, 0.5, 2.0], np.float32)
DRAWS = 2000


def counts_of(parameters: SamplingParameters, logits: np.ndarray = LOGITS) -> np.ndarray:
    """Return how often each token is drawn: at many positions of one seed, and with many seeds at one position."""
    sampler = Sampler(parameters, [0])
    tokens = [sampler.choose(logits, position) for position in range(DRAWS)]
    for seed in range(DRAWS):
        sampler.seed = seed
        tokens.append(sampler.choose(logits, 5))
    return np.bincount(tokens, minlength=logits.size)


def expected(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum() * 2 * DRAWS


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
def test_samples_have_the_distribution_of_the_logits(temperature: float) -> None:
    found = counts_of(SamplingParameters(temperature=temperature, seed=1))
    wanted = expected(np.exp(LOGITS.astype(np.float64) / temperature))
    common = wanted >= 5
    assert found[~common].sum() <= wanted[~common].sum() + 12
    grouped = [*found[common], found[~common].sum()], [*wanted[common], max(wanted[~common].sum(), 1e-9)]
    if common.all():
        grouped = found, wanted
    assert stats.chisquare(*grouped, sum_check=False).pvalue > 1e-3


@pytest.mark.parametrize(
    ("parameters", "kept"),
    [
        ({"top_k": 3}, [0, 4, 7]),
        ({"top_k": 4}, [0, 1, 4, 7]),
        # The probabilities in descending order are 0.295, 0.295, 0.179, 0.109, 0.066, 0.040, 0.015, 0.002.
        ({"top_p": 0.58}, [0, 7]),
        ({"top_p": 0.62}, [0, 4, 7]),
        ({"top_p": 0.95}, [0, 1, 2, 4, 6, 7]),
        # Top-p counts the probabilities among the top-k tokens.
        ({"top_k": 3, "top_p": 0.76}, [0, 7]),
        ({"min_p": 0.3}, [0, 1, 4, 7]),
        ({"min_p": 0.3, "temperature": 0.5}, [0, 4, 7]),
        ({"logit_bias": {0: -100.0, 5: 4.0}}, [1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_filters_keep_the_ratios_of_the_other_tokens(parameters: dict[str, object], kept: list[int]) -> None:
    chosen = SamplingParameters(seed=3, **parameters)  # type: ignore[arg-type]
    logits = LOGITS.astype(np.float64)
    logits[list(chosen.logit_bias)] += list(chosen.logit_bias.values())
    found = counts_of(chosen)
    assert np.flatnonzero(found).tolist() == kept
    wanted = expected(np.exp(logits[kept] / chosen.temperature))
    assert stats.chisquare(found[kept], wanted).pvalue > 1e-3


def noise_of(seed: int, position: int, tokens: np.ndarray) -> np.ndarray:
    return exponential_noise(noise_bits(seed, position, tokens.astype(np.uint64)))


def test_noise_is_exponential_and_independent_of_neighbours() -> None:
    tokens = np.arange(20000)
    noise = noise_of(7, 3, tokens)
    assert stats.kstest(noise, "expon").pvalue > 1e-3
    assert np.array_equal(noise_of(7, 3, tokens[[5, 19999]]), noise[[5, 19999]])
    for seed, position in [(8, 3), (7, 4), (7, 2**31)]:
        other = noise_of(seed, position, tokens)
        assert abs(stats.spearmanr(noise, other).statistic) < 0.03
    assert abs(stats.spearmanr(noise[:-1], noise[1:]).statistic) < 0.03


@pytest.mark.parametrize("spread", [0.0, 0.5, 3.0, 8.0, 40.0])
def test_rare_tokens_take_part_in_the_choice(spread: float) -> None:
    """Compare with the quotient of all weights and noise. The sampler computes noise of rare tokens only if needed."""
    logits = (np.random.default_rng(2).normal(size=3000) * spread).astype(np.float32)
    tokens, weights = np.arange(3000), np.exp(logits - logits.max())
    sampler = Sampler(SamplingParameters(seed=5), [0])
    found = [sampler.choose(logits, position) for position in range(1500)]
    assert found == [int((weights / noise_of(5, position, tokens)).argmax()) for position in range(1500)]
    rare = weights < 2.0**-10
    probability = float(weights[rare].sum() / weights.sum())
    assert stats.binomtest(int(rare[found].sum()), 1500, probability).pvalue > 1e-3


@pytest.mark.parametrize("share", [0.01, 0.5, 0.9, 0.999])
def test_top_p_of_a_large_vocabulary_equals_a_sort_of_all(share: float) -> None:
    draw = np.random.default_rng(4)
    for spread in (0.01, 1.0, 5.0):
        logits = (draw.normal(size=1500) * spread).astype(np.float32)
        weights = np.exp(logits - logits.max())
        order = np.argsort(-weights, kind="stable")
        sums = np.cumsum(weights[order].astype(np.float64))
        count = int(np.searchsorted(sums, share * sums[-1])) + 1
        sampler = Sampler(SamplingParameters(top_p=share, seed=1), [0])
        found = {sampler.choose(logits, position) for position in range(400)}
        assert found <= set(order[:count].tolist())
        assert len(found) > 0.3 * min(count, 400) * (spread < 2)


def test_an_answer_depends_on_the_seed_and_the_position_alone() -> None:
    logits = np.zeros(1000, np.float32)
    draw = {
        (seed, position): Sampler(SamplingParameters(seed=seed), [1]).choose(logits, position)
        for seed in (-5, 0, 1, 2**63)
        for position in range(20)
    }
    assert draw == {
        (seed, position): Sampler(SamplingParameters(seed=seed), [2, 3]).choose(logits, position)
        for seed, position in reversed(draw)
    }
    assert len(set(draw.values())) > 70
    assert Sampler(SamplingParameters(), [1]).seed != Sampler(SamplingParameters(), [1]).seed


def test_greedy_takes_the_first_of_equal_logits() -> None:
    for parameters in ({"temperature": 0}, {"temperature": 1e-50}, {"top_k": 1, "seed": 4}):
        assert Sampler(SamplingParameters(**parameters), [0]).choose(LOGITS, 9) == 0  # type: ignore[arg-type]


def test_penalties() -> None:
    greedy = {"temperature": 0.0}
    presence = Sampler(SamplingParameters(presence_penalty=0.75, **greedy), [0])
    frequency = Sampler(SamplingParameters(frequency_penalty=0.3, **greedy), [0])
    repetition = Sampler(SamplingParameters(repetition_penalty=2.0, **greedy), [0, 3])
    chosen: dict[str, list[int]] = {"presence": [], "frequency": [], "repetition": []}
    for name, sampler in [("presence", presence), ("frequency", frequency), ("repetition", repetition)]:
        for position in range(5):
            chosen[name].append(sampler.choose(LOGITS, position))
            sampler.count(chosen[name][-1])
    # The prompt's token 0 counts only for the repetition penalty.
    assert chosen == {"presence": [0, 7, 4, 0, 0], "frequency": [0, 7, 0, 7, 4], "repetition": [7, 4, 0, 0, 0]}
    assert LOGITS[0] == 2.0, "the engine's logits are not changed"


def test_repetition_penalty_lowers_negative_logits() -> None:
    logits = np.array([-1.0, -1.5, -4.0], np.float32)
    assert Sampler(SamplingParameters(repetition_penalty=2.0, temperature=0), [0]).choose(logits, 1) == 1


def test_masks_restrict_greedy_and_random_choices() -> None:
    allowed = np.array([0b101010], np.int32)
    assert Sampler(SamplingParameters(temperature=0), [0]).choose(LOGITS, 0, allowed) == 1
    sampler = Sampler(SamplingParameters(seed=1, top_p=0.98), [0])
    found = np.bincount([sampler.choose(LOGITS, position, allowed) for position in range(DRAWS)], minlength=8)
    assert np.flatnonzero(found).tolist() == [1, 3]
    wide = np.zeros(3, np.int32)
    wide[2] = np.int32(-(2**31))
    assert Sampler(SamplingParameters(temperature=0), [0]).choose(np.zeros(96, np.float32), 0, wide) == 95


def test_logits_that_allow_no_choice_are_refused() -> None:
    sampler = Sampler(SamplingParameters(temperature=0), [0])
    with pytest.raises(RelaxError, match="no token may follow"):
        sampler.choose(LOGITS, 0, np.zeros(1, np.int32))
    for value in (np.nan, np.inf):
        with pytest.raises(RelaxError, match="the largest logit of the model is"):
            sampler.choose(np.array([0, value, 1], np.float32), 0)


def test_logprobs_are_those_of_the_model() -> None:
    wanted = special.log_softmax(LOGITS.astype(np.float64))
    token = with_logprobs(2, LOGITS, 3)
    assert token.logprob == pytest.approx(wanted[2])
    assert [each.token for each in token.top] == [0, 7, 4]
    assert [each.logprob for each in token.top] == pytest.approx(wanted[[0, 7, 4]])
    assert with_logprobs(2, LOGITS, 0).top == () and with_logprobs(2, LOGITS, 0).logprob is not None
    assert len(with_logprobs(2, LOGITS, 99).top) == 8
    assert with_logprobs(2, LOGITS, None).logprob is None


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"temperature": "hot"}, "temperature is 'hot', expected a number from 0 to 100"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"temperature": True}, "temperature is True"),
        ({"top_p": 0}, "top_p is 0, expected a number above 0"),
        ({"top_k": None}, "top_k is None, expected an integer of at least 0"),
        ({"max_tokens": 0}, "max_tokens is 0, expected an integer of at least 1"),
        ({"seed": 1.5}, "seed is 1.5, expected an integer of 64 bits"),
        ({"stop": [""]}, "stop is \\[''\\], expected a text"),
        ({"stop": 5}, "stop is 5, expected a text"),
        ({"stop_tokens": [-1]}, "stop_tokens: expected a list of tokens"),
        ({"logit_bias": [3]}, "logit_bias is \\[3\\], expected a mapping"),
        ({"logit_bias": {"x": 1}}, "logit_bias has the key 'x'"),
        ({"logit_bias": {"5": 101}}, "logit_bias of token 5 is 101"),
        ({"ignore_eos": 1}, "ignore_eos is 1, expected True or False"),
    ],
)
def test_wrong_parameters_are_refused(arguments: dict[str, object], text: str) -> None:
    with pytest.raises(RelaxError, match=text):
        SamplingParameters(**arguments)  # type: ignore[arg-type]


def test_values_of_json_are_accepted() -> None:
    parameters = SamplingParameters(temperature=0, stop="end", stop_tokens=[3], logit_bias={"7": -1})  # type: ignore[arg-type, dict-item]
    assert (parameters.stop, parameters.stop_tokens, parameters.logit_bias) == (("end",), (3,), {7: -1.0})
    for prompt in (np.array([1, 2]), list(np.array([1, 2]))):
        assert Request(prompt).prompt == (1, 2)  # type: ignore[arg-type]
    with pytest.raises(RelaxError, match="request 'x': the prompt has no tokens"):
        Request([], id="x")
    for wrong in (["a"], [1.5], [-1], 7, "text"):
        with pytest.raises(RelaxError, match="prompt: expected a list of tokens"):
            Request(wrong)  # type: ignore[arg-type]
