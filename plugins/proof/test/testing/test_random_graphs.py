# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random graphs: reproducible by the seed, with several operators and results."""

from __future__ import annotations

from relax_mlir.bindings.navigation import functions_in, operations_in
from relax_mlir_proof.testing.random_graphs import cases


def test_graphs_hang_on_the_seed_alone() -> None:
    case, other, *_ = cases()
    assert str(case.make(3).module) == str(case.make(3).module)
    assert len({str(case.make(3).module), str(case.make(4).module), str(other.make(3).module)}) == 3


def test_operators_of_random_graphs_read_earlier_results() -> None:
    counts = []
    for case in list(cases())[:8]:
        setup = case.make(0)
        setup.module.verify()
        (main,) = functions_in(setup.module.operation)
        operators = [each for each in operations_in(main) if each.name.startswith("relax.")]
        assert len(setup.calls[0]) == len(main.regions[0].blocks[0].arguments)
        counts.append(len(operators))
    assert min(counts) >= 3 and max(counts) > 5
