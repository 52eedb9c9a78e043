# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choice of a token from logits, for `Model.generate`."""

from __future__ import annotations

import numpy
import relax_mlir as rx


def sampled_token(logits: numpy.ndarray, temperature: float, top_p: float, random: numpy.random.Generator) -> int:
    """Return the most likely token at temperature 0, else a random one of the most likely tokens that make up top_p."""
    if temperature == 0:
        return int(logits.argmax())
    scaled = logits.astype(numpy.float64) / temperature
    weights = numpy.exp(scaled - scaled.max())
    order = numpy.argsort(-weights, kind="stable")
    sums = numpy.cumsum(weights[order] / weights.sum())
    kept = int(numpy.searchsorted(sums, top_p)) + 1 if top_p < 1 else len(order)
    return int(order[min(int(numpy.searchsorted(sums[:kept], random.random() * sums[:kept][-1])), kept - 1)])


def check_sampling(max_tokens: int, temperature: float, top_p: float) -> None:
    """Raise an OptionError for settings without a meaning."""
    if max_tokens < 1:
        raise rx.OptionError(f"max_tokens={max_tokens}: expected at least 1")
    if not 0 <= temperature < float("inf"):
        raise rx.OptionError(f"temperature={temperature}: expected a number from 0, which selects the likeliest token")
    if not 0 < top_p <= 1:
        raise rx.OptionError(f"top_p={top_p}: expected a share above 0 and up to 1")
