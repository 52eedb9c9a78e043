# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time limits of codegens: a part that takes too long stays with the target, with the codegen's name."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from partitioning import Native, built, codegen

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import is_op

pytestmark = pytest.mark.filterwarnings("ignore:.*stays with the target")
EXP = [("npu.exp", is_op("relax.exp"))]
TOO_LONG = "compile() of codegen 'npu' took more than 0.2 s for part '"


def busy() -> None:
    while True:
        try:
            sum(range(1000))
        except Exception:  # as a codegen may write
            continue


def in_a_pass() -> None:
    """Hang in a pattern, which MLIR calls."""
    module = built(lambda a, b: relax.add(relax.exp(a), b))
    rx.rewriting.apply_walk(module, [rx.rewriting.Pattern("relax.exp", lambda op, rewriter: time.sleep(600))])


def waits_for_a_process() -> None:
    subprocess.run([sys.executable, "-c", "import time; time.sleep(600)"], check=True)


def hanging(hang: Callable[[], object]) -> type[rx.Codegen]:
    class Hanging(Native):
        def compile(self, module: Any, options: Any) -> Any:
            hang()
            return super().compile(module, options)

    return Hanging


def compiled(name: str, **options: Any) -> tuple[Any, str]:
    """Return the program, which is right, and the reason why the codegen's part stays."""
    journal, a = rx.Journal(), numpy.ones((4, 4), "float32")
    program = rx.compile(built(lambda a, b: relax.add(relax.exp(a), b)), partition=[name], journal=journal, **options)
    numpy.testing.assert_allclose(program["main"](a, a), numpy.exp(a) + a, rtol=1e-6)
    return program, str(journal.of("external"))


@pytest.mark.parametrize("hang", [lambda: time.sleep(600), busy, in_a_pass, waits_for_a_process])
def test_a_compile_that_takes_too_long(hang: Callable[[], object]) -> None:
    before = signal.getsignal(signal.SIGALRM)
    with codegen(EXP, base=hanging(hang), compile_limit=0.2) as npu:
        program, reason = compiled(npu)
        assert "part by" not in repr(program) and TOO_LONG in reason.replace("\\'", "'")
        with pytest.raises(rx.RelaxError, match=r"codegen 'npu'.*took more than 0\.2 s"):
            compiled(npu, strict_partition=True)
    assert signal.getsignal(signal.SIGALRM) == before and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_function_that_takes_too_long() -> None:
    """Hang in the function that compile() returns, which a thread calls."""

    class Late(Native):
        def compile(self, module: Any, options: Any) -> Any:
            return threading.Event().wait

    with codegen(EXP, base=Late, compile_limit=0.2) as npu:
        program, reason = compiled(npu)
    assert "part by" not in repr(program) and TOO_LONG in reason.replace("\\'", "'")


def test_within_the_limit_nothing_changes() -> None:
    with codegen(EXP, base=hanging(lambda: None), compile_limit=600) as npu:
        assert "1 part by npu" in repr(compiled(npu)[0])


def test_the_environment_sets_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_CODEGEN_LIMIT", "0.2")
    with codegen(EXP, base=hanging(busy)) as npu:
        assert TOO_LONG in compiled(npu)[1].replace("\\'", "'")
        monkeypatch.setenv("RELAX_CODEGEN_LIMIT", "soon")
        with pytest.raises(rx.RelaxError, match="RELAX_CODEGEN_LIMIT=soon: expected a number of seconds above 0"):
            compiled(npu)


def test_other_threads_warn() -> None:
    """Signals reach the main thread only."""
    warned = threading.Event()
    with codegen(EXP, base=hanging(lambda: warned.wait(600)), compile_limit=0.2) as npu:
        done: list[Any] = []
        thread = threading.Thread(target=lambda: done.append(compiled(npu)[0]))

        def show(message: object, *_: object, **__: object) -> None:
            done.append(str(message))
            warned.set()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.showwarning", show)
            thread.start()
            thread.join(600)
    text, program = done
    assert text.startswith("codegen 'npu' has compiled part '") and "for 0.2 s and still does" in text
    assert "1 part by npu" in repr(program)


@pytest.mark.parametrize("limit", [0, -1, "soon", True, float("nan")])
def test_limits_that_are_none(limit: object) -> None:
    with (
        pytest.raises(rx.RelaxError, match="compile_limit has to be a number of seconds above 0"),
        codegen(EXP, compile_limit=limit),
    ):
        pass
