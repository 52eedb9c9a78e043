# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes of 0, and sizes that only one operand's type states.

Each operator of the lit tests is legalized with them, or its rule declines. The result is valid IR.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.dialect import find_op
from relax_mlir.dialects.core.infos import ScalarInfo, ShapeInfo, TensorInfo
from relax_mlir.dialects.core.symbols import Dim, sym
from relax_mlir.dialects.core.verifier import call_of
from relax_mlir.passes.legalize.known_sizes import by_name

import relax_mlir as rx

FILES = sorted((Path(__file__).parents[2] / "dialects" / "relax").glob("*.mlir"))
#: Files of operators that are not legalized, or have no tensor operands.
OTHERS = ("calls", "constants", "effects")
SAMPLES = [file for file in FILES if not file.stem.endswith("-invalid") and file.stem not in OTHERS]
#: How a rule says that it cannot, and how the compiler says that a size is unknown.
ANSWERS = ("declined", "nothing defines", "no pattern is registered")


def sampled(file: Path) -> Iterator[Any]:
    """Yield the file's operators with operands that can be replaced, and their modules."""
    for chunk in file.read_text().split("// -----"):
        if '"relax.' not in chunk:
            continue
        module = rx.Module.parse(chunk, allow_unregistered=True)
        for op in operations_in(module.operation):
            known = op.name.startswith("relax.") and find_op(op.name)
            if known and known.pure and not known.explicit and all(can_be_made(value) for value in op.operands):
                yield module, op


def can_be_made(value: Any) -> bool:
    info = decode(value.type)
    if isinstance(info, ScalarInfo):
        return not isinstance(value.owner, ir.Block) and not len(value.owner.operation.operands)
    sizes = info.shape if isinstance(info, TensorInfo) else info.dims if isinstance(info, ShapeInfo) else None
    return sizes is not None


def variants(infos: list[Any]) -> Iterator[list[Any]]:
    """Yield types in which one dimension, or all dimensions of its size, become 0 or a new symbol."""
    tensors = [(at, info) for at, info in enumerate(infos) if isinstance(info, TensorInfo)]
    for at, info in tensors:
        for axis, size in enumerate(info.shape or ()):
            alone = {(at, axis)}
            alike = {(i, k) for i, other in tensors for k, each in enumerate(other.shape or ()) if each == size}
            for places in [alone, alike] if alike != alone else [alone]:
                for new in (0, sym("q")):
                    yield [resized(info, {k for i, k in places if i == at}, new) for at, info in enumerate(infos)]


def resized(info: Any, axes: set[int], size: Dim) -> Any:
    if not isinstance(info, TensorInfo):
        return info
    known = [3 if own is None else own for own in info.shape or ()]
    return info.with_shape(size if axis in axes else own for axis, own in enumerate(known))


def built(module: rx.Module, op: Any, infos: list[Any]) -> rx.Module | None:
    """Return a module with the operator on these types, or None if inference refuses them."""
    definition, attributes = find_op(op.name), call_of(find_op(op.name), op).attributes
    with module.context, ir.Location.unknown():
        made = rx.Module(ir.Module.create())
    try:
        with made.function("main", [info for info in infos if isinstance(info, TensorInfo)]) as f:
            arguments = iter(f.args)
            values = [
                next(arguments) if isinstance(info, TensorInfo) else again(value)
                for info, value in zip(infos, op.operands, strict=True)
            ]
            results = definition(**by_name(op.opview, values), **attributes)
            f.returns(*(results if isinstance(results, tuple) else [results]))
    except rx.RelaxError:
        return None
    return made


def again(value: Any) -> Any:
    """Return the constant or the shape of an operand, recreated."""
    info = decode(value.type)
    if isinstance(info, ShapeInfo):
        return [3 if size is None else size for size in info.dims or ()]
    return value.owner.operation.clone().result


def unanswered(module: rx.Module) -> str:
    """Return an unexpected error of legalization, or an empty text."""
    try:
        rx.LegalizeOps(target="llvm")(module)
        module.verify()
    except rx.RelaxError as error:
        return "" if any(answer in str(error) for answer in ANSWERS) else str(error)
    return ""


@pytest.mark.parametrize("file", SAMPLES, ids=lambda file: file.stem)
def test_every_operator_takes_sizes_of_0_and_sizes_stated_once(file: Path) -> None:
    wrong, seen = [], set()
    for module, op in sampled(file):
        for infos in variants([decode(value.type) for value in op.operands]):
            made = built(module, op, infos)
            if made is None or str(made) in seen:
                continue
            seen.add(str(made))
            text = str(made)
            problem = unanswered(made)
            if problem:
                wrong.append(f"{problem}\n{text}")
    assert seen, "no operator of the file was legalized"
    assert not wrong, f"{len(wrong)} of {len(seen)}, the first: {wrong[0]}"
