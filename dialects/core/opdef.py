# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Definition of one operator as data: operands, attributes, results, inference, verification."""

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

# Kinds of operands: the word in the table -> (base types for IRDL, name in messages).
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
    """Invalid operation. The message names the operand or attribute at fault."""


#: Errors that functions of rows raise for an invalid operation. The report adds the operation's name and location.
PROBLEMS = (OpProblem, AttributeProblem, TypeProblem, SymbolError)


class OperandDef(NamedTuple):
    """One operand of an operator. `arity` is "single", "optional" or "variadic"."""

    name: str
    kind: str = "tensor"
    arity: str = "single"

    @staticmethod
    def parse(text: str) -> OperandDef:
        """Parse an operand: `data`, `shape:shape`, `bias?` (optional), `*tensors` (any number)."""
        name, _, kind = text.partition(":")
        plain, kind = name.strip("*?"), kind or "tensor"
        if not plain.isidentifier() or keyword.iskeyword(plain):
            raise RelaxError(f"'{name or text}' does not name an operand as Python could: write 'x y bias? *others'")
        if kind not in OPERAND_KINDS:
            raise RelaxError(f"operand '{text}': unknown kind '{kind}' (known: {', '.join(OPERAND_KINDS)})")
        arity = "variadic" if name[0] == "*" else "optional" if name[-1] == "?" else "single"
        return OperandDef(plain, kind, arity)


class Call:
    """One use of an operator, for inference and verification.

    Operands are infos: None for an absent optional operand, a tuple for a variadic one. Attributes are Python values
    with their defaults. Both are Python attributes of the call: `call.data`, `call.strides`.
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
        """Raise OpProblem with `problem` unless the condition holds."""
        if not condition:
            raise OpProblem(problem)

    def fail(self, problem: str) -> OpProblem:
        """Return an error to raise: `raise call.fail("operand 'data' ...")`."""
        return OpProblem(problem)

    def describe(self, name: str) -> str:
        """Return `operand 'data' (tensor<4xf32>)` or `attribute 'axis' (3)`, for messages."""
        if name in self.operands:
            value = self.operands[name]
            # Infos are named tuples; a variadic operand is a plain tuple.
            shown = ", ".join(map(describe, value)) if type(value) is tuple else describe(value)
            return f"operand '{name}' ({shown})"
        return f"attribute '{name}' ({_show(self.attributes[name])})"


def _show(value: object) -> str:
    """Return an attribute's value as text, with expressions in source form."""
    if not isinstance(value, tuple):
        return str(value)
    items = [str(item) if isinstance(item, SymExpr) else repr(item) for item in value]
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


Infer = Callable[[Call], "Info | Sequence[Info]"]
Prepare = Callable[["dict[str, object]"], "dict[str, object]"]
Redirect = Callable[["dict[str, object]"], "OpDef"]
#: Function of the call and of the element count of its first result.
Flops = Callable[[Call, Dim], Dim]


#: Purpose of an operator that is not a computation with a rule: a call by name, a constant or compile-time size, a
#: query or check of shapes, or a side effect.
Role = Literal["", "call", "literal", "shape", "effect"]


class OpRow(TypedDict, total=False):
    """Columns of an operator's row in its dialect's table, besides its name and operands."""

    attrs: Mapping[str, AttrKind] | None
    results: str
    infer: Infer | None
    #: Takes the operation and the call, after all other checks have passed.
    verify: Callable[[Operation, Call], None] | None
    #: Builder argument with the result types, if they are not inferred.
    explicit: str
    signature: str
    #: Builder defaults of omitted operands. The IR contains these operands.
    defaults: Mapping[str, object] | None
    #: Preprocessing of the builder's arguments, for Python values that depend on each other.
    prepare: Prepare | None
    #: Selection of an operator by the builder's arguments, if one name in Relax's API covers several.
    redirect: Redirect | None
    #: True if the operation may be merged with an equal one, moved, and removed if its results are unused.
    pure: bool
    role: Role
    #: Fusion pattern of the computing PrimFunc, the name of an OpPattern; `prim` of a rule's builder takes it.
    pattern: str
    #: Dimensions of sliding windows, by letters, and the operand or attribute with their sizes. The window attributes
    #: are "strides", "dilation" and "padding".
    windows: tuple[str, str]
    #: For operands and results, by name: the layout attribute, and the dimensions in the order of its default. If the
    #: attribute is absent, the layout is the first of them.
    layouts: Mapping[str, tuple[str, str]]
    #: Operand that shares its memory with the result: the same elements in the same order.
    view: str
    #: Operands, by name, that the operation writes to. If the result is a view of such an operand, it shows the written
    #: contents.
    writes: str
    #: Attribute that lists, for each result, the index of the operand that it overwrites, or -1.
    inplace: str
    #: True if the operation writes its results into memory that it receives.
    destinations: bool
    #: Shape operand that is the shape of the result.
    shaped_by: str
    #: Arithmetic operations per element of the first result, per element of an operand, (4, "x"), or in total by a
    #: function, as its docstring says. The default is one operation if `pattern` suggests it, per element of the first
    #: operand for reductions.
    flops: int | tuple[int, str] | Flops
    #: True for a computation of a few instructions; fusion relies on it.
    short: bool
    #: True if the two operands may be swapped.
    commutative: bool
    #: True for operators that this project adds to those of Relax.
    own: bool
    #: NumPy reference `reference(call, *operands)`, as rx.rules.register_reference describes.
    reference: Callable[..., Any] | None
    doc: str


class OpDef:
    """Definition of an operator as data. operator.py adds the behavior."""

    # Defaults of the row's columns; see OpRow.
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
    #: Location of the row.
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
        #: With several operands of variable number, the operation stores the number of values per operand.
        self.segmented = len(variable) > 1
        #: First operand of variable number.
        self.varying = variable[0] if variable else None
        self._fixed = len(self.operands) - len(variable)
        #: Kind of each operand, by name.
        self.kinds = {operand.name: operand.kind for operand in self.operands}
        # Inference looks at the values of scalar operands, so types alone do not determine the result.
        self.value_dependent = any(operand.kind == "scalar" for operand in self.operands)
        self._check()
        #: Index of the variadic operand among the parameters, or None.
        self.variadic_parameter = next(
            (self.parameters.index(operand.name) for operand in self.operands if operand.arity == "variadic"), None
        )

    def _check(self) -> None:
        """Check the definition, which may come from users, and reject errors that would only surface later."""
        if (self.infer is None) == (not self.explicit):
            raise RelaxError(f"{self.full_name}: needs either infer= or explicit= (result types stated by the caller)")
        names = [operand.name for operand in self.operands] + list(self.attrs)
        if sum(result.arity != "single" for result in self.results) > 1:
            raise RelaxError(f"{self.full_name}: only one result can vary in number")
        doubled = sorted({name for name in names if names.count(name) > 1})
        if unknown := sorted({*self.defaults} - {operand.name for operand in self.operands}):
            raise RelaxError(f"{self.full_name}: defaults= names '{unknown[0]}', which is no operand")
        self._check_facts()
        if doubled:
            raise RelaxError(f"{self.full_name}: '{doubled[0]}' names two operands or attributes")
        expected = {*names, *([self.explicit] if self.explicit else [])}
        # An operator that redirects to others also accepts their additional parameters.
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
            (
                "layouts",
                " ".join(self.layouts),
                [value.name for value in (*self.operands, *self.results)],
                "tensor",
            ),
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
        """Return the infos of the results as a list, for any return form of the inference function."""
        assert self.infer is not None, f"{self.full_name} states its result types"
        try:
            return as_list(self.infer(call))
        except (Exception, SystemExit):
            with self.blaming("inference", self.infer):
                raise

    def blaming(self, what: str, function: object) -> blaming:
        """Return a context manager that attributes errors to a function of the operator's row."""
        return blaming(f"the {what} of '{self.full_name}'", function, answers=PROBLEMS)

    def segment(self, values: Sequence[object], sizes: Sequence[int] | None) -> dict[str, Any]:
        """Group values by operand name.

        `sizes` holds the number of values per operand; None if at most one operand varies.
        """
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
        """Return the number of values per operand for `count` values. Raise OpProblem if no assignment exists."""
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
