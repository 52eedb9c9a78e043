# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Object files: reproducible, position-independent, with declared functions left to the loader."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from native import ignoring, lowered, module_for, signature
from relax_mlir.bindings.context import new_context
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.core.infos import tensor
from relax_mlir.support.errors import RelaxError
from relax_mlir.targets.llvm.objects.object_file import emit_object

INPUTS = [("x", tensor(("n", 4)))]

IN_A_PROCESS = """
import hashlib
from native import ignoring, module_for, signature
from relax_mlir.dialects.core.infos import tensor
from relax_mlir.targets.llvm.objects.object_file import emit_object
inputs = [("x", tensor(("n", 4)))]
print(hashlib.sha256(emit_object(module_for(ignoring("f", inputs), [signature("f", inputs)]))).hexdigest())
"""


@pytest.mark.parametrize("opt_level", [0, 2, 3])
def test_the_same_bytes(opt_level: int) -> None:
    first, second = (
        emit_object(module_for(ignoring("f", INPUTS), [signature("f", INPUTS)]), opt_level) for _ in range(2)
    )
    assert first == second
    assert first.startswith(b"\x7fELF")


def test_the_same_bytes_in_another_process() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", IN_A_PROCESS],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_declared_functions_stay_open(capfd: pytest.CaptureFixture[str]) -> None:
    module = lowered(
        """
        func.func private @SomeAcceleratorsCall(i32) -> i32
        func.func @f(%a: i32) -> i32 {
          %0 = call @SomeAcceleratorsCall(%a) : (i32) -> i32
          return %0 : i32
        }
        """
    )
    assert b"SomeAcceleratorsCall" in emit_object(module)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("attributes", ["", 'attributes {passthrough = ["cold"]}'])
def test_code_is_there_once(attributes: str) -> None:
    """Check that exported functions have their code once: MLIR's engine adds callers, into which small functions would
    be inlined."""
    number = 0x0123456789ABCDEF
    text = f"llvm.func @f(%x: i64) -> i64 {attributes} {{ %0 = llvm.mlir.constant({number} : i64) : i64\n"
    with new_context(("llvm",)), ir.Location.unknown():
        module = ir.Module.parse(text + " %1 = llvm.mul %x, %0 : i64\n llvm.return %1 : i64 }")
        made = emit_object(module)
        asked = str(module)
    assert made.count(number.to_bytes(8, "little")) == 1
    assert ('"cold"' in asked) == bool(attributes), "what a function asks for is lost"


def test_functions_may_be_marked_alwaysinline() -> None:
    text = 'llvm.func @f() attributes {passthrough = ["alwaysinline"]} { llvm.return }'
    with new_context(("llvm",)), ir.Location.unknown():
        assert emit_object(ir.Module.parse(text)).startswith(b"\x7fELF")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "defines no function"),
        ("llvm.func @f()", "defines no function"),
        ("func.func @f() { return }", "operation 'func.func' is not of the LLVM dialect"),
        (
            'llvm.func @f() { "arith.constant"() {value = 1 : i32} : () -> i32\n llvm.return }',
            "'arith.constant' is not",
        ),
    ],
)
def test_modules_that_are_not_lowered_are_refused(text: str, reason: str) -> None:
    with new_context(("llvm", "func", "arith")), ir.Location.unknown():
        module = ir.Module.parse(text)
    with pytest.raises(RelaxError, match=re.escape(reason)):
        emit_object(module)


def test_an_invalid_module() -> None:
    with new_context(("llvm",)), ir.Location.unknown():
        module = ir.Module.parse("llvm.func @f() { llvm.call @f() : () -> () llvm.return }")
        call = module.body.operations[0].operation.regions[0].blocks[0].operations[0].operation
        call.attributes["callee"] = ir.FlatSymbolRefAttr.get("nobody")
    with pytest.raises(RelaxError, match=r"no native code can be made of it: 'llvm\.call' op 'nobody' does not"):
        emit_object(module)


def test_levels() -> None:
    with pytest.raises(RelaxError, match="opt_level 4: expected 0 to 3"):
        emit_object(module_for(ignoring("f", INPUTS), [signature("f", INPUTS)]), 4)
