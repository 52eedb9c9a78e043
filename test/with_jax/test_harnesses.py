# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Part of `suite.py jax-harnesses`, and its comparison of results."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import harness_refusals
import numpy as np
import pytest
from harness_comparison import UNSTABLE_SORT, difference

ROOT = Path(__file__).resolve().parents[2]
_SHARE = "0.01"


def test_some_functions_of_jax_s_table_agree(tmp_path: Path) -> None:
    tool = [sys.executable, str(ROOT / "tools" / "dev" / "jax_harnesses.py"), "--jobs", "1", "--share", _SHARE]
    tool += ["--json", str(tmp_path / "found.json")]
    environment = {name: each for name, each in os.environ.items() if name != "JAX_PLATFORMS"}
    done = subprocess.run(tool, capture_output=True, text=True, timeout=900, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "55 functions" in done.stdout


def _decomposed() -> tuple[np.ndarray, list[np.ndarray]]:
    a = np.random.RandomState(0).rand(4, 3).astype("float32")
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return a, [s, u, vh]


def test_values_shapes_types_and_structures_count() -> None:
    one = np.linspace(1, 2, 5, dtype="float32")
    assert not difference("sin", [], one * np.float32(1 + 1e-6), one)
    assert difference("sin", [], one * np.float32(1 + 1e-4), one).startswith("result 0: 5 of 5 differ, at [0] 1.0001")
    assert difference("sin", [], one[:3], one) == "result 0: float32[3], jax has float32[5]"
    assert difference("sin", [], one.astype("float64"), one) == "result 0: float64[5], jax has float32[5]"
    assert "the structure" in difference("sin", [], (one, one), one)
    assert difference("sin", [], np.arange(3), np.array([0, 1, 3])) == "result 0: 1 of 3 differ, at [2] 2, jax has 3"
    nothing = np.full(2, np.nan, "float32")
    assert not difference("sin", [], nothing, nothing)


def test_sums_may_differ_by_the_size_of_their_terms() -> None:
    wanted = np.array([1e3, 1e-4], "float32")
    got = wanted + np.float32(1e-3)
    assert not difference("reduce_sum", [], got, wanted)
    assert difference("sin", [], got, wanted)


@pytest.mark.parametrize("change", [lambda s, u, vh: (s, -u, -vh), lambda s, u, vh: (s[..., :], u, vh)])
def test_signs_of_singular_vectors_do_not_count(change: object) -> None:
    a, wanted = _decomposed()
    assert not difference("svd", [a], [*change(*wanted)], wanted)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda s, u, vh: (s * 2, u, vh), "singular values"),
        (lambda s, u, vh: (s, -u, vh), "U S V"),
        (lambda s, u, vh: (s, u[:, ::-1], vh), "U S V"),
    ],
)
def test_a_wrong_decomposition_is_noticed(change: object, text: str) -> None:
    a, wanted = _decomposed()
    found = difference("svd", [a], [*change(*wanted)], wanted)  # type: ignore[operator]
    assert found.startswith(text), found


def test_equal_keys_may_come_in_any_order() -> None:
    keys, others = np.array([1, 1, 2]), np.array([5, 6, 7])
    assert not difference(UNSTABLE_SORT, [keys], [keys, others[[1, 0, 2]]], [keys, others])
    assert difference("sort", [keys], [keys, others[[1, 0, 2]]], [keys, others])
    assert difference(UNSTABLE_SORT, [keys], [keys, others[[2, 1, 0]]], [keys, others])
    assert difference(UNSTABLE_SORT, [keys], [keys[::-1], others[::-1]], [keys, others])


def test_indices_of_equal_largest_elements_may_differ() -> None:
    a, values = np.array([3.0, 1.0, 3.0]), np.array([3.0])
    assert not difference("approx_top_k", [a], [values, np.array([2])], [values, np.array([0])])
    assert difference("approx_top_k", [a], [values, np.array([1])], [values, np.array([0])])


def test_lists_are_read_as_they_are_written(tmp_path: Path) -> None:
    listed = {"b": "x: y", "a": "x: y", "c": "z"}
    harness_refusals.write("jit", listed, tmp_path)
    assert "x: y\n  a\n  b\nz\n  c\n" in (tmp_path / "jit.txt").read_text(encoding="utf-8")
    assert harness_refusals.read("jit", tmp_path) == listed
    assert harness_refusals.read("platform", tmp_path) == {}


def test_differences_from_the_lists_are_reported() -> None:
    outcomes = {
        ("a", "jit"): ("refused", "no"),
        ("b", "jit"): ("passes", ""),
        ("c", "jit"): ("wrong", "1 of 2"),
        ("d", "jit"): ("refused", "why"),
        ("e", "jit"): ("left out", "jax raises"),
    }
    listed = {"a": "no", "b": "no", "z": "kept"}
    assert harness_refusals.differences(outcomes, {"jit": listed}) == [
        "b by jit passes, and is in the list: write it again",
        "c by jit wrong: 1 of 2",
        "d by jit is refused, and not in the list: why",
    ]
    assert harness_refusals.merged("jit", outcomes, listed) == {"a": "no", "d": "why", "z": "kept"}
