# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""External codegens: what each takes of a model, by patterns in the order of priority."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

from ...bindings.ir import Attribute, Operation
from ...bindings.navigation import functions_in, is_private, symbol_name
from ...dialects.core.dialect import find_op
from ...support.argument_types import types_checked
from ...support.blaming import blaming
from ...support.contract import check_contract
from ...support.errors import RelaxError, message_of
from ...support.external_runtime import ExternalRuntime, find_runtime, register_runtime
from ...targets.core.code import stages_of
from ..core.external import CODEGENS
from ..core.options import quoted, split_options
from ..core.pipeline import Pipeline
from ..patterns.match import Match, Refusal, matches_of, why_not
from ..patterns.tree import Check, GraphPattern, maker_of, walk
from .options import CodegenOption, declared_options, option_values
from .pricing import BYTES_PER_S, CROSSING_S, seconds_of
from .steps import Steps, steps_of

C = TypeVar("C", bound="type[Codegen]")
#: Members of Codegen that others call, and that are not there to be given.
_HELPERS = frozenset({"functions", "steps", "composites", "name"})
#: From what on words are taken for one that is misspelt: a letter of four, two that have changed places.
_ALIKE = 0.75


class PatternRow(NamedTuple):
    """A line of a codegen's table; a tuple of the first two or three does as well."""

    #: `<codegen>.<what>`.
    name: str
    pattern: GraphPattern
    check: Check | None = None
    #: Whether there are no parts of such matches alone: views, which are worth it only together with what computes.
    beside: bool = False


class Composite(NamedTuple):
    """A pattern with its name, `<codegen>.<what>`, and its check."""

    name: str
    pattern: GraphPattern
    beside: bool = False

    def matches(self, op: Operation) -> Iterator[Match]:
        """The ways in which it matches the results of an operation. Errors of checks say whose they are."""
        try:
            yield from matches_of(self.pattern, op)
        except (Exception, SystemExit) as error:  # attributes' conditions are strangers' code, as checks are
            raise self._named(error) from error

    def why_not(self, op: Operation) -> Refusal | None:
        """What keeps it from matching; None where it matches."""
        try:
            return why_not(self.pattern, op)
        except (Exception, SystemExit) as error:
            raise self._named(error) from error

    def _named(self, error: BaseException) -> RelaxError:
        what = f"codegen '{self.codegen}', pattern '{self.name}'"
        if not isinstance(error, RelaxError):
            return RelaxError(f"{what}: {message_of(error)}")
        return error.altered(f"{what}: {error.message}")

    @property
    def codegen(self) -> str:
        return self.name.partition(".")[0]

    @property
    def heads(self) -> frozenset[str]:
        """The operations that the pattern can end with, where it is looked for."""
        return frozenset(name for head in self.pattern.heads or () for name in head.names)


#: Functions that code calls by tvm-ffi's ABI have it in front of their names.
SYMBOLS = "__tvm_ffi_"


class ObjectCode(NamedTuple):
    """Native code of a part, which is linked into the program: no Python runs when it is called.

    A function @f of the part @p is the symbol `__tvm_ffi_p.f`, called by tvm-ffi's ABI.
    """

    objects: tuple[bytes, ...]
    #: What a function gets behind its inputs at each call, elements attributes: the program keeps them once, mapped.
    constants: Mapping[str, Sequence[Attribute]] = MappingProxyType({})


#: What `compile` gives: bytes that `load` gets, or objects that are linked.
Code = bytes | ObjectCode


class Codegen(ExternalRuntime):
    """What makes code of parts of a model, and runs it: one that ships neither `load` nor objects has a runtime of its
    name, which is registered by itself. It is made without arguments.
    """

    #: `("mynpu.mm_relu", pattern)`, `("mynpu.mm_relu", pattern, check)` or a PatternRow; earlier ones are tried first.
    patterns: ClassVar[Sequence[PatternRow | tuple[str, GraphPattern] | tuple[str, GraphPattern, Check]]] = ()
    #: Operators that its patterns want to see on constants too, the dequantization of weights for instance: programs
    #: that are partitioned fold them afterwards.
    keeps: ClassVar[Sequence[str]] = ()
    #: Operators whose results it does not promise for NaN and infinities, by name, and why: its library's maximum hands
    #: on the operand that is a number, for instance. relax-check says of such results that they deviate.
    deviations: ClassVar[Mapping[str, str]] = {}
    #: Where its functions take tensors: a program for another device refuses parts of it.
    devices: ClassVar[Sequence[str]] = ("cpu",)
    #: Whether each match is a part of its own, which gets its constants as inputs: for libraries whose functions do one
    #: operation. What is between parts is in the program's plan of memory, constants are where its device reads them.
    separate: ClassVar[bool] = False
    #: Whether a match may have inner outputs: values inside of the pattern that operations outside of the match read,
    #: which then are outputs of its step, too. False refuses such matches, as TVM does.
    inner_outputs: ClassVar[bool] = True
    #: Passes, as text, that run on each of its modules before `compile`.
    pipeline: ClassVar[str] = ""
    #: How far its modules are lowered after them: by the stages of this target, up to this one; not at all without.
    target: ClassVar[str] = ""
    stage: ClassVar[str] = ""

    #: What can be stated in addition to its name, `mynpu{cores=4}`: each option, or for text what it means.
    options: ClassVar[Mapping[str, CodegenOption | str]] = {}

    def compile(self, module: object, options: Mapping[str, object]) -> Code | Callable[[], Code]:
        """Code of a part, an rx.Module, for each of its public functions; what `load` gets.

        Raise RelaxError, with the reason, for what cannot be done: then it stays with the target. `options` has a value
        for each option of the class: what was given with the codegen's name, mynpu{cores=4}, or its default.

        What takes long and does not need the module may be returned as a function that gives the code: those of several
        parts are called at once, each by a thread.
        """
        raise RelaxError(f"codegen '{self.name}' has no compile()")

    def fingerprint(self, options: Mapping[str, object]) -> str:
        """What else the code depends on than the part and the options: versions of the codegen and of compilers that it
        calls, the machine, where it asks that. The same text, part and options give the same code, which is then found
        in the cache. Empty: nothing is kept.
        """
        del options
        return ""

    def workspace(self, function: Operation) -> int:
        """Bytes of memory that a function of a part needs while it runs: it is given them as its last output.

        relax-allocate-workspace asks; the attribute relax.workspace of a function says it, too.
        """
        del function
        return 0

    @staticmethod
    def functions(module: Any) -> dict[str, Operation]:
        """The public functions of a part, by name: what `load` gives has these names."""
        found = functions_in(module.operation)
        return {symbol_name(each): each for each in found if not is_private(each)}

    @classmethod
    def steps(cls, module: Any, *, whole: bool = True) -> dict[str, Steps]:
        """What each public function of a part computes, as a list; `whole`: what a pattern has matched is one step."""
        return steps_of(cls.functions(module), module.operation, whole=whole)

    def cost(self, composite: str, operations: Sequence[Operation]) -> float:
        """Seconds for what a pattern has matched, without what crosses to it and back: for relax-partition{plan=cost}.

        By default half of what the target takes.
        """
        del composite
        return seconds_of(operations) / 2

    def host_cost(self, composite: str, operations: Sequence[Operation]) -> float:
        """Seconds that the target would need for the same, as far as the codegen knows better than this project."""
        del composite
        return seconds_of(operations)

    def crossing_cost(self, size: int) -> float:
        """Seconds for a value of `nbytes` on its way to the codegen's parts, or back from them: its share of a
        call and, unless the codegen says another thing, a pass through memory.
        """
        return CROSSING_S + size / BYTES_PER_S

    def call_cost(self) -> float:
        """Overhead in seconds of a call of a part, without what it computes and what crosses: for adjacent operations
        that become one part it is counted once.
        """
        return 0.0

    @classmethod
    def composites(cls) -> list[Composite]:
        """Return the patterns, each with its checks."""
        return [
            Composite(row.name, cls._checked(row), row.beside) for row in (PatternRow(*each) for each in cls.patterns)
        ]

    @classmethod
    def _checked(cls, row: PatternRow) -> GraphPattern:
        pattern = row.pattern if row.check is None else row.pattern.where(row.check)
        return pattern if cls.inner_outputs else pattern.where(_has_no_inner_outputs)


def _has_no_inner_outputs(match: Match) -> bool | str:
    """Return True if no value inside of the pattern is read outside of the match, or the reason why not."""
    makers = (maker_of(value) for value in match.results)
    inner = next((op for op in makers if op is not None and op not in match.outputs), None)
    return inner is None or f"the result of {inner.name} inside of the pattern is read outside of the match, too"


@types_checked
def register_codegen(name: str) -> Callable[[C], C]:
    """Registers a subclass of Codegen under a name; use it as a decorator."""
    if not name.isidentifier():
        raise RelaxError(f"a codegen's name is a word, not {name!r}")

    def register(codegen: C) -> C:
        if not (isinstance(codegen, type) and issubclass(codegen, Codegen)):
            raise RelaxError(f"codegen '{name}' has to be a subclass of Codegen, got {codegen!r}")
        _check(name, codegen)
        codegen.options = declared_options(name, codegen.options)
        _warn_of_misspelt(name, codegen)
        CODEGENS.register(name, codegen)
        codegen.name = name
        if codegen.load is not ExternalRuntime.load:
            register_runtime(name)(codegen)
        return codegen

    return register


def _check(name: str, codegen: type[Codegen]) -> None:
    check_contract(f"codegen '{name}'", codegen.contract)
    if not isinstance(codegen.patterns, Sequence):
        raise RelaxError(f"codegen '{name}': patterns has to be a list of rows, not {codegen.patterns!r}")
    if not isinstance(codegen.version, str):
        raise RelaxError(f"codegen '{name}': version has to be text, not {codegen.version!r}")
    if isinstance(codegen.keeps, str) or not all(isinstance(each, str) for each in codegen.keeps):
        raise RelaxError(f"codegen '{name}': keeps has to be a list of operators' names, not {codegen.keeps!r}")
    if not isinstance(codegen.deviations, Mapping) or not all(
        isinstance(each, str) for pair in codegen.deviations.items() for each in pair
    ):
        raise RelaxError(
            f"codegen '{name}': deviations has to be a mapping of operators' names to reasons, not "
            f"{codegen.deviations!r}"
        )
    if isinstance(codegen.devices, str) or not all(isinstance(each, str) for each in codegen.devices):
        raise RelaxError(f"codegen '{name}': devices has to be a list of kinds of devices, not {codegen.devices!r}")
    if not isinstance(codegen.separate, bool):
        raise RelaxError(f"codegen '{name}': separate has to be True or False, not {codegen.separate!r}")
    if not isinstance(codegen.inner_outputs, bool):
        raise RelaxError(f"codegen '{name}': inner_outputs has to be True or False, not {codegen.inner_outputs!r}")
    if codegen.stage and not codegen.target:
        raise RelaxError(f"codegen '{name}': stage = '{codegen.stage}' needs a target, whose stages lead to it")
    seen: set[str] = set()
    for row in codegen.patterns:
        is_row = isinstance(row, tuple) and 2 <= len(row) <= len(PatternRow._fields) and _is_named_pattern(row)
        if not is_row or not isinstance(PatternRow(*row).beside, bool):
            raise RelaxError(
                f"codegen '{name}': a row is (name, pattern), (name, pattern, check) or an rx.codegens.PatternRow, "
                f"not {row!r}"
            )
        whole = PatternRow(*row)
        prefix, _, what = whole.name.partition(".")
        if prefix != name or not what:
            raise RelaxError(f"codegen '{name}': pattern '{whole.name}' has to be called '{name}.<what>'")
        if whole.name in seen:
            raise RelaxError(f"codegen '{name}': two patterns are called '{whole.name}'")
        if whole.pattern.heads is None:
            raise RelaxError(f"codegen '{name}': pattern '{whole.name}' has to begin with an operator: {whole.pattern}")
        check: object = whole.check
        if not (check is None or callable(check)):
            kind = type(check).__name__
            raise RelaxError(f"codegen '{name}': pattern '{whole.name}': its check is a {kind}, no function")
        seen.add(whole.name)


def _warn_of_misspelt(name: str, codegen: type[Codegen]) -> None:
    """Members that nothing asks for, and that are called nearly what is asked for and is not there."""
    own = {each for base in codegen.__mro__ if not issubclass(Codegen, base) for each in vars(base)}
    asked = {each for each in dir(Codegen) if not each.startswith("_")}
    for each in sorted(own - asked):
        meant = [] if each.startswith("_") else difflib.get_close_matches(each, asked - own - _HELPERS, 1, _ALIKE)
        if meant:
            problem = f"codegen '{name}': nothing asks for its member '{each}'; did you mean '{meant[0]}'?"
            warnings.warn(problem, RuntimeWarning, stacklevel=3)


def _is_named_pattern(row: Sequence[object]) -> bool:
    return isinstance(row[0], str) and isinstance(row[1], GraphPattern)


def _check_lowering(codegen: type[Codegen]) -> None:
    """What names passes and targets: those may have come after the codegen."""
    try:
        if codegen.pipeline:
            Pipeline(codegen.pipeline)
        if codegen.target:
            stages = stages_of(codegen.target)
            stages.until(codegen.stage or stages.names[-1])
        for operator in (*codegen.keeps, *codegen.deviations):
            find_op(operator)
    except RelaxError as error:
        raise RelaxError(f"codegen '{codegen.name}': {error}") from error


@types_checked
def find_codegen(name: str) -> type[Codegen]:
    """The codegen of a name: registered in this program, this project's own, or another package's."""
    return cast("type[Codegen]", CODEGENS.get(name))


def operators_of(codegen: type[Codegen]) -> frozenset[str]:
    """What its patterns name, anywhere in them."""
    patterns = [PatternRow(*row).pattern for row in codegen.patterns]
    heads = (head for pattern in patterns for each in walk(pattern) for head in each.heads or ())
    return frozenset(name for head in heads for name in head.names)


def made_codegen(name: str) -> Codegen:
    """An object of the class. Raises RelaxError, whatever that raises."""
    codegen = find_codegen(name)
    with blaming(f"codegen '{name}': {codegen.__name__}()", codegen):
        return codegen()


class ChosenCodegen(NamedTuple):
    """A codegen as it was asked for."""

    codegen: type[Codegen]
    #: Of all its options.
    values: Mapping[str, Any]
    #: Its options, as text.
    given: tuple[tuple[str, str | None], ...] = ()

    def __str__(self) -> str:
        shown = " ".join(name if text is None else f"{name}={quoted(text)}" for name, text in self.given)
        return self.codegen.name + (f"{{{shown}}}" if shown else "")


def parse_codegen(text: str) -> ChosenCodegen:
    """`mynpu{cores=4}`. Raises RelaxError for unknown codegens, and for options and values that mean nothing."""
    if not isinstance(text, str):
        raise RelaxError(f"a codegen is text like 'dnnl' or 'mynpu{{cores=4}}', got {type(text).__name__} {text!r:.60}")
    name, brace, rest = text.strip().partition("{")
    name = name.rstrip()
    if brace and not rest.endswith("}"):
        raise RelaxError(f"codegen '{text}': expected '}}' at the end, behind the options")
    codegen = find_codegen(name)
    _check_lowering(codegen)
    given = tuple(split_options(rest[:-1]))
    return ChosenCodegen(codegen, option_values(name, options_of(codegen), given), given)


def options_of(codegen: type[Codegen]) -> Mapping[str, CodegenOption]:
    """Of one that is registered."""
    return cast("Mapping[str, CodegenOption]", codegen.options)


def all_codegens() -> list[type[Codegen]]:
    """Every codegen, sorted by name."""
    return [cast("type[Codegen]", entry.thing) for entry in CODEGENS.all()]


def version_of(codegen: type[Codegen]) -> str:
    """The version of its bytes, which its runtime reads."""
    own = codegen.load is not ExternalRuntime.load
    return codegen.version if own else find_runtime(codegen.name).version
