# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Initial corpus of the fuzzer: the functions in the lit tests, and their operations."""

from __future__ import annotations

import contextlib
import functools
import gc
import re
from pathlib import Path
from typing import Any, NamedTuple

from lit_schedules import script_of
from relax_mlir.tools.opt.split_input import SCRIPT_MARKER, split_input

from relax_mlir import Module, RelaxError, ir, registered_dialects

TEST_FOLDER = Path(__file__).resolve().parents[1]

_FUNCTION = re.compile(r"^func\.func.*?^\}|^func\.func private [^\n{]*$", re.MULTILINE | re.DOTALL)
_SCRIPT = re.compile(r"^@(?:I|R|T)\.\w+\n.*?(?=\n\n\n)", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"^\s*//[^\n]*\n", re.MULTILINE)


class Operand(NamedTuple):
    """Type of an operand, and the operation that makes its value if that matters: a constant, say."""

    type: str
    maker: str


class SampleOp(NamedTuple):
    """Operation as text, ready to be taken apart."""

    name: str
    operands: tuple[Operand, ...]
    attributes: tuple[tuple[str, str], ...]
    results: tuple[str, ...]


class Corpus(NamedTuple):
    """`texts` are the functions of the tests, including invalid ones. `modules` are printed modules of valid files."""

    texts: list[str]
    modules: list[str]
    operations: list[SampleOp]


@functools.cache
def load() -> Corpus:
    """From the tests under test/dialects and test/passes."""
    corpus = Corpus([], [], [])
    operations: dict[SampleOp, None] = {}
    for folder in ("dialects", "passes"):
        for path in _tests_in(TEST_FOLDER / folder):
            text = _COMMENT.sub("", _text(path))
            corpus.texts.extend(_FUNCTION.findall(text))
            # One after the other: a module has a context of megabytes, and every case is a fork of all this.
            _add_valid(corpus, operations, text)
    corpus.operations.extend(operations)
    gc.collect()
    return corpus


def _tests_in(folder: Path) -> list[Path]:
    """Return the lit tests of a folder, without their inputs in Inputs."""
    return sorted(
        path for path in folder.rglob("*.*") if path.suffix in (".mlir", ".py") and "Inputs" not in path.parts
    )


def _text(path: Path) -> str:
    """Return a file as MLIR's text."""
    if path.suffix != ".py":
        return path.read_text()
    modules = []
    for part in split_input(script_of(path), SCRIPT_MARKER):
        with contextlib.suppress(RelaxError):  # parts that test refusals
            modules.append(Module.from_script(part.text))
    return "\n".join(op.operation.get_asm(use_local_scope=True) for each in modules for op in each.body.operations)


@functools.cache
def scripts() -> list[str]:
    """Return programs and modules in TVMScript from the tests."""
    found = []
    for path in sorted((TEST_FOLDER / "python" / "frontends" / "script").glob("test_*.py")):
        found += _SCRIPT.findall(path.read_text())
    return found


def _add_valid(corpus: Corpus, operations: dict[SampleOp, None], text: str) -> None:
    names = {definition.full_name for dialect in registered_dialects().values() for definition in dialect.ops.values()}

    def visit(op: Any) -> Any:
        if op.operation.name in names:
            operations[_sample(op.operation)] = None
        return ir.WalkResult.ADVANCE

    try:
        module = Module.parse(text)
    except RelaxError:
        return
    module.operation.walk(visit)
    corpus.modules.extend(op.operation.get_asm(use_local_scope=True) for op in module.body.operations)


def _sample(operation: Any) -> SampleOp:
    operands = tuple(Operand(str(value.type), _maker(value)) for value in operation.operands)
    attributes = tuple((name, str(value)) for name, value in operation.attributes.items())
    return SampleOp(operation.name, operands, attributes, tuple(str(type_) for type_ in operation.results.types))


def _maker(value: Any) -> str:
    owner = value.owner
    if isinstance(owner, ir.Block) or len(owner.operation.operands) or len(owner.operation.results) != 1:
        return ""
    text = owner.operation.get_asm(print_generic_op_form=True, use_local_scope=True)
    return text.partition(" = ")[2] if "({" not in text else ""
