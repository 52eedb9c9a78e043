# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reproducers: the pipeline is preserved, and the text without it is the IR."""

from __future__ import annotations

import pytest
from relax_mlir.support.errors import RelaxError
from relax_mlir.tools.opt.reproducer import reproducer_pipeline, reproducer_text, without_reproducer

IR = "module {\n}\n"


@pytest.mark.parametrize("verify_each", [True, False])
@pytest.mark.parametrize(
    "pipeline", ["builtin.module(cse)", 'builtin.module(a{text="b \\ c" d={e}},f)', "builtin.module(a,\n b)"]
)
def test_reproducers_can_be_read(pipeline: str, verify_each: bool) -> None:
    text = reproducer_text(IR, pipeline, verify_each)
    assert reproducer_pipeline(text, "file") == (pipeline, verify_each)


def test_the_rest_keeps_its_lines() -> None:
    text = reproducer_text(IR, "builtin.module(cse)", True) + "// the end\n"
    rest = without_reproducer(text)
    assert "mlir_reproducer" not in rest
    assert rest.count("\n") == text.count("\n")
    assert rest.endswith("// the end\n")
    assert without_reproducer(IR) == IR


def test_a_file_without_a_reproducer_is_refused() -> None:
    with pytest.raises(RelaxError, match="--run-reproducer: the file holds no pipeline") as caught:
        reproducer_pipeline('module attributes {a.b = "mlir_reproducer: {}"} {}', "file")
    assert caught.value.location == "file"
