# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text and bytecode that crash MLIR do not end a process that calls rx.Module.parse."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from relax_mlir.dialects import parsing, trial
from relax_mlir.support.processes import pool
from relax_mlir.support.processes.expendable import expendable

import relax_mlir as rx

TEXT = """func.func @main(%x: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %z = "relax.nn.softmax"(%x) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  return %z : tensor<4x?xf32>
}"""

PROGRAM = """
import random, sys
import relax_mlir as rx
whole = rx.Module.parse(sys.argv[1]).bytecode()
ends = {"read": 0, "refused": 0, "did not survive": 0}
for seed in range(300):
    draw = random.Random(seed)
    data = bytearray(whole)
    for _ in range(draw.randint(1, 3)):
        data[draw.randrange(4, len(data))] = draw.randrange(256)
    try:
        rx.Module.parse(bytes(data), "some.mlirbc")
        ends["read"] += 1
    except rx.RelaxError as error:
        ends["did not survive" if "the process that read it" in str(error) else "refused"] += 1
print(ends)
"""


@pytest.mark.slow
def test_bytecode_of_which_bits_are_wrong() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, TEXT], capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done
    ends = eval(done.stdout)
    assert sum(ends.values()) == 300 and ends["refused"] > 100 and ends["did not survive"] > 0, ends


def crash(data: bytes, **arguments: object) -> bytes:
    """Replace MLIR in the reading process by a function that crashes or loops."""
    del arguments
    if data == b"loop":
        signal.setitimer(signal.ITIMER_PROF, 0.1)
        while True:
            pass
    os.write(2, b"LLVM ERROR: some reason\n")
    os.abort()


@pytest.fixture
def crashing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setattr(trial, "_READER", f"{Path(__file__).stem}:crash")
    own = pool.Pool()
    monkeypatch.setattr(trial, "process_pool", lambda: own)


@pytest.mark.slow
def test_a_crash_is_an_error(crashing: None) -> None:
    data = rx.Module.parse(TEXT).bytecode()
    for _ in range(2):
        with pytest.raises(rx.RelaxError) as caught:
            rx.Module.parse(data, "some.mlirbc")
        assert str(caught.value) == (
            "some.mlirbc: cannot parse some.mlirbc: the process that read it crashed (SIGABRT)\n"
            "note: it printed: LLVM ERROR: some reason"
        )


def survive_once(data: bytes, **arguments: object) -> bytes:
    """Replace MLIR by a function that crashes at the second input, as if the first input had damaged it."""
    del data, arguments
    _survived.append(True)
    if len(_survived) > 1:
        os.abort()
    return b""


_survived: list[bool] = []


def test_an_earlier_crash_is_no_reason_to_refuse(crashing: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_READER", f"{Path(__file__).stem}:survive_once")
    data = rx.Module.parse(TEXT).bytecode()
    for _ in range(3):
        assert rx.Module.parse(data).bytecode() == data


def test_refused_files_are_not_read_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    data = rx.Module.parse(TEXT).bytecode()
    monkeypatch.setattr(parsing, "_parse", lambda *_: pytest.fail("read in this process"))
    with pytest.raises(rx.RelaxError, match=r"^some.mlirbc:0:0: cannot parse some.mlirbc: malformed") as caught:
        rx.Module.parse(data[:10], "some.mlirbc")
    assert [each.severity for each in caught.value.diagnostics] == ["error"]


def test_reading_without_an_end_is_an_error(crashing: None) -> None:
    with pytest.raises(rx.RelaxError, match="the process that read it gave up, because MLIR did not come to an end"):
        trial.read_elsewhere("loop", "some.mlir")


def test_trusted_texts_are_read_in_this_process(crashing: None) -> None:
    """Read in this process: usual text, output of this project, and everything that a watched process reads."""
    module = rx.Module.parse(TEXT)
    assert str(copy.deepcopy(module)) == str(pickle.loads(pickle.dumps(module))) == str(module)
    rx.Module.parse(
        "func.func @f(%m: memref<4xf32>, %c: f32) { linalg.fill ins(%c : f32) outs(%m : memref<4xf32>) return }"
    )
    with expendable():
        assert str(rx.Module.parse(module.bytecode())) == str(module)


@pytest.mark.parametrize(
    ("text", "is_risky"),
    [
        (TEXT, False),
        ('"relax.add"(%llvm.x) loc("model.mlir":1:2)', False),
        ("func.func @transform.x() { return }", False),
        ('"llvm.return"() : () -> ()', True),
        ("func.func private @f(!llvm.ptr)", True),
        ("%0 = gpu.thread_id x", True),
        ("module {}\n{-# dialect_resources: {} #-}", True),
    ],
)
def test_risky_texts_are_read_in_another_process(text: str, is_risky: bool) -> None:
    assert trial.is_risky(text) is is_risky
    assert trial.is_risky(text.encode())
    with expendable():
        assert not trial.is_risky(text) and not trial.is_risky(text.encode())


def test_each_dialect_that_text_may_not_survive_is_found() -> None:
    for name in trial._OTHERS:
        assert trial.is_risky(f"  {name}.operation") and trial.is_risky(f"!{name}.type")
        assert not trial.is_risky(f"  my_{name}.operation") and not trial.is_risky(f"  %{name}.x = arith.addi")


def test_where_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    own = pool.Pool()
    monkeypatch.setattr(trial, "process_pool", lambda: own)
    data = rx.Module.parse(TEXT).bytecode()
    monkeypatch.setattr(sys, "executable", "")
    assert rx.Module.parse(data).bytecode() == data
