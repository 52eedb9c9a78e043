# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules: how the loops of PrimFuncs run, step by step, with the words of `tvm.tir.Schedule`.

    sch = rx.Schedule(module)
    C = sch.get_block("C")
    i, j, k = sch.get_loops(C)
    i_0, i_1 = sch.split(i, factors=[None, 6])
    sch.reorder(i_0, j, k, i_1)
    rx.compile(sch.mod)

The steps stay with the PrimFunc, as text in its attribute `tir.schedule`; the pass tir-apply-schedule does them.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from random import Random
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from ...bindings.ir import Operation
from ...bindings.navigation import functions_at, symbol_name
from ...bindings.rewriting import blaming_at, located_error
from ...dialects.tir.prim_func import prim_funcs_in, schedule_lines, set_schedule_lines
from ...support.argument_types import types_checked
from ...support.errors import RelaxError
from ...support.suggest import suggest
from .auto_tensorize import AutoTensorize
from .bufferized import Scratch
from .handles import BlockRV, IndexMap, LoopRV, Sampled
from .intrins import INTRIN, TENSORIZED, Mismatch, find_intrin, operands_of
from .primitives import Edit, Primitive, Refused, find_primitive, primitive_names
from .rolling import check_rolling
from .show import show_tree
from .size import MOST_OPERATIONS, Sizes, check_size
from .trace import (
    Handle,
    Name,
    Request,
    Trace,
    TraceStep,
    alive_steps,
    function_of,
    handles_in,
    is_plain,
    lines_of,
    read_requests,
)
from .tree import Tree
from .tree_reader import Read, may_have_block

#: What TVM calls a primitive since blocks are s-blocks.
ALSO = {"get_sblock": "get_block"}


class Schedule(AutoTensorize):
    """Of a module's PrimFuncs, or of one of them. Each primitive is a method: `help(sch.split)`, `dir(sch)`."""

    @types_checked
    def __init__(self, module: object, trace: str | None = None, seed: int | None = None):
        """Of a module's copy, which is `mod`, or of one PrimFunc itself. Steps that are there go on; those of `trace`
        follow. With a seed, what `sch.sample_...` draws is the same each time."""
        if not hasattr(module, "operation"):
            raise RelaxError(f"a schedule is of a Module or a PrimFunc, got {type(module).__name__} {module!r:.60}")
        self._module = module = module.copy() if hasattr(module, "copy") else module
        self._trees: dict[str, Tree] = {}
        self._functions = _prim_funcs_of(module)
        self._reads: dict[str, Scratch] = {}
        self._steps: list[TraceStep] = []
        #: What these have given.
        self._handles: set[Handle] = set()
        #: Of loops and blocks that are gone, which step took them.
        self._gone: dict[str, dict[str, str]] = {}
        self._most_operations, self._sizes = MOST_OPERATIONS, Sizes()
        self._random = Random(seed)
        self._drawn = 0
        #: The PrimFunc that steps without handles are about, where there are several.
        self._working = ""
        if not self._functions:
            raise RelaxError("there is no PrimFunc to schedule: legalize the graph first (relax-legalize-ops)")
        for name, function in self._functions.items():
            lines = schedule_lines(function)
            if lines is not None:
                self._go_on(lines, name)
        if trace is not None:
            self.replay(trace)

    # ---- what comes of it ----

    @property
    def mod(self) -> Any:
        """The module, in which each PrimFunc says how it runs."""
        self.write()
        return self._module

    def write(self) -> None:
        """Has the PrimFuncs say how they run."""
        for name, function in self._functions.items():
            steps = [step for step in self._steps if function_of(step) == name]
            if any(not step.primitive.startswith("get_") for step in steps):
                alive = alive_steps(steps, self._reads[name].read.tree)
                if alive:
                    set_schedule_lines(function, lines_of(alive))

    @property
    def trace(self) -> Trace:
        """All steps, as text that `replay` and `tir-apply-schedule` take."""
        return Trace("\n".join(lines_of(self._steps)) + "\n")

    @types_checked
    def show(self, function: str | None = None) -> str:
        """The loops as they stand, as TVMScript."""
        names = [function] if function is not None else list(self._trees) or list(self._functions)[:1]
        return "\n".join(show_tree(self._tree(name)) for name in names)

    def trees(self) -> list[Tree]:
        """Of each PrimFunc that can be scheduled, in the module's order."""
        return [self._tree(name) for name in self._functions if self._block_names(name)]

    def __repr__(self) -> str:
        steps = sum(not each.startswith("#") for each in lines_of(self._steps))
        return f"<schedule of {', '.join(self._functions)}: {steps} step{'' if steps == 1 else 's'}>"

    def __str__(self) -> str:
        return self.show()

    @types_checked
    def replay(self, trace: str) -> None:
        """Does the steps of a text. Raises RelaxError that names the line; the steps before it are undone, too."""
        self._replay(trace.splitlines(), None)

    def _go_on(self, lines: Sequence[str], function: str) -> None:
        """With the steps that a PrimFunc has; what is wrong with them stands there."""
        self._most_operations = 4 * MOST_OPERATIONS  # functions like sin may be many operations now
        try:
            self._replay(lines, function)
        except RelaxError as error:
            if error.location:
                raise
            raise located_error(error.message, self._functions[function].location, error.notes) from None
        finally:
            self._most_operations, self._sizes = MOST_OPERATIONS, Sizes()

    def _replay(self, lines: Sequence[str], function: str | None) -> None:
        with self._undone_if_refused():
            known: dict[str, Any] = {}
            for request in read_requests(lines):
                self._repeat(request, known, function)

    @contextmanager
    def _undone_if_refused(self) -> Iterator[None]:
        gone = {name: dict(each) for name, each in self._gone.items()}
        kept = dict(self._trees), list(self._steps), set(self._handles), gone
        try:
            yield
        except BaseException:
            self._trees, self._steps, self._handles, self._gone = kept
            raise

    def _repeat(self, request: Request, known: dict[str, Any], function: str | None) -> None:
        where = f"line {request.line} of the schedule, '{request.text}'"

        def handle(value: object) -> Any:
            if isinstance(value, Name):
                if value.text not in known:
                    raise RelaxError(f"{where}: no line before it gives '{value.text}'{suggest(value.text, known)}")
                return known[value.text]
            if isinstance(value, (list, tuple)) and not isinstance(value, Name):
                return type(value)(map(handle, value))
            return value

        arguments = [handle(each) for each in request.arguments]
        options = {name: handle(each) for name, each in request.options.items()}
        if function is not None and request.primitive == "get_block":
            options["func_name"] = function
        try:
            made = self._do(find_primitive(request.primitive), arguments, options)
        except RelaxError as error:
            located = [each._replace(message=f"{where}: {each.message}") for each in error.diagnostics[:1]]
            message = f"{where}: {error.message}"
            raise RelaxError(message, location=error.location, notes=error.notes, diagnostics=located) from None
        results = made if isinstance(made, list) else [] if made is None else [made]
        if len(results) != len(request.names) and request.names:
            raise RelaxError(
                f"{where}: it gives {len(results)} handles for {len(request.names)} names: the schedule was made for "
                "other loops"
            )
        known.update(zip(request.names, results, strict=False))

    # ---- steps ----

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        name = ALSO.get(name, name)
        if name not in primitive_names():
            hint = suggest(name, primitive_names())
            raise AttributeError(f"a schedule has no '{name}'{hint} (it has {', '.join(primitive_names())})")
        primitive = find_primitive(name)
        method: Any = partial(_called, self, primitive)
        method.__doc__ = primitive.function.__doc__
        method.__name__ = name
        method.__signature__ = primitive.signature
        return method

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *primitive_names()})

    def _do(self, primitive: Primitive, arguments: Sequence[object], options: dict[str, object]) -> Any:
        bound = self._bound(primitive, arguments, options)
        shown = self._shown(primitive, bound)
        function = self._chosen(primitive, bound, shown)
        tree = self._tree(function)
        edit = Edit(tree, self._gone.setdefault(function, {}), self._random)
        try:
            made = self._changed(primitive, edit, bound, shown)
            if edit.tree is not tree:
                check_size(edit, tree, self._most_operations, self._sizes)
                check_rolling(edit)
        except Refused as refusal:
            edit.tree = tree
            at = edit.shown(refusal.name).split("\n")
            shown_loops = "the loops as they stand:\n" + "\n".join(f"    {line}" for line in at)
            raise located_error(
                f"{shown}: {refusal.reason}", self._functions[function].location, [shown_loops]
            ) from None
        if edit.tree is not tree:
            self._check_tensorized(function, edit, shown)
            self._trees[function] = edit.tree
            for name in tree.names - edit.tree.names:
                self._gone[function][name] = f"{shown} took it away"
        made = self._sampled(made, function)
        if edit.decision is not None:
            bound.arguments["decision"] = edit.decision
        results = tuple(made) if isinstance(made, (list, tuple)) else (made,) if made is not None else ()
        plain = _plain_options(primitive, bound, function if len(self._functions) > 1 else None)
        self._steps += self._named(bound)
        self._steps.append(TraceStep(primitive.name, *plain, results, not isinstance(made, (list, tuple))))
        self._handles.update(results)
        return made

    def _sampled(self, made: Any, function: str) -> Any:
        """Numbers that a step gives get names."""
        if isinstance(made, (list, tuple)):
            return [self._sampled(each, function) for each in made]
        if not isinstance(made, int):
            return made
        self._drawn += 1
        return Sampled(made, function, f"v{self._drawn - 1}")

    def _changed(self, primitive: Primitive, edit: Edit, bound: inspect.BoundArguments, shown: str) -> Any:
        """What a primitive makes of a tree. Where it fails, an argument is of a wrong type, or it has a bug."""
        function = self._functions[edit.tree.name]
        with function.context, function.location, blaming_at(shown, primitive.function, function, Refused):
            given = [_plain_numbers(each) for each in bound.args]
            named = {name: _plain_numbers(each) for name, each in bound.kwargs.items()}
            return types_checked(primitive.function)(edit, *given, **named)

    def _check_tensorized(self, function: str, edit: Edit, shown: str) -> None:
        """What an intrinsic computes stays what it was."""
        for loop in self._trees[function].loops():
            if loop.kind != TENSORIZED:
                continue
            name = str(loop.annotations[INTRIN])
            now = next((each for each in edit.tree.loops() if each.name == loop.name), None)
            problem = "it would be gone"
            if now is not None:
                try:
                    operands_of(edit.tree, now, find_intrin(name))
                    continue
                except Mismatch as mismatch:
                    problem = str(mismatch)
            place = self._functions[function].location
            raise located_error(f"{shown}: '{loop.name}' is what '{name}' computes: {problem}", place)

    def _bound(
        self, primitive: Primitive, arguments: Sequence[object], options: dict[str, object]
    ) -> inspect.BoundArguments:
        try:
            bound = primitive.signature.bind(*arguments, **options)
        except TypeError as error:
            raise RelaxError(f"{primitive.usage}: {error}") from None
        for name, value in bound.arguments.items():
            taken = partial(self._argument, f"{primitive.name}: '{name}'", primitive.hints[name])
            is_several = primitive.signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
            bound.arguments[name] = tuple(map(taken, value)) if is_several else taken(value)
        return bound

    def _argument(self, what: str, hint: object, value: object) -> Any:
        """As a primitive takes it: a block may be given by its name, an index map by a function."""
        kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        if value is None and NoneType in kinds:
            return None
        others = [each for each in kinds if each is not NoneType]
        kind = others[0] if len(others) == 1 else None
        if kind is BlockRV and isinstance(value, str):
            return BlockRV(self._function_with(value, None), value)
        if IndexMap in kinds and callable(value):
            return IndexMap.of(value)
        if kind is IndexMap and not isinstance(value, IndexMap):
            raise RelaxError(f"{what} is no index map, a function of indices, but {value!r}")
        if kind is str and not isinstance(value, str):
            raise RelaxError(f"{what} is a text, not {value!r}")
        if not is_plain(value):
            raise RelaxError(f"{what} cannot be {value!r}: a schedule is text")
        return value

    def _named(self, bound: inspect.BoundArguments) -> list[TraceStep]:
        """The steps that get the blocks which were given by their names alone."""
        given = (each for value in bound.arguments.values() for each in handles_in(value))
        blocks = dict.fromkeys(each for each in given if isinstance(each, BlockRV) and each not in self._handles)
        self._handles.update(blocks)
        several = len(self._functions) > 1
        return [
            TraceStep("get_block", (block.name,), (("func_name", block.function),) if several else (), (block,), True)
            for block in blocks
        ]

    def _shown(self, primitive: Primitive, bound: inspect.BoundArguments) -> str:
        def text(value: Any) -> str:
            if isinstance(value, (BlockRV, LoopRV)):
                return value.name
            if isinstance(value, (list, tuple)):
                return f"[{', '.join(map(text, value))}]"
            return repr(value) if isinstance(value, str) else str(value)

        items = [text(each) for each in bound.args] + [f"{name}={text(each)}" for name, each in bound.kwargs.items()]
        return f"{primitive.name}({', '.join(items)})"

    def _chosen(self, primitive: Primitive, bound: inspect.BoundArguments, shown: str) -> str:
        """The PrimFunc that a step is about: that of its handles, or the one that is named, or has such a block."""
        if primitive.name == "get_block":
            return self._function_with(bound.arguments["name"], bound.arguments.get("func_name"))
        handles = [each for value in bound.arguments.values() for each in handles_in(value)]
        functions = list(dict.fromkeys(handle.function for handle in handles)) or self._without_handles(
            primitive, bound
        )
        if len(functions) != 1 or functions[0] not in self._functions:
            names = " and ".join(f"@{name}" for name in functions) or "nothing"
            raise RelaxError(
                f"{shown}: expected loops and blocks of one PrimFunc of this schedule, got those of {names}"
            )
        return functions[0]

    def _without_handles(self, primitive: Primitive, bound: inspect.BoundArguments) -> list[str]:
        """Of a step that takes neither loops nor blocks: the PrimFunc that it names, that is worked on, or all."""
        if not {"func_name", "decision"} & set(primitive.signature.parameters):
            return []
        named = bound.arguments.get("func_name") or self._working
        return [self._symbol_of(named)] if named else list(self._functions)

    @types_checked
    def work_on(self, func_name: str) -> None:
        """Steps that name no loop and no block are about this PrimFunc from now on."""
        self._tree(self._symbol_of(func_name))
        self._working = self._symbol_of(func_name)

    def copy(self, seed: int | None = None) -> Schedule:
        """A schedule of a copy of the module with the same steps, which goes on by itself."""
        made = Schedule(self.mod, seed=seed)
        made._working, made._drawn = self._working, self._drawn
        return made

    def _function_with(self, block: str, function: str | None) -> str:
        if function is not None:
            function = self._symbol_of(function)
            if function not in self._functions:
                known = ", ".join(f"@{name}" for name in self._functions)
                hint = suggest(function, self._functions)
                raise RelaxError(f"get_block('{block}'): there is no PrimFunc '{function}'{hint} (there are {known})")
            return function
        if len(self._functions) == 1:
            return next(iter(self._functions))
        found = [name for name in self._functions if self._may_have(name, block) and block in self._block_names(name)]
        if len(found) == 1:
            return found[0]
        if not found:
            where = {each: name for name in self._functions for each in self._block_names(name)}
            listed, hint = ", ".join(f"'{each}' of @{name}" for each, name in where.items()), suggest(block, where)
            raise RelaxError(f"get_block('{block}'): no PrimFunc has such a block{hint} (there are {listed})")
        names = " and ".join(f"@{name}" for name in found)
        raise RelaxError(f"get_block('{block}'): {names} have such a block; say which one: func_name=\"{found[0]}\"")

    def _symbol_of(self, function: str) -> str:
        """Of a graph's function that calls the only PrimFunc that PrimFunc's: one alone that is called main has one."""
        if function in self._functions or len(self._functions) != 1:
            return function
        graphs = [symbol_name(each) for each in functions_at(self._module.operation.operation)]
        return next(iter(self._functions)) if function in graphs else function

    def _may_have(self, function: str, block: str) -> bool:
        """Told without reading a PrimFunc, which means to bufferize it."""
        return function in self._trees or may_have_block(self._functions[function], block)

    def _block_names(self, function: str) -> list[str]:
        try:
            return [block.name for block in self._tree(function).blocks()]
        except RelaxError:  # it has none that could be scheduled
            return []

    def read_of(self, function: str) -> tuple[Read, Tree]:
        """A PrimFunc as it was read, and its loops as they stand."""
        scratch, tree = self.scratch_of(function)
        return scratch.read, tree

    def scratch_of(self, function: str) -> tuple[Scratch, Tree]:
        """The copy of a PrimFunc that was read, and its loops as they stand."""
        tree = self._tree(function)
        return self._reads[function], tree

    def start_from(self, function: str, scratch: Scratch) -> None:
        """With a PrimFunc that has been read."""
        self._reads[function], self._trees[function] = scratch, scratch.read.tree

    def _tree(self, function: str) -> Tree:
        if function not in self._functions:
            hint = suggest(str(function), self._functions)
            raise RelaxError(f"there is no PrimFunc {function!r}{hint} (there are {', '.join(self._functions)})")
        if function not in self._trees:
            scratch = Scratch(self._functions[function])
            self._reads[function] = scratch
            self._trees[function] = scratch.read.tree
        return self._trees[function]


def _called(schedule: Schedule, primitive: Primitive, *arguments: object, **options: object) -> Any:
    return schedule._do(primitive, arguments, options)


def _plain_numbers(value: Any) -> Any:
    """With what was drawn as numbers."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain_numbers, value))
    return int(value) if isinstance(value, Sampled) else value


def _plain_options(
    primitive: Primitive, bound: inspect.BoundArguments, function: str | None
) -> tuple[tuple[object, ...], tuple[tuple[str, object], ...]]:
    """Arguments as the text has them: without those that are the defaults."""
    arguments = dict(bound.arguments)
    if primitive.name == "get_block":
        arguments = {"name": arguments["name"], **({} if function is None else {"func_name": function})}
    positional, named = [], []
    for name, value in arguments.items():
        parameter = primitive.signature.parameters[name]
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            positional += value
        elif parameter.default is inspect.Parameter.empty:
            positional.append(value)
        elif value != parameter.default:
            named.append((name, value))
    return tuple(positional), tuple(named)


def _prim_funcs_of(module: Any) -> dict[str, Operation]:
    operation = getattr(module, "operation", module)
    return {symbol_name(function): function for function in prim_funcs_in(operation.operation)}
