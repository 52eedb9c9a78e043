# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants with more or fewer bytes than their types say are refused at every entry of bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import pytest
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.resources import blob_of
from relax_mlir.dialects.core.elements import elements_bytes, resource_attribute

import relax_mlir as rx
from relax_mlir import relax

HOLDER = "module attributes {{relax.held = {value}}} {{}}\n{section}"
SECTION = '{{-# dialect_resources: {{ builtin: {{ w: "0x{alignment}{data}" }} }} #-}}'


def text(type_: str, count: int, alignment: str = "08000000", value: str = "dense_resource<w> : {}") -> str:
    section = SECTION.format(alignment=alignment, data="ab" * count)
    return HOLDER.format(value=value.format(type_), section=section)


@pytest.mark.parametrize(
    ("type_", "needed"),
    [
        ("tensor<4xf32>", 16),
        ("tensor<1000000xf32>", 4_000_000),
        ("vector<2x3xbf16>", 12),
        ("tensor<3xi1>", 3),
        ("tensor<3xi4>", 3),
        ("tensor<f64>", 8),
        ("tensor<2xindex>", 16),
        ("tensor<3xcomplex<f32>>", 24),
        ("tensor<5xf8E4M3FN>", 5),
        ("tensor<0x7xui16>", 0),
    ],
)
@pytest.mark.parametrize("value", ["dense_resource<w> : {}", "[1, {{a = dense_resource<w> : {}}}]"])
def test_resources_must_have_the_bytes_of_their_type(type_: str, needed: int, value: str) -> None:
    module = rx.Module.parse(text(type_, needed, value=value))
    if needed:  # MLIR writes nothing's alignment as 0, which it does not read
        assert rx.Module.parse(module.bytecode()).bytecode() == module.bytecode()
    for count in {max(needed - 1, 1), needed + 1, 4} - {needed}:
        with pytest.raises(rx.RelaxError) as caught:
            rx.Module.parse(text(type_, count, value=value), "some.mlir")
        message = f"constant dense_resource<w> : {type_} needs {needed} bytes, and its resource has {count}"
        assert message in str(caught.value) and str(caught.value).startswith("some.mlir:1:1: ")


def test_a_type_that_does_not_say_how_many() -> None:
    for type_ in ("tensor<?xf32>", "tensor<*xf32>"):
        with pytest.raises(rx.RelaxError, match="its type does not say how many there are"):
            rx.Module.parse(text(type_, 4))


@pytest.mark.parametrize(
    ("alignment", "reason"),
    [
        ("00000000", "some.mlir:2:40: a resource's alignment, its first four bytes, is 0"),
        ("00000080", "some.mlir:2:40: a resource's alignment, its first four bytes, is 2147483648"),
        ("03000000", "non-power-of-2 value: 3"),
        ("02000000", "needs an alignment of 4 bytes, and its resource says 2"),
    ],
)
def test_alignments(alignment: str, reason: str) -> None:
    """Refuse a wrong alignment: MLIR would allocate such memory, and end the process if it cannot."""
    with pytest.raises(rx.RelaxError) as caught:
        rx.Module.parse(text("tensor<2xf32>", 8, alignment), "some.mlir")
    assert reason in str(caught.value)


def test_constants_that_are_left_out_are_read_and_not_compiled() -> None:
    """Read constants without bytes, as printed for people, and refuse to compile them."""
    constant = "%c = arith.constant dense_resource<w> : tensor<4xf32>"
    elided = f"func.func @main() -> tensor<4xf32> {{ {constant}\nreturn %c : tensor<4xf32> }}"
    module = rx.Module.parse(elided)
    with pytest.raises(rx.RelaxError, match="the constant 'w' has no bytes: its resource is not in the module"):
        rx.compile(module)


def wrongly_made() -> rx.Module:
    """Make a wrong constant with MLIR's own function, which does not check it."""
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        type_ = ir.RankedTensorType.get([4], ir.F32Type.get())
        value = ir.DenseResourceElementsAttr.get_from_buffer(numpy.zeros(1, "float32"), "w", type_)
        constant = ir.Operation.create("arith.constant", results=[type_], attributes={"value": value})
        f.returns(relax.add(*f, constant.result))
    return module


@pytest.mark.parametrize("make", [rx.compile, lambda module: rx.sources(module, "c")], ids=["llvm", "c"])
def test_made_by_mlirs_own_function(make: Callable[[rx.Module], object]) -> None:
    with pytest.raises(rx.RelaxError, match=r"'w' : tensor<4xf32> needs 16 bytes, and has 4"):
        make(wrongly_made())


def test_bytecode() -> None:
    with pytest.raises(
        rx.RelaxError, match=r"dense_resource<w> : tensor<4xf32> needs 16 bytes, and its resource has 4"
    ):
        rx.Module.parse(wrongly_made().bytecode())


def test_blobs_of_any_length() -> None:
    """Read lengths of one to nine bytes in bytecode."""
    module = rx.Module()
    with module.context, ir.Location.unknown():
        for count in (0, 1, 63, 64, 127, 128, 8191, 8192, 1_100_000, 2_100_000):
            array = numpy.arange(count).astype("uint8")
            attribute = resource_attribute(array, ir.RankedTensorType.get([count], ir.IntegerType.get_signless(8)))
            blob = blob_of(attribute)
            assert (b"" if blob is None else bytes(blob.data)) == array.tobytes()


def test_bytes_of_what_was_read() -> None:
    data = numpy.arange(5000, dtype="float32")
    module = rx.Module()
    with module.function("main", []) as f:
        f.returns(relax.const(data))
    for source in (str(module), module.bytecode()):
        read = rx.Module.parse(source)
        constant = read.body.operations[0].regions[0].blocks[0].operations[0]
        assert bytes(elements_bytes(constant.attributes["value"])) == data.tobytes()


@pytest.mark.parametrize("digits", ["0x0000803F", "0x0000803F0000803F0000803F", "0x0000803F0000", "0x"])
def test_elements_in_the_text_itself(digits: str) -> None:
    """Accept a single element for all of them, or the right number: MLIR counts them."""
    source = f'module attributes {{relax.held = dense<"{digits}"> : tensor<2xf32>}} {{}}'
    if digits == "0x0000803F":
        assert "dense<1.0" in str(rx.Module.parse(source))
    else:
        with pytest.raises(rx.RelaxError, match="elements hex"):
            rx.Module.parse(source)
