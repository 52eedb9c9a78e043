# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments that `rx.from_tvm` refuses. test/with_tvm imports modules of TVM, which has an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import relax_mlir as rx


@pytest.mark.parametrize("given", ["@I.ir_module", 3, None])
def test_from_tvm_refuses_other_objects(given: object) -> None:
    with pytest.raises(
        rx.ModelError, match=r"from_tvm takes a tvm\.IRModule, a relax.Function or a PrimFunc, got"
    ) as caught:
        rx.from_tvm(given)
    # TVM is in an environment of its own: suite.py tvm.
    assert "TVM is not installed here: pip install apache-tvm" in str(caught.value)
    assert ("rx.Module.from_script reads text" in str(caught.value)) == isinstance(given, str)


def test_the_error_names_the_package() -> None:
    code = "import relax_mlir as rx; rx.from_tvm(3)"
    hidden = {**os.environ, "RELAX_MLIR_DISABLED_PLUGINS": "relax_mlir_tvm*"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=hidden, check=False)
    assert "rx.from_tvm: it is in the package relax_mlir_tvm, which is hidden by" in done.stderr
    assert "pip install --force-reinstall relax-mlir" in done.stderr
