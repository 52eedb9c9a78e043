# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Intrinsics of other packages, declared as users do: in a package that is imported by name."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest
import relax_mlir.dialects.tir as tir
from relax_mlir.dialects.core.attributes import Int
from relax_mlir.dialects.tir import declare_intrinsic
from relax_mlir.support.errors import RelaxError

# Another package. Its declarations stay for the whole process, so programs that import it run in their own process.
FAKE_NPU = '''
from relax_mlir.dialects.core.attributes import Int
from relax_mlir.dialects.core.dialect import Dialect
from relax_mlir.dialects.core.infos import ScalarInfo, VectorInfo
from relax_mlir.dialects.tir import declare_intrinsic

coproc_dep_pop = declare_intrinsic(
    "vta.coproc_dep_pop", "from_ to", result="int32", pure=False, doc="Waits for another stage."
)
softplus = declare_intrinsic("npu.softplus", "x", doc="log(1 + exp(x)).")
barrier = declare_intrinsic("npu.barrier", result=None, pure=False)
is_ready = declare_intrinsic("npu.is_ready", "buffer:any *lanes", result="bool", attrs={"port": Int(0)})


def widen(call):
    """Twice as many lanes, half as wide, and how many were cut off."""
    call.require(isinstance(call.x, VectorInfo), f"{call.describe('x')} must be a vector")
    return [VectorInfo((2 * call.x.shape[0],), "f16", call.x.scalable), ScalarInfo("i32")]


split = declare_intrinsic("npu.split", "x", result=widen, results="halves cut")

npu = Dialect("npu", doc="A dialect of its own.")
relu = declare_intrinsic("relu", "x", dialect=npu)
'''
PRELUDE = """
import relax_mlir.dialects.tir as tir
from relax_mlir import Module
from relax_mlir.support.errors import RelaxError
from relax_mlir.dialects.tir.prim_func import make_prim_func
import fake_npu


def refused(build, *args, **kwargs):
    try:
        build(*args, **kwargs)
    except RelaxError as error:
        return str(error)
    raise AssertionError("it was built")


def inside(build, *inputs):
    # The text of a verified module with a PrimFunc whose body is `build`; text and bytecode keep it.
    module = Module()
    with module:
        make_prim_func("f", inputs, ["memref<f32>"], lambda *values: (build(*values[:-1]), None)[1])
    module.verify()
    assert str(Module.parse(str(module))) == str(Module.parse(module.bytecode())) == str(module)
    return str(module)
"""


@pytest.fixture
def program(tmp_path):
    """Run Python with the package fake_npu on the path. The program's error output is the test's message."""
    package = tmp_path / "site" / "fake_npu"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(FAKE_NPU)

    def run(text):
        script = tmp_path / "program.py"
        script.write_text(PRELUDE + textwrap.dedent(text))
        paths = [str(package.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr

    return run


def test_a_package_s_intrinsics_are_built_by_name_and_by_what_the_declaration_returned(program):
    program("""
    def build(x, a, v, m):
        tir.vta.coproc_dep_pop(a, to=a)
        fake_npu.coproc_dep_pop(a, a)
        tir.npu.softplus(v)
        assert tir.npu.barrier() is None
        tir.npu.is_ready(m, [v, v], port=3)
        halves, cut = tir.npu.split(v)
        assert str(cut.type) == "i32"

    text = inside(build, "f32", "i32", "vector<[4]xf32>", "memref<4xf32>")
    assert text.count('"tir.vta.coproc_dep_pop"') == 2 and ": (i32, i32) -> i32" in text
    assert '"tir.npu.softplus"' in text and ": (vector<[4]xf32>) -> vector<[4]xf32>" in text
    assert '"tir.npu.barrier"() : () -> ()' in text
    assert "{port = 3 : i64} : (memref<4xf32>, vector<[4]xf32>, vector<[4]xf32>) -> vector<[4]xi1>" in text
    assert "(vector<[4]xf32>) -> (vector<[8]xf16>, i32)" in text
    assert tir.vta.coproc_dep_pop is fake_npu.coproc_dep_pop
    assert fake_npu.coproc_dep_pop.doc == "Waits for another stage." and fake_npu.softplus.own
    assert fake_npu.softplus.family == "fake_npu"
    """)


def test_pure_ones_are_removed_and_impure_ones_stay(program):
    program("""
    from relax_mlir.bindings.mlir import passmanager

    def build(x, a):
        tir.npu.softplus(x)
        tir.vta.coproc_dep_pop(a, a)
        tir.npu.barrier()
        tir.npu.barrier()

    module = Module.parse(inside(build, "f32", "i32"))
    with module.context:
        passmanager.PassManager.parse("builtin.module(func.func(cse,canonicalize))").run(module.operation)
    text = str(module)
    assert "softplus" not in text and text.count("barrier") == 2 and text.count("coproc_dep_pop") == 1
    """)


def test_inference_of_an_intrinsic_verifies_its_operands(program):
    program("""
    def problem(body):
        try:
            Module.parse("func.func @f(%x: f32, %v: vector<4xf32>, %i: i32) {" + body + " return }")
        except RelaxError as error:
            return str(error)
        raise AssertionError("it was accepted")

    assert "result 'result' is stated as f64, but f32 is inferred" in problem(
        '%0 = "tir.npu.softplus"(%x) : (f32) -> f64'
    )
    assert "result 'result' is stated as i64, but i32 is inferred" in problem(
        '%0 = "tir.vta.coproc_dep_pop"(%i, %i) : (i32, i32) -> i64'
    )
    assert "operand 'from_' (f32) and operand 'to' (vector<4xf32>) must have the same shape" in problem(
        '%0 = "tir.vta.coproc_dep_pop"(%x, %v) : (f32, vector<4xf32>) -> i32'
    )
    assert "operand 'x' (f32) must be a vector" in problem('%0:2 = "tir.npu.split"(%x) : (f32) -> (f32, i32)')
    """)


def test_the_builder_refuses_by_name(program):
    program("""
    def build(x, v):
        message = refused(tir.vta.coproc_dep_pop, x)
        assert message == "'tir.vta.coproc_dep_pop' op misses operand 'to'", message
        message = refused(tir.npu.split, x)
        assert message == "'tir.npu.split' op operand 'x' (f32) must be a vector", message
        message = refused(tir.npu.softplus, y=x)
        assert "has no argument 'y'" in message, message

    inside(build, "f32", "vector<4xf32>")
    """)


def test_intrinsics_can_extend_a_dialect_of_the_package(program):
    program("""
    text = inside(fake_npu.relu, "f32")
    assert '"npu.relu"' in text and "(f32) -> f32" in text
    """)


def test_earlier_contexts_know_it_when_it_is_used(program):
    program("""
    early = Module()
    assert tir.npu.softplus is fake_npu.softplus
    tir.declare_intrinsic("npu.late", "x")
    assert "(f32) -> f32" in inside(tir.npu.late, "f32")
    with early:
        body = lambda x, out: (tir.npu.late(x), None)[1]
        make_prim_func("f", ["f32"], ["memref<f32>"], body)
    early.verify()
    assert '"tir.npu.late"(%arg0) : (f32) -> f32' in str(early), early
    """)


def test_the_same_name_twice_is_refused_with_where_it_was_declared(program):
    program("""
    message = refused(tir.declare_intrinsic, "npu.softplus", "x")
    assert message == "intrinsic 'tir.npu.softplus' is declared already, in fake_npu", message
    assert refused(tir.declare_intrinsic, "relu", "x", dialect=fake_npu.npu) == (
        "intrinsic 'npu.relu' is declared already, in fake_npu"
    )
    """)


@pytest.mark.parametrize(
    "name, operands, options, message",
    [
        ("exp", "x", {}, "intrinsic 'tir.exp' is declared already, in float_unary"),
        ("tir.npu.relu", "x", {}, "intrinsic 'tir.npu.relu': leave out the dialect, it is put before the name"),
        ("npu.relu_of_two", "x, y", {}, "'x,' does not name an operand as Python could"),
        ("npu.relu_of_two", "1x", {}, "'1x' does not name an operand as Python could"),
        ("Npu.relu", "x", {}, "'Npu.relu' is no operator name"),
        ("npu..relu", "x", {}, "'npu..relu' is no operator name"),
        ("npu-relu", "x", {}, "'npu-relu' is no operator name"),
        ("", "x", {}, "'' is no operator name"),
        ("npu.pass", "x", {}, "intrinsic 'tir.npu.pass': 'pass' is a word of Python's, which no name can be"),
        ("exp.fast", "x", {}, "intrinsic 'tir.exp.fast' and operator 'tir.exp' would hide each other"),
        ("calls.mine", "x", {}, "intrinsic 'tir.calls.mine': the package has something else of the name 'calls'"),
        ("npu.a", "x", {"result": "i33.5"}, "result='i33.5' is neither \"same\" nor an element type"),
        ("npu.a", "x", {"result": "float23"}, "nor an element type; did you mean 'float32'?"),
        ("npu.a", "x", {"result": "sam"}, "nor an element type; did you mean 'same'?"),
        ("npu.a", "", {}, 'result="same" needs a scalar or vector as its first operand'),
        ("npu.a", "*xs", {}, 'result="same" needs a scalar or vector as its first operand'),
        ("npu.a", "buffer:any", {}, 'result="same" needs a scalar or vector as its first operand'),
        ("npu.a", "x", {"result": None}, "intrinsic 'tir.npu.a' would do nothing: it is pure and has no result"),
        ("npu.a", "from to", {}, "'from' does not name an operand as Python could"),
        ("npu.a", "x :any", {}, "':any' does not name an operand as Python could"),
        ("npu.a", "* x", {}, "'*' does not name an operand as Python could"),
        ("npu.a", "x", {"result": 3}, "result= is a string, a function or None, not 3"),
        ("npu.a", "x", {"results": "a b"}, "results='a b' needs a function as result="),
        ("npu.a", "x:number", {}, "operand 'x:number': unknown kind 'number'"),
        ("npu.a", "x x", {}, "tir.npu.a: 'x' names two operands or attributes"),
        ("npu.a", "x", {"attrs": {"x": Int()}}, "tir.npu.a: 'x' names two operands or attributes"),
    ],
)
def test_a_wrong_declaration_is_refused_and_declares_nothing(name, operands, options, message):
    before = dict(tir.dialect.ops)
    with pytest.raises(RelaxError) as caught:
        declare_intrinsic(name, operands, **options)
    assert message in str(caught.value)
    assert tir.dialect.ops == before
