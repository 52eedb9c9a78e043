# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shardy as the planner: sums of custom calls, collectives by both planners, the cache, and failures."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from divided_cases import OPERATORS, check_divided, with_scores
from relax_mlir import relax
from relax_mlir.runtime.arrays import to_numpy
from relax_mlir_shard import shardy
from test_shard import BY_COLUMNS, LOOP, arguments, block

needs_jaxlib = pytest.mark.skipif(
    importlib.util.find_spec("jaxlib") is None, reason="jaxlib is not installed; suite.py jax runs this test"
)
PLANNERS = ("rule", "shardy")
BY_BATCH = {"x": ("dp", None, None)}
BY_ROWS = {**BY_COLUMNS, "wo": ("tp", None), "w2": ("tp", None)}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RELAX_MLIR_CACHE", str(tmp_path))
    return tmp_path


@needs_jaxlib
@pytest.mark.parametrize("sums", ["split", "same"])
def test_a_divided_sum_is_combined(sums: str) -> None:
    """Shardy divides k too, and adds no all_reduce behind the custom call."""
    q, k = (numpy.ones(shape, "float32") for shape in ((4, 6, 8), (4, 5, 8)))
    divided = rx.shard(with_scores(), {"x": 4}, {"q": (None, None, "x")}, sums=sums, planner="shardy")
    assert str(divided).count('"ccl.all_reduce"') == (sums == "split")
    assert ("tensor<4x5x2xf32>" in str(divided)) == (sums == "split")
    numpy.testing.assert_array_equal(rx.launch(rx.compile(divided))["main"](q, k), numpy.full((4, 6, 5), 4, "float32"))


ATTENTION_SUM = {"wk": ("a", None), "wo": (None, "a"), "result": (None, "a", None)}
PARTS_OF_KEYS = {"wk": ("a", None), "result": ("a", "b", None)}
#: Module, mesh, specs, sums, and collectives with their bytes by the rules and by Shardy.
COMPARED: list[Any] = [
    (block(4, 6), {"tp": 1}, BY_COLUMNS, "same", (0, 0), (0, 0)),
    (block(4, 6), {"tp": 2}, BY_COLUMNS, "same", (3, 15360), (3, 15360)),
    (block(4, 6), {"tp": 3}, BY_COLUMNS, "same", (5, 21504), (5, 21504)),
    (block(4, 6), {"tp": 8}, BY_COLUMNS, "same", (5, 21504), (5, 21504)),
    (block(4, 6), {"dp": 2, "tp": 2}, {**BY_COLUMNS, **BY_BATCH}, "same", (3, 7680), (3, 7680)),
    (block(4, 6), {"dp": 2, "tp": 2}, {**BY_ROWS, **BY_BATCH}, "same", (4, 22528), (4, 22528)),
    (block(4, 6), {"dp": 2, "tp": 2}, {**BY_ROWS, **BY_BATCH}, "split", (2, 3072), (2, 3072)),
    (block(), {"dp": 2, "tp": 2}, {**BY_COLUMNS, **BY_BATCH}, "same", (3, 0), (3, 0)),
    (block(4, 6), {"dp": 4}, BY_BATCH, "same", (0, 0), (0, 0)),
    (block(4, 6), {"a": 2, "b": 2}, {"wv": (None, "a"), "wq": ("a", "b")}, "same", (4, 11264), (3, 8192)),
    (block(4, 6), {"a": 2, "b": 2}, ATTENTION_SUM, "same", (2, 5632), (4, 10240)),
    (block(4, 6), {"a": 2, "b": 2}, PARTS_OF_KEYS, "split", (7, 9984), (5, 6912)),
    (rx.Module.parse(LOOP), {"a": 2}, {"x": ("a", None)}, "same", (2, 256), (2, 256)),
]


@needs_jaxlib
@pytest.mark.parametrize("index", range(len(COMPARED)))
def test_both_planners_have_the_same_bits(index: int, capsys: pytest.CaptureFixture[str]) -> None:
    module, mesh, specs, sums, *expected = COMPARED[index]
    inputs = arguments() if "gain" in str(module) else [numpy.arange(32, dtype="float32").reshape(8, 4)]
    one = to_numpy(rx.compile(module)["main"](*inputs))
    counts, results = [], []
    for planner in PLANNERS:
        divided = rx.shard(module, mesh, specs, sums=sums, planner=planner, explain=True)
        count, _, size, _ = capsys.readouterr().out.splitlines()[-1].replace(",", "").split()
        counts.append((int(count), int(size)))
        with rx.launch(rx.compile(divided)) as ranks:
            results.append(ranks["main"](*inputs))
    if sums == "same":
        assert all(numpy.array_equal(result, one) for result in results)
    else:
        numpy.testing.assert_allclose(results, [one, one], rtol=1e-4, atol=1e-4)
    assert counts == expected


@needs_jaxlib
@pytest.mark.parametrize("operator", OPERATORS)
def test_divided_operators_have_the_bits_of_one_process(operator: str) -> None:
    check_divided(operator, "shardy")


LLAMA = {
    "q": (64, 64),
    "k": (64, 32),
    "v": (64, 32),
    "o": (64, 64),
    "gate": (64, 176),
    "up": (64, 176),
    "down": (176, 64),
}


def llama(layers: int) -> tuple[rx.Module, dict[str, Any]]:
    """Return a model of layers like Llama's, and specs that divide heads and hidden units."""
    signature: dict[str, Any] = {"x": rx.tensor((1, "s", 64))}
    for layer in range(layers):
        signature |= {f"{name}{layer}": rx.tensor(shape) for name, shape in LLAMA.items()}
    module = rx.Module()
    with module.function("main", signature) as f:
        x, *weights = f
        gain = relax.const(numpy.ones(64, "float32"))
        for layer in range(layers):
            wq, wk, wv, wo, gate, up, down = weights[7 * layer : 7 * layer + 7]
            normed = relax.nn.rms_norm(x, gain)
            q, k, v = (
                relax.reshape(relax.matmul(normed, w), (1, "s", heads, 16)) for w, heads in ((wq, 4), (wk, 2), (wv, 2))
            )
            attended = relax.reshape(relax.nn.attention(q, k, v, causal_mask="TopLeft"), (1, "s", 64))
            x = relax.add(x, relax.matmul(attended, wo))
            normed = relax.nn.rms_norm(x, gain)
            gated = relax.multiply(relax.nn.silu(relax.matmul(normed, gate)), relax.matmul(normed, up))
            x = relax.add(x, relax.matmul(gated, down))
        f.returns(x)
    rows = ("o", "down")
    return module, {
        f"{name}{layer}": ("tp", None) if name in rows else (None, "tp") for name in LLAMA for layer in range(layers)
    }


@needs_jaxlib
def test_a_plan_of_32_layers_takes_3_seconds_once(monkeypatch: pytest.MonkeyPatch) -> None:
    module, specs = llama(32)
    begun = time.perf_counter()
    divided = rx.shard(module, {"tp": 2}, specs, sums="split", planner="shardy")
    assert time.perf_counter() - begun <= 3
    assert str(divided).count('"ccl.') == str(divided).count('"ccl.all_reduce"') == 64
    monkeypatch.setattr(shardy, "_call_child", None)
    again = rx.shard(module, {"tp": 2}, specs, sums="split", planner="shardy")
    assert str(again).count('"ccl.all_reduce"') == 64


@needs_jaxlib
def test_a_slow_process_of_shardy_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shardy, "_LIMIT", 0.001)
    with pytest.raises(rx.RelaxError, match=r"^planner 'shardy': Shardy had no plan after 0.001 s$"):
        rx.shard(block(), {"tp": 2}, BY_COLUMNS, planner="shardy")
    with pytest.warns(UserWarning, match=r"planner 'shardy': Shardy had no plan after 0.001 s"):
        divided = rx.shard(block(), {"tp": 2}, BY_COLUMNS, planner=["shardy", "rule"])
    assert str(divided) == str(rx.shard(block(), {"tp": 2}, BY_COLUMNS))


@needs_jaxlib
def test_an_error_of_shardy_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shardy, "skeleton", lambda *_: "sdy.mesh @mesh = <[]> func.func @main() { return %x }")
    with pytest.raises(rx.RelaxError, match=r"^planner 'shardy': Unable to parse module assembly: error: .* expected"):
        rx.shard(block(), {"tp": 2}, BY_COLUMNS, planner="shardy")


@pytest.mark.parametrize("planner", ["shardie", ["rule", "shardie"], [], None, [["shardy"]]])
def test_names_of_planners_are_checked(planner: Any) -> None:
    with pytest.raises(rx.OptionError, match=r"rx.shard: no planner .*; there are rule and shardy"):
        rx.shard(block(), {"tp": 2}, BY_COLUMNS, planner=planner)


def test_shardy_needs_jaxlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(rx.OptionError, match="planner 'shardy' needs jaxlib: pip install 'relax-mlir"):
        rx.shard(block(), {"tp": 2}, BY_COLUMNS, planner="shardy")
