# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Printer of `--mlir-print-value-users`, which the bindings' printer lacks: users of each value, like mlir-opt.

The printer writes the location of each operation. During printing, locations are replaced by numbers, and each number
becomes a comment: `// user: %1`, `// unused`, `// id: #0`, and `// %arg0 is used by %0` before a block's operations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...bindings import mlir
from ...bindings.ir import Block, Location, Operation, Value
from ...bindings.mlir import ir
from ...bindings.navigation import blocks_of, operations_in

#: File name that no user's file has.
_FILE = "<operation of --mlir-print-value-users>"
#: Number of arguments. There are fewer operations.
_OF_ARGUMENT = 2**31 - 1
_MARK = re.compile(re.escape(f' loc("{_FILE}":') + r"(\d+):0\)")


def print_asm(operation: Operation, **options: object) -> str:
    """Return the text of an operation. The operation is unchanged afterwards."""
    operations = [operation, *operations_in(operation)]
    arguments = [argument for each in operations for block in blocks_of(each) for argument in block.arguments]
    before = [each.location for each in operations], [each.location for each in arguments]
    try:
        for number, each in enumerate(operations):
            each.location = _mark(number, operation)
        for argument in arguments:
            ir.BlockArgument(argument).set_location(_mark(_OF_ARGUMENT, operation))
        wanted = {"enable_debug_info": True, "use_local_scope": True}
        lines = mlir.print_asm(operation, **{**options, **wanted}).splitlines()
        return "\n".join(_Comments(operation, operations).written(lines)) + "\n"
    finally:
        for each, location in zip(operations, before[0], strict=True):
            each.location = location
        for argument, location in zip(arguments, before[1], strict=True):
            ir.BlockArgument(argument).set_location(location)


def _mark(number: int, operation: Operation) -> Location:
    return ir.Location.file(_FILE, number, 0, operation.context)


class _Comments:
    """Comments behind operations, and before the operations of a block."""

    def __init__(self, root: Operation, operations: Sequence[Operation]):
        self._state = ir.AsmState(root)
        self._operations = operations
        self._ids: dict[Operation, int] = {}
        for operation in operations:
            if not len(operation.results):
                self._ids[operation] = len(self._ids)
        numbers = {each: number for number, each in enumerate(operations)}
        blocks = [block for each in operations for block in blocks_of(each) if len(block.operations)]
        #: Blocks by the numbers of their first operations.
        self._begun = {numbers[block.operations[0].operation]: block for block in blocks}

    def written(self, lines: Sequence[str]) -> list[str]:
        found: list[str] = []
        for line in lines:
            numbers = [int(mark[1]) for mark in _MARK.finditer(line) if int(mark[1]) != _OF_ARGUMENT]
            comment = ""
            # At most one operation ends on a line.
            for number in numbers[-1:]:
                comment = self._describe_results(self._operations[number])
                if number in self._begun:
                    at = _start(found, line)
                    found[at:at] = self._describe_arguments(self._begun[number], _indent(line))
            found.append(_MARK.sub("", line) + comment)
        return found

    def _describe_results(self, operation: Operation) -> str:
        if not (results := list(operation.results)):
            return f" // id: #{self._ids[operation]}" if len(operation.operands) else ""
        if not (users := {use.owner.operation for result in results for use in result.uses}):
            return " // unused"
        is_one = len(results) == len(users) == 1 and sum(len(user.results) for user in users) <= 1
        shown = [self._users(result) for result in results]
        listed = ", ".join(f"({each})" for each in shown) if len(results) > 1 else shown[0]
        return f" // {'user' if is_one else 'users'}: {listed}"

    def _describe_arguments(self, block: Block, indent: str) -> list[str]:
        lines = []
        for argument in block.arguments:
            users = self._users(argument)
            shown = users if users == "unused" else f"used by {users}"
            lines.append(f"{indent}// {argument.get_name(self._state)} is {shown}")
        return lines

    def _users(self, value: Value) -> str:
        users = list(dict.fromkeys(use.owner.operation for use in value.uses))
        return ", ".join(map(self._name, users)) or "unused"

    def _name(self, user: Operation) -> str:
        if not len(user.results):
            return f"#{self._ids[user]}"
        return ", ".join(result.get_name(self._state) for result in user.results)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _start(lines: Sequence[str], last: str) -> int:
    """Return the index of an operation's first line from its last line, which may close its regions."""
    if not last.lstrip().startswith("}"):
        return len(lines)
    indent = _indent(last)
    from_behind = range(len(lines) - 1, -1, -1)
    return next(at for at in from_behind if _indent(lines[at]) == indent and not lines[at].lstrip().startswith("}"))
