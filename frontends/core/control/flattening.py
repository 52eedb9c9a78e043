# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flattening of sequences and optionals into tensors, which control flow carries and functions return.

Two branches may give sequences of different lengths. The result is a sequence of dynamic length. If only one branch
gives an empty optional, the result is an optional that may be empty at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

from ....bindings.ir import Operation
from ....dialects import relax
from ....dialects.relax.function_attributes import LIST, NOTHING, VALUE, Group
from ..node import Node
from ..texts import all_words, of_words
from ..values import EmptyOptional, Held, OneOf, RunTimeOptional, RunTimeSequence, SequenceValue, Texts, Value, known
from .run_time_sequences import as_run_time
from .scf_loops import LoopSpec, Turn, build_loop

#: Kind of a tensor that is one of several. Callers of a function never receive such a tensor.
ONE_OF = "one of"


class Form(NamedTuple):
    """Kind of a value, and the tensors that represent the value."""

    kind: str
    #: Number of items that a sequence has in any case.
    items: int = 0
    #: Rank of the further items of a sequence of dynamic length, or None without further items; their element type.
    rest: int | None = None
    dtype: str = "f32"
    #: True if the value may be absent. One more tensor says whether the value is present.
    is_optional: bool = False
    #: Ranks of the single tensors, for placeholders of an absent value, and for kind ONE_OF.
    ranks: tuple[int | None, ...] = ()
    #: All strings that a tensor of strings may contain.
    words: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Return the number of tensors that represent the value."""
        if self.kind == ONE_OF:
            return 1 + len(self.ranks)
        return int(self.kind == VALUE) + self.items + (0 if self.rest is None else 2) + self.is_optional

    @property
    def group(self) -> Group:
        """Return the group of function results."""
        return Group(self.kind, self.size, "", self.is_optional, self.rest is not None)

    def __str__(self) -> str:
        if self.kind == ONE_OF:
            return f"a tensor of {' or '.join(map(str, self.ranks))} dimensions"
        single = "a tensor of strings" if self.words else "a tensor"
        names = {VALUE: single, NOTHING: "an empty optional", LIST: f"a sequence of {self.items}"}
        more = "" if self.rest is None else f" and any number of {self.rest}-D tensors"
        return f"{'an optional of ' if self.is_optional else ''}{names[self.kind]}{more}"


def form_of(held: Held) -> Form:
    if isinstance(held, RunTimeOptional):
        return _optional(held.held)
    if isinstance(held, Texts):
        return Form(VALUE, dtype=held.dtype, words=held.words)
    if isinstance(held, OneOf):
        return Form(ONE_OF, dtype=held.dtype, ranks=tuple(tensor.rank for tensor in held.tensors))
    if isinstance(held, SequenceValue):
        return Form(LIST, len(held.items), None, held.dtype)
    if isinstance(held, RunTimeSequence):
        return Form(LIST, len(held.items), held.rank, held.dtype)
    return Form(VALUE, dtype=held.dtype) if isinstance(held, Value) else Form(NOTHING)


def _optional(held: Any, form: Form | None = None) -> Form:
    """Return the form of a value that may be absent."""
    found = form_of(held) if form is None else form
    single = [held] if isinstance(held, Value) else held.items[: found.items]
    return found._replace(is_optional=True, ranks=tuple(each.rank for each in single))


def common_form(node: Node, one: Held, other: Held) -> Form:
    """Return the form that can represent both values."""
    left, right = form_of(one), form_of(other)
    if left == right:
        return left
    if ONE_OF in (left.kind, right.kind):
        raise node.fail(f"cannot choose between {left} and {right} at run time")
    if isinstance(one, Texts) and isinstance(other, Texts):
        return left._replace(words=tuple(all_words([one, other])))
    if left.words or right.words:
        raise node.fail(f"cannot choose between {left} and {right} at run time")
    if NOTHING in (left.kind, right.kind):
        return _optional(_unwrap(other) if left.kind == NOTHING else _unwrap(one))
    if left.kind != right.kind:
        raise node.fail(f"cannot choose between {left} and {right} at run time")
    form = left._replace(is_optional=False, ranks=())
    if form.kind == LIST:
        form = _common_list(node, left, right, _unwrap(one), _unwrap(other))
    return _optional(_unwrap(one), form) if left.is_optional or right.is_optional else form


def _common_list(node: Node, left: Form, right: Form, one: SequenceValue, other: SequenceValue) -> Form:
    if _has_tensors(left) and _has_tensors(right) and left.dtype != right.dtype:
        raise node.fail(f"cannot choose between sequences of {left.dtype} and of {right.dtype} at run time")
    items = min(left.items, right.items)
    return Form(LIST, items, _common_rest(node, items, one, other), (left if _has_tensors(left) else right).dtype)


def _has_tensors(form: Form) -> bool:
    return form.items > 0 or form.rest is not None


def _unwrap(held: Held) -> Any:
    return held.held if isinstance(held, RunTimeOptional) else held


def _common_rest(node: Node, items: int, *sequences: Any) -> int | None:
    """Return the rank of the items behind the first `items`, or None if there are none."""
    ranks = {each.rank for sequence in sequences for each in sequence.items[items:]}
    ranks |= {sequence.rank for sequence in sequences if isinstance(sequence, RunTimeSequence)}
    if len(ranks) > 1 or None in ranks:
        listed = ", ".join(sorted("?" if rank is None else str(rank) for rank in ranks))
        raise node.fail(f"a sequence of dynamic length needs tensors of one rank, got ranks {listed}")
    return next(iter(ranks), None)


# ---- the tensors of a form ----


def tensors_of(held: Any, form: Form) -> list[Value]:
    """Return the tensors that represent a value in a form that fits the value."""
    if form.is_optional:
        inner = form._replace(is_optional=False)
        if isinstance(held, EmptyOptional):
            return [known(False, "i1"), *_placeholders(inner)]
        present = held.present if isinstance(held, RunTimeOptional) else known(True, "i1")
        return [present, *tensors_of(_unwrap(held), inner)]
    if form.kind == NOTHING:
        return []
    if form.words:
        return [of_words(held, form.words).places]
    if form.kind == VALUE:
        return [held]
    if form.kind == ONE_OF:
        return [held.place, *held.tensors]
    if form.rest is None:
        return list(held.items)
    joined = as_run_time(held, form.items, form.rest, form.dtype)
    return [*joined.items, joined.data, joined.rows]


def _placeholders(form: Form) -> list[Value]:
    """Return the tensors that represent an absent value."""
    single = [Value(ssa=relax.zeros((0,) * (rank or 0), dtype=form.dtype)) for rank in form.ranks]
    if form.rest is None:
        return single
    joined = as_run_time(SequenceValue([]), 0, form.rest, form.dtype)
    return [*single, joined.data, joined.rows]


def of_tensors(form: Form, tensors: Sequence[Value]) -> Any:
    """Rebuild a value from its tensors."""
    if form.is_optional:
        return RunTimeOptional(tensors[0], of_tensors(form._replace(is_optional=False), tensors[1:]))
    if form.kind == NOTHING:
        return EmptyOptional()
    if form.words:
        return Texts(tensors[0], form.words)
    if form.kind == VALUE:
        return tensors[0]
    if form.kind == ONE_OF:
        return OneOf(tensors[0], tensors[1:])
    if form.rest is None:
        return SequenceValue(tensors, form.dtype)
    return RunTimeSequence(tensors[:-2], *tensors[-2:])


# ---- loops ----


class _FormChangedError(Exception):
    """Raised when an iteration gives values of another form than the values that it received."""

    def __init__(self, forms: list[Form]):
        super().__init__()
        self.forms = forms


def build_any_loop(loop: LoopSpec, states: Sequence[Held]) -> tuple[list[Any], list[Value]]:
    """Build a loop like build_loop, with states that are tensors, sequences or optionals."""
    forms = [form_of(state) for state in states]
    while True:
        try:
            return _attempt(loop, states, forms)
        except _FormChangedError as changed:
            forms = changed.forms


def _attempt(loop: LoopSpec, states: Sequence[Held], forms: list[Form]) -> tuple[list[Any], list[Value]]:
    def step(operation: Operation, index: Value, tensors: list[Value]) -> Turn:
        given = of_all(forms, tensors)
        turn = loop.step(operation, index, given)
        common = [common_form(loop.node, old, new) for old, new in zip(given, turn.states, strict=True)]
        if common != forms:
            raise _FormChangedError(common)
        return turn._replace(states=all_tensors(forms, turn.states))

    after, rows = build_loop(loop._replace(step=step), all_tensors(forms, states))
    return of_all(forms, after), rows


def all_tensors(forms: Sequence[Form], held: Sequence[Held]) -> list[Value]:
    return [tensor for form, each in zip(forms, held, strict=True) for tensor in tensors_of(each, form)]


def of_all(forms: Sequence[Form], tensors: Sequence[Value]) -> list[Any]:
    rest = iter(tensors)
    return [of_tensors(form, list(islice(rest, form.size))) for form in forms]
