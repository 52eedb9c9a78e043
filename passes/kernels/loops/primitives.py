# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of schedule primitives, by name.

    @register_primitive
    def unroll(edit: Edit, loop: LoopRV) -> None:
        '''Emit a loop's body once for each of its steps.'''
        found = edit.loop(loop)
        if not isinstance(found.extent, int):
            edit.refuse(f"'{found.name}' has {found.extent} steps, which is known at run time only")
        edit.replace(found.name, [replace(found, kind=UNROLLED)])

A primitive changes `edit.tree`, and returns handles of the resulting loops and blocks. A refusal leaves the tree as it
was.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar, get_type_hints

from ....support.errors import OptionError, RelaxError
from ....support.plugins import load_plugins, plugin_problems, where_to_get
from ....support.registry import NamedRegistry
from ....support.replacing import replace
from ....support.suggest import suggest
from .handles import BlockRV, IndexMap, LoopRV
from .show import show_loops
from .tree import AROUND, Block, Loop, Node, Tree, blocks_in

if TYPE_CHECKING:
    from .decisions import Decider

Function = TypeVar("Function", bound=Callable[..., Any])
T = TypeVar("T")


class Primitive(NamedTuple):
    name: str
    function: Callable[..., Any]
    #: Signature without the edit.
    signature: inspect.Signature
    #: Types that the annotations of the parameters denote.
    hints: Mapping[str, object]

    @property
    def usage(self) -> str:
        """Return the call syntax: `split(loop, factors, preserve_unit_iters=True)`."""
        parameters = [parameter.replace(annotation=parameter.empty) for parameter in self.signature.parameters.values()]
        return f"{self.name}{inspect.Signature(parameters)}"

    @property
    def summary(self) -> str:
        return " ".join((self.function.__doc__ or "").partition("\n\n")[0].split())


class Refused(Exception):
    """Reason why a primitive cannot be applied."""

    def __init__(self, reason: str, name: str = ""):
        super().__init__(reason)
        self.reason, self.name = reason, name


class Edit:
    """Tree that one primitive changes."""

    def __init__(self, tree: Tree, gone: dict[str, str], random: Random | None = None, decider: Decider | None = None):
        self.tree = tree
        self._gone = gone
        #: Source of decisions in a rule.
        self.decider = decider
        #: Source of the numbers that primitives draw.
        self.random = random or Random(0)
        #: Drawn or requested decision, which the text of the step contains.
        self.decision: Any = None
        #: Name of the node that a refusal shows with the loops around it.
        self._about = ""

    # ---- look-up ----

    def loop(self, handle: LoopRV) -> Loop:
        self._expect(handle, LoopRV, "a loop")
        if (found := next((loop for loop in self.tree.loops() if loop.name == handle.name), None)) is None:
            self._missing("loop", handle.name)
        self._about = self._about or handle.name
        return found

    def block(self, handle: BlockRV) -> Block:
        self._expect(handle, BlockRV, "a block")
        if isinstance(found := self.any_block(handle), Loop):
            inner = ", ".join(f"'{block.name}'" for block in blocks_in([found]))
            self.refuse(f"'{found.name}' is a block around {inner}: use one of the inner blocks")
        return found

    def node(self, handle: BlockRV | LoopRV) -> Block | Loop:
        """Return a loop, or a block, which may be a block around others."""
        return self.loop(handle) if isinstance(handle, LoopRV) else self.any_block(handle)

    def any_block(self, handle: BlockRV) -> Block | Loop:
        """Return a block, which may be a block around others."""
        self._expect(handle, BlockRV, "a block")
        blocks: list[Block | Loop] = [*self.tree.blocks(), *self.tree.outer_blocks()]
        if (found := next((block for block in blocks if block.name == handle.name), None)) is None:
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
            raise Refused(f"{kind} '{name}' does not exist any more: {self._gone[name]}")
        known = [each.name for each in (self.tree.blocks() if kind == "block" else self.tree.loops())]
        raise Refused(f"there is no {kind} '{name}'{suggest(name, known)} (there are {', '.join(known)})")

    def refuse(self, reason: str) -> NoReturn:
        raise Refused(reason, self._about)

    # ---- changes ----

    def decided(self, decision: T) -> T:
        """Record a decision and return it."""
        self.decision = decision
        return decision

    def replace(self, name: str, nodes: Sequence[Node]) -> None:
        self.tree = self.tree.replaced(name, lambda _: nodes)

    def insert(self, place: int, node: Node, loop: Loop | None = None) -> None:
        """Insert a nest at an index of the function's body, or of a loop's body."""
        body = self.tree.body if loop is None else self.tree.loop(loop.name).body
        body = (*body[:place], node, *body[place:])
        if loop is None:
            self.tree = replace(self.tree, body=body)
        else:
            self.replace(loop.name, [replace(self.tree.loop(loop.name), body=body)])

    def new_name(self, wanted: str, taken: Iterable[str] = ()) -> str:
        """Return a name that no node has or had."""
        return self.tree.new_name(wanted, {*self._gone, *taken})

    def new_names(self, wanted: Sequence[str]) -> list[str]:
        names: list[str] = []
        for name in wanted:
            names.append(self.new_name(name, names))
        return names

    def handle(self, node: Loop | Block | str) -> Any:
        """Return the handle of a node, or of the loop with a name."""
        name = node if isinstance(node, str) else node.name
        is_block = isinstance(node, Block) or (isinstance(node, Loop) and node.kind == AROUND)
        return BlockRV(self.tree.name, name) if is_block else LoopRV(self.tree.name, name)

    def shown(self, name: str) -> str:
        known = {*(loop.name for loop in self.tree.loops()), *(block.name for block in self.tree.blocks())}
        return show_loops(self.tree, name if name in known else "")


#: Package with one file per primitive.
_FAMILIES = f"{__name__.rpartition('.loops.')[0]}.primitives"
#: Primitives of the package relax_mlir_tvm.
_OF_TVM = frozenset(
    "annotate_buffer_access blockize cache_index cache_inplace decompose_padding fuse_reduction_epilogue get_consumers "
    "get_output_blocks get_producers loop_partition read_at reindex_cache_write reverse_compute_inline rolling_buffer "
    "sample_compute_location sample_partitioned_tile set_axis_separator unannotate unsafe_set_dtype write_at".split()
)


def _import_plugins(name: str | None) -> None:
    """Import the plug-ins that announce primitives, unless the name is known without them."""
    if name is None or not _PRIMITIVES.tried(name):
        load_plugins("primitives")


_PRIMITIVES = NamedRegistry[Callable[..., Any]]("a schedule primitive", families=_FAMILIES, source=_import_plugins)


def register_primitive(function: Function) -> Function:
    """Register a function as a primitive, `sch.<its name>`; use as a decorator. Refuses a name that is taken."""
    if not inspect.getdoc(function):
        raise RelaxError(f"primitive '{function.__name__}' has no doc string, which is its help")
    _PRIMITIVES.register(function.__name__, function)
    return function


def find_primitive(name: str) -> Primitive:
    """Return the primitive of a name. Raises RelaxError, which names the package to install, or the nearest name."""
    if name in _OF_TVM and not has_primitive(name):
        raise OptionError(f"unknown schedule primitive '{name}'{hint_for(name)}", notes=plugin_problems())
    function = _PRIMITIVES.get(name)
    signature, hints = _read(function)
    return Primitive(name, function, signature, hints)


@cache
def _read(function: Callable[..., object]) -> tuple[inspect.Signature, Mapping[str, object]]:
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())[1:]
    # Modules often import the handles' classes for type checkers only.
    names: dict[str, object] = {"BlockRV": BlockRV, "LoopRV": LoopRV, "IndexMap": IndexMap}
    names |= getattr(inspect.unwrap(function), "__globals__", {})
    hints = {parameter.name: _meaning(parameter.annotation, names) for parameter in parameters}
    return signature.replace(parameters=parameters), hints


def _meaning(annotation: object, names: dict[str, object]) -> object:
    """Return the type that an annotation denotes, or None if only type checkers know its name."""
    try:
        return get_type_hints(SimpleNamespace(__annotations__={"it": annotation}), names)["it"]
    except NameError:
        return None


def has_primitive(name: str) -> bool:
    return _PRIMITIVES.find(name) is not None


def primitive_names() -> list[str]:
    return _PRIMITIVES.names()


def hint_for(name: str) -> str:
    """Return the end of an error message for an unknown name: the package to install, or the nearest name."""
    return f": {where_to_get('relax_mlir_tvm')}" if name in _OF_TVM else suggest(name, primitive_names())
