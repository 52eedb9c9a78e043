# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rx.Statistics: numbers about passes, separate for each anchor of a pass."""

from __future__ import annotations

import relax_mlir as rx

TEXT = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.negative"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.negative"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.exp"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func private @unused()
"""


def test_numbers_by_anchor_and_pass() -> None:
    statistics = rx.Statistics()
    rx.Pipeline("func.func(relax-canonicalize),relax-canonicalize,symbol-dce", instruments=[statistics]).run(
        rx.Module.parse(TEXT)
    )
    by_name = {key: {name: number for (name, _), number in found.items()} for key, found in statistics.numbers.items()}
    assert by_name == {
        ("func.func", "relax-canonicalize"): {"runs": 2, "undo_involution": 1, "relax.negative": -2},
        ("builtin.module", "relax-canonicalize"): {"runs": 1},
        ("builtin.module", "symbol-dce"): {"runs": 1, "func.func": -1},
    }
    listed = statistics.report(by_pass=True)
    assert listed.index("  relax-canonicalize\n    (S)  3 runs") < listed.index("  symbol-dce\n")
    assert "Pipeline" not in listed


def test_patterns_outside_of_a_watched_pass_do_not_count() -> None:
    statistics = rx.Statistics()
    pipeline = rx.Pipeline("relax-canonicalize", instruments=[statistics])
    pipeline.run(rx.Module.parse(TEXT))
    rx.Pipeline("relax-canonicalize").run(rx.Module.parse(TEXT))
    (numbers,) = statistics.numbers.values()
    assert {name: number for (name, _), number in numbers.items()}["undo_involution"] == 1
