# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A second interpreter in a process is refused at once, for any import of the package, in any order."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

_MODULE = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
_RUN = f"""
import sys
import {_MODULE} as interpreters
FIRST
other = interpreters.create(*(("legacy",) if interpreters.__name__ == "_interpreters" else ()))
code = '''
import sys
sys.path[:] = PATH
try:
    IMPORT
except ImportError as error:
    print(error, flush=True)
'''
problem = interpreters.run_string(other, code.replace("PATH", repr(sys.path)))
assert problem is None, problem
"""


@pytest.mark.skipif(
    importlib.util.find_spec(_MODULE) is None, reason="this Python has no module that makes interpreters"
)
@pytest.mark.parametrize("first", ["", "import relax_mlir.runtime"], ids=["first", "second"])
@pytest.mark.parametrize("name", ["relax_mlir", "relax_mlir.runtime", "relax_mlir.bindings.mlir"])
def test_another_interpreter_is_refused(name: str, first: str) -> None:
    code = _RUN.replace("FIRST", first).replace("IMPORT", f"import {name}")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "relax_mlir works in the main interpreter of a process only, and this is a subinterpreter: "
        "import it in the main interpreter, or start another process\n"
    )
