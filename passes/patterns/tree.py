# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns: what a part of a graph looks like.

    x, w = wildcard().named("x"), is_const().named("w")
    convolution = is_op("relax.nn.conv2d")(x, w).has_attr(groups=1)
    pattern = convolution.optional(lambda y: is_op("relax.nn.relu")(y))

A pattern stands for a value. Patterns do not change: methods give others. One that stands in two places, here the
convolution with and without what follows, is the same value in both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from ...bindings.ir import Operation, Value
from ...bindings.navigation import is_used_once, made_by
from ...bindings.rewriting import blaming_at
from ...dialects.core.codec import decode
from ...dialects.core.infos import TensorInfo, dtype_name, is_dtype, is_float, is_int
from ...dialects.core.symbols import Dim, equal, parse
from ...dialects.relax.known_constants import is_constant, splat
from ...support.errors import RelaxError
from ...support.suggest import suggest

if TYPE_CHECKING:
    from ..structures.structure import Binding, Structure
    from .matched import Match
    from .operator_patterns import Op

#: What a pattern is held against: a value, or the operation that makes it where it has several results.
Subject = Value | Operation
#: The ways in which a pattern may match, each by what else has to match what; or why it does not.
Ways = Sequence[Sequence[tuple["GraphPattern", Subject]]] | str

MATCHES: Ways = ((),)
#: Given a match: True, or False, or in words why not.
Check = Callable[["Match"], bool | str]
Around = Callable[["GraphPattern"], "GraphPattern"]
# Python's, and numpy's, which comparisons of its numbers give: it is not imported for that.
_TRUTHS = ("bool", "bool_")
# As numpy calls them; truth values are neither.
_CLASSES: dict[str, Callable[[str], bool]] = {"floating": is_float, "integer": is_int}


class Bound(dict["GraphPattern", Subject]):
    """What stands for each pattern that has matched so far."""

    def __init__(self) -> None:
        super().__init__()
        self._makers: dict[Subject, Operation | None] = {}

    def maker(self, subject: Subject) -> Operation | None:
        """As `maker_of`, which takes longer than all else at a value, asked once for each."""
        if subject not in self._makers:
            self._makers[subject] = maker_of(subject)
        return self._makers[subject]


class GraphPattern(ABC):
    """What a value looks like. No dataclass: fifteen of these would take 3 ms of each start."""

    #: Whether there is more to ask when all else fits.
    is_asked_last: ClassVar[bool] = False
    #: Whether what is known of PrimFuncs is asked.
    reads_prim_funcs: ClassVar[bool] = False

    @abstractmethod
    def ways(self, subject: Subject, bound: Bound) -> Ways:
        """How the pattern matches a value, if it does."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The pattern as people read it."""

    @property
    def parts(self) -> tuple[GraphPattern, ...]:
        """The patterns that this one is made of."""
        return ()

    @property
    def heads(self) -> tuple[Op, ...] | None:
        """The operators that can make the value; None where anything may."""
        return None

    @cached_property
    def depth(self) -> int:
        """How many patterns stand inside of one another."""
        return 1 + max((part.depth for part in self.parts), default=0)

    def named(self, name: str) -> GraphPattern:
        """The value is `match[name]`."""
        if not name.isidentifier():
            raise RelaxError(f"pattern {self}: a name is a word, not {name!r}")
        return Named(self, name)

    def where(self, check: Check, reason: str = "") -> GraphPattern:
        """Matches where `check(match)`, which is asked when all else fits, says True; False, or in words why not."""
        return Checked(self, check, reason)

    def has_attr(self, **attributes: object) -> GraphPattern:
        """Of operators alone: `is_op(…)` has its own. Raises RelaxError."""
        shown = ", ".join(f"{name}={value!r}" for name, value in attributes.items())
        raise RelaxError(f"pattern {self}: has_attr() is for an operator: is_op(...).has_attr({shown}) comes first")

    def has_shape(self, *sizes: Dim | str) -> GraphPattern:
        """A tensor of these sizes, numbers or symbols; None is any."""
        wanted = [parse(size) if isinstance(size, str) else size for size in sizes]
        return OfType(self, _sizes(wanted), lambda info: _problem_of_shape(wanted, info.shape))

    def has_rank(self, *ranks: int) -> GraphPattern:
        """A tensor of as many dimensions, or one of several numbers of them."""
        return OfType(self, f"rank {' or '.join(map(str, ranks))}", lambda info: _problem_of_rank(ranks, info.shape))

    def has_dtype(self, *dtypes: str) -> GraphPattern:
        """A tensor with elements of this type, or one of several: "float32"; "floating" and "integer" are any such."""
        names = [dtype_name(dtype) or "" for dtype in dtypes]
        for dtype, name in zip(dtypes, names, strict=True):
            if not is_dtype(name) and name not in _CLASSES:
                raise RelaxError(f"pattern {self}: unknown element type {dtype!r}{suggest(str(dtype), _CLASSES)}")
        classes = [_CLASSES[name] for name in names if name in _CLASSES]

        def problem(info: TensorInfo) -> str:
            fits = info.dtype in names or any(is_such(info.dtype) for is_such in classes)
            return "" if fits else f"has elements of {info.dtype}"

        return OfType(self, " or ".join(names), problem)

    def used_inside_only(self) -> GraphPattern:
        """The value's only users are what is matched."""
        return self.where(lambda match: not match.is_used_outside(self), "is used elsewhere, too")

    def used_once(self) -> GraphPattern:
        """There is one use of the value: as one operand of one operation."""
        return UsedOnce(self)

    def optional(self, around: Around) -> GraphPattern:
        """`around(self)`, or where that does not match, self alone."""
        return Either((around(self), self))

    def repeated(self, around: Around, least: int = 0, most: int | None = None) -> GraphPattern:
        """`around(around(… self))`, as often as it goes."""
        if least < 0 or (most is not None and most < max(least, 1)):
            raise RelaxError(f"pattern {self}: repeated from {least} to {most} times means nothing")
        return Repeated(self, around, least, most)

    def __or__(self, other: GraphPattern) -> GraphPattern:
        # Side by side, however many: a chain of pairs would be as deep as it is long.
        return Either((*_choices(self), *_choices(other)))

    def __repr__(self) -> str:
        return self.text


class Wildcard(GraphPattern):
    """Anything. Where it is a part, the value comes from outside."""

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        return MATCHES

    @property
    def text(self) -> str:
        return "*"


class Leaf(GraphPattern):
    """A value that is recognised by itself."""

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        return self.problem(subject) or MATCHES

    @abstractmethod
    def problem(self, subject: Subject) -> str:
        """Why it is no such value; empty where it is one."""


class Const(Leaf):
    """A constant, with one number everywhere where that is stated."""

    def __init__(self, number: float | None):
        self.number = number

    def problem(self, subject: Subject) -> str:
        if not isinstance(subject, Value) or not is_constant(subject):
            return "is no constant"
        found = None if self.number is None else splat(subject)
        return "" if found == self.number else "is another constant" if found is None else f"is {found}"

    @property
    def text(self) -> str:
        return "const" if self.number is None else f"{self.number}"


class Either(GraphPattern):
    """The first of several patterns that matches."""

    def __init__(self, choices: tuple[GraphPattern, ...]):
        self.choices = choices

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        return [((choice, subject),) for choice in self.choices]

    @property
    def parts(self) -> tuple[GraphPattern, ...]:
        return self.choices

    @property
    def heads(self) -> tuple[Op, ...] | None:
        heads = [choice.heads for choice in self.choices]
        return None if None in heads else tuple(op for each in heads if each is not None for op in each)

    @property
    def text(self) -> str:
        return f"({' | '.join(choice.text for choice in self.choices)})"


def _choices(pattern: GraphPattern) -> tuple[GraphPattern, ...]:
    return pattern.choices if type(pattern) is Either else (pattern,)


class Repeated(GraphPattern):
    """A pattern around itself, as often as it goes."""

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
        # What it is around of stands for all the rest.
        return (self.around(self.inner), self.inner)

    @property
    def heads(self) -> tuple[Op, ...] | None:
        return Either((self.around(self.inner), *([] if self.least else [self.inner]))).heads

    @property
    def text(self) -> str:
        most = "" if self.most is None else self.most
        return f"{self.around(Text('…')).text}[{self.least}..{most}]({self.inner.text})"


class Text(Wildcard):
    """A wildcard that prints as something."""

    def __init__(self, shown: str):
        self.shown = shown

    @property
    def text(self) -> str:
        return self.shown


class Condition(GraphPattern):
    """A pattern, and an additional condition."""

    def __init__(self, inner: GraphPattern):
        self.inner = inner

    @property
    def parts(self) -> tuple[GraphPattern, ...]:
        return (self.inner,)

    @property
    def heads(self) -> tuple[Op, ...] | None:
        return self.inner.heads

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        return self.refusal(subject) or (((self.inner, subject),),)

    def refusal(self, subject: Subject) -> str:
        """Why it does not hold; empty where it does."""
        return ""


class Named(Condition):
    def __init__(self, inner: GraphPattern, name: str):
        self.inner, self.name = inner, name

    @property
    def text(self) -> str:
        return self.name if isinstance(self.inner, Wildcard) else f"{self.name}={self.inner.text}"


class Checked(Condition):
    """What a function is asked about when all else fits."""

    is_asked_last: ClassVar[bool] = True

    def __init__(self, inner: GraphPattern, check: Check, reason: str):
        self.inner, self.check, self.reason = inner, check, reason

    def refusal_of(self, match: Match) -> str:
        """The function's words, if it says no."""
        name = getattr(self.check, "__name__", repr(self.check))
        with blaming_at(lambda: f"pattern {self}: {name}", self.check, match.root):
            answer = self.check(match)
        if isinstance(answer, str):
            return answer or f"{name} says no"
        if type(answer).__name__ not in _TRUTHS:
            raise RelaxError(f"pattern {self}: {name} has to answer True, False or why not, it gave {answer!r}")
        return "" if answer else self.reason or f"{name} says no"

    @property
    def text(self) -> str:
        return self.inner.text


class UsedOnce(Condition):
    """A value with one use."""

    def refusal(self, subject: Subject) -> str:
        return "" if isinstance(subject, Value) and is_used_once(subject) else "has not one use"

    @property
    def text(self) -> str:
        return self.inner.text


class OfType(Condition):
    """A tensor with a condition on its type; `problem` says what there is instead, if it does not hold."""

    def __init__(self, inner: GraphPattern, condition: str, problem: Callable[[TensorInfo], str]):
        self.inner, self.condition, self.problem = inner, condition, problem

    def refusal(self, subject: Subject) -> str:
        info = decode(subject.type) if isinstance(subject, Value) else None
        return self.problem(info) if isinstance(info, TensorInfo) else "is no tensor"

    @property
    def text(self) -> str:
        return f"{self.inner.text}: {self.condition}"


class Found(GraphPattern):
    """What a match takes down: the structure that a call has been found to have, and how."""

    def __init__(self, part: GraphPattern, structure: Structure, binding: Binding):
        self.part, self.structure, self.binding = part, structure, binding

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        return MATCHES

    @property
    def text(self) -> str:
        return self.part.text


def _problem_of_shape(wanted: Sequence[Dim], found: Sequence[Dim] | None) -> str:
    if found is None:
        return "has no known rank"
    fits = len(found) == len(wanted) and all(
        size is None or equal(size, there) for size, there in zip(wanted, found, strict=True)
    )
    return "" if fits else f"has shape {_sizes(found)}"


def _problem_of_rank(wanted: Sequence[int], found: Sequence[Dim] | None) -> str:
    if found is None:
        return "has no known rank"
    return "" if len(found) in wanted else f"has rank {len(found)}"


def _sizes(sizes: Sequence[Dim]) -> str:
    return f"({', '.join('*' if size is None else str(size) for size in sizes)})"


def walk(pattern: GraphPattern) -> Iterator[GraphPattern]:
    """A pattern and all that it is made of, each once."""
    seen: set[GraphPattern] = set()
    pending = [pattern]
    while pending:
        each = pending.pop()
        if each not in seen:
            seen.add(each)
            pending += reversed(each.parts)
            yield each


def maker_of(subject: Subject) -> Operation | None:
    """The operation that makes a value; None where it is an argument."""
    return subject if isinstance(subject, Operation) else made_by(subject)


def subject_of(op: Operation) -> Subject:
    """What a pattern of an operation is held against."""
    results = op.results
    return results[0] if len(results) == 1 else op


def wildcard() -> GraphPattern:
    """Any value."""
    return Wildcard()


def is_const(number: float | None = None) -> GraphPattern:
    """A constant, or one that is this number everywhere."""
    return Const(number)
