# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""External codegens: the parts of a model that each takes, by patterns in the order of priority."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

from ....bindings.ir import Attribute, Operation
from ....bindings.navigation import functions_in, is_private, symbol_name
from ....dialects.core.dialect import find_op
from ....support.argument_types import types_checked
from ....support.blaming import blaming
from ....support.contract import check_contract
from ....support.errors import RelaxError, message_of
from ....support.external_runtime import ExternalRuntime, find_runtime, register_runtime
from ....targets.core.code import stages_of
from ...core.external import CODEGENS
from ...core.options import quoted, split_options
from ...core.pipeline import Pipeline
from ...patterns.match import Match, Refusal, matches_of, why_not
from ...patterns.tree import Check, GraphPattern, maker_of, walk
from ..recipes.recipe import Recipe
from .options import CodegenOption, declared_options, option_values
from .pricing import BYTES_PER_S, CROSSING_S, seconds_of
from .steps import Steps, steps_of

C = TypeVar("C", bound="type[Codegen]")
#: Members of Codegen that others call, and that subclasses do not define.
_HELPERS = frozenset({"functions", "steps", "composites", "name"})
#: Similarity from which on a word counts as misspelt: one letter of four, or two swapped letters.
_ALIKE = 0.75


class PatternRow(NamedTuple):
    """Row of a codegen's table. A tuple of the first two or three fields is accepted, too."""

    #: Name of the pattern, `<codegen>.<what>`.
    name: str
    pattern: GraphPattern
    check: Check | None = None
    #: Form no parts of such matches only. Views, for instance, are worth it only next to computations.
    beside: bool = False


class Composite(NamedTuple):
    """Pattern with its name, `<codegen>.<what>`, and its check."""

    name: str
    pattern: GraphPattern
    beside: bool = False

    def matches(self, op: Operation) -> Iterator[Match]:
        """Yield the matches for the results of an operation. Errors of checks name the codegen and the pattern."""
        try:
            yield from matches_of(self.pattern, op)
        except (Exception, SystemExit) as error:  # checks and conditions on attributes are users' code
            raise self._explain(error) from error

    def why_not(self, op: Operation) -> Refusal | None:
        """Return the reason why the pattern does not match, or None if it matches."""
        try:
            return why_not(self.pattern, op)
        except (Exception, SystemExit) as error:
            raise self._explain(error) from error

    def _explain(self, error: BaseException) -> RelaxError:
        what = f"codegen '{self.codegen}', pattern '{self.name}'"
        if not isinstance(error, RelaxError):
            return RelaxError(f"{what}: {message_of(error)}")
        return error.altered(f"{what}: {error.message}")

    @property
    def codegen(self) -> str:
        return self.name.partition(".")[0]

    @property
    def heads(self) -> frozenset[str]:
        """Return the names of operations that a match can end with. The search begins at these."""
        return frozenset(self.pattern.heads or ())


#: Prefix of symbols of functions that are called by tvm-ffi's ABI.
SYMBOLS = "__tvm_ffi_"


class ObjectCode(NamedTuple):
    """Native code of a part, which is linked into the program. Calls run no Python.

    A function @f of the part @p is the symbol `__tvm_ffi_p.f`, called by tvm-ffi's ABI.
    """

    objects: tuple[bytes, ...]
    #: Constants that a function receives after its inputs at each call, as elements attributes. The program stores them
    #: once, mapped.
    constants: Mapping[str, Sequence[Attribute]] = MappingProxyType({})


#: Result of `compile`: bytes, which `load` receives, or objects, which are linked.
Code = bytes | ObjectCode


class Codegen(ExternalRuntime):
    """Generator of code for parts of a model, which also runs the code. The constructor takes no arguments.

    A codegen with neither `load` nor objects needs a runtime of its name, which is registered separately.
    """

    #: `("mynpu.mm_relu", pattern)`, `("mynpu.mm_relu", pattern, check)` or a PatternRow; earlier rows are tried first.
    patterns: ClassVar[Sequence[PatternRow | tuple[str, GraphPattern] | tuple[str, GraphPattern, Check]]] = ()
    #: Operators that the patterns match on constants, too, such as the dequantization of weights. Partitioned programs
    #: fold these operators afterwards.
    keeps: ClassVar[Sequence[str]] = ()
    #: Operators with results that are not guaranteed for NaN and infinities, by name, and the reason. For instance, a
    #: library's maximum may return the operand that is a number. relax-check reports such results as deviations.
    deviations: ClassVar[Mapping[str, str]] = {}
    #: Devices that have the tensors of its functions. A program for another device refuses parts of this codegen.
    devices: ClassVar[Sequence[str]] = ("cpu",)
    #: True if each match is a separate part, which gets its constants as inputs, for libraries with one operation per
    #: function. The program's memory plan covers the values between parts, and constants are in the memory of their
    #: device.
    separate: ClassVar[bool] = False
    #: True if a match may have inner outputs: values inside of the pattern that operations outside of the match read.
    #: They are outputs of its step, too. False refuses such matches, as TVM does.
    inner_outputs: ClassVar[bool] = True
    #: True if results have the same bits for any number of threads, in each call, and for each row of any batch.
    #: relax-check --same-bits compares them.
    same_bits: ClassVar[bool] = False
    #: Seconds that `compile`, and a function that it returns, may take for a part. After that the part stays with the
    #: target, and the reason names the codegen. None: no limit, and a warning after a minute.
    compile_limit: ClassVar[float | None] = None
    #: How rx.quantize quantizes models for this codegen. A pattern of floats that an entry names matches the quantized
    #: layer, between dequantize and quantize.
    recipe: ClassVar[Recipe | None] = None
    #: Passes, as text, that run on each of its modules before `compile`.
    pipeline: ClassVar[str] = ""
    #: Target and last stage of the lowering after `pipeline`. Default: none.
    target: ClassVar[str] = ""
    stage: ClassVar[str] = ""

    #: Options in addition to the name, `mynpu{cores=4}`. A description by itself declares an option with a text value.
    options: ClassVar[Mapping[str, CodegenOption | str]] = {}

    def compile(self, module: object, options: Mapping[str, object]) -> Code | Callable[[], Code]:
        """Compile the public functions of a part, an rx.Module, and return code for `load` or objects.

        Raise RelaxError, with the reason, for a part that is not supported: the part then stays with the target.
        `options` has a value for each option of the class: the value from the codegen's text, mynpu{cores=4}, or the
        default.

        If a long step does not need the module, return a function that makes the code. Threads call such functions of
        several parts at the same time.
        """
        raise RelaxError(f"codegen '{self.name}' has no compile()")

    def fingerprint(self, options: Mapping[str, object]) -> str:
        """Return everything else that the code depends on, or "" to disable the cache for this codegen.

        Examples: versions of the codegen and of compilers that it calls, or the machine, if the codegen queries it. The
        cache returns the stored code for the same text, part and options.
        """
        del options
        return ""

    def workspace(self, function: Operation) -> int:
        """Return the bytes of memory that a function of a part needs at run time, passed as its last output.

        relax-allocate-workspace calls this method, unless a function has the attribute relax.workspace.
        """
        del function
        return 0

    @staticmethod
    def functions(module: Any) -> dict[str, Operation]:
        """Return the public functions of a part, by name. The result of `load` has functions of these names."""
        return {
            symbol_name(function): function for function in functions_in(module.operation) if not is_private(function)
        }

    @classmethod
    def steps(cls, module: Any, *, whole: bool = True) -> dict[str, Steps]:
        """Return the computation of each public function of a part, as a list of steps.

        With `whole`, all that a pattern has matched is one step.
        """
        return steps_of(cls.functions(module), module.operation, whole=whole)

    def cost(self, composite: str, operations: Sequence[Operation]) -> float:
        """Return the seconds for a match, without transfers to and from the codegen, for relax-partition{plan=cost}.

        Default: half of the target's time.
        """
        del composite
        return seconds_of(operations) / 2

    def host_cost(self, composite: str, operations: Sequence[Operation]) -> float:
        """Return the seconds that the target needs for the same, if the codegen knows better than this project."""
        del composite
        return seconds_of(operations)

    def crossing_cost(self, size: int) -> float:
        """Return the seconds for a transfer of `size` bytes to the codegen's parts, or back.

        Default: the share of a call, and one pass through memory.
        """
        return CROSSING_S + size / BYTES_PER_S

    def call_cost(self) -> float:
        """Return the seconds of overhead of a call of a part, without its computation and its transfers.

        Adjacent operations that become one part pay it once.
        """
        return 0.0

    @classmethod
    def composites(cls) -> list[Composite]:
        """Return the patterns, each with its checks."""
        rows = (PatternRow(*pattern) for pattern in cls.patterns)
        return [Composite(row.name, cls._checked(cls._quantized(row)), row.beside) for row in rows]

    @classmethod
    def _quantized(cls, row: PatternRow) -> PatternRow:
        """Return the row of the quantized layer, if the recipe quantizes what the pattern matches."""
        entry = None if cls.recipe is None else cls.recipe.entry(row.name)
        if entry is None:
            return row
        from ..recipes.forms import is_quantized_form, quantized_form

        return row if is_quantized_form(row.pattern) else row._replace(pattern=quantized_form(row.pattern, entry))

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
    """Register a subclass of Codegen under a name. Use it as a decorator."""
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
    if isinstance(codegen.keeps, str) or not all(isinstance(keep, str) for keep in codegen.keeps):
        raise RelaxError(f"codegen '{name}': keeps has to be a list of operators' names, not {codegen.keeps!r}")
    if not isinstance(codegen.deviations, Mapping) or not all(
        isinstance(each, str) for pair in codegen.deviations.items() for each in pair
    ):
        raise RelaxError(
            f"codegen '{name}': deviations has to be a mapping of operators' names to reasons, not "
            f"{codegen.deviations!r}"
        )
    if isinstance(codegen.devices, str) or not all(isinstance(device, str) for device in codegen.devices):
        raise RelaxError(f"codegen '{name}': devices has to be a list of kinds of devices, not {codegen.devices!r}")
    if not isinstance(codegen.separate, bool):
        raise RelaxError(f"codegen '{name}': separate has to be True or False, not {codegen.separate!r}")
    if not isinstance(codegen.inner_outputs, bool):
        raise RelaxError(f"codegen '{name}': inner_outputs has to be True or False, not {codegen.inner_outputs!r}")
    if not isinstance(codegen.same_bits, bool):
        raise RelaxError(f"codegen '{name}': same_bits has to be True or False, not {codegen.same_bits!r}")
    limit: object = codegen.compile_limit
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, float)) or not limit > 0):
        raise RelaxError(f"codegen '{name}': compile_limit has to be a number of seconds above 0, not {limit!r}")
    if codegen.recipe is not None and not isinstance(codegen.recipe, Recipe):
        raise RelaxError(f"codegen '{name}': recipe has to be an rx.Recipe, not {codegen.recipe!r:.60}")
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
            raise RelaxError(f"codegen '{name}': pattern '{whole.name}': its check is a {kind}, not a function")
        seen.add(whole.name)
    if codegen.recipe is not None:
        codegen.recipe.patterns(
            {row.name: row.pattern for row in (PatternRow(*pattern) for pattern in codegen.patterns)}
        )


def _warn_of_misspelt(name: str, codegen: type[Codegen]) -> None:
    """Warn of members that no code reads, and that resemble the name of a missing member."""
    own = {var for base in codegen.__mro__ if not issubclass(Codegen, base) for var in vars(base)}
    asked = {each for each in dir(Codegen) if not each.startswith("_")}
    for each in sorted(own - asked):
        meant = [] if each.startswith("_") else difflib.get_close_matches(each, asked - own - _HELPERS, 1, _ALIKE)
        if meant:
            problem = f"codegen '{name}': its member '{each}' is unused; did you mean '{meant[0]}'?"
            warnings.warn(problem, RuntimeWarning, stacklevel=3)


def _is_named_pattern(row: Sequence[object]) -> bool:
    return isinstance(row[0], str) and isinstance(row[1], GraphPattern)


def _check_lowering(codegen: type[Codegen]) -> None:
    """Check the passes, targets and operators that a codegen names. They may have been registered after the codegen."""
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
    """Return the codegen of a name: registered in this program, or this project's or another package's."""
    return cast("type[Codegen]", CODEGENS.get(name))


def operators_of(codegen: type[Codegen]) -> frozenset[str]:
    """Return the operators that the patterns name, anywhere in them."""
    patterns = [PatternRow(*row).pattern for row in codegen.patterns]
    return frozenset(name for pattern in patterns for each in walk(pattern) for name in each.heads or ())


def made_codegen(name: str) -> Codegen:
    """Create an object of the codegen. Raises RelaxError for any error of its constructor."""
    codegen = find_codegen(name)
    with blaming(f"codegen '{name}': {codegen.__name__}()", codegen):
        return codegen()


class ChosenCodegen(NamedTuple):
    """Requested codegen with its options."""

    codegen: type[Codegen]
    #: Values of all options.
    values: Mapping[str, Any]
    #: The stated options, as text.
    given: tuple[tuple[str, str | None], ...] = ()

    def __str__(self) -> str:
        shown = " ".join(name if text is None else f"{name}={quoted(text)}" for name, text in self.given)
        return self.codegen.name + (f"{{{shown}}}" if shown else "")


def parse_codegen(text: str) -> ChosenCodegen:
    """Parse text like `mynpu{cores=4}`. Raises RelaxError for unknown codegens, options, and values."""
    if not isinstance(text, str):
        raise RelaxError(f"a codegen is text like 'dnnl' or 'mynpu{{cores=4}}', got {type(text).__name__} {text!r:.60}")
    name, brace, rest = text.strip().partition("{")
    name = name.rstrip()
    if brace and not rest.endswith("}"):
        raise RelaxError(f"codegen '{text}': expected '}}' at the end, behind the options")
    codegen = find_codegen(name)
    _check_lowering(codegen)
    options = tuple(split_options(rest[:-1]))
    return ChosenCodegen(codegen, option_values(name, options_of(codegen), options), options)


def options_of(codegen: type[Codegen]) -> Mapping[str, CodegenOption]:
    """Return the options of a registered codegen."""
    return cast("Mapping[str, CodegenOption]", codegen.options)


def all_codegens() -> list[type[Codegen]]:
    """Return all codegens, sorted by name."""
    return [cast("type[Codegen]", entry.thing) for entry in CODEGENS.all()]


def version_of(codegen: type[Codegen]) -> str:
    """Return the version of the code's format, which the runtime reads."""
    own = codegen.load is not ExternalRuntime.load
    return codegen.version if own else find_runtime(codegen.name).version
