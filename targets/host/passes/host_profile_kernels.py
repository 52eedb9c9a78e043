# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Timers around kernel calls for profiles, and the description of these calls in the manifest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from ....bindings.ir import Attribute, Operation, Value
from ....bindings.mlir import ir, string_value
from ....bindings.navigation import callee_of, functions_in, operations_in, operations_named, symbol_name
from ....dialects.core.ir_attributes import DEVICE, GRAPH_INPUTS, PROFILE, SITE
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ....runtime.manifest import Site, profile_content
from ..abi import EXPORT_PREFIX
from ..entry import define_device
from ..llvm_ops import address_of, constant
from ..support import DEVICE_TABLE, PROFILE_TABLE, Support, named_in
from .host_name_functions import name_in_program

#: With more call sites, the inlined branches take longer to compile than all other code. A call costs 1 ns more.
_MOST_INLINED = 200
_SWITCH = "__relax_profile"
_DEFINITIONS = f"""
!ptr = !llvm.ptr
llvm.mlir.global internal @{PROFILE_TABLE}() {{alignment = 8 : i64}} : !llvm.array<COUNT x i64> {{
  %zero = llvm.mlir.zero : !llvm.array<COUNT x i64>
  llvm.return %zero : !llvm.array<COUNT x i64>
}}
llvm.func hidden @__relax_switch_profile(!ptr, !ptr, i32, !ptr) -> i32
llvm.func @{EXPORT_PREFIX}{_SWITCH}(%handle: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {{
  %table = llvm.mlir.addressof @{PROFILE_TABLE} : !ptr
  %status = llvm.call @__relax_switch_profile(%table, %args, %count, %result) : (!ptr, !ptr, i32, !ptr) -> i32
  llvm.return %status : i32
}}
"""
#: For device programs: the function that tells the runtime about kernels that are still running.
_TELL = f"""
llvm.mlir.global external @{DEVICE_TABLE}() : !llvm.ptr
llvm.func hidden @__relax_device_tell_profile(!ptr, !ptr) -> i32
llvm.func @{EXPORT_PREFIX}__relax_tell_profile(%handle: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {{
  %device = llvm.mlir.addressof @{DEVICE_TABLE} : !ptr
  %table = llvm.mlir.addressof @{PROFILE_TABLE} : !ptr
  %status = llvm.call @__relax_device_tell_profile(%device, %table) : (!ptr, !ptr) -> i32
  llvm.return %status : i32
}}
"""


@register_pass
class ProfileKernels(Pass):
    """Time each kernel call while a caller requests a profile. Otherwise a call costs two loads and branches."""

    name: ClassVar[str] = "host-profile-kernels"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "llvm")

    def run(self, op: Operation) -> None:
        graphs = {symbol_name(each): each for each in functions_in(op) if GRAPH_INPUTS in each.attributes}
        kernels = {symbol_name(each): each for each in functions_in(op) if GRAPH_INPUTS not in each.attributes}
        support = Support(op)
        if DEVICE in op.attributes:
            define_device(support)
        sites = _Sites(kernels, support)
        with op.context:
            for name, function in kernels.items():
                sites.pass_through(name, function)
            for name, function in graphs.items():
                sites.add(name, function)
            for name, function in graphs.items():
                function.attributes[PROFILE] = ir.StringAttr.get(sites.describe(name))
            if sites.count:
                sites.define_table()


def profile_of(function: Operation) -> dict[str, object]:
    """Return the manifest entry of a function's kernels, or an empty dictionary if this pass has not run."""
    if PROFILE not in function.attributes:
        return {}
    return {"profile": json.loads(string_value(function.attributes[PROFILE]))}


class _Sites:
    """Kernel calls of a module, by the graph function that contains them."""

    def __init__(self, kernels: Mapping[str, Operation], support: Support):
        self.count = 0
        self._support = support
        self._on_device = DEVICE_TABLE in support
        self._kernels = kernels
        self._sites: dict[str, list[Site]] = {}
        self._callees: dict[str, list[str]] = {}

    def add(self, name: str, function: Operation) -> None:
        """Insert timers around the calls in a function."""
        self._sites[name], self._callees[name] = [], []
        for op in operations_in(function):
            if SITE in op.attributes:
                self._sites[name].append(Site(self.count, self._kernel(op), **_plain(op.attributes[SITE])))
                self._time(op)
                self.count += 1
            elif op.name == "func.call":
                self._callees[name].append(callee_of(op))

    def pass_through(self, name: str, function: Operation) -> None:
        """Record the calls of a function that is not a graph function.

        It may call a graph function, as parallel bodies do.
        """
        self._callees[name] = [callee_of(op) for op in operations_named(function, "func.call")]

    def _time(self, op: Operation) -> None:
        with op.location:
            prefix = "device_" if self._on_device else ""
            with ir.InsertionPoint(op):
                start = self._support.value(f"{prefix}profile_begin", *self._tables())
            with ir.InsertionPoint.after(op):
                self._support.call(f"{prefix}profile_end", *self._tables(), constant(self.count), start)
        del op.attributes[SITE]

    def _tables(self) -> list[Value]:
        return [address_of(each) for each in ((DEVICE_TABLE,) if self._on_device else ()) + (PROFILE_TABLE,)]

    def define_table(self) -> None:
        """Add the table, and the exported function that returns the table's address to the runtime."""
        definitions = _DEFINITIONS.replace("COUNT", str(2 + 2 * self.count))
        self._support.define(definitions + (_TELL if self._on_device else ""))
        if self.count > _MOST_INLINED and not self._on_device:
            functions = named_in(self._support.module)
            for name in ("__relax_profile_begin", "__relax_profile_end"):
                del functions[name].attributes["always_inline"]
                functions[name].attributes["no_inline"] = ir.UnitAttr.get()

    def _kernel(self, op: Operation) -> str:
        """Return a kernel's name in the program. Its symbol in the object code is not known yet."""
        if op.name != "func.call":
            return string_value(op.attributes["func"])
        kernel = self._kernels.get(callee_of(op))
        return callee_of(op) if kernel is None else name_in_program(kernel)

    def describe(self, name: str) -> str:
        """Return the call sites that a call of this function can reach, as JSON."""
        sites = [site for each in self._reached(name) for site in self._sites.get(each, ())]
        return json.dumps(profile_content(sites), sort_keys=True, separators=(",", ":"))

    def _reached(self, name: str) -> list[str]:
        """Return a function and its direct and indirect callees, each once."""
        reached = [name]
        for text in reached:
            callees = dict.fromkeys(self._callees.get(text, ()))
            reached += [callee for callee in callees if callee not in reached]
        return reached


def _plain(site: Attribute) -> dict[str, Any]:
    """Convert a dictionary attribute to a Python dictionary."""
    return {entry.name: _value(entry.attr) for entry in site}


def _value(attribute: Attribute) -> str | int | tuple[str, ...]:
    if isinstance(attribute, ir.ArrayAttr):
        return tuple(string_value(each) for each in attribute)
    return attribute.value if isinstance(attribute, ir.IntegerAttr) else string_value(attribute)
