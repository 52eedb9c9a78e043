# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutated ONNX models for relax-compile and relax-run."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from case import Case, Outcome, Tool, run_cases
from mutate_onnx import damage, mutate_model
from mutate_text import mutate_bytes
from relax_mlir.tools import relax_compile, relax_run

import relax_mlir as rx

MODEL, PROGRAM = "input.onnx", "output"
# Longer than any of the models takes, on a machine with other things to do.
_PATIENCE_S = 20
_MEMORY_BYTES = 6 << 30


@functools.cache
def models() -> list[bytes]:
    """Return the models of ONNX's node suite."""
    from onnx.backend.test import loader

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its data has overflows and NaNs on purpose
        found = loader.load_model_tests(kind="node")
    return [each.model.SerializeToString() for each in sorted(found, key=lambda each: each.name)]


def make_case(random: Random) -> Case:
    """Draw a model that the tools have to refuse, or to compile and run."""
    import onnx

    model = onnx.ModelProto.FromString(random.choice(models()))
    tool = random.choice(("check", "run", "run", "run"))
    arguments = (tool, *_shapes(random, model))
    if random.random() < 0.2:
        return Case("onnx-bytes", mutate_bytes(random, model.SerializeToString()), arguments, MODEL)
    if random.random() < 0.4:
        return Case("onnx-one-thing", damage(random, model).SerializeToString(), arguments, MODEL)
    other = onnx.ModelProto.FromString(random.choice(models()))
    changed = mutate_model(random, model, other)
    return Case("onnx-fields", changed.SerializeToString(), arguments, MODEL)


def _shapes(random: Random, model: Any) -> list[str]:
    """Return options for sequences and optionals, which are imported only with a declared form."""
    given = []
    for each in model.graph.input:
        kind = each.type.WhichOneof("value")
        if kind == "sequence_type":
            given.append(f"--shape={each.name}:[{random.choice(('', '?', '?,?', '(2,3),?'))}]")
        elif kind == "optional_type":
            given.append(f"--shape={each.name}:{random.choice(('-', '2,3', '[?]'))}")
    return given


def _work(arguments: Sequence[str]) -> int:
    """Run relax-compile, and relax-run if there is a program."""
    tool, *shapes = arguments
    if tool == "check":
        return relax_compile.run([MODEL, "--check", *shapes])
    code = relax_compile.run([MODEL, "-o", PROGRAM, "--no-cache", "--jobs=1", *shapes])
    return code or relax_run.run([PROGRAM])


_FAILED = re.compile(r"relax-run: error: \w+ failed: (\w+)")
_EXPECTED = frozenset(
    "ValueError TypeError IndexError MemoryError AssertionError ZeroDivisionError OverflowError".split()
)


def _problem(case: Case, code: int, errors: str, left: list[str]) -> str:
    """Return the broken promise of the tools, or an empty text."""
    if code not in (0, 1):
        return f"exit code {code}"
    if "Traceback (most recent call last)" in errors or "Exception ignored" in errors:
        return "a traceback"
    internal = re.search(r"internal error[^\n]*", errors)
    if internal:
        return internal.group()[:400]
    reported = re.findall(r"^relax-(?:compile|run): error: .*", errors, re.MULTILINE)
    table = case.arguments[0] == "check" and Path("stdout").stat().st_size > 0
    if len(reported) != code and not (table and not reported):
        return f"{len(reported)} errors with exit code {code}"
    failed = _FAILED.search(errors)
    if failed and failed[1] not in _EXPECTED:
        return reported[0][:400]
    unexpected = [name for name in left if name != PROGRAM or reported and reported[0].startswith("relax-compile")]
    return f"left behind: {', '.join(unexpected)}" if unexpected else ""


def preload() -> None:
    """Load the modules of cases once: cases run in forks of this process."""
    from relax_mlir.tools.run import driver  # noqa: F401

    rx.compile(rx.from_onnx(models()[0]), jobs=1, cache=False)


_TOOL = Tool("relax-compile", _work, _problem, _PATIENCE_S, _MEMORY_BYTES)


def run(cases: Sequence[Case]) -> list[Outcome]:
    """Return the cases' outcomes. A crash is a problem: models are imported and run in process, too."""
    outcomes = zip(cases, run_cases(cases, _TOOL), strict=True)
    return [
        each._replace(problem=each.problem or ("" if _may_run_on(case, each) else each.crash), crash="")
        for case, each in outcomes
    ]


def _may_run_on(case: Case, outcome: Outcome) -> bool:
    """Check whether a program with a loop ran for too long, which may now have any number of iterations."""
    return "did not end" in outcome.crash and "run" in case.arguments and b"Loop" in case.data


def run_alone(case: Case) -> Outcome:
    """Run a case in a process of its own."""
    return run([case])[0]


def text_of(case: Case) -> str:
    """Return the model in readable form."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        return str(onnx.ModelProto.FromString(case.data))
    except DecodeError:
        return repr(case.data)
