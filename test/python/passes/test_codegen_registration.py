# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrong codegens are refused by name at registration, or when their code is loaded: before anything runs."""

from __future__ import annotations

import inspect
import sys
from collections import UserDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from partitioning import Native, built, codegen
from relax_mlir.runtime.errors import ArtifactError
from relax_mlir.runtime.watching import watched

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import is_op, wildcard

EXP = [("npu.exp", is_op("relax.exp"))]
NAME = "fused_exp_npu"


def exp(a: Any, b: Any) -> Any:
    return relax.exp(a)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (lambda: is_op("relax.epx"), r"unknown .*'relax.epx'.*did you mean 'relax.exp'"),
        (lambda: is_op("relax.nn.softmax").has_attr(axes=1), r"relax.nn.softmax.*'axes'.*did you mean 'axis'"),
        (lambda: is_op("relax.nn.softmax").has_attr(axis="last"), r"relax.nn.softmax.*axis"),
        (lambda: is_op("relax.add")(wildcard()), r"relax.add"),
        (lambda: is_op("relax.matmul")(x1=wildcard(), x3=wildcard()), r"relax.matmul.*'x3'"),
        (lambda: wildcard().has_rank(2).has_attr(axis=1), r"has_attr\(\) is for an operator: is_op"),
    ],
)
def test_patterns_of_what_there_is_not(pattern: Callable[[], Any], message: str) -> None:
    with pytest.raises(rx.RelaxError, match=message):
        pattern()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("npu.x", wildcard())], r"pattern 'npu.x' has to begin with an operator: \*"),
        ([("dsp.exp", is_op("relax.exp"))], "pattern 'dsp.exp' has to be called 'npu.<what>'"),
        ([("npu.", is_op("relax.exp"))], "pattern 'npu.' has to be called 'npu.<what>'"),
        ([*EXP, *EXP], "two patterns are called 'npu.exp'"),
        ([("npu.exp", "relax.exp")], r"a row is \(name, pattern\), .* rx.codegens.PatternRow, not"),
        ([(3, is_op("relax.exp"))], r"a row is \(name, pattern\), .* rx.codegens.PatternRow, not"),
        ([("npu.exp", is_op("relax.exp"), "wide")], r"pattern 'npu.exp': its check is a str, not a function"),
        ([("npu.exp", is_op("relax.exp"), None, "yes")], r"a row is \(name, pattern\), .* rx.codegens.PatternRow, not"),
        (7, "patterns has to be a list of rows, not 7"),
    ],
)
def test_rows_that_mean_nothing(rows: Any, message: str) -> None:
    with pytest.raises(rx.RelaxError, match=f"codegen 'npu': {message}"), codegen(rows):
        pass


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"pipeline": "relax-canonicalise"}, "'relax-canonicalise'.*did you mean 'relax-canonicalize'"),
        ({"target": "lvm"}, "unknown target 'lvm'; did you mean 'llvm'"),
        ({"target": "llvm", "stage": "legalise"}, "'legalise'.*did you mean 'legalize'"),
        ({"stage": "legalize"}, "stage = 'legalize' needs a target"),
        ({"options": ["cores"]}, "options has to be a mapping"),
        ({"version": 1}, "version has to be text, not 1"),
        ({"keeps": "relax.dequantize"}, "keeps has to be a list of operators' names, not 'relax.dequantize'"),
        ({"separate": "yes"}, "separate has to be True or False, not 'yes'"),
        ({"keeps": ["relax.dequantise"]}, "'relax.dequantise'; did you mean 'relax.dequantize'"),
        ({"requires": lambda self, data: None}, r"requires\(\) returned a NoneType, expected text"),
        ({"__init__": lambda self: 1 / 0}, r"Npu\(\): ZeroDivisionError"),
    ],
)
def test_members_that_mean_nothing(members: Any, message: str) -> None:
    """Check names of passes and targets when the codegen is used, since they may be registered later."""
    with pytest.raises(rx.RelaxError, match=f"codegen 'npu'.*{message}"), codegen(EXP, **members) as npu:
        rx.compile(built(exp), partition=[npu], strict_partition=True)


def test_misspelt_members_are_reported() -> None:
    """Report members with nearly the name of a missing member. Other helpers belong to the author."""
    members = {"worksapce": lambda *_: 64, "_laod": None, "loader": None, "instructions": None}
    with (
        pytest.warns(RuntimeWarning, match="its member 'worksapce' is unused; did you mean 'workspace'") as warned,
        codegen(EXP, **members),
    ):
        pass
    assert len(warned) == 1


def test_two_of_one_name() -> None:
    with codegen(EXP), pytest.raises(rx.RelaxError, match=r"there is a codegen 'npu' already: "):
        rx.register_codegen("npu")(type("Other", (Native,), {"patterns": EXP}))
    with pytest.raises(rx.RelaxError, match=r"there is a codegen 'c' already: relax_mlir_c\.parts\.codegen"):
        rx.find_codegen("c")
        rx.register_codegen("c")(type("Other", (Native,), {"patterns": [("c.exp", is_op("relax.exp"))]}))


def test_names_and_classes() -> None:
    with pytest.raises(rx.RelaxError, match="a codegen's name is a word, not 'my npu'"):
        rx.register_codegen("my npu")
    with pytest.raises(rx.RelaxError, match="codegen 'npu' has to be a subclass of Codegen, got <class 'dict'>"):
        wrong: Any = dict
        rx.register_codegen("npu")(wrong)


def test_a_check_that_fails_names_its_pattern() -> None:
    def is_wide(match: Any) -> bool:
        return match["w"] > 3

    def is_flat(match: Any) -> bool:
        return match.root.nothing

    for check, message in (
        (is_wide, "pattern .*: no part named 'w' has matched"),
        (is_flat, "pattern .*: is_flat: AttributeError.* .at passes/test_codegen_registration.py:12"),
        (lambda match: 3, "pattern .*: <lambda> must return True, False or a reason, got 3"),
    ):
        named = f"codegen 'npu', pattern 'npu.exp': {message}"
        for plan, explain in (("priority", False), ("cost", False), ("cost", True)):
            wanted = rx.Partition(codegens=("npu",), plan=plan, explain=explain)
            with codegen([("npu.exp", is_op("relax.exp"), check)]), pytest.raises(rx.RelaxError, match=named):
                rx.compile(built(exp), partition=wanted, journal=rx.Journal() if explain else None)


class Silent(rx.Codegen):
    def compile(self, module: rx.Module, options: Any) -> bytes:
        return b"code"


def test_a_codegen_without_a_runtime() -> None:
    """Report a codegen without load() or a runtime of its name before compilation."""
    with codegen(EXP, base=Silent) as npu, pytest.raises(rx.RelaxError, match="nothing here runs what codegen 'npu'"):
        rx.compile(built(exp), partition=[npu], strict_partition=True)


class Wordless(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def gives_objects(objects: Any) -> Callable[..., rx.ObjectCode]:
    return lambda *_: rx.ObjectCode(objects)


@pytest.mark.parametrize(
    ("constants", "message"),
    [
        ([1], r"constants \[1\], expected a mapping of functions' names to attributes"),
        ({"other": []}, f"constants of 'other'; the part's functions are {NAME}"),
        ({NAME: [3.5]}, f"returned a float as a constant of '{NAME}', expected an ir.Attribute"),
    ],
)
def test_constants_of_objects_that_are_none(constants: Any, message: str) -> None:
    code = rx.ObjectCode((f"__tvm_ffi_{NAME}.{NAME}".encode(),), constants)
    with codegen(EXP, compile=lambda *_: code) as npu, pytest.raises(rx.RelaxError, match=message):
        rx.compile(built(exp), partition=[npu], strict_partition=True)


def test_a_codegen_that_compiles_nothing() -> None:
    """Report a compile() that tries to end the program, and objects that are not in a tuple."""
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"base": rx.Codegen, "load": lambda self, data: {}}, r"codegen 'npu' has no compile\(\)"),
        ({"compile": lambda *_: "text"}, r"compile\(\) returned a str, expected bytes or rx.codegens.ObjectCode"),
        (
            {"compile": gives_objects(b"code")},
            r"returned rx.codegens.ObjectCode\(b'code'\), expected a tuple of objects",
        ),
        ({"compile": gives_objects((3,))}, r"rx.codegens.ObjectCode\(\(3,\)\), expected"),
        ({"compile": gives_objects(())}, r"rx.codegens.ObjectCode\(\(\)\), expected"),
        ({"compile": gives_objects(None)}, r"rx.codegens.ObjectCode\(None\), expected"),
        ({"compile": gives_objects([b"code"])}, "objects have no symbol __tvm_ffi_fused_exp_npu.fused_exp_npu"),
        ({"compile": lambda *_: sys.exit(0)}, r"failed to compile .*: SystemExit: 0 \(at passes/.*:\d+\)$"),
        ({"compile": raises(ValueError())}, r"failed to compile .*: compile\(\): ValueError \(at passes/.*:\d+\)$"),
        ({"compile": raises(Wordless())}, r"failed to compile .*: compile\(\): Wordless \(at "),
        ({"compile": raises(rx.RelaxError(""))}, r"declined .*: RelaxError$"),
    ]
    for members, message in wrong:
        with codegen(EXP, **members) as npu, pytest.raises(rx.RelaxError, match=message):
            rx.compile(built(exp), partition=[npu], strict_partition=True)


def gives(**functions: Any) -> Callable[..., Any]:
    return lambda self, data: functions


def raises(error: BaseException) -> Callable[..., Any]:
    def method(self: Any, *arguments: Any) -> Any:
        raise error

    return method


class Unreadable(UserDict[str, Any]):
    def keys(self) -> Any:
        raise OSError("gone")


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"load": gives()}, f"lacks {NAME}; the part's functions are {NAME}"),
        ({"load": gives(exp=print)}, f"lacks {NAME} and has exp; the part's functions are {NAME}"),
        ({"load": gives(**{NAME: 3})}, f"function '{NAME}' is a int"),
        ({"load": lambda self, data: [print]}, r"load\(\) gave a list, not functions by name"),
        ({"load": raises(KeyError("w"))}, r"load\(\): KeyError: 'w' \(at passes/test_codegen_registration.py:"),
        ({"load": raises(rx.RelaxError("cut short"))}, "cut short"),
        ({"load": raises(SystemExit(0))}, r"load\(\): SystemExit: 0 \(at passes/.*:\d+\)$"),
        ({"load": lambda self, data: Unreadable()}, r"what load\(\) gave: OSError: gone \(at passes/.*:\d+\)$"),
        ({"requires": lambda self, data: "a driver"}, "this machine cannot run it: a driver"),
        ({"requires": raises(OSError("no device"))}, r"requires\(\): OSError: no device \(at passes/"),
        ({"requires": lambda self, data: 5}, r"requires\(\) gave a int, not what is missing"),
        ({"__init__": lambda self: 1 / 0}, "ZeroDivisionError"),
        ({"version": "2"}, "its bytes are of version '1', here is '2'"),
    ],
)
def test_runtimes_that_do_not_fit(members: Any, message: str, tmp_path: Path) -> None:
    """Refused when the program is loaded, with codegen and part."""
    path = tmp_path / "program.rxa"
    with codegen(EXP, version="1") as npu:
        rx.compile(built(exp), partition=[npu]).save(path)
    expected = f"codegen 'npu', part '{NAME}': .*{message}"
    with codegen(EXP, **{"version": "1", **members}), pytest.raises(ArtifactError, match=expected):
        rx.runtime.load(path)


def test_a_function_that_means_to_end_the_program() -> None:
    """Fail only the call. The program continues."""
    load = gives(**{NAME: lambda *_: sys.exit(0)})
    with codegen(EXP, load=load) as npu:
        program = rx.compile(built(exp), partition=[npu])
        a = numpy.ones((4, 4), "float32")
        with pytest.raises(RuntimeError, match=f"codegen 'npu', part '{NAME}' .*: SystemExit: 0 .at passes/"):
            program["main"](a, a)


def test_a_function_that_writes_into_its_inputs() -> None:
    """Report a write to an input at the first call. It is allowed where input and output are the same buffer."""

    def spoil(x: Any, out: Any) -> None:
        numpy.from_dlpack(x)[0, 0] += 1
        numpy.from_dlpack(out)[...] = 0

    a = numpy.ones((4, 4), "float32")
    with codegen(EXP, load=gives(**{NAME: spoil})) as npu:
        program = rx.compile(built(exp), partition=[npu])
        with pytest.raises(RuntimeError, match=f"codegen 'npu', part '{NAME}' .*it has written into input 0"):
            program["main"](a, a)
    same = watched(lambda x, out: numpy.from_dlpack(out).fill(2), 1)
    tensor = rx.runtime.tensor(a)
    same(tensor, tensor)
    assert a[0, 0] == 2


def test_a_function_that_gives_its_results() -> None:
    """Refuse returned results, which have to be written to the output. numpy's return value for the output itself is
    ignored."""
    a = numpy.zeros((4, 4), "float32")

    def values(function: Callable[..., Any]) -> Any:
        with codegen(EXP, load=gives(**{NAME: function})) as npu:
            main = rx.compile(built(exp), partition=[npu])["main"]
            return [numpy.asarray(main(a, a)).tolist() for _ in range(2)]

    with pytest.raises(
        RuntimeError, match=f"part '{NAME}' .*it has returned an object of type ndarray, and written nothing"
    ):
        values(lambda x, out: numpy.exp(numpy.from_dlpack(x)))
    written = values(lambda x, out: numpy.exp(numpy.from_dlpack(x), out=numpy.from_dlpack(out)))
    assert written == [numpy.ones((4, 4)).tolist()] * 2


class Driver:
    """Callable object, as load() may return one."""

    def __init__(self, fails: bool) -> None:
        self._fails = fails

    def __call__(self, x: Any, out: Any) -> Any:
        return self._start(x, out)

    def _start(self, x: Any, out: Any) -> Any:
        if self._fails:
            raise OSError("no device")
        return numpy.exp(numpy.from_dlpack(x))


def test_the_lines_of_an_object_that_is_called() -> None:
    """Name the lines of the error, or the line of `__call__`: native code passes no traceback on."""
    lines, first = inspect.getsourcelines(Driver)
    line = {text: first + place for place, each in enumerate(lines) for text in (each.strip(),)}
    inner, outer = line['raise OSError("no device")'], line["return self._start(x, out)"]
    for fails, place in (
        (True, rf"OSError: no device \(at passes/\S+:{inner}, called at passes/\S+:{outer}\)"),
        (False, rf"\): it has returned an object .* \(at passes/\S+:{outer - 1}\)"),
    ):
        with codegen(EXP, load=gives(**{NAME: Driver(fails)})) as npu:
            main = rx.compile(built(exp), partition=[npu])["main"]
            with pytest.raises(RuntimeError, match=place):
                main(numpy.zeros((4, 4), "float32"), numpy.zeros((4, 4), "float32"))


def test_objects_that_cannot_be_linked() -> None:
    """Name codegen and part of invalid objects, and of objects with another function."""
    module = rx.Module()
    with module.function("unrelated", [rx.tensor((4, 4))]) as f:
        f.returns(relax.exp(*f))
    unrelated = bytes(rx.compile(module)._artifact.objects[0]).replace(b"relax_", b"xaler_")
    symbol = f"__tvm_ffi_{NAME}.{NAME}".encode()
    named = f"codegen 'npu', part '{NAME}'"
    for given, message in (
        (symbol, rf"the object code \(among it that of {named}\) cannot be loaded"),
        (unrelated + symbol, f"^{named}: the object code has no function"),
    ):
        with codegen(EXP, compile=gives_objects([given])) as npu, pytest.raises(ArtifactError, match=message):
            rx.compile(built(exp), partition=[npu])["main"]


def test_all_that_is_missing_is_reported_at_once(tmp_path: Path) -> None:
    def both(a: Any, b: Any) -> Any:
        return relax.exp(a), relax.exp(relax.tanh(relax.exp(b)))

    path = tmp_path / "program.rxa"
    with codegen(EXP) as npu:
        rx.compile(built(both), partition=[npu]).save(path)
    with pytest.raises(ArtifactError) as error:
        rx.runtime.load(path)
    assert str(error.value).count("nothing here runs what codegen 'npu' makes") == 3


def test_a_section_that_is_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "program.rxa"
    with codegen(EXP) as npu:
        rx.compile(built(exp), partition=[npu]).save(path)
        whole = path.read_bytes()
        for length in (len(whole) - 1, len(whole) - 100, len(whole) // 2):
            path.write_bytes(whole[:length])
            with pytest.raises(ArtifactError, match=r"program.rxa: damaged: "):
                rx.runtime.load(path)
