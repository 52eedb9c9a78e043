# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dialect conversion with Python patterns: rounds to a fixed point, then a walk over what is left.

    conversion = Conversion("my-lowering")
    conversion.illegal("relax")
    conversion.legal("relax.call_tir")
    conversion.add("relax.add", lower_add)
    conversion.run(module)

    def lower_add(op, operands, rewriter):
        if op.x1.type != op.x2.type:
            return Decline("operands must not broadcast")
        return arith.addf(*operands)        # made before the op, with its location

A pattern that declines or raises has left nothing behind (rewriting.py). What patterns make is converted in the next
round. MLIR's own driver would do the same for ten times as much: it asks Python about each operation anyway, knows
nothing of those that Python patterns make, and keeps a copy of all that it might have to take back.
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

#: `function(op, operands, rewriter)`: the operation, its operands after conversion, what else is needed.
PatternFunction = Callable[[OpView, "list[Value]", "ConversionRewriter"], object]


CAST = "builtin.unrealized_conversion_cast"
#: Whether operations of a kind may stay: always, never, or as a function of the operation says.
Rule = bool | Callable[[OpView], bool]
# Longer attributes are cut in messages.
_MOST_TEXT = 80


class _Pattern(NamedTuple):
    name: str
    function: PatternFunction
    priority: int


class ConversionRewriter:
    """What a conversion pattern may ask for."""

    def __init__(self) -> None:
        #: The operation that is being converted.
        self.op: Operation

    @property
    def result_types(self) -> list[Type]:
        """The types that the values returned for the operation's results must have."""
        return list(self.op.results.types)


class Legality:
    """Rules by operation and by dialect: an operation's own rule goes before its dialect's, then comes the default."""

    def __init__(self, default: bool | None):
        """`default` is for what no rule is about; None: it may stay, but patterns may convert it."""
        self.default = default
        self._ops: dict[str, Rule] = {CAST: False}
        self._dialects: dict[str, Rule] = {}
        self._found: dict[str, Rule | None] = {}

    def set(self, names: Sequence[object], rule: Rule) -> None:
        """Dialects ("arith") and operations ("arith.addi", or their classes). The last rule for a name holds."""
        self._found.clear()
        for name in names:
            if isinstance(name, str) and "." not in name:
                self._dialects[name] = rule
            else:
                self._ops[op_name(name)] = rule

    def rule(self, name: str) -> Rule | None:
        """The rule for operations of this name."""
        if name not in self._found:
            dialect_rule = self._dialects.get(name.partition(".")[0], self.default)
            self._found[name] = self._ops.get(name, dialect_rule)
        return self._found[name]


class Conversion:
    """Patterns and legality of one conversion. It can be run on any number of operations."""

    @types_checked
    def __init__(self, name: str, *, full: bool = False, max_rounds: int = 32, advice: str = ""):
        """`full`: operations that are not declared legal are illegal; else they may stay when no pattern applies.

        `advice` is for who has an operation without a pattern; `{}` in it stands for the operation's name.
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
        #: Asked before patterns are: the values for an operation's results, of legal ones made before it, or None.
        self.shortcut: Callable[[Operation, list[Value]], Sequence[Value] | None] | None = None

    def __repr__(self) -> str:
        return f"<conversion {self.name}: patterns for {', '.join(sorted(self.patterns)) or 'nothing yet'}>"

    def add(self, op: object, function: PatternFunction, *, priority: int = 0, name: str = "") -> None:
        """A pattern for an operation (its name or class). The highest priority is tried first, then the first added."""
        if not callable(function):
            raise OptionError(f"{self.name}: the pattern for '{op_name(op)}' must be a function, got {function!r}")
        patterns = self.patterns.setdefault(op_name(op), [])
        patterns.append(_Pattern(name or function_name(function), function, priority))
        patterns.sort(key=lambda pattern: -pattern.priority)

    def legal(self, *names: object) -> None:
        """Operations and dialects that may stay; patterns leave them alone."""
        self.legality.set(names, True)

    def illegal(self, *names: object) -> None:
        """Operations and dialects of which nothing may be left."""
        self.legality.set(names, False)

    def legal_if(self, condition: Callable[[OpView], bool], *names: object) -> None:
        """Operations and dialects that may stay where the condition holds for the operation, and nowhere else."""
        self.legality.set(names, condition)

    def leave_alone(self, is_opaque: Callable[[Operation], bool]) -> None:
        """Operations into which the conversion does not look, external modules for example."""
        self.is_opaque = is_opaque

    def when_met(self, announce: Callable[[Conversion, str], object]) -> None:
        """Call a function for the name of each kind of operation that the conversion meets, before it converts one.

        The function adds to the conversion, which it is given, the patterns and the legality of that name. So a
        conversion costs nothing for the hundreds of operators that a module does not have.
        """
        self._announce = announce

    @property
    def has_patterns(self) -> bool:
        return bool(self.patterns) or self._announce is not None

    def rules_of(self, name: str) -> tuple[Sequence[_Pattern], Rule | None]:
        """Return the patterns for operations of this name, and their legality."""
        if self._announce is not None and name not in self._announced:
            self._announced.add(name)
            self._announce(self, name)
        return self.patterns.get(name, ()), self.legality.rule(name)

    @enters
    def run(self, op: Holder, operations: Sequence[Operation] | None = None) -> None:
        """Converts what is in an operation; the operation itself stays. `operations`: where somebody has listed these.

        Raises RelaxError with a diagnostic for each operation that is left but must not be, and whatever a pattern
        raises. The operation is then half converted: throw it away.
        """
        with erasing(op.operation, self.name):
            _Run(self, op.operation, operations).run()


class _Run:
    """One conversion of one operation."""

    def __init__(self, conversion: Conversion, root: Operation, operations: Sequence[Operation] | None):
        self.conversion = conversion
        self.root = root
        #: For the first round.
        self._listed = operations
        self.legality = conversion.legality
        self._call = PatternCall(root)
        self._rewriter = ConversionRewriter()
        #: Of the round that runs: what was converted, with the last pattern and place; what declined; what was made.
        self._converted: dict[str, tuple[str, Location]] = {}
        self._declined: dict[Operation, list[tuple[str, str]]] = {}
        self._made: set[str] = set()
        #: What is known of operations by their names, and whether one that the round leaves may have to go.
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
            # Where nothing may stay but what is declared, what patterns have made elsewhere is looked at, too.
            self._is_in_doubt = self.legality.default is False
            with self._call:
                self._run_round()
            if not self._converted or not (self._declined or any(self._rules_of(name)[0] for name in self._made)):
                return
        raise self._endless()

    def _run_round(self) -> None:
        """Converts what is there. As in MLIR's driver operations keep their operands and stay until the round ends."""
        known: dict[Value, Value] = {}
        replaced: list[tuple[Operation, list[Value], list[Value]]] = []
        #: Those with regions: what is inside goes with them.
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
        """Return the patterns for operations of this name, and their legality."""
        found = self._by_name.get(name)
        if found is None:
            found = self._by_name[name] = self.conversion.rules_of(name)
        return found

    def _is_legal(self, operation: Operation) -> bool:
        _, rule = self._rules_of(operation.name)
        return bool(rule(operation.opview)) if callable(rule) else rule is not False

    @fragile
    def _settle(self, replaced: Sequence[tuple[Operation, Sequence[Value], Sequence[Value]]]) -> None:
        """Who uses what was replaced gets what stands for it; then it goes, users first."""
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
        """What stands for the results from now on; None where no pattern has any, or one has changed it in place."""
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
            # It may need another round, as what was made may.
            self._made.add(operation.name)
        return values

    def _endless(self) -> RelaxError:
        """Names what is still converted after the last round: it is what patterns make again and again."""
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
        # A cast that is left is mostly the trace of an operation that is left.
        shown = [operation for operation in left if operation.name != CAST] or left
        # The last round changed nothing but what its patterns converted, so what declined in it is still there.
        reasons = self._declined
        found = [
            illegal_diagnostic(op, self.conversion.name, reasons.get(op, ()), self.conversion.advice) for op in shown
        ]
        if found:
            raise _refusal(found, f" (and {len(found) - 1} more)" if len(found) > 1 else "")


def _refusal(found: Sequence[Diagnostic], more: str = "") -> RelaxError:
    """The first of the errors, with all of them."""
    notes = [note.message for note in found[0].notes]
    return RefusalError(found[0].message + more, location=found[0].place, notes=notes, diagnostics=found)


# ---- what to say about operations that may not stay ----


def illegal_diagnostic(
    operation: Operation, what: str, reasons: Sequence[tuple[str, str]], advice: str = ""
) -> Diagnostic:
    """The error for an operation that is left: what it is, and why each pattern did not convert it.

    `advice` says where there is none what would give one; `{}` in it stands for the operation's name.
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
    """Operand types and attributes, cut where they are long."""
    types = ", ".join(str(value.type) for value in operation.operands) or "no operands"
    attributes = [f"{name} = {_shorten(value)}" for name, value in operation.attributes.items()]
    return types + (f"; {', '.join(attributes)}" if attributes else "")


def _shorten(attribute: Attribute) -> str:
    if isinstance(attribute, (ir.DenseElementsAttr, ir.DenseResourceElementsAttr)):
        # As text such an attribute can be as large as the model.
        return f"dense<...> : {attribute.type}"
    text = str(attribute)
    return text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 3] + "..."


def _describe_cast(operation: Operation) -> str:
    source = ", ".join(str(value.type) for value in operation.operands)
    target = ", ".join(str(value.type) for value in operation.results)
    users = sorted({use.owner.operation.name for result in operation.results for use in result.uses})
    return f"{source} is still needed as {target} by {', '.join(users) or 'nothing'}"
