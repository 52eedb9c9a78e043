# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading, building, printing, verifying, writing and ownership of rx.Module."""

from __future__ import annotations

import copy
import gc
import pickle
from pathlib import Path

import numpy
import pytest
from relax_mlir.dialects.core.cache import arrays_of

import relax_mlir as rx
from relax_mlir import relax

SYMBOLIC = """\
module {
  func.func @f(%arg0: tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>> {
    %0 = "relax.exp"(%arg0) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
    return %0 : tensor<?x4xf32, #relax.sym<["n", 4]>>
  }
}
"""
INVALID = 'func.func @f(%a: tensor<4xf32>) {\n  "relax.add"(%a) : (tensor<4xf32>) -> tensor<4xf32>\n  return\n}\n'


def test_text_and_bytecode_read_back_to_the_same_text() -> None:
    module = rx.Module.parse(SYMBOLIC)
    assert str(module) == SYMBOLIC
    assert str(rx.Module.parse(str(module).encode())) == SYMBOLIC
    assert str(rx.Module.parse(module.bytecode())) == SYMBOLIC
    assert rx.Module.parse(module.bytecode()).bytecode() == module.bytecode()


@pytest.mark.parametrize(
    "text",
    [
        "func.func @f() {\n  return\n}",
        "\nfunc.func @f() {\n  return\n}",
        "// a comment\nfunc.func @f() {\n  return\n}",
        "module {\n  func.func @f() {\n    return\n  }\n}",
        '"builtin.module"() ({\n  func.func @f() {\n    return\n  }\n}) : () -> ()',
        "#a = 1\nfunc.func @f() {\n  return\n}",
        "// c\n#a = 1\nmodule {\n  func.func @f() {\n    return\n  }\n}",
    ],
)
def test_a_module_is_put_around_what_is_none(text: str) -> None:
    assert str(rx.Module.parse(text)) == "module {\n  func.func @f() {\n    return\n  }\n}\n"


def test_several_modules_are_wrapped() -> None:
    module = rx.Module.parse("module @a {}\nmodule @b {}")
    assert [op.operation.name for op in module.body.operations] == ["builtin.module", "builtin.module"]
    assert str(rx.Module.parse("")) == "module {\n}\n"


@pytest.mark.parametrize("prefix", ["", "\n", "// comment\n"])
def test_locations_name_the_source(prefix: str) -> None:
    with pytest.raises(rx.RelaxError) as caught:
        rx.Module.parse(prefix + INVALID, "model.mlir")
    line = 2 + prefix.count("\n")
    assert caught.value.location == f"model.mlir:{line}:3"
    assert str(caught.value) == (
        f"model.mlir:{line}:3: cannot parse model.mlir: 'relax.add' op expects 2 operands (x1, x2), got 1: missing 'x2'"
    )


def test_every_invalid_operation_is_reported() -> None:
    with pytest.raises(rx.RelaxError) as caught:
        rx.Module.parse(INVALID + INVALID.replace("@f", "@g"))
    assert [diagnostic.line for diagnostic in caught.value.diagnostics] == [2, 6]
    assert "(and 1 more errors)" in caught.value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f( {", "expected non-function type"),
        ("func.func @f() {\n  return\n", "expected operation name in quotes"),
        ("// c\nfunc.func @f() {\n  return\n}\n}", "expected operation name in quotes"),
        ("module {} module {} }", "expected operation name in quotes"),
        ("\0", "the text contains a NUL byte"),
        ("module {}\n  \0", "<string>:2:3: the text contains a NUL byte"),
        ("module {} // \udcff", "the text is not UTF-8"),
        (b"module {\xff}", "<string>:1:9: neither UTF-8 text nor MLIR bytecode"),
        (b"ML\xefR", "attempting to parse a byte at the end of the bytecode"),
        ("module {" * 5000 + "}" * 5000, "<string>:1:8008: nested more than 1000 levels deep"),
        ('"relax.nope"() : () -> ()', "unregistered operation 'relax.nope'"),
        ('"nobody.op"() : () -> ()', "unregistered dialect"),
        ("%0 = relax.exp %0 : f32", "<string>:1:6: custom op 'relax.exp' has only the generic form"),
    ],
)
def test_invalid_texts_are_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(rx.RelaxError) as caught:
        rx.Module.parse(text)
    assert message in str(caught.value)


def test_an_onnx_model_given_as_a_module_is_refused_with_the_way() -> None:
    with pytest.raises(rx.ModelError, match=r"m.onnx:1:1: neither UTF-8 (?s:.*)relax-compile --emit=relax m.onnx"):
        rx.Module.parse(b"\x8a\xff", "m.onnx")


def test_strings_that_are_not_utf_8_are_an_error_at_most() -> None:
    text = (
        'func.func @f(%a: tensor<4xf32>) {\n  "relax.add"(%a) : (tensor<4xf32>) -> tensor<4xf32> loc({})\n  return\n}'
    )
    for location, place in (
        (r'"a\FF\22\\é":3:4', 'a\\xff"\\é:3:4'),
        (r'"n\FF"', '"n\\xff"'),
        (r'"n"("m\FF":5:6)', '"n" at m\\xff:5:6'),
    ):
        with pytest.raises(rx.RelaxError) as caught:
            rx.Module.parse(text.replace("{}", location))
        assert caught.value.location == place
    module = rx.Module.parse(r'func.func private @f() attributes {x.y = "\FF", x.z = loc("\FF")}')
    assert str(rx.Module.parse(str(module))) == str(module)


def test_unregistered_dialects_are_read_on_demand() -> None:
    module = rx.Module.parse('"nobody.op"() : () -> ()', allow_unregistered=True)
    assert '"nobody.op"()' in str(module)


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(SYMBOLIC)
    assert str(rx.Module.from_file(path)) == SYMBOLIC
    path.write_bytes(rx.Module.parse(SYMBOLIC).bytecode())
    assert str(rx.Module.from_file(str(path))) == SYMBOLIC
    path.write_text(INVALID)
    with pytest.raises(rx.RelaxError, match=r"m.mlir:2:3: "):
        rx.Module.from_file(path)
    with pytest.raises(rx.RelaxError, match=r"cannot read .*none.mlir: No such file or directory"):
        rx.Module.from_file(tmp_path / "none.mlir")
    with pytest.raises(rx.RelaxError, match=r"cannot read .*: Is a directory"):
        rx.Module.from_file(tmp_path)


def test_building_in_a_module() -> None:
    module = rx.Module()
    with module:
        rx.relax.shape_expr((2, "n"))
        with module:  # entering it again is fine
            rx.relax.shape_expr((3,))
    assert [op.operation.name for op in module.body.operations] == ["relax.shape_expr", "relax.shape_expr"]
    assert rx.ir.Context.current is None
    with pytest.raises(ZeroDivisionError), module:
        raise ZeroDivisionError
    assert rx.ir.Context.current is None


def test_verification_tells_the_operation() -> None:
    module = rx.Module.parse(SYMBOLIC, "m.mlir")
    module.verify()
    function = module.body.operations[0].operation
    block = function.regions[0].blocks[0]
    block.operations[0].operation.attributes["extra"] = rx.ir.UnitAttr.get(module.context)
    with pytest.raises(
        rx.RelaxError, match=r"m.mlir:3:10: the module is not valid: 'relax.exp' op has no attribute 'extra'"
    ):
        module.verify()


def test_printing() -> None:
    module = rx.Module.parse(
        'func.func @f() {\n  %0 = arith.constant dense<[1, 2, 3]> : tensor<3xi32> loc("here")\n  return\n}'
    )
    assert '"func.func"() <{' in module.print(generic=True)
    assert 'loc("here")' in module.print(debug_info=True, local_scope=True)
    assert '"here"' in module.print(pretty_debug_info=True)
    assert "loc(" not in module.print()
    assert "dense<[1, 2, 3]>" in module.print(elide_elements=3)
    assert "dense_resource<__elided__>" in module.print(elide_elements=2)


def test_bytecode_versions() -> None:
    module = rx.Module.parse(SYMBOLIC)
    assert str(rx.Module.parse(module.bytecode(4))) == SYMBOLIC
    with pytest.raises(rx.RelaxError, match="cannot write bytecode: unsupported version requested 1000"):
        module.bytecode(1000)


def test_a_module_keeps_what_its_handles_point_into() -> None:
    def body() -> rx.Module:
        return rx.Module.parse(SYMBOLIC)

    operations = [list(module.body.operations) for module in [body() for _ in range(5)]]
    del operations
    gc.collect()
    modules = [body() for _ in range(20)]  # more than the caches of contexts hold
    gc.collect()
    assert all(str(module) == SYMBOLIC for module in modules)
    assert len({id(module.context) for module in modules}) == 20


def test_a_copy_that_goes_leaves_the_originals_constants() -> None:
    weights = numpy.arange(100_000, dtype="float32")
    module = rx.Module()
    with module.function("main", [rx.tensor((100_000,))]) as f:
        f.returns(relax.add(*f, relax.const(weights)))
    held = arrays_of(module.context).by_attribute
    assert len(held) == 1
    module.copy()
    gc.collect()
    assert arrays_of(module.context).by_attribute is held and len(held) == 1


def two_functions() -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 4)), "y": rx.tensor((4,), "int8")}) as f:
        f.returns(*f)
    with module.function("helper", ["i64"], private=True) as f:
        f.returns()
    return module


def test_repr_names_the_functions() -> None:
    module = two_functions()
    x, y = 'Tensor((n, 4), "float32")', 'Tensor((4,), "int8")'
    main = f"main(x: {x}, y: {y}) -> ({x}, {y})"
    assert repr(module) == f"<module of 2 functions\n  {main}\n  private helper(arg0: int64) -> None>"
    assert repr(rx.Module()) == "<module of 0 functions>"
    assert repr(rx.Module.parse("module @inner {}")).startswith("<module of 0 functions")
    many = rx.Module.parse("".join(f"func.func @f{index}() {{ return }}" for index in range(25)))
    assert repr(many).endswith("  f19() -> None\n  and 5 more>")
    shown = module._repr_html_()
    assert "module of 2 functions" in shown and ">&quot;float32&quot;</span>" in shown and "</span> main(" in shown


def with_constant(count: int) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor((count,))]) as f:
        f.returns(relax.add(*f, relax.const(numpy.arange(count, dtype="float32"))))
    return module


def test_a_script_is_read_back() -> None:
    module = with_constant(5000)
    text = module.script()
    assert rx.Module.from_script(text).script() == text
    again = rx.compile(rx.Module.from_script(text), jobs=1, cache=False)["main"](numpy.ones(5000, "float32"))
    assert numpy.array_equal(again, numpy.arange(5000) + 1)
    assert len(module.script(elide=True)) < 2000 < 20_000 < len(text)
    assert rx.print_script(module) == text


def test_a_notebook_shows_no_more_than_people_read() -> None:
    assert len(with_constant(5000)._repr_html_()) < 5000
    many = rx.Module.parse("".join(f"func.func @f{index}() {{ return }}" for index in range(3000)))
    shown = many._repr_html_()
    assert shown.endswith("\n...</pre></details>") and len(many.script()) > 100_000
    assert "f2999" not in shown and len(shown) < 500_000


def test_a_script_may_have_unregistered_operations(tmp_path: Path) -> None:
    module = rx.Module.parse('func.func @f() { "their.op"() : () -> () return }', allow_unregistered=True)
    file = tmp_path / "theirs.py"
    file.write_text(module.script())
    assert str(rx.Module.from_script(module.script(), allow_unregistered=True)) == str(module)
    assert str(rx.Module.from_file(file, allow_unregistered=True)) == str(module)
    with pytest.raises(rx.RelaxError, match="their"):
        rx.Module.from_file(file)


WAYS = {"pickle": lambda module: pickle.loads(pickle.dumps(module)), "copy": copy.copy, "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("way", WAYS)
def test_pickled_and_copied_modules_are_the_same_and_their_own(way: str) -> None:
    module = rx.Module()
    big = numpy.arange(5000, dtype="float32").reshape(50, 100)
    with module.context, rx.ir.Location.file("net.py", 3, 7), module.function("main", [rx.tensor((50, 100))]) as f:
        f.returns(relax.add(relax.const(big), *f))
    made = WAYS[way](module)
    assert made.print(debug_info=True) == module.print(debug_info=True)
    assert 'loc("net.py":3:7)' in made.print(debug_info=True)
    made.body.operations[0].attributes["relax.changed"] = rx.ir.UnitAttr.get(made.context)
    assert "relax.changed" not in str(module)
    text = made.print()
    del module, f
    result = rx.compile(made, jobs=1, cache=False)["main"](numpy.ones((50, 100), "float32"))
    assert numpy.array_equal(numpy.from_dlpack(result) if not isinstance(result, numpy.ndarray) else result, big + 1)
    assert made.print() == text


def test_a_pickled_module_keeps_unregistered_operations() -> None:
    module = rx.Module.parse('func.func @f() { "their.op"() : () -> () return }', allow_unregistered=True)
    assert str(pickle.loads(pickle.dumps(module))) == str(module)
