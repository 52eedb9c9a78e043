# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitives of schedules by name.

    @register_primitive
    def unroll(edit: Edit, loop: LoopRV) -> None:
        '''Emits a loop's body once for each of its steps.'''
        found = edit.loop(loop)
        if not isinstance(found.extent, int):
            edit.refuse(f"'{found.name}' goes {found.extent} times, which is known at run time only")
        edit.replace(found.name, [replace(found, kind=UNROLLED)])

A primitive changes `edit.tree`, and returns the loops and blocks that it speaks of. Where it refuses, nothing changes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple, NoReturn, TypeVar, get_type_hints

from ...support.errors import RelaxError
from ...support.registry import NamedRegistry
from ...support.replacing import replace
from ...support.suggest import suggest
from .handles import BlockRV, IndexMap, LoopRV
from .show import show_loops
from .tree import AROUND, Block, Loop, Node, Tree, blocks_in

Function = TypeVar("Function", bound=Callable[..., Any])
T = TypeVar("T")


class Primitive(NamedTuple):
    name: str
    function: Callable[..., Any]
    #: Without the edit.
    signature: inspect.Signature
    #: What its parameters' annotations mean.
    hints: Mapping[str, object]

    @property
    def usage(self) -> str:
        """How it is called: `split(loop, factors, preserve_unit_iters=True)`."""
        parameters = [each.replace(annotation=each.empty) for each in self.signature.parameters.values()]
        return f"{self.name}{inspect.Signature(parameters)}"

    @property
    def summary(self) -> str:
        return " ".join((self.function.__doc__ or "").partition("\n\n")[0].split())


class Refused(Exception):
    """Why a step cannot be done."""

    def __init__(self, reason: str, name: str = ""):
        super().__init__(reason)
        self.reason, self.name = reason, name


class Edit:
    """A tree while one primitive changes it."""

    def __init__(self, tree: Tree, gone: dict[str, str], random: Random | None = None):
        self.tree = tree
        self._gone = gone
        #: What primitives draw numbers with.
        self.random = random or Random(0)
        #: What has been drawn, or was to be: the text of the step says it.
        self.decision: Any = None
        #: What the refusal shows the loops around of.
        self._about = ""

    # ---- what is asked for ----

    def loop(self, handle: LoopRV) -> Loop:
        self._expect(handle, LoopRV, "a loop")
        found = next((loop for loop in self.tree.loops() if loop.name == handle.name), None)
        if found is None:
            self._missing("loop", handle.name)
        self._about = self._about or handle.name
        return found

    def block(self, handle: BlockRV) -> Block:
        self._expect(handle, BlockRV, "a block")
        found = self.any_block(handle)
        if isinstance(found, Loop):
            inner = ", ".join(f"'{block.name}'" for block in blocks_in([found]))
            self.refuse(f"'{found.name}' is a block around {inner}: this is done with one of these")
        return found

    def node(self, handle: BlockRV | LoopRV) -> Block | Loop:
        """A loop, or a block, maybe one around others."""
        return self.loop(handle) if isinstance(handle, LoopRV) else self.any_block(handle)

    def any_block(self, handle: BlockRV) -> Block | Loop:
        """A block, maybe one around others."""
        self._expect(handle, BlockRV, "a block")
        blocks: list[Block | Loop] = [*self.tree.blocks(), *self.tree.outer_blocks()]
        found = next((block for block in blocks if block.name == handle.name), None)
        if found is None:
            self._missing("block", handle.name)
        self._about = self._about or handle.name
        return found

    def _expect(self, handle: object, kind: type, expected: str) -> None:
        if not isinstance(handle, kind):
            raise Refused(f"expected {expected} of this schedule, got {handle!r}")
        if handle.function != self.tree.name:  # type: ignore[attr-defined]  # either handle's
            raise Refused(f"'{handle.name}' is of @{handle.function}, not of @{self.tree.name}")  # type: ignore[attr-defined]

    def _missing(self, kind: str, name: str) -> NoReturn:
        if name in self._gone:
            raise Refused(f"{kind} '{name}' is not there any more: {self._gone[name]}")
        known = [each.name for each in (self.tree.blocks() if kind == "block" else self.tree.loops())]
        raise Refused(f"there is no {kind} '{name}'{suggest(name, known)} (there are {', '.join(known)})")

    def refuse(self, reason: str) -> NoReturn:
        raise Refused(reason, self._about)

    # ---- changes ----

    def decided(self, decision: T) -> T:
        """Notes a decision, which is given back."""
        self.decision = decision
        return decision

    def replace(self, name: str, nodes: Sequence[Node]) -> None:
        self.tree = self.tree.replaced(name, lambda _: nodes)

    def insert(self, place: int, node: Node, loop: Loop | None = None) -> None:
        """A nest of its own, as the n-th that the function has, or what is in a loop."""
        body = self.tree.body if loop is None else self.tree.loop(loop.name).body
        body = (*body[:place], node, *body[place:])
        if loop is None:
            self.tree = replace(self.tree, body=body)
        else:
            self.replace(loop.name, [replace(self.tree.loop(loop.name), body=body)])

    def new_name(self, wanted: str, taken: Iterable[str] = ()) -> str:
        """A name that nothing has, nor had."""
        return self.tree.new_name(wanted, {*self._gone, *taken})

    def new_names(self, wanted: Sequence[str]) -> list[str]:
        found: list[str] = []
        for each in wanted:
            found.append(self.new_name(each, found))
        return found

    def handle(self, node: Loop | Block | str) -> Any:
        """The handle of a node, or of a loop of that name."""
        name = node if isinstance(node, str) else node.name
        is_block = isinstance(node, Block) or (isinstance(node, Loop) and node.kind == AROUND)
        return BlockRV(self.tree.name, name) if is_block else LoopRV(self.tree.name, name)

    def shown(self, name: str) -> str:
        known = {*(loop.name for loop in self.tree.loops()), *(block.name for block in self.tree.blocks())}
        return show_loops(self.tree, name if name in known else "")


#: Each is a file of passes/primitives.
_FAMILIES = f"{__name__.rpartition('.loops.')[0]}.primitives"
_PRIMITIVES = NamedRegistry[Callable[..., Any]]("a schedule primitive", families=_FAMILIES)


def register_primitive(function: Function) -> Function:
    """Makes a function a primitive, `sch.<its name>`; use it as a decorator. Refuses a name that is taken."""
    if not inspect.getdoc(function):
        raise RelaxError(f"primitive '{function.__name__}' has no doc string, which is its help")
    _PRIMITIVES.register(function.__name__, function)
    return function


def find_primitive(name: str) -> Primitive:
    """Raises RelaxError that names the nearest."""
    function = _PRIMITIVES.get(name)
    signature, hints = _read(function)
    return Primitive(name, function, signature, hints)


@cache
def _read(function: Callable[..., object]) -> tuple[inspect.Signature, Mapping[str, object]]:
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())[1:]
    # The handles' classes are often imported for type checkers alone.
    names: dict[str, object] = {"BlockRV": BlockRV, "LoopRV": LoopRV, "IndexMap": IndexMap}
    names |= getattr(inspect.unwrap(function), "__globals__", {})
    hints = {each.name: _meaning(each.annotation, names) for each in parameters}
    return signature.replace(parameters=parameters), hints


def _meaning(annotation: object, names: dict[str, object]) -> object:
    """Of an annotation; of one with a name that only type checkers know, none."""
    try:
        return get_type_hints(SimpleNamespace(__annotations__={"it": annotation}), names)["it"]
    except NameError:
        return None


def primitive_names() -> list[str]:
    return _PRIMITIVES.names()
