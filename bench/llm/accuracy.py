# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Greedy answers and perplexity of SmolLM2 beside a NumPy model in f64 over `gguf.dequantize`: suite.py bench-llm.

    python bench/llm/accuracy.py [MODEL] [--prompts 20] [--tokens 256] [--activations i8]

The NumPy model (plugins/llm/test/numpy_decoder.py) reads each prompt with its answer. A token of the answer is right if
it is the model's likeliest one, a tie if its logit is less than 0.001 below the largest one. Perplexities by
both models are of the answers.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import gguf
import numpy
from relax_mlir.runtime.cpu import cpu_name
from smollm2 import find_model

import relax_mlir as rx

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "plugins" / "llm" / "test"))
from numpy_decoder import Variant, logits, plain_frequencies

_TIE = 1e-3
PROMPTS = (
    "The capital of France is",
    "Once upon a time, in a village by the sea,",
    "Water boils at",
    "def fibonacci(n):\n",
    "The three primary colours are",
    "Photosynthesis is the process by which",
    "Dear Sir or Madam,\n\n",
    "In 1969, people first",
    "A recipe for bread: mix flour,",
    "The opposite of hot is",
    "SELECT name FROM",
    "My favourite book is about",
    "The speed of light is",
    "To be or not to be,",
    "List of planets: Mercury,",
    "Q: Why is the sky blue?\nA:",
    "Compilers translate",
    "The patient was asked to",
    "Prices rose last year because",
    "Die Hauptstadt von Deutschland ist",
)


def variant_of(reader: gguf.GGUFReader) -> Variant:
    """Return the sizes of a Llama's file."""

    def fact(name: str) -> float:
        return float(reader.fields[f"llama.{name}"].contents())

    layers, heads = int(fact("block_count")), int(fact("attention.head_count"))
    size = int(fact("embedding_length")) // heads
    return Variant(
        layers=layers,
        heads=heads,
        kv_heads=int(fact("attention.head_count_kv")),
        head_size=size,
        frequencies=(plain_frequencies(fact("rope.freq_base"), size),) * layers,
        adjacent=True,
        windows=(None,) * layers,
        epsilon=fact("attention.layer_norm_rms_epsilon"),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--prompts", type=int, default=len(PROMPTS), choices=range(1, len(PROMPTS) + 1), metavar="N")
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--activations", default="f32", choices=("f32", "i8"))
    options = parser.parse_args()
    path = options.model or find_model()
    model = rx.llm.load(path, context=1024, activations=options.activations)
    reader = gguf.GGUFReader(path)
    weights = {each.name: gguf.dequantize(each.data, each.tensor_type).astype("float64") for each in reader.tensors}
    variant = variant_of(reader)
    print(
        f"{cpu_name()}, {path.name}, {options.prompts} prompts, {options.tokens} tokens each, "
        f"activations {options.activations}",
        flush=True,
    )
    count = ties = wrong = 0
    losses = numpy.zeros(2)
    for prompt in PROMPTS[: options.prompts]:
        tokens = model.tokenizer.encode(prompt)
        answer = model.generate(tokens, options.tokens)
        for _ in answer:
            pass
        text = [*tokens, *answer.tokens]
        rows = slice(len(tokens) - 1, len(text) - 1)
        expected, found = logits(variant, weights, text)[rows], model.logits(text)[rows].astype("float64")
        chosen = expected[numpy.arange(len(answer.tokens)), answer.tokens]
        below = expected.max(axis=1) - chosen
        count += len(below)
        ties += int(((below > 0) & (below < _TIE)).sum())
        wrong += int((below >= _TIE).sum())
        losses += [_loss(each, answer.tokens) for each in (expected, found)]
    theirs, ours = numpy.exp(losses / count)
    print(f"{count} tokens: {wrong} wrong, {ties} ties below {_TIE}")
    print(f"perplexity {ours:.6f}, in f64 {theirs:.6f}: {abs(ours / theirs - 1):.5%} apart")
    return int(wrong > 0)


def _loss(rows: numpy.ndarray, tokens: list[int]) -> float:
    """Return the sum of the negative logarithms of the tokens' probabilities."""
    shifted = rows - rows.max(axis=1, keepdims=True)
    chosen = shifted[numpy.arange(len(tokens)), tokens] - numpy.log(numpy.exp(shifted).sum(axis=1))
    return float(-chosen.sum())


if __name__ == "__main__":
    sys.exit(main())
