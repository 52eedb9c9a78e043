# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pieces of models as exporters write them: launches of a call, and results against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from emulated_gpu import run_emulated
from relax_mlir.bindings.mlir import string_value
from relax_mlir.bindings.navigation import operations_in, symbol_name
from relax_mlir.dialects.core.ir_attributes import FORM
from relax_mlir.runtime import tensor, to_numpy
from scipy.special import expit

import relax_mlir as rx
from relax_mlir import relax


class Piece(NamedTuple):
    build: Callable[..., Any]
    oracle: Callable[..., np.ndarray]
    #: Shapes of the arguments. Dynamic sizes have names.
    shapes: list[tuple[int | str, ...]]
    launches: list[str]


def weights(rows: int, columns: int, seed: int) -> np.ndarray:
    return (np.random.default_rng(seed).normal(size=(rows, columns)) / 8).astype("float32")


def dense(x: Any, w: Any, rows: tuple[int | str, int | str], columns: int) -> Any:
    """Return a layer like transformers' Conv1D: one product has the rows of all sequences."""
    batch, length = rows
    together = batch * length if isinstance(batch, int) and isinstance(length, int) else f"{batch}*{length}"
    flat = relax.reshape(x, (together, 32))
    return relax.reshape(relax.matmul(flat, w), (batch, length, columns))


def activated(x: Any, w: Any, b: Any, residual: Any, rows: tuple[int | str, int | str]) -> Any:
    """Return an activation with a tanh that depends on a power."""
    y = relax.add(dense(x, w, rows, 48), b)
    cube = relax.power(y, relax.const(np.float32(3)))
    inner = relax.add(y, relax.multiply(cube, relax.const(np.float32(0.044715))))
    tanh = relax.tanh(relax.multiply(inner, relax.const(np.float32(0.7978845))))
    factor = relax.add(tanh, relax.const(np.float32(1)))
    return relax.add(residual, relax.multiply(relax.multiply(y, relax.const(np.float32(0.5))), factor))


def activated_by_numpy(x: np.ndarray, w: np.ndarray, b: np.ndarray, residual: np.ndarray) -> np.ndarray:
    y = x @ w + b
    return residual + y * 0.5 * (1 + np.tanh(0.7978845 * (y + 0.044715 * y**3)))


def projections(x: Any) -> Any:
    heads = [relax.reshape(relax.matmul(x, relax.const(weights(32, 32, seed))), (2, 20, 4, 8)) for seed in range(3)]
    return relax.nn.attention(*heads)


def projections_by_numpy(x: np.ndarray) -> np.ndarray:
    query, key, value = ((x @ weights(32, 32, seed)).reshape(2, 20, 4, 8).swapaxes(1, 2) for seed in range(3))
    scores = query @ key.swapaxes(2, 3) / np.sqrt(8)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return (shares / shares.sum(-1, keepdims=True) @ value).swapaxes(1, 2)


def gated(x: Any) -> Any:
    gate, up = (relax.matmul(x, relax.const(weights(32, 48, seed))) for seed in range(2))
    return relax.multiply(relax.multiply(gate, relax.sigmoid(gate)), up)


def gated_by_numpy(x: np.ndarray) -> np.ndarray:
    gate, up = (x @ weights(32, 48, seed) for seed in range(2))
    return gate * expit(gate) * up


def normalized(x: Any, w: Any) -> Any:
    squares = relax.mean(relax.power(x, relax.const(np.float32(2))), axis=[-1], keepdims=True)
    deviation = relax.sqrt(relax.add(squares, relax.const(np.float32(1e-3))))
    return relax.multiply(relax.multiply(x, relax.divide(relax.const(np.float32(1)), deviation)), w)


def normalized_by_numpy(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-3) * w


_LAYER: list[tuple[int | str, ...]] = [(2, 20, 32), (32, 48), (48,), (2, 20, 48)]
PIECES = {
    "GPT-2's gelu": Piece(lambda *given: activated(*given, (2, 20)), activated_by_numpy, _LAYER, ["tiles"]),
    "of open sizes": Piece(
        lambda *given: activated(*given, ("b", "n")),
        activated_by_numpy,
        [("b", "n", 32), (32, 48), (48,), ("b", "n", 48)],
        ["tiles"],
    ),
    "BERT's heads": Piece(projections, projections_by_numpy, [(2, 20, 32)], ["tiles", "points", "written"]),
    "Llama's gate": Piece(gated, gated_by_numpy, [(40, 32)], ["tiles", "tiles"]),
    "Llama's norm": Piece(normalized, normalized_by_numpy, [(2, 20, 32), (32,)], ["rows"]),
}


def module_of(piece: Piece) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape) for shape in piece.shapes]) as f:
        f.returns(piece.build(*f))
    return module


@pytest.mark.parametrize("name", PIECES)
def test_launches(name: str) -> None:
    module = module_of(PIECES[name])
    rx.stages("cuda").until("kernels").run(module, "cuda")
    ops = list(operations_in(module.operation))
    forms = {symbol_name(each): string_value(each.attributes[FORM]) for each in ops if each.name == "gpu.func"}
    launched = [forms[each.attributes["kernel"].value[-1]] for each in ops if each.name == "gpu.launch_func"]
    assert sorted(launched) == sorted(PIECES[name].launches)


@pytest.mark.parametrize("name", PIECES)
def test_results(name: str) -> None:
    piece, given, sizes = PIECES[name], np.random.default_rng(3), {"b": 2, "n": 20}
    shapes = [[size if isinstance(size, int) else sizes[size] for size in shape] for shape in piece.shapes]
    arrays = [given.normal(size=shape).astype("float32") for shape in shapes]
    found = to_numpy(run_emulated(rx.compile(module_of(piece), "cuda"), *map(tensor, arrays)))
    np.testing.assert_allclose(found, piece.oracle(*arrays), rtol=2e-5, atol=2e-5)


def test_one_launch_where_parts_take_as_long() -> None:
    """Decide by the estimate for 128 rows and 768 columns: with four times the steps, parts take less time."""
    for steps, is_in_parts in ((768, False), (3072, True)):
        module = rx.Module()
        with module.function("main", [rx.tensor((128, steps)), rx.tensor((steps, 768))]) as f:
            f.returns(relax.matmul(*f))
        rx.stages("cuda").until("plan").run(module, "cuda")
        assert ("parts 2:" in str(module)) == is_in_parts
