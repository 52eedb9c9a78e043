# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code generation for external modules. Calls of a module become calls of the code that its codegen makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from ...bindings.diagnostics import locate, place_text, warn
from ...bindings.ir import Attribute, Location, Operation, Value
from ...bindings.mlir import ir
from ...bindings.navigation import ancestors, body_of, functions_in, operations_in, operations_of, symbol_name, text_in
from ...bindings.rewriting import located_error, replace_op
from ...dialects.core.ir_attributes import CODEGEN, COMPOSITE, EXTERNAL_MODS, NEVER_ALONE
from ...dialects.core.substitute import symbols_in
from ...dialects.tir.prim_func import is_prim_func
from ...support.names import fresh_name
from ..core.base import Pass
from ..core.external import external_modules, is_external
from ..core.facts import ExternalFact, KeptFact, origins_of
from ..core.journal import Journal
from ..core.registry import register_pass
from .inline.splice import inline_call
from .partition.codegen import ChosenCodegen, Codegen, find_codegen, parse_codegen
from .partition.report import Census, operators_in
from .partition.running import Declined, Made, Making, code_attribute, missing_here, nodes_of
from .relax_inline import inline_calls_in
from .relax_merge_composite_functions import MergeCompositeFunctions
from .relax_outline_external import OutlineExternal

CALL = "relax.call_external"
# Most model nodes of a part that an error names.
_MOST_NODES = 8


@register_pass
@dataclass(frozen=True)
class RunCodegen(Pass):
    """Compile each external module by its codegen, and store the code in relax.external_mods.

    If a codegen declines or fails, its part goes back to the target: the part is inlined where it was called. If it
    declines one step, only that step goes back, and the others become parts again.
    """

    name: ClassVar[str] = "relax-run-codegen"
    sees_externals: ClassVar[bool] = True
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func", "scf")

    #: Codegens that run, in this order, with their options: mynpu{cores=4}. Default: all.
    codegen: tuple[str, ...] = ()
    #: Treatment of a part that its codegen declines: return the part to the target, or an error.
    declined: Literal["fallback", "error"] = "fallback"
    #: Assume that the program runs on another machine, and skip checks of this machine.
    elsewhere: bool = False

    def run(self, op: Operation) -> None:
        attributes: list[Attribute] = []
        while True:
            more, split = self._round(op)
            attributes += more
            if not split:
                break
            for name in dict.fromkeys(text_in(module, CODEGEN) for module in split):
                _part_again(op, name)
            for module in split:  # until here, so that the new parts have other names
                module.erase()
        if attributes:
            before = list(op.attributes[EXTERNAL_MODS]) if EXTERNAL_MODS in op.attributes else []
            op.attributes[EXTERNAL_MODS] = ir.ArrayAttr.get([*before, *attributes], op.context)

    def _round(self, op: Operation) -> tuple[list[Attribute], list[Operation]]:
        """Compile all modules, and erase them. Returns their code, and the modules of which a step was declined."""
        calls: dict[str, list[Operation]] = {}
        for call in operations_in(op, is_external):
            if call.name == CALL:
                calls.setdefault(ir.SymbolRefAttr(call.attributes["func"]).value[0], []).append(call)
        attributes: list[Attribute] = []
        split: list[Operation] = []
        with Making() as making:
            modules = [(module, chosen, calls.get(symbol_name(module), [])) for module, chosen in self._modules(op)]
            # A module without callers is dead.
            begun = [making.begin(module, chosen) if of_it else None for module, chosen, of_it in modules]
            for finish, (module, chosen, of_it) in zip(begun, modules, strict=True):
                found = self._finish(finish, module, chosen, of_it) if finish is not None else []
                attributes += [] if found is None else found
                if found is None:
                    split.append(module)
                else:
                    module.erase()
        return attributes, split

    def _modules(self, op: Operation) -> list[tuple[Operation, ChosenCodegen]]:
        if chosen := {each.codegen.name: each for each in map(parse_codegen, self.codegen)}:
            return [(module, value) for name, value in chosen.items() for module in external_modules(op, name)]
        return [(module, parse_codegen(text_in(module, CODEGEN))) for module in external_modules(op)]

    def _finish(
        self, finish: Callable[[], Made], module: Operation, chosen: ChosenCodegen, calls: Sequence[Operation]
    ) -> list[Attribute] | None:
        """Return the external code of a finished module. If the codegen declines, the part goes back to the target.

        Returns None if only a step goes back: calls of the other composite functions remain.
        """
        try:
            made = finish()
            missing = self._missing(chosen, made)
        except Declined as refusal:
            _note(module, chosen, reason=str(refusal), verb=refusal.verb)
            step = next(
                (function for function in functions_in(module) if symbol_name(function) == refusal.function), None
            )
            _note_operators(module, chosen, refusal, functions_in(module) if step is None else [step])
            what, place = _message(module, chosen, refusal.verb, refusal), _place_of(module)
            if self.declined == "error":
                raise located_error(what, place) from refusal
            warn(f"{what}; it stays with the target", place)
            if step is not None:
                _take_back_step(module, step, calls)
                return None
            _take_back(module, calls)
            return []
        if missing:
            warn(_message(module, chosen, "cannot run here", missing), _place_of(module))
        _note(module, chosen, made, missing=missing)
        attribute = code_attribute(module, chosen.codegen, made)
        for call in calls:
            _call_packed(call, made)
        return [attribute]

    def _missing(self, chosen: ChosenCodegen, made: Made) -> str:
        """Return what this machine lacks to run the code. Raises Declined if that is an error."""
        missing = "" if self.elsewhere else missing_here(chosen.codegen, made)
        if missing and self.declined == "error":
            raise Declined(f"this machine cannot run it: {missing} (elsewhere=true compiles for another machine)")
        return missing


def _note(
    module: Operation,
    chosen: ChosenCodegen,
    made: Made | None = None,
    *,
    reason: str = "",
    missing: str = "",
    verb: str = "declined",
) -> None:
    if (journal := Journal.active()) is not None:
        names = symbol_name(module), chosen.codegen.name, list(chosen.codegen.functions(module)), nodes_of(module)
        size, seconds, is_kept = (0, None, False) if made is None else (made.bytes, made.seconds, made.is_kept)
        journal.add(ExternalFact(*names, size, seconds, reason, missing, is_kept, verb))


def _note_operators(
    module: Operation, chosen: ChosenCodegen, refusal: Declined, functions: Iterable[Operation]
) -> None:
    """Note the operators of functions that stay with the target, each with the first line of the reason."""
    journal, (why, *_) = Journal.active(), str(refusal).split("\n")
    if journal is None:
        return
    reason = f"matches, but codegen '{chosen.codegen.name}' {refusal.verb} it: {why}"
    for function in functions:
        pattern = text_in(function, COMPOSITE)
        for op in operators_in([function]):
            match = f"{symbol_name(module)}.{symbol_name(function)}"
            journal.add(KeptFact(op.name, origins_of(op), chosen.codegen.name, pattern, reason, match))


def _message(module: Operation, chosen: ChosenCodegen, verb: str, why: object) -> str:
    # The error's location shows this place already.
    nodes = [node for node in nodes_of(module) if node != place_text(*locate(_place_of(module))[:3])]
    shown = f" ({', '.join(nodes[:_MOST_NODES])}{', ...' if len(nodes) > _MOST_NODES else ''})" if nodes else ""
    return f"codegen '{chosen.codegen.name}' {verb} @{symbol_name(module)}{shown}: {why}"


def _place_of(module: Operation) -> Location:
    return next(functions_in(module)).location


def _call_packed(call: Operation, made: Made) -> None:
    """Replace a call by one of the packed function `module.function`, which is part of the program."""
    module, function = ir.SymbolRefAttr(call.attributes["func"]).value
    with call.location, ir.InsertionPoint(call):
        constants = [_constant(each) for each in made.constants.get(function, ())]
        packed = ir.Operation.create(
            "relax.call_dps_packed", results=list(call.results.types), operands=[*call.operands, *constants],
            attributes={"func": ir.StringAttr.get(f"{module}.{function}")},
        )  # fmt: skip
    replace_op(call, packed.results)


def _constant(value: Attribute) -> Value:
    return ir.Operation.create("arith.constant", results=[value.type], attributes={"value": value}).results[0]


def _take_back(module: Operation, calls: Sequence[Operation]) -> None:
    """Inline the functions of a module where they are called."""
    around = module.parent.operation
    functions = {symbol_name(each): each for each in functions_in(module)}
    _take(module, around, is_prim_func)
    for function in functions.values():
        if COMPOSITE in function.attributes:
            del function.attributes[COMPOSITE]
    for function in Codegen.functions(module).values():
        inline_calls_in(function)
    for call in calls:
        caller = [ancestor for ancestor in ancestors(call) if ancestor.name == "func.func"][-1]
        inline_call(call, functions[ir.SymbolRefAttr(call.attributes["func"]).value[1]], symbols_in(caller))


def _take_back_step(module: Operation, step: Operation, calls: Sequence[Operation]) -> None:
    """Inline a module like `_take_back`, but call its composite functions other than the step."""
    del step.attributes[COMPOSITE]
    composites = [each for each in functions_in(module) if COMPOSITE in each.attributes]
    for function in composites:
        inline_calls_in(function)
    _take(module, module.parent.operation, is_prim_func)
    functions = Codegen.functions(module)
    for function in functions.values():
        inline_calls_in(function)
    _take(module, module.parent.operation, lambda each: COMPOSITE in each.attributes)
    for call in calls:
        caller = [ancestor for ancestor in ancestors(call) if ancestor.name == "func.func"][-1]
        inline_call(call, functions[ir.SymbolRefAttr(call.attributes["func"]).value[1]], symbols_in(caller))


def _part_again(op: Operation, codegen: str) -> None:
    """Make external modules of the composite functions that a codegen has not declined."""
    beside = {composite.name for composite in find_codegen(codegen).composites() if composite.beside}
    for function in functions_in(op):
        if text_in(function, COMPOSITE) in beside:
            function.attributes[NEVER_ALONE] = ir.UnitAttr.get(op.context)
    census = Census(op, (codegen,), (), plan="", explain=False) if Journal.active() is not None else None
    for functions in (MergeCompositeFunctions(), OutlineExternal(codegen=(codegen,))):
        functions.prepare(op.context)
        functions.run(op)
    if census is not None:
        census.tell()


def _take(module: Operation, around: Operation, is_taken: Callable[[Operation], bool]) -> None:
    """Move functions of a module to the module around it, under names that are free there."""
    names = {symbol_name(operation) for operation in operations_of(body_of(around))}
    for function in functions_in(module):
        if is_taken(function):
            name = fresh_name(symbol_name(function), names)
            names.add(name)
            ir.SymbolTable.replace_all_symbol_uses(symbol_name(function), name, module)
            taken = function.clone(ip=ir.InsertionPoint(module)).operation
            taken.attributes["sym_name"] = ir.StringAttr.get(name, module.context)
