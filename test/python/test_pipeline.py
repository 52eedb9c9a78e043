# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rx.Pipeline: passes of both kinds in one pipeline, nested, from text and from objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

import relax_mlir as rx

TWICE = """\
module {
  func.func @f(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = "relax.exp"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "relax.exp"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
}
"""
NESTED = f'module @a attributes {{test.a = "x"}} {{\n{TWICE}}}\nmodule @b {{\n{TWICE}}}\n{TWICE}'


@rx.register_pass
@dataclass(frozen=True)
class Mark(rx.Pass):
    """Pass that puts an attribute on its operation."""

    name: ClassVar[str] = "test-mark"
    anchor: ClassVar[str] = "any"
    key: str = "test.mark"

    def run(self, op: Any) -> None:
        op.attributes[self.key] = rx.ir.UnitAttr.get(op.context)


@rx.register_pass
@dataclass(frozen=True)
class OnFunctions(rx.Pass):
    """Pass on functions only."""

    name: ClassVar[str] = "test-on-functions"
    anchor: ClassVar[str] = "func.func"

    def run(self, op: Any) -> None:
        op.attributes["test.function"] = rx.ir.UnitAttr.get(op.context)


@rx.register_pass
@dataclass(frozen=True)
class Break(rx.Pass):
    """Pass that misbehaves in several ways."""

    name: ClassVar[str] = "test-break"
    how: str = "invalid"

    def run(self, op: Any) -> None:
        if self.how == "invalid":
            function = op.regions[0].blocks[0].operations[0].operation
            first = function.regions[0].blocks[0].operations[0].operation
            first.attributes["unknown"] = rx.ir.UnitAttr.get(op.context)
        elif self.how == "report":
            op.location.emit_error("reported")
        elif self.how == "mlir":
            rx.ir.Module.parse("nonsense", op.context)
        elif self.how == "relax":
            raise rx.RelaxError("refused")
        else:
            raise KeyError(self.how)


def run(passes: Any, text: str = TWICE, **options: Any) -> str:
    module = rx.Module.parse(text, "m.mlir")
    assert rx.Pipeline(passes, **options).run(module) is module
    return str(module)


def exps(text: str) -> int:
    return text.count('"relax.exp"')


@pytest.mark.parametrize(
    "passes",
    [
        "cse",
        "builtin.module(cse)",
        "any(cse)",
        "func.func(cse)",
        "builtin.module(func.func(cse))",
        "builtin.module(func.func(test-mark,cse))",
        ["cse"],
        ["test-mark", "cse"],
        [Mark(), "func.func(cse)"],
        ("test-mark,cse", Mark()),
    ],
)
def test_the_ways_to_name_a_pass(passes: Any) -> None:
    assert exps(run(passes)) == 1


def test_an_empty_pipeline_does_nothing() -> None:
    assert run("") == run([]) == run("builtin.module()") == run(()) == TWICE


def test_own_and_upstream_passes_run_in_order() -> None:
    seen: list[int] = []

    @dataclass(frozen=True)
    class Count(rx.Pass):
        """Pass that counts."""

        name: ClassVar[str] = "test-count"

        def run(self, op: Any) -> None:
            seen.append(exps(str(op)))

    run([Count(), "cse", Count(), "func.func(canonicalize,cse)", Count()])
    assert seen == [2, 1, 1]


def test_groups_run_on_what_is_directly_inside() -> None:
    text = run("builtin.module(builtin.module(test-mark))", NESTED)
    assert text.count("test.mark") == 3
    assert 'module @a attributes {test.a = "x", test.mark}' in text
    assert "module @b attributes {test.mark}" in text
    assert exps(run("builtin.module(builtin.module(builtin.module(cse)))", NESTED)) == 4
    assert run("any(any(test-mark))", "func.func private @g()\nmodule @a {}").count("test.mark") == 2


@pytest.mark.parametrize(
    ("group", "marked"), [("{test.a=x}", 1), ("{test.a}", 1), ("{test.a=y}", 0), ("{no}", 0), ("", 3)]
)
def test_attributes_of_a_group_select(group: str, marked: int) -> None:
    assert run(f"builtin.module(builtin.module{group}(test-mark))", NESTED).count("test.mark") == marked
    upstream = run(f"builtin.module(builtin.module{group}(cse))", NESTED)
    assert exps(upstream) == 6 - marked


def test_operations_that_a_pass_removes_are_no_longer_visited() -> None:
    @dataclass(frozen=True)
    class Clear(rx.Pass):
        """Pass that removes all functions but the first."""

        name: ClassVar[str] = "test-clear"

        def run(self, op: Any) -> None:
            for child in list(op.regions[0].blocks[0].operations)[1:]:
                child.operation.erase()

    functions = "".join(f"func.func @f{index}() {{\n  return\n}}\n" for index in range(4))
    text = run([Clear(), "func.func(test-on-functions)", "func.func(cse)"], functions)
    assert text.count("test.function") == 1


def test_text_of_a_pipeline() -> None:
    given = (
        ' any( test-mark{key="a b"} , func.func( cse,canonicalize{max-iterations=2 top-down=false} ) , '
        'builtin.module{k="v w" u}(cse) ) '
    )
    pipeline = rx.Pipeline(given)
    text = (
        'builtin.module(test-mark{key="a b"},func.func(cse,canonicalize{max-iterations=2 top-down=false}),'
        'builtin.module{k="v w" u}(cse))'
    )
    assert str(pipeline) == text
    assert str(rx.Pipeline(text)) == text
    assert repr(pipeline) == f"Pipeline('{text}')"
    assert str(rx.Pipeline([Mark(), "cse"])) == "builtin.module(test-mark,cse)"


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        ("csee", "unknown pass 'csee'; did you mean 'cse'?"),
        ("test-mrak", "unknown pass 'test-mrak'; did you mean 'test-mark'?"),
        ("test-mark{kye=x}", "pass 'test-mark' has no option 'kye'; did you mean 'key'?"),
        (
            "canonicalize{max-iteratoins=1}",
            "pass 'canonicalize' has no option 'max-iteratoins'; did you mean 'max-iterations'?",
        ),
        ("canonicalize{max-iterations=x}", "pass 'canonicalize': .*'x' value invalid"),
        ("func.func(test-break)", "pass 'test-break' runs on builtin.module, not on func.func: write builtin.module"),
        ("test-on-functions", r"pass 'test-on-functions' runs on func.func, not on builtin.module: write func.func\("),
        ([OnFunctions()], r"pass 'test-on-functions' runs on func.func, not on builtin.module"),
        (
            "affine-loop-tile",
            r"pass 'affine-loop-tile' runs on func.func, not on builtin.module: write func.func\(affine",
        ),
        ("test-mark(cse)", "'test-mark' cannot hold passes: it takes options in braces"),
        ("func.fnuc(cse)", "'func.fnuc' cannot hold passes: no operation is called that; did you mean 'func.func'?"),
        ("no.dialect(cse)", "'no.dialect' cannot hold passes: no operation is called that"),
        ("builtin.module", "unknown pass 'builtin.module'"),
        ("builtin.module(cse", r"unbalanced '\('"),
        ([3], "a pipeline holds passes and pipeline texts, not int"),
        ([Mark], "a pipeline holds passes and pipeline texts, not type"),
    ],
)
def test_mistakes_are_reported_before_anything_runs(passes: Any, message: str) -> None:
    with pytest.raises(rx.RelaxError, match=message):
        rx.Pipeline(passes)


def test_a_pipeline_on_another_operation() -> None:
    module = rx.Module.parse(TWICE)
    function = module.body.operations[0]
    pipeline = rx.Pipeline("test-on-functions,cse", anchor="func.func")
    assert str(pipeline) == "func.func(test-on-functions,cse)"
    assert pipeline.run(function) is function
    assert exps(str(module)) == 1
    assert "test.function" in str(module)
    with pytest.raises(rx.RelaxError, match=r"the pipeline runs on func.func, but it was given a builtin.module"):
        pipeline.run(module)
    rx.Pipeline("cse", anchor="any").run(function.operation)


@pytest.mark.parametrize("name", ["relax-legalize-ops", "relax-inline", "relax-lower-calls"])
def test_any_operation_is_one_that_the_pass_runs_on(name: str) -> None:
    module = rx.Module.parse(TWICE)
    before = str(module)
    with pytest.raises(rx.RelaxError, match=f"pass '{name}' runs on builtin.module, not on func.func: write builtin"):
        rx.Pipeline(f"test-mark,any(cse,{name})").run(module)
    assert str(module) == before
    rx.Pipeline("any(relax-inline)").run(module)


def test_a_pass_can_be_called() -> None:
    module = rx.Module.parse(TWICE)
    assert Mark(key="test.called")(module) is module
    assert "test.called" in str(module)


def test_invalid_ir_is_reported_with_its_pass() -> None:
    with pytest.raises(rx.RelaxError) as caught:
        run("test-break,cse")
    assert str(caught.value) == (
        "m.mlir:3:10: pass test-break produced invalid IR: 'relax.exp' op has no attribute 'unknown' (known: none)"
    )
    module = rx.Module.parse(TWICE)
    rx.Pipeline("test-break", verify_each=False).run(module)
    with pytest.raises(rx.RelaxError, match="the module is not valid"):
        module.verify()


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ("report", rx.RelaxError, "pass test-break failed: reported"),
        ("mlir", rx.RelaxError, "pass test-break failed: "),
        ("relax", rx.RelaxError, r"^refused\nnote: in pass test-break, at python/test_pipeline.py:\d+$"),
        ("key", rx.RelaxError, r"^pass test-break: KeyError: 'key' \(at python/test_pipeline.py:\d+\)$"),
    ],
)
def test_a_failing_pass(how: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        run(f"test-break{{how={how}}}")


def test_a_failing_upstream_pass() -> None:
    with pytest.raises(rx.RelaxError, match=r"m.mlir:3:10: pass one-shot-bufferize failed: op was not bufferized"):
        run("one-shot-bufferize")
    # Upstream passes in a row are run at once.
    with pytest.raises(rx.RelaxError, match=r"m.mlir:3:10: pass one-shot-bufferize failed: op was not bufferized"):
        run("test-mark,func.func(cse),one-shot-bufferize")
    with pytest.raises(rx.RelaxError, match="op was not bufferized"):
        run("one-shot-bufferize", instruments=[rx.Timing()])


def test_passes_declare_what_they_produce() -> None:
    @dataclass(frozen=True)
    class MakeLoop(rx.Pass):
        """Pass that makes an operation of a dialect that is not loaded."""

        name: ClassVar[str] = "test-make-loop"
        dependent_dialects: ClassVar[tuple[str, ...]] = ("cf",)

        def run(self, op: Any) -> None:
            assert op.context.is_registered_operation("cf.br")

    run([MakeLoop()])

    @dataclass(frozen=True)
    class Wrong(MakeLoop):
        """Pass that names an unknown dialect."""

        dependent_dialects: ClassVar[tuple[str, ...]] = ("no_dialect",)

    with pytest.raises(rx.RelaxError, match="MLIR has no dialect 'no_dialect'"):
        run([Wrong()])


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"name": "test mark"}, "'test mark' is no pass name"),
        ({"name": ""}, "'' is no pass name"),
        ({"name": "test-mark"}, "there is a pass 'test-mark' already"),
        ({"name": "test-undocumented", "__doc__": " "}, "pass 'test-undocumented' has no doc string"),
    ],
)
def test_registration_refuses(members: dict[str, str], message: str) -> None:
    with pytest.raises(rx.RelaxError, match=message):
        rx.register_pass(type("Other", (rx.Pass,), {"__doc__": "Other.", **members}))


def test_every_own_pass_is_found_by_name() -> None:
    passes = rx.all_passes()
    assert {"relax-canonicalize", "relax-inline", "test-mark"} <= set(passes)
    assert list(passes) == sorted(passes)
    for name, cls in passes.items():
        assert rx.find_pass(name) is cls
    assert rx.find_pass("no-such-pass") is None


def test_stages_and_targets_have_a_repr() -> None:
    assert repr(rx.stages("llvm").only("fuse")) == "<stages of llvm: fuse>"
    assert repr(rx.find_target("llvm")).startswith("<target llvm, after cpu: ")
