# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns of values in a graph, as immutable trees.

    x, w = wildcard().named("x"), is_const().named("w")
    convolution = is_op("relax.nn.conv2d")(x, w).has_attr(groups=1)
    pattern = convolution.optional(lambda y: is_op("relax.nn.relu")(y))

A pattern represents a value. Methods return new patterns. A pattern that occurs in two places matches the same value in
both. In the example that is the convolution with and without an operator behind it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from ...bindings.ir import Operation, Value
from ...bindings.navigation import is_used_once, made_by
from ...dialects.core.codec import decode
from ...dialects.core.infos import TensorInfo, dtype_name, is_dtype, is_float, is_int
from ...dialects.core.symbols import Dim, equal, parse
from ...dialects.relax.known_constants import is_constant, number_of
from ...support.errors import RelaxError
from ...support.suggest import suggest

if TYPE_CHECKING:
    from ..kernels.structures.structure import Binding, Structure

#: Candidate for a pattern: a value, or its defining operation if that has several results.
Subject = Value | Operation
#: Alternatives of a match, each a list of goals for other parts, or the reason why there is no match.
Ways = Sequence[Sequence[tuple["GraphPattern", Subject]]] | str

MATCHES: Ways = ((),)
#: Function that accepts a Match with True, or refuses it with False or a reason.
Check = Callable[..., bool | str]
Around = Callable[["GraphPattern"], "GraphPattern"]
# Classes of element types, with NumPy's names. Truth values are in none.
_CLASSES: dict[str, Callable[[str], bool]] = {"floating": is_float, "integer": is_int}


class Bound(dict["GraphPattern", Subject]):
    """Subjects of the patterns that have matched so far."""

    def __init__(self) -> None:
        super().__init__()
        self._makers: dict[Subject, Operation | None] = {}

    def maker(self, subject: Subject) -> Operation | None:
        """Return `maker_of`, cached: it takes longer than all other tests of a value."""
        if subject not in self._makers:
            self._makers[subject] = maker_of(subject)
        return self._makers[subject]


class GraphPattern(ABC):
    """Pattern of a value. The class is no dataclass, because fifteen of these would add 3 ms to each start."""

    #: True if a test follows after all other parts match.
    is_asked_last: ClassVar[bool] = False
    #: True if the pattern reads properties of PrimFuncs.
    reads_prim_funcs: ClassVar[bool] = False

    @abstractmethod
    def ways(self, subject: Subject, bound: Bound) -> Ways:
        """Return the alternatives in which the pattern matches a value, or the reason why it does not."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The pattern as text for people."""

    @property
    def parts(self) -> tuple[GraphPattern, ...]:
        """The direct parts of the pattern."""
        return ()

    @property
    def heads(self) -> tuple[str, ...] | None:
        """Names of the operators that can define the value, without duplicates, or None for any."""
        return None

    @cached_property
    def depth(self) -> int:
        """The nesting depth of the pattern."""
        return 1 + max((part.depth for part in self.parts), default=0)

    def named(self, name: str) -> GraphPattern:
        """Return the pattern with a name: the value is `match[name]`."""
        if not name.isidentifier():
            raise RelaxError(f"pattern {self}: a name must be an identifier, got {name!r}")
        return Named(self, name)

    def where(self, check: Check, reason: str = "") -> GraphPattern:
        """Return the pattern with a check, which runs after all other tests.

        `check(match)` returns True to accept the match, and False or a reason to refuse it.
        """
        return Checked(self, check, reason)

    def has_attr(self, **attributes: object) -> GraphPattern:
        """Raise RelaxError: only operators have attributes, see `is_op(…)`."""
        shown = ", ".join(f"{name}={value!r}" for name, value in attributes.items())
        raise RelaxError(f"pattern {self}: has_attr() is for an operator: is_op(...).has_attr({shown}) comes first")

    def has_shape(self, *sizes: Dim | str) -> GraphPattern:
        """Return the pattern of a tensor of these sizes, numbers or symbols. None matches any size."""
        wanted = [parse(size) if isinstance(size, str) else size for size in sizes]
        return OfType(self, _sizes(wanted), lambda info: _problem_of_shape(wanted, info.shape))

    def has_rank(self, *ranks: int) -> GraphPattern:
        """Return the pattern of a tensor with one of these ranks."""
        return OfType(self, f"rank {' or '.join(map(str, ranks))}", lambda info: _problem_of_rank(ranks, info.shape))

    def has_dtype(self, *dtypes: str) -> GraphPattern:
        """Return the pattern of a tensor with one of these element types.

        Types are names like "float32". "floating" and "integer" match any such type.
        """
        names = [dtype_name(dtype) or "" for dtype in dtypes]
        for dtype, name in zip(dtypes, names, strict=True):
            if not is_dtype(name) and name not in _CLASSES:
                raise RelaxError(f"pattern {self}: unknown element type {dtype!r}{suggest(str(dtype), _CLASSES)}")
        classes = [_CLASSES[name] for name in names if name in _CLASSES]

        def problem(info: TensorInfo) -> str:
            fits = info.dtype in names or any(is_such(info.dtype) for is_such in classes)
            return "" if fits else f"has elements of {info.dtype}"

        return OfType(self, " or ".join(names), problem, tuple(names))

    def used_inside_only(self) -> GraphPattern:
        """Return the pattern of a value with users only in the match."""
        return self.where(lambda match: not match.is_used_outside(self), "is used elsewhere, too")

    def used_once(self) -> GraphPattern:
        """Return the pattern of a value with exactly one use, as one operand of one operation."""
        return UsedOnce(self)

    def optional(self, around: Around) -> GraphPattern:
        """Return the pattern `around(self)`, or `self` where that does not match."""
        return Either((around(self), self))

    def repeated(self, around: Around, least: int = 0, most: int | None = None) -> GraphPattern:
        """Return the pattern `around(around(… self))`, with as many repetitions as match."""
        if least < 0 or (most is not None and most < max(least, 1)):
            raise RelaxError(f"pattern {self}: repeated from {least} to {most} times is not a valid range")
        return Repeated(self, around, least, most)

    def __or__(self, other: GraphPattern) -> GraphPattern:
        # The alternatives are in one flat tuple: a chain of pairs would be as deep as it is long.
        return Either((*_choices(self), *_choices(other)))

    def __repr__(self) -> str:
        return self.text


class Wildcard(GraphPattern):
    """Pattern of any value. As a part, it is a value from outside."""

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        return MATCHES

    @property
    def text(self) -> str:
        return "*"


class Leaf(GraphPattern):
    """Pattern that depends on nothing but the value itself."""

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        return self.problem(subject) or MATCHES

    @abstractmethod
    def problem(self, subject: Subject) -> str:
        """Return the reason why a value does not match, or ""."""


class Const(Leaf):
    """Pattern of a constant, with one number everywhere if one is stated."""

    def __init__(self, number: float | None):
        self.number = number

    def problem(self, subject: Subject) -> str:
        if not isinstance(subject, Value) or not is_constant(subject):
            return "is not a constant"
        number = None if self.number is None else number_of(subject)
        return "" if number == self.number else "is another constant" if number is None else f"is {number}"

    @property
    def text(self) -> str:
        return "const" if self.number is None else f"{self.number}"


class Either(GraphPattern):
    """Pattern of the first of several alternatives that matches."""

    def __init__(self, choices: tuple[GraphPattern, ...]):
        self.choices = choices

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        return [((choice, subject),) for choice in self.choices]

    @property
    def parts(self) -> tuple[GraphPattern, ...]:
        return self.choices

    @property
    def heads(self) -> tuple[str, ...] | None:
        heads = [choice.heads for choice in self.choices]
        return None if None in heads else tuple(dict.fromkeys(name for head in heads for name in head or ()))

    @property
    def text(self) -> str:
        return f"({' | '.join(choice.text for choice in self.choices)})"


def _choices(pattern: GraphPattern) -> tuple[GraphPattern, ...]:
    return pattern.choices if type(pattern) is Either else (pattern,)


class Repeated(GraphPattern):
    """Pattern that is repeated around itself, as often as it matches."""

    def __init__(self, inner: GraphPattern, around: Around, least: int, most: int | None):
        self.inner, self.around, self.least, self.most = inner, around, least, most

    @cached_property
    def _once_more(self) -> GraphPattern:
        most = None if self.most is None else self.most - 1
        is_last = most == 0
        rest = self.inner if is_last else Repeated(self.inner, self.around, max(self.least - 1, 0), most)
        return self.around(rest)

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        more, enough = ((self._once_more, subject),), ((self.inner, subject),)
        return [more] if self.least > 0 else [more, enough]

    @property
    def parts(self) -> tuple[GraphPattern, ...]:
        # The pattern around the innermost one represents all repetitions.
        return (self.around(self.inner), self.inner)

    @property
    def heads(self) -> tuple[str, ...] | None:
        return Either((self.around(self.inner), *([] if self.least else [self.inner]))).heads

    @property
    def text(self) -> str:
        most = "" if self.most is None else self.most
        return f"{self.around(Text('…')).text}[{self.least}..{most}]({self.inner.text})"


class Text(Wildcard):
    """Wildcard that prints as a text."""

    def __init__(self, shown: str):
        self.shown = shown

    @property
    def text(self) -> str:
        return self.shown


class Condition(GraphPattern):
    """Pattern with an additional condition."""

    def __init__(self, inner: GraphPattern):
        self.inner = inner

    @property
    def parts(self) -> tuple[GraphPattern, ...]:
        return (self.inner,)

    @property
    def heads(self) -> tuple[str, ...] | None:
        return self.inner.heads

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        return self.refusal(subject) or (((self.inner, subject),),)

    @abstractmethod
    def around(self, inner: GraphPattern) -> GraphPattern:
        """Return another pattern with this condition."""

    def refusal(self, subject: Subject) -> str:
        """Return the reason why the condition fails, or ""."""
        return ""


class Named(Condition):
    def __init__(self, inner: GraphPattern, name: str):
        self.inner, self.name = inner, name

    def around(self, inner: GraphPattern) -> GraphPattern:
        return Named(inner, self.name)

    @property
    def text(self) -> str:
        return self.name if isinstance(self.inner, Wildcard) else f"{self.name}={self.inner.text}"


class Checked(Condition):
    """Pattern with a check, which runs after all other tests."""

    is_asked_last: ClassVar[bool] = True

    def __init__(self, inner: GraphPattern, check: Check, reason: str):
        self.inner, self.check, self.reason = inner, check, reason

    def around(self, inner: GraphPattern) -> GraphPattern:
        return Checked(inner, self.check, self.reason)

    @property
    def text(self) -> str:
        return self.inner.text


class UsedOnce(Condition):
    """Pattern of a value with one use."""

    def around(self, inner: GraphPattern) -> GraphPattern:
        return UsedOnce(inner)

    def refusal(self, subject: Subject) -> str:
        return "" if isinstance(subject, Value) and is_used_once(subject) else "does not have exactly one use"

    @property
    def text(self) -> str:
        return self.inner.text


class OfType(Condition):
    """Pattern of a tensor with a condition on its type. `problem` describes a type that fails."""

    def __init__(
        self, inner: GraphPattern, condition: str, problem: Callable[[TensorInfo], str], dtypes: tuple[str, ...] = ()
    ):
        self.inner, self.condition, self.problem = inner, condition, problem
        #: Names of the accepted element types or classes, if the condition is about these.
        self.dtypes = dtypes

    def around(self, inner: GraphPattern) -> GraphPattern:
        return OfType(inner, self.condition, self.problem, self.dtypes)

    def refusal(self, subject: Subject) -> str:
        info = decode(subject.type) if isinstance(subject, Value) else None
        return self.problem(info) if isinstance(info, TensorInfo) else "is not a tensor"

    @property
    def text(self) -> str:
        return f"{self.inner.text}: {self.condition}"


class Found(GraphPattern):
    """Entry of a match for the structure of a called PrimFunc, and its binding."""

    def __init__(self, part: GraphPattern, structure: Structure, binding: Binding):
        self.part, self.structure, self.binding = part, structure, binding

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        return MATCHES

    @property
    def text(self) -> str:
        return self.part.text


def _problem_of_shape(dims: Sequence[Dim], found: Sequence[Dim] | None) -> str:
    if found is None:
        return "has no known rank"
    fits = len(found) == len(dims) and all(
        size is None or equal(size, there) for size, there in zip(dims, found, strict=True)
    )
    return "" if fits else f"has shape {_sizes(found)}"


def _problem_of_rank(wanted: Sequence[int], dims: Sequence[Dim] | None) -> str:
    if dims is None:
        return "has no known rank"
    return "" if len(dims) in wanted else f"has rank {len(dims)}"


def _sizes(sizes: Sequence[Dim]) -> str:
    return f"({', '.join('*' if size is None else str(size) for size in sizes)})"


def walk(pattern: GraphPattern) -> Iterator[GraphPattern]:
    """Yield a pattern and all of its parts, without duplicates."""
    seen: set[GraphPattern] = set()
    pending = [pattern]
    while pending:
        if (graph_pattern := pending.pop()) not in seen:
            seen.add(graph_pattern)
            pending += reversed(graph_pattern.parts)
            yield graph_pattern


def maker_of(subject: Subject) -> Operation | None:
    """Return the operation that defines a value, or None for an argument."""
    return subject if isinstance(subject, Operation) else made_by(subject)


def subject_of(op: Operation) -> Subject:
    """Return the subject for a pattern of an operation."""
    results = op.results
    return results[0] if len(results) == 1 else op


def wildcard() -> GraphPattern:
    """Return the pattern of any value."""
    return Wildcard()


def is_const(number: float | None = None) -> GraphPattern:
    """Return the pattern of a constant, or of one with this number everywhere. Scalar operands are constants, too."""
    return Const(number)
