# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The definition of one operator as data: operands, attributes, results, inference, verification."""

from __future__ import annotations

import functools
import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, get_args

from ...bindings.ir import Operation
from ...bindings.mlir import as_list
from ...support.blaming import blaming
from ...support.errors import RelaxError
from ...support.suggest import counted, suggest
from .attributes import AttributeProblem, AttrKind
from .codec import TypeProblem
from .facts import LayoutFact, OpPattern, WindowsFact
from .infos import Info, describe
from .symbols import Dim, SymbolError, SymExpr

if TYPE_CHECKING:
    from typing_extensions import Unpack

# What an operand may be: the word in the table -> (base types for IRDL, how a message calls it).
OPERAND_KINDS: dict[str, tuple[tuple[str, ...], str]] = {
    "tensor": (("!builtin.tensor", "!builtin.unranked_tensor"), "a tensor"),
    "shape": (("@relax::@shape",), "a shape (!relax.shape)"),
    "scalar": ((), "a scalar"),
    "tensor_or_scalar": ((), "a tensor or a scalar"),
    "elementwise": ((), "a scalar or vector of numbers"),
    "object": (("@relax::@object",), "an object (!relax.object)"),
    "any": ((), "a value"),
    "passed": ((), "a value or a number"),
}


class OpProblem(ValueError):
    """What is wrong with an operation; the message names the operand or attribute at fault."""


#: What is wrong with an operation, as functions of rows say it: it is reported with the operation's name and place.
PROBLEMS = (OpProblem, AttributeProblem, TypeProblem, SymbolError)


class OperandDef(NamedTuple):
    """One operand of an operator. `arity`: "single", "optional" or "variadic"."""

    name: str
    kind: str = "tensor"
    arity: str = "single"

    @staticmethod
    def parse(text: str) -> OperandDef:
        """`data`, `shape:shape`, `bias?` (optional), `*tensors` (any number)."""
        name, _, kind = text.partition(":")
        plain, kind = name.strip("*?"), kind or "tensor"
        if not plain.isidentifier() or keyword.iskeyword(plain):
            raise RelaxError(f"'{name or text}' does not name an operand as Python could: write 'x y bias? *others'")
        if kind not in OPERAND_KINDS:
            raise RelaxError(f"operand '{text}': unknown kind '{kind}' (known: {', '.join(OPERAND_KINDS)})")
        arity = "variadic" if name[0] == "*" else "optional" if name[-1] == "?" else "single"
        return OperandDef(plain, kind, arity)


class Call:
    """One use of an operator, as inference and verification see it.

    Operands are infos (None for an absent optional one, a tuple for a variadic one), attributes are Python
    values with their defaults filled in; both are read as attributes: `call.data`, `call.strides`.
    """

    def __init__(self, definition: OpDef, operands: Mapping[str, Any], attributes: Mapping[str, Any]):
        self.definition = definition
        self.operands = operands
        self.attributes = attributes

    def __getattr__(self, name: str) -> Any:
        for values in (self.__dict__["operands"], self.__dict__["attributes"]):
            if name in values:
                return values[name]
        known = ", ".join((*self.__dict__["operands"], *self.__dict__["attributes"]))
        raise AttributeError(f"{self.definition.full_name} has no operand or attribute '{name}' (it has {known})")

    def require(self, condition: object, problem: str) -> None:
        """Refuses the operation with `problem` unless the condition holds."""
        if not condition:
            raise OpProblem(problem)

    def fail(self, problem: str) -> OpProblem:
        """`raise call.fail("operand 'data' ...")`"""
        return OpProblem(problem)

    def describe(self, name: str) -> str:
        """`operand 'data' (tensor<4xf32>)` or `attribute 'axis' (3)`, for messages."""
        if name in self.operands:
            value = self.operands[name]
            # Infos are named tuples; a variadic operand is a plain one.
            shown = ", ".join(map(describe, value)) if type(value) is tuple else describe(value)
            return f"operand '{name}' ({shown})"
        return f"attribute '{name}' ({_shown(self.attributes[name])})"


def _shown(value: object) -> str:
    """An attribute's value, expressions as they are written."""
    if not isinstance(value, tuple):
        return str(value)
    items = [str(item) if isinstance(item, SymExpr) else repr(item) for item in value]
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


Infer = Callable[[Call], "Info | Sequence[Info]"]
Prepare = Callable[["dict[str, object]"], "dict[str, object]"]
Redirect = Callable[["dict[str, object]"], "OpDef"]
#: Given the call and how many elements its first result has.
Flops = Callable[[Call, Dim], Dim]


#: What an operator is for, where it is no computation that a rule has to be found for: a call of something by its
#: name, a constant or size that is known before the program runs, what gives or checks shapes, an effect.
Role = Literal["", "call", "literal", "shape", "effect"]


class OpRow(TypedDict, total=False):
    """The columns of an operator's row in its dialect's table, after its name and its operands."""

    attrs: Mapping[str, AttrKind] | None
    results: str
    infer: Infer | None
    #: Given the operation and the call, when all else is right.
    verify: Callable[[Operation, Call], None] | None
    #: The builder's argument that states the result types, where they are not inferred.
    explicit: str
    signature: str
    #: What the builder takes for operands that the caller leaves out; in the IR they are there.
    defaults: Mapping[str, object] | None
    #: What the builder does with its arguments first: Python values that mean something only together with the others.
    prepare: Prepare | None
    #: Which operator the builder's arguments ask for, where one name in Relax's API makes several.
    redirect: Redirect | None
    #: Whether it may be merged with its like, moved, and removed where its results are unused.
    pure: bool
    role: Role
    #: How what computes it can be fused, the name of an OpPattern: `prim` of a rule's builder takes it.
    pattern: str
    #: The dimensions that windows slide over, by letters, and the operand or attribute that says of what sizes. Their
    #: attributes are "strides", "dilation" and "padding".
    windows: tuple[str, str]
    #: For operands and results, by name: the attribute that is its layout, and the dimensions, as its default orders
    #: them. Where that attribute is absent, it is as the first of them.
    layouts: Mapping[str, tuple[str, str]]
    #: The operand whose memory the result is: the same elements in the same order.
    view: str
    #: The operands, by their names, whose memory it writes to. Where it is a view of one, the result is what is there
    #: afterwards.
    writes: str
    #: The attribute that says for each result which operand it is written over, counted from 0; -1 for none.
    inplace: str
    #: Whether it writes its results into memory that it is given.
    destinations: bool
    #: The operand, a shape, that is the result's.
    shaped_by: str
    #: Operations on numbers, for each element of the (first) result, of an operand, (4, "x"), or in all: a function's
    #: docstring says how many. Silent rows: one where `pattern` lets expect it, of the first operand's to reduce.
    flops: int | tuple[int, str] | Flops
    #: Whether it takes a few instructions; fusion counts on it.
    short: bool
    #: Whether its two operands may be swapped.
    commutative: bool
    #: True for what this project adds to the operators of Relax.
    own: bool
    #: What it computes, in numpy: `reference(call, *operands)`, as rx.rules.register_reference describes it.
    reference: Callable[..., Any] | None
    doc: str


class OpDef:
    """What an operator is, as data. operator.py adds what it does."""

    # The columns of its row, where that is silent; see OpRow.
    infer: Infer | None = None
    verify: Callable[[Operation, Call], None] | None = None
    explicit = ""
    prepare: Prepare | None = None
    reference: Callable[..., Any] | None = None
    redirect: Redirect | None = None
    pure = True
    role: Role = ""
    pattern = view = inplace = shaped_by = ""
    destinations = short = commutative = own = False
    doc = ""
    windows = WindowsFact("", "")
    #: Where its row stands.
    place = ""

    def __init__(self, dialect: Any, name: str, operands: str = "", *, family: str = "", **row: Unpack[OpRow]):
        self.dialect = dialect
        self.name = name
        self.full_name = f"{dialect.name}.{name}"
        self.family = family
        for column in row:
            if column not in OpRow.__annotations__:
                raise RelaxError(f"{self.full_name}: a row has no '{column}='{suggest(column, OpRow.__annotations__)}")
        vars(self).update(row)
        self.operands = tuple(OperandDef.parse(text) for text in operands.split())
        self.attrs: dict[str, AttrKind] = dict(row.get("attrs") or {})
        self.results = tuple(OperandDef.parse(f"{text}:any") for text in row.get("results", "result").split())
        self.defaults: dict[str, object] = dict(row.get("defaults") or {})
        self.layouts = {name: LayoutFact(*fact) for name, fact in row.get("layouts", {}).items()}
        if "windows" in row:
            self.windows = WindowsFact(*row["windows"])
        reduced = next(((1, operand.name) for operand in self.operands[:1] if operand.arity == "single"), None)
        usual = {"elemwise": 1, "broadcast": 1, "injective": 0, "comm_reduce": reduced}
        self.flops: int | tuple[int, str] | Flops | None = row.get("flops", usual.get(self.pattern))
        self.writes = tuple(row.get("writes", "").split())
        self.parameters = tuple(row.get("signature", "").split()) or (
            *(operand.name for operand in self.operands),
            *self.attrs,
            *([self.explicit] if self.explicit else []),
        )
        variable = [operand for operand in self.operands if operand.arity != "single"]
        #: Several operands of variable number: the operation says how many each has.
        self.segmented = len(variable) > 1
        #: The first of them.
        self.varying = variable[0] if variable else None
        self._fixed = len(self.operands) - len(variable)
        #: What each operand is, by its name.
        self.kinds = {operand.name: operand.kind for operand in self.operands}
        # Inference looks at the values of scalar operands, so types alone do not decide it.
        self.value_dependent = any(operand.kind == "scalar" for operand in self.operands)
        self._check()
        #: Where the variadic operand stands among the parameters, if there is one.
        self.variadic_parameter = next(
            (self.parameters.index(operand.name) for operand in self.operands if operand.arity == "variadic"), None
        )

    def _check(self) -> None:
        """A definition is users' input too: refuse what would only fail later."""
        if (self.infer is None) == (not self.explicit):
            raise RelaxError(f"{self.full_name}: needs either infer= or explicit= (result types stated by the caller)")
        names = [operand.name for operand in self.operands] + list(self.attrs)
        if sum(result.arity != "single" for result in self.results) > 1:
            raise RelaxError(f"{self.full_name}: only one result can vary in number")
        doubled = sorted({name for name in names if names.count(name) > 1})
        unknown = sorted({*self.defaults} - {operand.name for operand in self.operands})
        if unknown:
            raise RelaxError(f"{self.full_name}: defaults= names '{unknown[0]}', which is no operand")
        self._check_facts()
        if doubled:
            raise RelaxError(f"{self.full_name}: '{doubled[0]}' names two operands or attributes")
        expected = {*names, *([self.explicit] if self.explicit else [])}
        # An operator that hands over to others also takes what only they have.
        if not expected <= set(self.parameters) or (self.redirect is None and set(self.parameters) != expected):
            raise RelaxError(f"{self.full_name}: signature= must name {sorted(expected)}, not {list(self.parameters)}")

    def _check_facts(self) -> None:
        single = [operand.name for operand in self.operands if operand.arity == "single"]
        for column, named, possible, kind in (
            ("view", self.view, single, "single operand"),
            ("shaped_by", self.shaped_by, single, "single operand"),
            ("writes", " ".join(self.writes), [operand.name for operand in self.operands], "operand"),
            ("inplace", self.inplace, list(self.attrs), "attribute"),
            ("flops", self.flops[1] if isinstance(self.flops, tuple) else "", single, "single operand"),
            ("windows", self.windows.taps, [*self.attrs, *self.layouts], "attribute or layout"),
            ("layouts", " ".join(self.layouts), [each.name for each in (*self.operands, *self.results)], "tensor"),
            ("layouts", " ".join(fact.attribute for fact in self.layouts.values()), list(self.attrs), "attribute"),
        ):
            for name in named.split():
                if name not in possible:
                    raise RelaxError(f"{self.full_name}: {column}= names '{name}', which is no {kind}")
        if self.view and [result.arity for result in self.results] != ["single"]:
            raise RelaxError(f"{self.full_name}: view= is for operators of one result")
        if self.writes and self.pure and self.view not in self.writes:
            raise RelaxError(f"{self.full_name}: writes= needs pure=False, or view= of what is written")
        if self.role not in get_args(Role):
            raise RelaxError(f"{self.full_name}: role= is one of {', '.join(get_args(Role)[1:])}, not '{self.role}'")
        laid_out = self.layouts.get(self.windows.taps)
        if laid_out and not set(self.windows.letters) <= set(laid_out.dimensions):
            letters, taps = self.windows
            raise RelaxError(f"{self.full_name}: windows= of '{taps}' ({laid_out.dimensions}) cannot be over {letters}")
        if isinstance(self.flops, int) and self.flops < 0:
            raise RelaxError(f"{self.full_name}: flops= is a function, or how many operations: 0 or more")
        if self.pattern:
            OpPattern.parse(self.pattern, f"{self.full_name}: ")

    @functools.cached_property
    def is_plain_view(self) -> bool:
        """Check whether the operator does nothing: its result is an operand's memory without a change."""
        return bool(self.view) and not self.writes

    def __repr__(self) -> str:
        return f"<operator {self.full_name}>"

    def infer_results(self, call: Call) -> list[Info]:
        """The results' infos as a list, however the inference function returns them."""
        assert self.infer is not None, f"{self.full_name} states its result types"
        try:
            return as_list(self.infer(call))
        except (Exception, SystemExit):
            with self.blaming("inference", self.infer):
                raise

    def blaming(self, what: str, function: object) -> blaming:
        """`with` it a function of the operator's row is called, or what that has raised is raised."""
        return blaming(f"the {what} of '{self.full_name}'", function, answers=PROBLEMS)

    def segment(self, values: Sequence[object], sizes: Sequence[int] | None) -> dict[str, Any]:
        """Values by operand name. `sizes` says how many each operand has (None: at most one varies)."""
        if sizes is None:
            sizes = self.sizes_for(len(values))
        if self.varying is None:
            return dict(zip(self.kinds, values, strict=True))
        by_name: dict[str, Any] = {}
        start = 0
        for operand, size in zip(self.operands, sizes, strict=True):
            chunk = tuple(values[start : start + size])
            start += size
            if operand.arity == "variadic":
                by_name[operand.name] = chunk
            else:
                by_name[operand.name] = chunk[0] if chunk else None
        return by_name

    def sizes_for(self, count: int) -> list[int]:
        """How many values each operand takes when there are `count`. Raises OpProblem when that cannot be."""
        varying, fixed = self.varying, self._fixed
        spare = count - fixed
        most = fixed if varying is None else None if varying.arity == "variadic" else fixed + 1
        if spare < 0 or (most is not None and count > most):
            names = ", ".join(operand.name for operand in self.operands)
            bound = "at least " if most is None else f"{fixed} or " if most != fixed else ""
            expected = f"{bound}{fixed if most is None else most}"
            raise OpProblem(f"expects {counted(expected, 'operand')} ({names}), got {count}{self._missing(count)}")
        return [1 if operand.arity == "single" else spare for operand in self.operands]

    def _missing(self, count: int) -> str:
        singles = [operand.name for operand in self.operands if operand.arity == "single"]
        missing = singles[count:]
        return f": missing {', '.join(repr(name) for name in missing)}" if missing else ""
