# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipelines of passes of this project, other packages and upstream, with nested anchors."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Union

from ...bindings.context import load_dialects, new_context
from ...bindings.ir import Module, Operation
from ...bindings.mlir import ir
from ...bindings.navigation import blocks_of, operations_of
from ...bindings.pass_manager import UnknownPass, check_upstream, run_upstream
from ...bindings.pipeline_text import PipelineElement, parse_pipeline
from ...bindings.upstream_passes import upstream_passes
from ...dialects.core.ir_attributes import CODEGEN
from ...dialects.verification import verify_functions
from ...support.argument_types import types_checked
from ...support.callbacks import enters
from ...support.collector import uncollected
from ...support.errors import OptionError, RelaxError
from ...support.plugins import missing_plugin, plugin_problems
from ...support.suggest import suggest
from .base import USUAL_ANCHOR, Pass, changing, check_anchor, run_pass
from .external import check_codegen, externals_aside, is_external
from .instruments import Instrument
from .options import make_pass, quoted, split_options
from .registry import all_passes, find_pass


class Upstream(NamedTuple):
    """Upstream pass in textual form."""

    text: str

    @property
    def name(self) -> str:
        return self.text.partition("{")[0]


class PassGroup(NamedTuple):
    """Passes that run on all operations of one kind directly inside. `attributes` filter the operations."""

    anchor: str
    attributes: tuple[tuple[str, str | None], ...]
    steps: tuple[Step, ...]


class External:
    """Passes that run only on external modules: the object form of `external{codegen=mynpu}(...)`.

    Filters are the codegen, the module's name (`symbol`), and further attributes with their values.
    """

    def __init__(
        self,
        codegen: str = "",
        passes: str | Pass | Iterable[Pass | str] = (),
        *,
        symbol: str = "",
        attributes: Mapping[str, str] | None = None,
    ):
        chosen = {"codegen": codegen, "symbol": symbol, **(attributes or {})}
        given = [(key, value) for key, value in chosen.items() if value]
        self.group = PassGroup(EXTERNAL, _check_external_filters(given), Pipeline(passes).steps)

    def __repr__(self) -> str:
        return _step_text(self.group)


#: Anchor name for external modules, which are builtin.modules, and short names of their attributes.
EXTERNAL = "external"
_OF_EXTERNALS = {"codegen": CODEGEN, "symbol": "sym_name"}

# For suggestions only: any operation with regions can be an anchor.
_USUAL_ANCHORS = ("builtin.module", "func.func", "gpu.module", "gpu.func", "llvm.func", "scf.for", "scf.if", "external")

Step = Union[Pass, Upstream, PassGroup]  # noqa: UP007  # PassGroup is declared with Step in quotes


def _singles(steps: Iterable[Step]) -> list[Step]:
    """Split groups so that each step has a single pass."""
    return [
        step._replace(steps=(inner,)) if isinstance(step, PassGroup) else step
        for step in steps
        for inner in (_singles(step.steps) if isinstance(step, PassGroup) else (step,))
    ]


class Pipeline:
    """Ordered passes, from text, pass objects, or both. The whole pipeline is checked before anything runs."""

    @types_checked
    def __init__(
        self,
        passes: str | Pass | External | Iterable[Pass | External | str],
        *,
        anchor: str = USUAL_ANCHOR,
        instruments: Sequence[Instrument] = (),
        verify_each: bool = True,
    ):
        self.anchor = anchor
        self.instruments = list(instruments)
        self.verify_each = verify_each
        self.steps = tuple(self._steps(passes))

    def __str__(self) -> str:
        return f"{self.anchor}({','.join(_step_text(step) for step in self.steps)})"

    def __repr__(self) -> str:
        return f"Pipeline('{self}')"

    def single_passes(self) -> list[Pipeline]:
        """Return equivalent pipelines with one pass each."""
        singles = []
        for step in _singles(self.steps):
            pipeline = Pipeline((), anchor=self.anchor, instruments=self.instruments, verify_each=self.verify_each)
            pipeline.steps = (step,)
            singles.append(pipeline)
        return singles

    def _steps(self, passes: str | Pass | External | Iterable[Pass | External | str]) -> Iterator[Step]:
        items = [passes] if isinstance(passes, (str, Pass, External)) else list(passes)
        for item in items:
            if isinstance(item, str):
                yield from self._resolve_all(self._without_anchor(parse_pipeline(item)), self.anchor)
            elif isinstance(item, Pass):
                check_anchor(item, self.anchor)
                yield item
            elif isinstance(item, External):
                yield item.group
            else:
                raise OptionError(f"a pipeline holds passes and pipeline texts, not {type(item).__name__}")

    def _without_anchor(self, elements: tuple[PipelineElement, ...]) -> tuple[PipelineElement, ...]:
        """Remove the optional outermost anchor: `builtin.module(a,b)`, `any(a,b)` and `a,b` are equivalent."""
        if len(elements) != 1 or elements[0].options or elements[0].children is None:
            return elements
        outermost = elements[0]
        return outermost.children or () if outermost.name in (self.anchor, "any") else elements

    def _resolve_all(self, elements: Sequence[PipelineElement], anchor: str) -> Iterator[Step]:
        for element in elements:
            yield self._resolve(element, anchor)

    def _resolve(self, element: PipelineElement, anchor: str) -> Step:
        if element.children is not None and element.name == EXTERNAL:
            steps = tuple(self._resolve_all(element.children, USUAL_ANCHOR))
            return PassGroup(EXTERNAL, _check_external_filters(split_options(element.options)), steps)
        if element.children is not None:
            if "." not in element.name and element.name != "any":
                hint = "it takes options in braces" if find_pass(element.name) else "an operation's name is expected"
                raise OptionError(f"'{element.name}' cannot hold passes: {hint}")
            self._check_anchor(element.name)
            steps = tuple(self._resolve_all(element.children, element.name))
            return PassGroup(element.name, tuple(split_options(element.options)), steps)
        if (own := find_own_or_none(element.name)) is not None:
            made = make_pass(own, split_options(element.options))
            check_anchor(made, anchor)
            return made
        self._check_upstream(element, anchor)
        return Upstream(str(element))

    def _check_anchor(self, name: str) -> None:
        """Raise OptionError for an unknown operation, whose passes would silently run on nothing."""
        if name != "any" and not _is_operation(name):
            raise OptionError(
                f"'{name}' cannot hold passes: no operation is called that{suggest(name, _USUAL_ANCHORS)}"
            )

    def _check_upstream(self, element: PipelineElement, anchor: str) -> None:
        known = upstream_passes().get(element.name)
        names = {option.name for option in known.options} if known else set()
        # Checked here because upstream suggests no names. Upstream's list options are not in the table.
        for name, _ in split_options(element.options) if names else ():
            if name not in names and suggest(name, names):
                raise OptionError(f"pass '{element.name}' has no option '{name}'{suggest(name, names)}")
        try:
            _check_upstream_once(str(element), anchor)
        except UnknownPass as error:
            if missing := missing_plugin(f"pass.{element.name}"):
                raise OptionError(f"pass '{element.name}': {missing}", notes=plugin_problems()) from None
            candidates = [*upstream_passes(), *all_passes()]
            raise OptionError(error.message + suggest(element.name, candidates), notes=plugin_problems()) from None

    @enters
    @uncollected()
    def run(self, target: Any, *, all_or_nothing: bool = True) -> Module:
        """Run the pipeline on a Module or an operation in place, and return it.

        Raises RelaxError for the first failing pass, and restores the original state from a copy. Without
        `all_or_nothing` there is no copy, and a failure leaves a partly transformed module, which must be discarded.
        """
        with changing(target, self.anchor, self._names(), all_or_nothing=all_or_nothing) as operation:
            self._run_steps(operation, self.steps)
        return target

    def _names(self) -> str:
        names = list(dict.fromkeys(_leaf_names(self.steps)))
        return f"pass {names[0]}" if len(names) == 1 else f"one of the passes {', '.join(names)}"

    def _run_steps(self, operation: Operation, steps: Sequence[Step]) -> None:
        position = 0
        while position < len(steps):
            step = steps[position]
            if isinstance(step, PassGroup) and (self.instruments or not _only_upstream(step)):
                for child in _selected_children(operation, step):
                    self._run_steps(child, step.steps)
            elif isinstance(step, Pass):
                # For any(...) the operation is known only here.
                check_anchor(step, operation.name)
                run = functools.partial(run_pass, step, operation, verify=self.verify_each)
                self._watched(step.name, operation, run)
            elif isinstance(step, Upstream) and self.instruments:
                self._watched(step.name, operation, functools.partial(self._run_upstream, operation, [step.text]))
            else:
                # Without instruments, consecutive upstream passes share a pass manager.
                end = position + 1
                while end < len(steps) and _only_upstream(steps[end]):
                    end += 1
                self._run_upstream(operation, [_step_text(item) for item in steps[position:end]])
                position = end - 1
            position += 1

    def _run_upstream(self, operation: Operation, texts: list[str]) -> None:
        with externals_aside(operation):
            run_upstream(operation, texts, verify=self.verify_each)
        # Upstream's passes do not verify PrimFuncs. They have verified everything else themselves.
        if self.verify_each and operation.name == "builtin.module":
            verify_functions(operation, f"pass {', '.join(texts)} produced invalid IR")

    def _watched(self, name: str, operation: Operation, run: Callable[[], object]) -> None:
        for instrument in self.instruments:
            instrument.before_pass(name, operation)
        try:
            run()
        except Exception:
            for instrument in reversed(self.instruments):
                instrument.pass_failed(name, operation)
            raise
        for instrument in reversed(self.instruments):
            instrument.after_pass(name, operation)


@functools.cache
def _is_operation(name: str) -> bool:
    context = new_context()
    with contextlib.suppress(RelaxError):  # an unknown dialect has no such operation either
        load_dialects(context, (name.partition(".")[0],))
    return bool(context.is_registered_operation(name))


@functools.cache
def _check_upstream_once(text: str, anchor: str) -> None:
    """Check an upstream pass once per process. Failures are not cached."""
    check_upstream(text, anchor, new_context())


def find_own_or_none(name: str) -> type[Pass] | None:
    """Return a pass written in Python, or None. Upstream's names are not looked up among plug-ins, to save time."""
    return None if name in upstream_passes() else find_pass(name)


def _check_external_filters(options: Sequence[tuple[str, str | None]]) -> tuple[tuple[str, str | None], ...]:
    """Check the filters of external modules: short names, or attributes with a dialect prefix. Raise OptionError."""
    for key, value in options:
        if key in _OF_EXTERNALS and not value:
            raise OptionError(f"external: option '{key}' needs a value, like {key}=...")
        if key not in _OF_EXTERNALS and "." not in key:
            listed = f"it takes {', '.join(_OF_EXTERNALS)}, and attributes such as mynpu.unit"
            raise OptionError(f"external has no option '{key}'{suggest(key, _OF_EXTERNALS)} ({listed})")
    return tuple(options)


def _step_text(step: Step) -> str:
    if isinstance(step, PassGroup):
        options = " ".join(key if value is None else f"{key}={quoted(value)}" for key, value in step.attributes)
        anchor = step.anchor + (f"{{{options}}}" if options else "")
        return f"{anchor}({','.join(_step_text(child) for child in step.steps)})"
    return step.text() if isinstance(step, Pass) else step.text


def _leaf_names(steps: Sequence[Step]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, PassGroup):
            yield from _leaf_names(step.steps)
        else:
            yield step.name


def _only_upstream(step: Step) -> bool:
    if isinstance(step, PassGroup):
        return step.anchor != EXTERNAL and not step.attributes and all(_only_upstream(child) for child in step.steps)
    return isinstance(step, Upstream)


def _selected_children(operation: Operation, group: PassGroup) -> list[Operation]:
    """Return the nested operations that a group runs on, as a list, because passes change the contents."""
    codegen = dict(group.attributes).get("codegen") if group.anchor == EXTERNAL else None
    if codegen:
        check_codegen(codegen, operation)
    children = [child for block in blocks_of(operation) for child in operations_of(block)]
    return [child for child in children if _is_selected(child, group)]


def _is_selected(child: Operation, group: PassGroup) -> bool:
    if group.anchor == EXTERNAL:
        named = ((_OF_EXTERNALS.get(key, key), value) for key, value in group.attributes)
        return is_external(child) and all(_has_attribute(child, key, value) for key, value in named)
    if group.anchor != child.name and not (group.anchor == "any" and len(child.regions)):
        return False
    is_addressed = any(key == CODEGEN for key, _ in group.attributes)
    if is_external(child) and not is_addressed:
        return False
    return all(_has_attribute(child, key, value) for key, value in group.attributes)


def _has_attribute(operation: Operation, key: str, value: str | None) -> bool:
    if key not in operation.attributes:
        return False
    attribute = operation.attributes[key]
    return value is None or (attribute.value if isinstance(attribute, ir.StringAttr) else str(attribute)) == value
