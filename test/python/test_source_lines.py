# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Source lines of operators that are built in Python: in the IR, in errors, in profiles."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import relax_mlir as rx
from relax_mlir import relax

FILE = Path(__file__).name


def here() -> int:
    return sys._getframe(1).f_lineno


def lines(module: rx.Module) -> list[str]:
    """Return the locations of the operators, in order."""
    found: list[str] = []

    def visit(op: Any) -> Any:
        if op.name.startswith(("relax.", "arith.")):
            found.append(str(op.location))
        return rx.ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def test_operators_have_the_callers_line() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        first = here() + 1
        y = relax.exp(*f)
        for _ in range(2):
            y = relax.nn.relu(
                y,
            )
        f.returns(relax.add(y, y))
    numbers = [first, first + 2, first + 2, first + 5]
    assert lines(module) == [f'loc("{FILE}":{number}:0)' for number in numbers]
    assert lines(module.copy()) == lines(module)


def test_constants_have_the_callers_line() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((2,))]) as f:
        first = here() + 1
        signed = relax.const([1.0, 2.0])
        unsigned = relax.const([1, 2], "uint8")
        own = relax.const(3.0, loc=rx.ir.Location.file("net.py", 7, 1))
        f.returns(signed, unsigned, own)
    assert lines(module) == [f'loc("{FILE}":{first}:0)', f'loc("{FILE}":{first + 1}:0)', 'loc("net.py":7:1)']


def test_the_line_is_the_programs_not_the_packages() -> None:
    module = rx.Module()
    with module:
        pass
    with module.function("main", [rx.tensor((4,))]) as f:
        f.returns(relax.sum(f.args[0])); line = here()  # fmt: skip  # noqa: E702
    assert lines(module) == [f'loc("{FILE}":{line}:0)']


def test_folders_do_not_show() -> None:
    texts = []
    for folder in ("/one", "/two/three"):
        scope = {"rx": rx, "relax": relax, "__name__": "model"}
        program = """
module = rx.Module()
with module.function("main", [rx.tensor((4,))]) as f:
    f.returns(relax.exp(*f))
"""
        exec(compile(program, f"{folder}/model.py", "exec"), scope)
        texts.append(scope["module"].print(debug_info=True))
    assert texts[0] == texts[1]
    assert 'loc("model.py":4:0)' in texts[0]


def test_locations_that_are_given_go_first() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        y = relax.exp(*f, loc=rx.ir.Location.name("given", context=module.context))
        with rx.ir.Location.file("net.py", 3, 7):
            y = relax.sin(y)
        f.returns(y)
    assert lines(module) == ['loc("given")', 'loc("net.py":3:7)']


def test_they_can_be_turned_off() -> None:
    module = rx.Module()
    module.source_lines = False
    with module.function("main", [rx.tensor((4,))]) as f:
        f.returns(relax.exp(*f))
    assert lines(module) == ["loc(unknown)"]


def test_passes_do_not_put_their_own() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        f.returns(relax.exp(*f))
    made = lines(module)
    rx.apply_greedy(module.operation, [rx.Pattern("relax.exp", lambda op, rewriter: relax.sin(op.x))])
    assert lines(module) == made


def test_errors_and_profiles_name_the_line() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 16)), rx.tensor((2,), "int64")]) as f:
        line = here() + 1
        f.returns(relax.take(*f, axis=0))
    executable = rx.compile(module, jobs=1, cache=False)
    x = numpy.ones((2, 16), "float32")
    with pytest.raises(IndexError, match=rf"relax\.take at {FILE}:{line}: index 9 is out of range"):
        executable["main"](x, numpy.array([0, 9]))
    assert f"{FILE}:{line}" in str(executable.profile("main", x, numpy.array([0, 1]), repeat=1))


def test_verification_names_the_line() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        line = here() + 1
        f.returns(relax.exp(*f))
    module.body.operations[0].regions[0].blocks[0].operations[0].attributes["axis"] = rx.ir.UnitAttr.get(module.context)
    with pytest.raises(rx.RelaxError, match=rf"^{FILE}:{line}: .* has no attribute 'axis'"):
        module.verify()


def test_a_window_that_is_larger_than_the_data_says_where() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((1, 1, "h", "w"))]) as f:
        f.returns(relax.nn.max_pool2d(f.args[0], pool_size=(5, 5))); line = here()  # fmt: skip  # noqa: E702
    executable = rx.compile(module)
    message = (
        rf"main: result #0 [(]relax.nn.max_pool2d at {FILE}:{line}[)]: a size is negative .*shape [(]1, 1, -1, 5[)]"
    )
    with pytest.raises(ValueError, match=message):
        executable["main"](numpy.ones((1, 1, 3, 9), "float32"))
