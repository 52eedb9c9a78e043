# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types of a program's JSON, which program/whole_program.py writes. Only annotations use them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class KernelShader(TypedDict):
    """Shader: the element types of its arguments, its checks as pairs of exception and message, and its code."""

    name: str
    threads: int
    arguments: list[str]
    checks: list[list[str]]
    code: str


class Constant(TypedDict):
    """Place of a constant in the program's data, in bytes."""

    name: str
    offset: int
    bytes: int


class HostCode(TypedDict):
    """Host code. An instruction is its name and its parts: registers, numbers, texts or bodies."""

    parameters: int
    registers: int
    body: list[list[Any]]


class EntryValue(TypedDict):
    """Argument or result of a public function. A number has no shape. A dynamic size is a text."""

    name: str
    dtype: str
    shape: NotRequired[list[int | str]]
    written: NotRequired[bool]


class Grown(TypedDict):
    """Growing argument, with the position of the argument that has its length."""

    input: int
    axis: int
    length: int
    added: str


class PublicFunction(HostCode):
    """Public function."""

    inputs: list[EntryValue]
    outputs: list[EntryValue]
    grown: NotRequired[list[Grown]]


class WebProgram(TypedDict):
    """Program without its data."""

    version: int
    needs: dict[str, int]
    entries: dict[str, PublicFunction]
    constants: list[Constant]
    functions: dict[str, HostCode]
    kernels: list[KernelShader]
