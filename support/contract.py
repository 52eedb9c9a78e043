# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen contract: the names that codegen packages may rely on, and the contract's version
(docs/codegens/contract.md).

test/python/contract-1.txt has the signatures. dialects/core/ir_attributes.py has the IR attributes of the contract.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .errors import RelaxError

#: macro.meso: a new macro number breaks codegens written for the old one, a new meso number only adds names.
CONTRACT_VERSION = "1.0"

#: Names in relax_mlir with their contractual members. `__init__` is listed if other packages create the objects.
NAMES: Mapping[str, str] = {
    "codegens.CONTRACT_VERSION": "",
    "codegens.CallingRuntime": "link",
    "codegens.Codegen": "name version contract patterns keeps deviations devices separate inner_outputs same_bits "
    "recipe pipeline target stage options compile load requires fingerprint workspace functions steps composites cost "
    "host_cost crossing_cost call_cost list_devices compile_limit",
    "codegens.CodegenOption": "__init__ expected value_of",
    "codegens.Composite": "name pattern beside codegen matches why_not",
    "codegens.ExternalRuntime": "name version contract load requires list_devices",
    "codegens.ObjectCode": "__init__",
    "codegens.PartStep": "__contains__ __getitem__ all get op refuse composite operation operations inputs nodes "
    "outputs",
    "codegens.PatternRow": "__init__",
    "codegens.Planner": "",
    "codegens.Steps": "constants inputs outputs steps values",
    "codegens.Taken": "__init__ of composite operations",
    "codegens.all_codegens": "",
    "codegens.decode": "",
    "codegens.elements_of": "",
    "codegens.find_codegen": "",
    "codegens.node_names": "",
    "codegens.register_codegen": "",
    "codegens.register_planner": "",
    "codegens.register_runtime": "",
    "codegens.seconds_of": "",
    "patterns.CallTir": "",
    "patterns.GraphPattern": "__or__ has_attr has_dtype has_rank has_shape named optional repeated used_inside_only "
    "used_once where",
    "patterns.KnownPrimFuncs": "",
    "patterns.Later": "",
    "patterns.Match": "__contains__ __getitem__ all array constants get inputs is_used_outside literal number op "
    "operations outputs results root",
    "patterns.Op": "__call__ __getitem__ has_attr in_order",
    "patterns.Refusal": "__str__ reason",
    "patterns.Structure": "",
    "patterns.every": "",
    "patterns.find": "",
    "patterns.is_call_tir": "",
    "patterns.is_const": "",
    "patterns.is_filled": "",
    "patterns.is_op": "",
    "patterns.match": "",
    "patterns.matches_of": "",
    "patterns.outputs": "",
    "patterns.quantized_conv": "",
    "patterns.quantized_linear": "",
    "patterns.remembering": "",
    "patterns.rewrite": "",
    "patterns.structure": "",
    "patterns.structures": "",
    "patterns.why_not": "",
    "patterns.wildcard": "",
    "rules.register_reference": "",
    "runtime.Call": "__init__",
    "runtime.CallList": "__init__",
    "runtime.Given": "__init__",
    "runtime.NativeFunction": "__init__",
    "runtime.PartFunction": "",
    "runtime.Passed": "__init__",
    "runtime.StepReporter": "",
    "runtime.step_reporter": "",
    "runtime.tensor": "",
    "runtime.to_numpy": "",
    "RelaxError": "__init__",
}


def check_contract(what: str, stated: object) -> None:
    """Raise RelaxError if a package requires an incompatible contract version. `what` names it: "codegen 'mynpu'"."""
    if stated == "":
        return
    if not (isinstance(stated, str) and re.fullmatch(r"[0-9]+\.[0-9]+", stated)):
        raise RelaxError(f"{what}: contract has to be text like '{CONTRACT_VERSION}', not {stated!r}")
    (macro, meso), (has_macro, has_meso) = _numbers(stated), _numbers(CONTRACT_VERSION)
    if macro == has_macro and meso <= has_meso:
        return
    is_newer = (macro, meso) > (has_macro, has_meso)
    remedy = "a newer relax-mlir" if is_newer else "a newer version of its package, or an older relax-mlir"
    raise RelaxError(
        f"{what} is written against codegen contract {stated}, this relax-mlir has {CONTRACT_VERSION}: "
        f"install {remedy} (docs/codegens/contract.md)"
    )


def _numbers(version: str) -> tuple[int, int]:
    macro, _, meso = version.partition(".")
    return int(macro), int(meso)
