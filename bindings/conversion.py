# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dialect conversion with Python patterns: rounds to a fixed point, then a legality check of the remaining operations.

    conversion = Conversion("my-lowering")
    conversion.illegal("relax")
    conversion.legal("relax.call_tir")
    conversion.add("relax.add", lower_add)
    conversion.run(module)

    def lower_add(op, operands, rewriter):
        if op.x1.type != op.x2.type:
            return Decline("operands must not broadcast")
        return arith.addf(*operands)        # created before the op, with its location

A pattern that declines or raises leaves nothing behind (rewriting.py). The next round converts the operations that
patterns create. MLIR's own driver would take ten times as long. The driver asks Python about each operation anyway,
does not track operations that Python patterns create, and keeps a copy of everything for a rollback.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..support.argument_types import types_checked
from ..support.callbacks import enters, fragile
from ..support.errors import OptionError, RefusalError, RelaxError
from .diagnostics import Diagnostic, error_at
from .handles import erasing
from .ir import Attribute, Location, Operation, OpView, Type, Value
from .mlir import ir
from .navigation import Holder, ancestors, operations_in
from .rewriting import UPDATED, Decline, PatternCall, blaming_at, function_name, op_name, replacement

__all__ = ["UPDATED", "Conversion", "ConversionRewriter", "Decline"]

#: `function(op, operands, rewriter)`: the operation, its converted operands, and a helper object.
PatternFunction = Callable[[OpView, "list[Value]", "ConversionRewriter"], object]


CAST = "builtin.unrealized_conversion_cast"
#: Legality of operations of a kind: always, never, or decided by a function of the operation.
Rule = bool | Callable[[OpView], bool]
# Maximum length of attributes in messages.
_MOST_TEXT = 80


class _Pattern(NamedTuple):
    name: str
    function: PatternFunction
    priority: int


class ConversionRewriter:
    """Helper object for conversion patterns."""

    def __init__(self) -> None:
        #: The operation under conversion.
        self.op: Operation

    @property
    def result_types(self) -> list[Type]:
        """Return the required types of the values that replace the operation's results."""
        return list(self.op.results.types)


class Legality:
    """Legality rules. An operation's rule has priority over its dialect's rule and the default."""

    def __init__(self, default: bool | None):
        """Set the default for operations without a rule. None means legal, but convertible by patterns."""
        self.default = default
        self._ops: dict[str, Rule] = {CAST: False}
        self._dialects: dict[str, Rule] = {}
        self._found: dict[str, Rule | None] = {}

    def set(self, names: Sequence[object], rule: Rule) -> None:
        """Set the rule of dialects ("arith") and operations ("arith.addi", or classes).

        The last rule for a name wins.
        """
        self._found.clear()
        for name in names:
            if isinstance(name, str) and "." not in name:
                self._dialects[name] = rule
            else:
                self._ops[op_name(name)] = rule

    def rule(self, name: str) -> Rule | None:
        """Return the rule for operations of this name."""
        if name not in self._found:
            self._found[name] = self._ops.get(name, self._dialects.get(name.partition(".")[0], self.default))
        return self._found[name]


class Conversion:
    """Patterns and legality rules of one conversion, which can run on any number of operations."""

    @types_checked
    def __init__(self, name: str, *, full: bool = False, max_rounds: int = 32, advice: str = ""):
        """Create a conversion.

        With `full`, an operation is illegal unless declared legal; otherwise it may stay.

        `advice` is the note about an illegal operation without a pattern. `{}` in it stands for the operation's name.
        """
        if max_rounds < 1:
            raise OptionError(f"{name}: max_rounds must be 1 or more, got {max_rounds}")
        self.name = name
        self.advice = advice
        self.max_rounds = max_rounds
        self.legality = Legality(default=False if full else None)
        self.patterns: dict[str, list[_Pattern]] = {}
        self.is_opaque: Callable[[Operation], bool] | None = None
        self._announce: Callable[[Conversion, str], object] | None = None
        self._announced: set[str] = set()
        #: Function tried before patterns: returns legal values for the operation's results, or None.
        self.shortcut: Callable[[Operation, list[Value]], Sequence[Value] | None] | None = None

    def __repr__(self) -> str:
        return f"<conversion {self.name}: patterns for {', '.join(sorted(self.patterns)) or 'nothing yet'}>"

    def add(self, op: object, function: PatternFunction, *, priority: int = 0, name: str = "") -> None:
        """Add a pattern for an operation (name or class).

        Higher priorities run first, equal ones in order of addition.
        """
        if not callable(function):
            raise OptionError(f"{self.name}: the pattern for '{op_name(op)}' must be a function, got {function!r}")
        patterns = self.patterns.setdefault(op_name(op), [])
        patterns.append(_Pattern(name or function_name(function), function, priority))
        patterns.sort(key=lambda pattern: -pattern.priority)

    def legal(self, *names: object) -> None:
        """Declare operations and dialects legal. Patterns do not convert them."""
        self.legality.set(names, True)

    def illegal(self, *names: object) -> None:
        """Declare operations and dialects illegal: none may remain."""
        self.legality.set(names, False)

    def legal_if(self, condition: Callable[[OpView], bool], *names: object) -> None:
        """Declare operations and dialects legal exactly if the condition holds for the operation."""
        self.legality.set(names, condition)

    def leave_alone(self, is_opaque: Callable[[Operation], bool]) -> None:
        """Exclude the contents of opaque operations, such as external modules, from the conversion."""
        self.is_opaque = is_opaque

    def when_met(self, announce: Callable[[Conversion, str], object]) -> None:
        """Call `announce(conversion, name)` once for each operation name that the conversion meets, before converting
        it.

        The function adds the patterns and the legality of the name to the conversion. Therefore the hundreds of
        operators that a module does not contain cost nothing.
        """
        self._announce = announce

    @property
    def has_patterns(self) -> bool:
        return bool(self.patterns) or self._announce is not None

    def rules_of(self, name: str) -> tuple[Sequence[_Pattern], Rule | None]:
        """Return the patterns and the legality rule for operations of this name."""
        if self._announce is not None and name not in self._announced:
            self._announced.add(name)
            self._announce(self, name)
        return self.patterns.get(name, ()), self.legality.rule(name)

    @enters
    def run(self, op: Holder, operations: Sequence[Operation] | None = None) -> None:
        """Convert the operations inside an operation.

        `operations` lists them if the caller has them already.

        Raises RelaxError with a diagnostic for each remaining illegal operation, and any exception of a pattern. After
        an exception the operation is partly converted and must be discarded.
        """
        with erasing(op.operation, self.name):
            _Run(self, op.operation, operations).run()


class _Run:
    """Single conversion of one operation."""

    def __init__(self, conversion: Conversion, root: Operation, operations: Sequence[Operation] | None):
        self.conversion = conversion
        self.root = root
        #: Operations for the first round.
        self._listed = operations
        self.legality = conversion.legality
        self._call = PatternCall(root)
        self._rewriter = ConversionRewriter()
        #: State of the current round: converted names with the last pattern and location, declining patterns, created
        #: names.
        self._converted: dict[str, tuple[str, Location]] = {}
        self._declined: dict[Operation, list[tuple[str, str]]] = {}
        self._made: set[str] = set()
        #: Cached rules by operation name. `_is_in_doubt` is True if the round may leave an illegal operation.
        self._by_name: dict[str, tuple[Sequence[_Pattern], Rule | None]] = {}
        self._is_in_doubt = True

    def run(self) -> None:
        context = self.root.context
        with context, ir.Location.unknown(context):
            self._run_rounds()
            self._check_legality()

    def _operations(self) -> Sequence[Operation]:
        listed, self._listed = self._listed, None
        return operations_in(self.root, self.conversion.is_opaque) if listed is None else listed

    def _run_rounds(self) -> None:
        if not self.conversion.has_patterns:
            return
        for _ in range(self.conversion.max_rounds):
            self._converted, self._declined, self._made = {}, {}, set()
            # In a full conversion, operations that patterns have created elsewhere need a legality check, too.
            self._is_in_doubt = self.legality.default is False
            with self._call:
                self._run_round()
            if not self._converted or not (self._declined or any(self._rules_of(name)[0] for name in self._made)):
                return
        raise self._endless()

    def _run_round(self) -> None:
        """Convert the existing operations.

        Converted operations keep their operands and stay until the round ends, as in MLIR.
        """
        known: dict[Value, Value] = {}
        replaced: list[tuple[Operation, list[Value], list[Value]]] = []
        #: Converted operations with regions, whose contents disappear with them.
        around: set[Operation] = set()
        try:
            for operation in self._operations():
                candidates, rule = self._rules_of(operation.name)
                if not candidates or rule is True:
                    self._is_in_doubt |= rule is not True and rule is not None
                    continue
                if self._call.is_buried(operation) or around and not around.isdisjoint(ancestors(operation)):
                    continue
                if callable(rule) and rule(operation.opview):
                    self._is_in_doubt = True
                    continue
                operands = [known.get(value, value) for value in operation.operands]
                try:
                    found = self._values_for(operation, operands, candidates)
                except BaseException:
                    self._call.discard()
                    raise
                if found is None:
                    self._is_in_doubt |= rule is not None
                    continue
                results, values = list(operation.results), [known.get(value, value) for value in found]
                known.update(zip(results, values, strict=True))
                replaced.append((operation, results, values))
                around.update([operation] if len(operation.regions) else [])
        finally:
            self._settle(replaced)

    def _rules_of(self, name: str) -> tuple[Sequence[_Pattern], Rule | None]:
        """Return the patterns and the legality rule for operations of this name."""
        if (rules := self._by_name.get(name)) is None:
            rules = self._by_name[name] = self.conversion.rules_of(name)
        return rules

    def _is_legal(self, operation: Operation) -> bool:
        _, rule = self._rules_of(operation.name)
        return bool(rule(operation.opview)) if callable(rule) else rule is not False

    @fragile
    def _settle(self, replaced: Sequence[tuple[Operation, Sequence[Value], Sequence[Value]]]) -> None:
        """Replace the uses of converted operations, then erase the operations, users first."""
        for _, results, values in replaced:
            for result, value in zip(results, values, strict=True):
                result.replace_all_uses_with(value)
        self._call.bury_replaced(operation for operation, _, _ in reversed(replaced))

    def _values_for(
        self, operation: Operation, operands: list[Value], candidates: Sequence[_Pattern]
    ) -> Sequence[Value] | None:
        shortcut = self.conversion.shortcut
        values = None if shortcut is None else shortcut(operation, operands)
        if values is None:
            return self._convert(candidates, operation.opview, operands)
        self._converted[operation.name] = ("", operation.location)
        return values

    def _convert(self, candidates: Sequence[_Pattern], op: OpView, operands: list[Value]) -> Sequence[Value] | None:
        """Return the replacement of the results, or None if no pattern applies or a pattern has updated the
        operation in place."""
        operation = self._rewriter.op = op.operation
        reasons: list[tuple[str, str]] = []
        with self._call.start(op):
            for name, function, _ in candidates:
                self._call.pattern = name
                try:
                    outcome = function(op, list(operands), self._rewriter)
                except Decline as decline:
                    outcome = decline
                except (Exception, SystemExit):
                    with blaming_at(f"pattern '{name}' for '{operation.name}'", function, operation):
                        raise
                if not isinstance(outcome, Decline):
                    return self._take(name, operation, outcome)
                reasons.append((name, outcome.reason))
                self._call.discard()
        self._declined[operation] = reasons
        return None

    @fragile
    def _take(self, name: str, operation: Operation, outcome: object) -> Sequence[Value] | None:
        values = None
        if outcome is not UPDATED:
            values = replacement(outcome, operation.results.types, name, operation)
        self._converted[operation.name] = (name, self._call.location)
        self._made.update(self._call.place())
        if values is None:
            # The updated operation may need another round, like created operations.
            self._made.add(operation.name)
        return values

    def _endless(self) -> RelaxError:
        """Return the error about operations that are still converted after the last round: patterns create them
        repeatedly."""
        what = self.conversion.name
        diagnostics: list[Diagnostic] = []
        for op, (pattern, location) in sorted(self._converted.items()):
            message = f"{what} comes to no end: '{op}' op keeps coming back (pattern '{pattern}' still converts it)"
            notes = [] if diagnostics else [f"stopped after {self.conversion.max_rounds} rounds"]
            diagnostics.append(error_at(location, message, notes))
        return _refusal(diagnostics)

    def _check_legality(self) -> None:
        if not self._is_in_doubt and all(self._rules_of(name)[1] in (True, None) for name in self._made):
            return
        left = [operation for operation in self._operations() if not self._is_legal(operation)]
        # A remaining cast usually results from another remaining operation.
        shown = [operation for operation in left if operation.name != CAST] or left
        # The last round changed only operations that its patterns converted, so declined operations still exist.
        reasons = self._declined
        diagnostics = [
            illegal_diagnostic(op, self.conversion.name, reasons.get(op, ()), self.conversion.advice) for op in shown
        ]
        if diagnostics:
            raise _refusal(diagnostics, f" (and {len(diagnostics) - 1} more)" if len(diagnostics) > 1 else "")


def _refusal(diagnostics: Sequence[Diagnostic], more: str = "") -> RelaxError:
    """Return an error with the first diagnostic as its message and all diagnostics attached."""
    notes = [note.message for note in diagnostics[0].notes]
    return RefusalError(
        diagnostics[0].message + more, location=diagnostics[0].place, notes=notes, diagnostics=diagnostics
    )


# ---- messages about illegal operations ----


def illegal_diagnostic(
    operation: Operation, what: str, reasons: Sequence[tuple[str, str]], advice: str = ""
) -> Diagnostic:
    """Return the diagnostic for a remaining operation, with the reason why each pattern declined.

    `advice` names a source of patterns if none is registered. `{}` in it stands for the operation's name.
    """
    if operation.name == CAST:
        message = f"{what} leaves a cast: {_describe_cast(operation)}"
    else:
        message = f"{what} cannot convert '{operation.name}' op ({describe_operation(operation)})"
    notes = [f"pattern '{pattern}' declined: {reason}" for pattern, reason in reasons]
    if not reasons and operation.name != CAST:
        hint = f": {advice.format(operation.name)}" if advice else ""
        notes = [f"no pattern is registered for this operation{hint}"]
    return error_at(operation.location, message, notes)


def describe_operation(operation: Operation) -> str:
    """Return the operand types and attributes as text, with long attributes shortened."""
    types = ", ".join(str(value.type) for value in operation.operands) or "no operands"
    attributes = [f"{name} = {_shorten(value)}" for name, value in operation.attributes.items()]
    return types + (f"; {', '.join(attributes)}" if attributes else "")


def _shorten(attribute: Attribute) -> str:
    if isinstance(attribute, (ir.DenseElementsAttr, ir.DenseResourceElementsAttr)):
        # The text of such an attribute can be as large as the model.
        return f"dense<...> : {attribute.type}"
    text = str(attribute)
    return text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 3] + "..."


def _describe_cast(operation: Operation) -> str:
    source = ", ".join(str(value.type) for value in operation.operands)
    target = ", ".join(str(value.type) for value in operation.results)
    users = sorted({use.owner.operation.name for result in operation.results for use in result.uses})
    return f"{source} is still needed as {target} by {', '.join(users) or 'nothing'}"
