# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Broken models, and models that cannot be compiled: each is one RelaxError with the reason, and no other exception."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from relax_mlir.frontends.core.problems import Problem, Problems
from relax_mlir.frontends.onnx.problems import WORDS
from relax_mlir.frontends.onnx.tensor_data import is_absurd

import relax_mlir as rx

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def tensor_info(name: str, shape: Any = (2, 3), dtype: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def model(
    nodes: Sequence[Any],
    inputs: Sequence[Any] | None = None,
    outputs: Sequence[str] = ("y",),
    initializers: Sequence[Any] = (),
    **options: Any,
) -> Any:
    """Return a model of these nodes. The default input is x, of 2 x 3 floats."""
    given = [tensor_info("x")] if inputs is None else list(inputs)
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    return helper.make_model(helper.make_graph(list(nodes), "g", given, results, list(initializers)), **options)


def node(op: str, inputs: str = "x", outputs: str = "y", **attributes: Any) -> Any:
    """Return a node. Names are separated by spaces."""
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def message(source: Any, **options: Any) -> str:
    with pytest.raises(rx.RelaxError) as caught:
        rx.from_onnx(source, **options)
    return str(caught.value)


def constant(name: str = "c", shape: Sequence[int] = (2, 3), dtype: int = FLOAT, data: bytes | None = None) -> Any:
    held = TensorProto(name=name, data_type=dtype, dims=shape)
    held.raw_data = bytes(24) if data is None else data
    return held


def zeros(name: str, *shape: int) -> Any:
    return numpy_helper.from_array(numpy.zeros(shape, "int64"), name)


# ---- invalid models ----


def test_nothing_but_a_model_is_taken() -> None:
    assert "a model is a path, bytes or an onnx.ModelProto, got int" in message(3)
    assert "got GraphProto" in message(model([node("Abs")]).graph)


def test_malformed_bytes() -> None:
    whole = model([node("Abs")]).SerializeToString()
    assert "protobuf is malformed" in message(whole[:-3])
    assert "protobuf is malformed" in message(b"\xff" * 40)
    assert "the model has no graph" in message(b"")


def test_every_prefix_of_a_model_is_refused_cleanly() -> None:
    whole = model([node("Add", "x c")], initializers=[constant()]).SerializeToString()
    for length in range(0, len(whole), 3):
        try:
            rx.from_onnx(whole[:length])
        except rx.RelaxError:
            continue


def test_files(tmp_path: Path) -> None:
    assert "cannot read" in message(tmp_path / "missing.onnx")
    assert "cannot read" in message(str(tmp_path))
    (tmp_path / "text.onnx").write_text("no protobuf at all")
    assert "text.onnx" in message(tmp_path / "text.onnx")


def test_the_file_is_named(tmp_path: Path) -> None:
    onnx.save(model([node("Abs", "q", name="n")]), tmp_path / "m.onnx")
    assert message(tmp_path / "m.onnx") == f"{tmp_path / 'm.onnx'}: node 'n' (Abs), input #0: nothing defines 'q'"
    (tmp_path / "pointer.onnx").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 97\n")
    with pytest.raises(rx.RelaxError, match="git lfs pull"):
        rx.from_onnx(tmp_path / "pointer.onnx")


def test_opsets_that_are_none() -> None:
    for version in (0, -4):
        text = message(model([node("Abs")], opset_imports=[helper.make_opsetid("", version)]))
        assert text == f"the model is for opset {version} of domain 'ai.onnx': versions begin with 1"
    text = message(
        model([node("Abs")], opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("mine", 1 << 40)])
    )
    assert text == f"the model is for opset {1 << 40} of domain 'mine': there are no such versions"
    inside = helper.make_function("mine", "F", ["x"], ["y"], [node("Abs")], [helper.make_opsetid("", 1 << 40)])
    text = message(model([node("Abs")], functions=[inside]))
    assert text == f"function 'F' is for opset {1 << 40} of domain 'ai.onnx': there are no such versions"
    several = [helper.make_opsetid("", 7), helper.make_opsetid("ai.onnx", 20)]
    assert "for opset 7 and for opset 20 of domain 'ai.onnx'" in message(model([node("Abs")], opset_imports=several))


def test_a_newer_opset() -> None:
    newer = model([node("Abs")], opset_imports=[helper.make_opsetid("", 1000)])
    assert "the model is for opset 1000, the installed onnx" in message(newer)


# ---- graphs that are none ----


def test_names() -> None:
    assert message(model([node("Abs", "q")])) == "node 'y' (Abs), input #0: nothing defines 'q'"
    assert message(model([node("Abs")], outputs=["z"])) == "output 'z': nothing defines 'z'"
    assert message(model([node("Abs", "x", "hidden"), node("Abs", "hiden")])).endswith("; did you mean 'hidden'?")
    assert "node 'y' (Neg): 'y' is defined twice" in message(model([node("Abs"), node("Neg")]))
    assert "defined twice" in message(model([node("Abs"), node("Neg")]))
    assert "defined twice" in message(model([node("Abs", "x", "x")], outputs=["x"]))
    assert "defined twice" in message(model([node("Abs")], inputs=[tensor_info("x"), tensor_info("x")]))
    assert "defined twice" in message(model([node("Add", "x c")], initializers=[constant(), constant()]))


def test_cycles() -> None:
    cyclic = model([node("Add", "x b", "a"), node("Abs", "a", "b", name="second")], outputs=["b"])
    circle = "the graph has a cycle, of nodes of which each needs what the one before it makes: "
    assert message(cyclic) == f"{circle}'a' (Add), 'second' (Abs)"
    own = model([node("Add", "x y")])
    assert message(own) == "the graph has a cycle: node 'y' (Add) needs what it makes itself"


def test_no_outputs() -> None:
    assert "graph has no outputs" in message(model([node("Abs")], outputs=[]))


def test_a_function_of_the_model_that_calls_itself() -> None:
    endless = model([node("Self", domain="mine")], opset_imports=[helper.make_opsetid("mine", 1)])
    imports = [helper.make_opsetid("mine", 1)]
    endless.functions.append(helper.make_function("mine", "Self", ["x"], ["y"], [node("Self", domain="mine")], imports))
    assert "calls itself" in message(endless)


# ---- types and shapes ----


@pytest.mark.parametrize("dtype, name", [(TensorProto.COMPLEX64, "complex64"), (0, "undefined"), (99, "#99")])
def test_element_types(dtype: int, name: str) -> None:
    text = message(model([node("Identity")], inputs=[tensor_info("x", dtype=dtype)]))
    assert text == f"input 'x': elements of type {name} cannot be compiled"
    if name != "undefined":
        text = message(model([node("Identity", "c")], inputs=[], initializers=[constant(dtype=dtype)]))
        assert f"elements of type {name} cannot be compiled" in text and "'c'" in text


def test_sequences_as_inputs() -> None:
    given = helper.make_tensor_sequence_value_info("x", FLOAT, None)
    assert "input 'x' is a sequence: state how many tensors it has, by their shapes (shapes={'x': [" in message(
        model([node("Identity")], inputs=[given])
    )


def test_an_input_without_a_shape() -> None:
    text = message(model([node("Abs")], inputs=[tensor_info("x", None)]))
    assert "input 'x' has no shape: give one (shapes={'x': (...)})" in text


def test_ranks_and_sizes_that_do_not_fit() -> None:
    vector = tensor_info("v", (5,))
    assert "Add" in message(model([node("Add", "x v")], inputs=[tensor_info("x"), vector]))
    scalar = tensor_info("s", ())
    assert "MatMul" in message(model([node("MatMul", "x s")], inputs=[tensor_info("x"), scalar]))
    assert "Conv" in message(model([node("Conv", "x x")]))
    assert "Transpose" in message(model([node("Transpose", perm=[0, 1, 2])]))
    assert "there are 1 repeats for 2 dimensions" in message(model([node("Tile", "x c")], initializers=[zeros("c", 1)]))
    ends = [zeros("a"), zeros("b", 2)]
    assert "input #1 must be one number, not 2" in message(model([node("Range", "a b a")], initializers=ends))
    given = [tensor_info("x"), tensor_info("q", (2, 3, 4)), tensor_info("w", (1, 2, 5, 5))]
    attention = node("Attention", "q x q", q_num_heads=1, kv_num_heads=1)
    assert "must have 3 or 4 dimensions each, got 2" in message(model([attention], inputs=given))
    assert "kernel has 1 dimension, the data 2" in message(model([node("ConvTranspose", "w q")], inputs=given))


def test_absurd_shapes() -> None:
    assert not is_absurd((2**23, 0, 2**23)) and is_absurd((2**23, 0, 2**23 + 1))
    huge = (2**31, 2**31)
    assert "absurd" in message(model([node("Identity", "c")], inputs=[], initializers=[constant(shape=huge)]))
    assert "absurd" in message(model([node("Identity", "c")], inputs=[], initializers=[constant(shape=(-1, 3))]))
    empty = constant(shape=(0, 2**40, 2**40), data=b"")
    assert "absurd" in message(model([node("Identity", "c")], inputs=[], initializers=[empty]))
    assert "absurd" in message(model([node("Abs")], inputs=[tensor_info("x", (2**62, 4))]))
    assert "absurd" in message(model([node("Abs")]), shapes={"x": (2**62, 4)})


def test_more_sizes_than_a_tensor_has_dimensions() -> None:
    sizes = tensor_info("s", (2**40,), INT64)
    assert "no tensor has as many dimensions" in message(model([node("ConstantOfShape", "s")], inputs=[sizes]))


def test_unforeseen_shapes_name_the_operator() -> None:
    text = message(model([node("Det", "s")], inputs=[tensor_info("s", ())]))
    assert "Det" in text


@pytest.mark.parametrize("op, sizes", [("ConstantOfShape", [2**62]), ("Expand", [2**61, 2, 3]), ("Tile", [2**40] * 2)])
def test_absurd_shapes_of_results(op: str, sizes: list[int]) -> None:
    held = numpy_helper.from_array(numpy.array(sizes), "c")
    made = model([node(op, "c" if op == "ConstantOfShape" else "x c", name="large")], initializers=[held])
    reasons = r"its result has the absurd shape|tensor<\S+> has \d+ elements, more than 2\*\*63 - 1"
    assert re.search(rf"{op} +\d+ +1 +large +- +.*({reasons})", message(made)), message(made)


def test_absurd_shapes_of_results_are_refused_when_memory_is_asked_for() -> None:
    sizes = tensor_info("c", (2,), INT64)
    executable = rx.compile(rx.from_onnx(model([node("ConstantOfShape", "c")], inputs=[sizes])))
    with pytest.raises(MemoryError, match="bytes or more"):
        executable["main"](numpy.array([2**31, 2**31]))


def test_operands_of_different_types() -> None:
    mixed = model([node("Add", "x i")], inputs=[tensor_info("x"), tensor_info("i", dtype=INT64)])
    assert "Add" in message(mixed)


# ---- constants ----


@pytest.mark.parametrize("data", [bytes(23), bytes(25), b""])
def test_constants_whose_bytes_are_too_few_or_too_many(data: bytes) -> None:
    text = message(model([node("Identity", "c")], inputs=[], initializers=[constant(data=data)]))
    assert text == f"tensor 'c' of shape (2, 3) and type f32 needs 24 bytes, the model has {len(data)}"


def test_constants_whose_typed_data_is_too_short() -> None:
    short = TensorProto(name="c", data_type=FLOAT, dims=[2, 3], float_data=[1.0, 2.0])
    assert "tensor 'c' of shape (2, 3)" in message(model([node("Identity", "c")], inputs=[], initializers=[short]))
    small = constant(dtype=TensorProto.INT4, data=b"\0")
    assert "tensor 'c' of shape (2, 3)" in message(model([node("Identity", "c")], inputs=[], initializers=[small]))
    brain = constant(dtype=TensorProto.BFLOAT16, data=bytes(5))
    assert "tensor 'c' of shape (2, 3)" in message(model([node("Identity", "c")], inputs=[], initializers=[brain]))


def test_constants_that_are_there_twice_or_in_part() -> None:
    twice = constant()
    twice.float_data.extend([1.0] * 6)
    text = message(model([node("Identity", "c")], inputs=[], initializers=[twice]))
    assert text == "tensor 'c' has its elements twice, in 'raw_data' and in 'float_data': one must be empty"
    part = constant()
    part.segment.end = 3
    assert "is a segment of" in message(model([node("Identity", "c")], inputs=[], initializers=[part]))
    wrong = TensorProto(name="c", data_type=FLOAT, dims=[2, 3], int64_data=[1] * 6)
    assert "its 'float_data' has 0 elements" in message(model([node("Identity", "c")], inputs=[], initializers=[wrong]))


def external(**entries: Any) -> Any:
    held = TensorProto(name="c", data_type=FLOAT, dims=[2, 3], data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        held.external_data.add(key=key, value=str(value))
    return model([node("Identity", "c")], inputs=[], initializers=[held])


@pytest.mark.parametrize("location", ["../outside.bin", "/etc/hostname", "", "sub/../../outside.bin", "link.bin"])
def test_external_data_outside_of_the_folder(tmp_path: Path, location: str) -> None:
    (tmp_path / "outside.bin").write_bytes(bytes(24))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "link.bin").symlink_to(tmp_path / "outside.bin")
    onnx.save(external(location=location), folder / "m.onnx")
    assert f"the file '{location}', which is outside of the model's folder" in message(folder / "m.onnx")


@pytest.mark.parametrize(
    "entries, expected",
    [
        ({"location": "missing.bin"}, "cannot be read"),
        ({"location": "short.bin"}, "needs 24 bytes from 0"),
        ({"location": "data.bin", "offset": 8}, "needs 24 bytes from 8"),
        ({"location": "data.bin", "offset": -8}, "needs 24 bytes from -8"),
        ({"location": "data.bin", "length": 20}, "the model says 20"),
        ({"location": "data.bin", "offset": "x"}, "cannot be read"),
        ({"location": "data.bin", "offset": 2**70}, "needs 24 bytes from"),
        ({"location": "nul\0.bin"}, "zero byte"),
        ({"location": "."}, "cannot be read"),
    ],
)
def test_external_data_that_does_not_match(tmp_path: Path, entries: Any, expected: str) -> None:
    (tmp_path / "short.bin").write_bytes(bytes(20))
    (tmp_path / "data.bin").write_bytes(bytes(24))
    onnx.save(external(**entries), tmp_path / "m.onnx")
    assert expected in message(tmp_path / "m.onnx")


def test_external_data_in_a_pipe(tmp_path: Path) -> None:
    """Refuse a pipe instead of waiting for a writer."""
    os.mkfifo(tmp_path / "data.bin")
    onnx.save(external(location="data.bin"), tmp_path / "m.onnx")
    assert "there is no such file" in message(tmp_path / "m.onnx")


@pytest.mark.parametrize(
    "dtype, size", [(TensorProto.BFLOAT16, 12), (TensorProto.INT4, 3), (TensorProto.FLOAT8E5M2, 6)]
)
def test_external_data_of_narrow_types(tmp_path: Path, dtype: int, size: int) -> None:
    source = external(location="data.bin")
    source.graph.initializer[0].data_type = dtype
    onnx.save(source, tmp_path / "m.onnx")
    (tmp_path / "data.bin").write_bytes(bytes(size))
    rx.from_onnx(tmp_path / "m.onnx")
    (tmp_path / "data.bin").write_bytes(bytes(size - 1))
    assert f"needs {size} bytes from 0" in message(tmp_path / "m.onnx")


def test_external_data_that_overlaps_is_checked_for_each_tensor(tmp_path: Path) -> None:
    source = external(location="data.bin", offset=8)
    source.graph.initializer.append(external(location="data.bin").graph.initializer[0])
    source.graph.initializer[1].name = "d"
    onnx.save(source, tmp_path / "m.onnx")
    (tmp_path / "data.bin").write_bytes(bytes(32))
    rx.from_onnx(tmp_path / "m.onnx")
    del source.graph.initializer[1].dims[:]
    source.graph.initializer[1].dims.extend([2**40, 2**5])
    onnx.save(source, tmp_path / "m.onnx")
    assert f"needs {2**47} bytes from 0" in message(tmp_path / "m.onnx")


def test_large_constants_whose_bytes_are_too_few() -> None:
    text = message(
        model([node("Identity", "c")], inputs=[], initializers=[constant(shape=(2, 3000), data=bytes(5000))])
    )
    assert text == "tensor 'c' of shape (2, 3000) and type f32 needs 24000 bytes, the model has 5000"


def test_external_data_of_a_model_that_is_no_file() -> None:
    assert "give the model as a path" in message(external(location="data.bin"))


# ---- operators ----


def test_all_unknown_operators_are_in_one_table() -> None:
    nodes = [
        node("Unheard", "x", "a"),
        node("Unheard", "a", "b"),
        node("Abs", "x", "c"),
        node("Mystery", "c", "y", domain="com.example", name="last"),
    ]
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("com.example", 3)]
    text = message(model(nodes, outputs=["b", "y"], opset_imports=imports))
    assert text.startswith("3 nodes of the model cannot be imported:\n")
    assert "com.example.Mystery  3      1      last" in text
    assert "Unheard              20     2      a" in text  # also the one that needs the other
    assert text.count("rx.register_onnx teaches it") == 2


def test_unknown_operators_where_nothing_is_reached() -> None:
    """Count unknown operators after another one, in branches and in functions."""
    inner = helper.make_graph([node("Unheard", "x", "t")], "inner", [], [helper.make_empty_tensor_value_info("t")])
    nodes = [
        node("Unheard", "x", "a"),
        helper.make_node("If", ["a"], ["b"], then_branch=inner, else_branch=inner),
        node("F", "a", "c", domain="mine", name="call"),
        node("Transpose", "c", "d", permutation=[1, 0], name="turn"),
        node("Abs", "d", "y"),
    ]
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("mine", 1)]
    made = model(nodes, outputs=["b", "y"], opset_imports=imports)
    body = [node("Nope", "x", "t", name="inside"), node("Unheard", "t", "y")]
    made.functions.append(helper.make_function("mine", "F", ["x"], ["y"], body, imports))
    text = message(made)
    assert text.startswith("6 nodes of the model cannot be imported:\n")
    assert re.search(r"^Unheard +20 +4 +a +-", text, re.MULTILINE)
    assert re.search(r"^Nope +20 +1 +call/inside", text, re.MULTILINE)
    assert re.search(r"^Transpose +20 +1 +turn +permutation +Transpose .* knows no attribute 'permutation'", text, re.M)


def test_the_table_on_a_narrow_terminal() -> None:
    problems = Problems(WORDS)
    problems.add(Problem("/encoder/layers.0/attention/MatMul", "com.example.FancyAttention", 1, "", "is not known"))
    problems.add(Problem("n", "Cast", 20, "to", "elements of type string cannot be compiled"))
    assert all(len(line) <= 60 for line in problems.table(60).splitlines())
    assert "Cast, opset 20: node 'n'\n  attribute 'to': elements of type string cannot be" in problems.table(60)
    assert problems.table(200) == problems.table()


def test_a_domain_without_a_version() -> None:
    assert "com.example.Relu" in message(model([node("Relu", domain="com.example")]))


def test_attributes() -> None:
    assert "attribute 'perm' must be a list of integers" in message(model([node("Transpose", perm=1.5)]))
    assert "direction" in message(model([node("BitShift", "x x", direction="UP")]))
    assert "elements of type string" in message(model([node("Cast", to=TensorProto.STRING)]))
    assert "Concat" in message(model([node("Concat", "x x", axis=7)]))


def test_unknown_attributes_and_surplus_values_are_refused() -> None:
    assert "knows no attribute 'aksis'; did you mean 'axis'?" in message(model([node("Softmax", aksis=0)]))
    assert "required attribute 'to' is missing" in message(model([node("Cast")]))
    assert "it has 2 inputs, at most 1" in message(model([node("Abs", "x x")]))
    assert "it has 2 outputs, at most 1" in message(model([node("Abs", "x", "y z")]))
    rx.from_onnx(model([node("Abs", __note="internal names are nobody's business")]))


def test_names_that_are_no_text() -> None:
    whole = model([node("Abs", name="n@me")]).SerializeToString()
    text = message(whole.replace(b"n@me", b"n\xffme"))
    assert text == "the model's protobuf is malformed: a node's name is b'n\\xffme', which is not UTF-8"


def test_names_with_ends_of_lines() -> None:
    text = message(model([node("Una\nware'\"", name="two\nlines")]))
    assert "Una\\nware'\"" in text and "two\\nlines" in text and "two\nlines" not in text
    compile("def f(rx):\n" + "\n".join(f"  {line}" for line in text.split("teach it")[-1].splitlines()[1:]), "", "exec")


def test_missing_inputs() -> None:
    assert "input #1 is missing" in message(model([node("Add", "x")]))
    assert "input #0 is missing" in message(model([helper.make_node("Abs", [], ["y"])]))


# ---- loops and functions ----


def looped(outputs: str, *nodes: Any, inputs: str = "count ") -> Any:
    given = [tensor_info("turn", (), INT64), tensor_info("on", (), TensorProto.BOOL)]
    results = [helper.make_empty_tensor_value_info(each) for each in outputs.split()]
    body = helper.make_graph(list(nodes), "body", given, results)
    loop = helper.make_node("Loop", inputs.split(" "), ["y"], body=body, name="loop")
    return model([loop], inputs=[tensor_info("x"), tensor_info("count", (), INT64)])


def test_a_condition_that_needs_itself() -> None:
    text = message(looped("again z", node("Identity", "again", "again"), node("Abs", "x", "z")))
    assert "the graph has a cycle: node 'again' (Identity) needs what it makes itself" in text


def test_a_loop_that_would_never_end() -> None:
    nodes = node("Identity", "on", "again"), node("Abs", "x", "z")
    assert "would never end" in message(looped("again z", *nodes, inputs=" "))
    rx.from_onnx(looped("again z", *nodes))


def test_states_and_outputs_that_are_left_out() -> None:
    assert "input #2 is missing" in message(looped("again turn", node("Identity", "on", "again"), inputs="count  "))
    skipped = node("SkipSimplifiedLayerNormalization", "x x c", "z y", domain="com.microsoft")
    made = model(
        [skipped],
        initializers=[constant(shape=[3], data=bytes(12))],
        opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)],
    )
    assert "output 'y' is an output that the converter of its node does not return" in message(made)


def test_functions_inside_of_functions_without_end() -> None:
    made = model([node("F0", domain="mine")], opset_imports=[helper.make_opsetid("mine", 1)])
    for index in range(200):
        body = [node(f"F{index + 1}", domain="mine")]
        made.functions.append(
            helper.make_function("mine", f"F{index}", ["x"], ["y"], body, [helper.make_opsetid("mine", 1)])
        )
    assert "calls of functions are nested more than 64 deep" in message(made)


# ---- shapes= ----


def test_shapes() -> None:
    good = model([node("Abs")])
    assert message(good, shapes={"q": (1,)}) == "shapes: the model has no input 'q' (it has x)"
    assert message(good, shapes={"x": (1,)}) == "shapes: input 'x' has 2 dimensions, got (1,)"
    for wrong in ((-1, 3), (2.5, 3), ("n+", 3), (True, 3), ([2], 3), 4, "ab"):
        assert "shapes: input 'x'" in message(good, shapes={"x": wrong}), wrong
    assert "shapes" in message(good, shapes=[1, 2])


def test_a_shape_for_an_input_that_has_none() -> None:
    unranked = model([node("Abs")], inputs=[tensor_info("x", None)])
    module = rx.from_onnx(unranked, shapes={"x": (None, 3)})
    assert "tensor<?x3xf32" in str(module)


def test_a_function_that_onnx_makes_of_known_sizes_only() -> None:
    made = node("CausalConvWithState", "x w", "y state", activation="silu")
    inputs = [tensor_info("x", (2, "c", "t")), tensor_info("w", ("c", 1, "k"))]
    text = message(model([made], inputs, opset_imports=[helper.make_opsetid("", 27)]))
    assert "the function that defines CausalConvWithState depends on sizes that are not known" in text
    assert "the inputs are 'x' f32 [2, c, t], 'w' f32 [c, 1, k]" in text
