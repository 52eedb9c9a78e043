# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Upstream passes by their text: refusals with LLVM's reason. Other output is not swallowed."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from relax_mlir.bindings import pass_manager
from relax_mlir.bindings.context import new_context
from relax_mlir.bindings.mlir import passmanager
from relax_mlir.support.errors import RelaxError

import relax_mlir as rx


def test_unknown_passes() -> None:
    with pytest.raises(pass_manager.UnknownPass, match="unknown pass 'csee'"):
        pass_manager.check_upstream("csee", "builtin.module", new_context())
    with pytest.raises(pass_manager.UnknownPass, match="unknown pass 'csee'"):
        pass_manager.check_upstream("csee{a=1}", "builtin.module", new_context())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("canonicalize{max-iterations=many}", "'many' value invalid for long argument"),
        ("affine-loop-tile{cache-size=x}", "pass 'affine-loop-tile' runs on func.func, not on builtin.module"),
        ("canonicalize{\ud800=1}", "pass 'canonicalize': not UTF-8"),
    ],
)
def test_refusals_of_pipelines_state_the_reason(text: str, reason: str, capfd: Any) -> None:
    with pytest.raises(RelaxError) as caught:
        pass_manager.check_upstream(text, "builtin.module", new_context())
    assert reason in str(caught.value)
    assert capfd.readouterr().err == "", "LLVM's text belongs into the error"


def test_required_anchor() -> None:
    assert pass_manager.required_anchor("affine-loop-tile", new_context()) == "func.func"
    assert pass_manager.required_anchor("cse", new_context()) == "builtin.module"


@contextlib.contextmanager
def parsing(work: Any) -> Iterator[None]:
    """Do `work` in upstream's parser."""
    parse = passmanager.PassManager.parse

    def parse_and_work(*arguments: Any) -> Any:
        work()
        return parse(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passmanager.PassManager, "parse", staticmethod(parse_and_work))
        yield


def test_output_of_other_threads_is_not_lost(capfd: Any) -> None:
    with parsing(lambda: os.write(2, b"another thread's\n")):
        pass_manager.check_upstream("canonicalize{max-iterations=3}", "builtin.module", new_context())
    assert capfd.readouterr().err == "another thread's\n"


def test_output_of_other_threads_is_not_part_of_the_reason(capfd: Any) -> None:
    with (
        parsing(lambda: os.write(2, b"another thread's\n")),
        pytest.raises(RelaxError, match="'canonicalize': for the --max-iterations option: 'x' value invalid"),
    ):
        pass_manager.check_upstream("canonicalize{max-iterations=x}", "builtin.module", new_context())
    assert capfd.readouterr().err == "another thread's\n"


def test_captures_of_threads_are_serialized(capfd: Any) -> None:
    both_inside = []
    meeting = threading.Barrier(2)

    def work() -> None:
        with contextlib.suppress(threading.BrokenBarrierError):
            meeting.wait(0.2)
            both_inside.append(True)

    def check() -> None:
        pass_manager.check_upstream("canonicalize{max-iterations=3}", "builtin.module", new_context())

    threads = [threading.Thread(target=check) for _ in range(2)]
    with parsing(work):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not both_inside, "both captured at once: stderr is given back in the wrong order"
    os.write(2, b"still there\n")
    assert capfd.readouterr().err == "still there\n"


def test_a_failing_pass_names_itself() -> None:
    module = rx.Module.parse("func.func @f() { return }")
    with pytest.raises(RelaxError, match="pass transform-interpreter failed"):
        pass_manager.run_upstream(module.operation, ["transform-interpreter"])
    with pytest.raises(RelaxError, match="pass transform-interpreter failed: could not find"):
        pass_manager.run_upstream(module.operation, ["cse", "transform-interpreter"])


# Upstream's pattern driver reports no reason where it does not settle within its rounds.
_IMPATIENT = "canonicalize{max-iterations=1 test-convergence=1}"
_UNSETTLED = """
func.func @short() { return }
func.func @long(%c: i1, %x: i32) -> i32 {
  %zero = arith.constant 0 : i32
  cf.cond_br %c, ^a, ^b
^a:
  func.call @short() : () -> ()
  %y = arith.addi %x, %zero : i32
  cf.br ^c(%y : i32)
^b:
  cf.br ^c(%x : i32)
^c(%z: i32):
  return %z : i32
}"""


@pytest.mark.parametrize("texts", [[f"func.func(cse,{_IMPATIENT},cse)", "cse"], [f"any({_IMPATIENT})"]])
def test_a_pass_that_does_not_settle_names_itself_the_function_and_a_remedy(texts: list[str]) -> None:
    module = rx.Module.parse(_UNSETTLED, name="m.mlir")
    with pytest.raises(RelaxError) as caught:
        pass_manager.run_upstream(module.operation, texts)
    said = str(caught.value)
    assert said.startswith("m.mlir:3:1: pass canonicalize failed on func.func @long and reported no reason\n")
    assert "the control flow has 3 blocks" in said, said
    remedy = said.split("note: run ")[1].split(" on the function")[0]
    again = rx.Module.parse(_UNSETTLED)
    pass_manager.run_upstream(again.operation, [f"func.func({remedy},{_IMPATIENT})"])


def test_a_pass_names_the_function_it_failed_on() -> None:
    text = "func.func @f() { return }\nfunc.func @g(%a: f80) -> f80 { %b = arith.addf %a, %a : f80 return %b : f80 }"
    expected = r"m.mlir:2:37: pass convert-arith-to-emitc failed on func.func @g: failed to legalize"
    with pytest.raises(RelaxError, match=expected):
        module = rx.Module.parse(text, name="m.mlir")
        pass_manager.run_upstream(module.operation, ["cse", "func.func(cse,convert-arith-to-emitc)", "cse"])
