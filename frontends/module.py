# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IR module that owns its context: parse, build, print, verify, write."""

from __future__ import annotations

import io
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from ..bindings.context_lock import lock_context
from ..bindings.diagnostics import errors_as_relax_error
from ..bindings.handles import Handles, adopt, release
from ..bindings.ir import Block, Context, Operation
from ..bindings.ir import Module as MlirModule
from ..bindings.mlir import ir, print_asm
from ..dialects.context import create_context
from ..dialects.core.cache import drop
from ..dialects.parsing import parse_module
from ..dialects.script.summaries import outline
from ..dialects.verification import verify_ir
from ..support.argument_types import types_checked
from ..support.errors import ModelError, RefusalError
from ..support.highlighting import highlighted
from .function import FunctionBuilder

#: Maximum number of characters of a script in a notebook.
_MOST_SHOWN = 100_000


class Module:
    """IR with its context. Build operations with `with module:` (at the end of the module's body).

        >>> module = Module.parse("func.func @f() { return }")

    `str(module)` is MLIR's text, `module.script()` a script.
    """

    def __init__(self, owner: MlirModule | None = None):
        if owner is None:
            context = create_context()
            with context, ir.Location.unknown():
                owner = ir.Module.create()
        self._owner = owner
        self._handles = Handles(owner)
        #: If True, operators that are built here record the program's line that built them, `model.py:12`.
        self.source_lines = True
        self._entered: list[ExitStack] = []
        self._original: Module | None = None
        adopt(owner)
        # MLIR's handles do not keep their referents alive.
        self._handed_out: list[bool] = []
        self._release = weakref.finalize(self, _release, owner, partial(drop, id(owner.context)), self._handed_out)

    @classmethod
    @types_checked
    def parse(cls, source: str | bytes, name: str = "<string>", *, allow_unregistered: bool = False) -> Module:
        """Parse text or bytecode. `name` is the name of the file in errors. Raises RelaxError."""
        return cls(parse_module(source, name, allow_unregistered=allow_unregistered))

    @classmethod
    @types_checked
    def from_file(cls, path: str | Path, *, allow_unregistered: bool = False) -> Module:
        """Read a file of text or bytecode, or of TVMScript if its name ends in .py. Raises RelaxError."""
        if str(path).endswith(".py"):
            return cls.from_script(Path(path), allow_unregistered=allow_unregistered)
        try:
            source = Path(path).read_bytes()
        except OSError as error:
            raise ModelError(f"cannot read {path}: {error.strerror}") from None
        return cls.parse(source, str(path), allow_unregistered=allow_unregistered)

    @classmethod
    @types_checked
    def from_script(
        cls,
        source: str | Path | type | Callable[..., object],
        name: str = "<script>",
        *,
        variables: Mapping[str, object] | None = None,
        allow_unregistered: bool = False,
    ) -> Module:
        """Read TVMScript: text, a file's path, or a class or function with source that Python finds. Raises RelaxError.

        Text and files are read, never run. `name` is the name of a text in errors. `variables` are the values of names
        that the script does not define, such as `metadata` for TVM's constants.
        """
        from .script.common.source import Source
        from .script.module import read_script

        if isinstance(source, Path) or (isinstance(source, str) and "\n" not in source and source.endswith(".py")):
            read = Source.of_file(source)
        else:
            read = Source(source, name) if isinstance(source, str) else Source.of_object(source)
        context = create_context()
        context.allow_unregistered_dialects = allow_unregistered
        return cls(read_script(read, variables, context))

    def copy(self) -> Module:
        """Return a copy of the IR in the same context."""
        copied = Module.of(self._owner.operation)
        copied._original = self
        return copied

    @classmethod
    def of(cls, source: Operation) -> Module:
        """Return a copy of a module operation, for instance a nested one, in the operation's context.

        The context belongs to another module, which must stay alive.
        """
        with lock_context(source.context), source.context, source.location:
            owner = ir.Module.create()
            for op in source.regions[0].blocks[0].operations:
                op.operation.clone(ip=ir.InsertionPoint(owner.body))
            for name in source.attributes:
                owner.operation.attributes[name] = source.attributes[name]
        copied = cls(owner)
        # The first owner of a context releases its cached data.
        copied._release.detach()
        copied._release = weakref.finalize(copied, _release, owner, lambda: None, copied._handed_out)
        return copied

    def __copy__(self) -> Module:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Module:
        return self.copy()

    def __reduce__(self) -> tuple[Callable[..., Module], tuple[bytes, bool]]:
        """Pickle as bytecode, with locations and the bytes of large constants."""
        return _unpickle, (self.bytecode(), self.context.allow_unregistered_dialects)

    def __repr__(self) -> str:
        return f"<{outline(self._owner.operation)}>"

    def _repr_html_(self) -> str:
        """Return the outline for notebooks, with the whole script behind it, without large constants."""
        import html

        first, *functions = outline(self._owner.operation).split("\n")
        script = self.script(elide=True)
        shown = script if len(script) <= _MOST_SHOWN else f"{script[:_MOST_SHOWN].rpartition(chr(10))[0]}\n..."
        return (
            f"<details><summary>{html.escape(first)}<pre>{html.escape(chr(10).join(functions))}</pre></summary>"
            f"<pre>{highlighted(shown)}</pre></details>"
        )

    @property
    def owner(self) -> MlirModule:
        """Return MLIR's module."""
        self._handed_out[:] = [True]
        return self._owner

    @property
    def handles(self) -> Handles:
        """Return the values and operations that were handed out, which are tracked."""
        self._handed_out[:] = [True]
        return self._handles

    @property
    def operation(self) -> Operation:
        """Return MLIR's `builtin.module`."""
        return self.owner.operation

    @property
    def context(self) -> Context:
        """Return MLIR's context."""
        return self._owner.context

    @property
    def body(self) -> Block:
        """Return the block with the module's functions."""
        return self.operation.regions[0].blocks[0]

    @types_checked
    def function(
        self,
        name: str,
        inputs: Iterable[object] | Mapping[str, object] = (),
        *,
        private: bool = False,
        target: str = "",
    ) -> FunctionBuilder:
        """Add a function at the end of the module. Types are text, `rx.tensor(...)` or MLIR's; a dictionary adds names.

        The rules of `target` lower the function's operators. The default is the compilation's target.

            >>> with module.function("main", {"x": rx.tensor(("n", 8)), "bias": rx.tensor((8,))}) as f:
            ...     x, bias = f
            ...     f.returns(relax.add(x, bias))
        """
        return FunctionBuilder(self, name, inputs, private, target)

    def __enter__(self) -> Module:
        stack = ExitStack()
        stack.enter_context(self.context)
        unplaced = stack.enter_context(ir.Location.unknown())
        stack.enter_context(ir.InsertionPoint(self.body))
        stack.enter_context(self.handles.being_built(unplaced if self.source_lines else None))
        self._entered.append(stack)
        return self

    def __exit__(self, *exception: Any) -> None:
        self._entered.pop().__exit__(*exception)

    def __str__(self) -> str:
        return self.print()

    @types_checked
    def print(
        self,
        *,
        generic: bool = False,
        debug_info: bool = False,
        pretty_debug_info: bool = False,
        local_scope: bool = False,
        elide_elements: int | None = None,
        elide_resources: int | None = None,
        assume_verified: bool = False,
    ) -> str:
        """Return the module as text. Constants and resources above the size limits are elided."""
        with lock_context(self.context):
            return print_asm(
                self._owner.operation,
                print_generic_op_form=generic,
                enable_debug_info=debug_info or pretty_debug_info,
                pretty_debug_info=pretty_debug_info,
                use_local_scope=local_scope,
                large_elements_limit=elide_elements,
                large_resource_limit=elide_resources,
                assume_verified=assume_verified,
            )

    def script(self, *, elide: bool = False) -> str:
        """Return the module as TVMScript, which `rx.Module.from_script` reads back as the same operations.

        Large constants are at the end of the text. With `elide` they are omitted, and the text is for reading only.
        """
        from ..dialects.script.print_script import print_script  # most modules are compiled, not printed

        with lock_context(self.context):
            return print_script(self._owner, elide=elide)

    @types_checked
    def bytecode(self, version: int | None = None) -> bytes:
        """Return the module in MLIR's binary form."""
        stream = io.BytesIO()
        writing = errors_as_relax_error(self.context, "cannot write bytecode")
        with lock_context(self.context), writing as found:
            try:
                self._owner.operation.write_bytecode(stream, version)
            except ValueError as error:
                # MLIR's diagnostic has more details, but its location is the whole module.
                reason = found[0].message if found else str(error)
                raise RefusalError(f"cannot write bytecode: {reason}") from None
        return stream.getvalue()

    def verify(self) -> None:
        """Raise RelaxError with every diagnostic if the module is not valid."""
        with lock_context(self.context):
            verify_ir(self._owner.operation, "the module is not valid")


def _unpickle(data: bytes, allow_unregistered: bool) -> Module:
    # A loaded pickle may run any code, so its bytecode is trusted too.
    return Module(parse_module(data, "<pickle>", allow_unregistered=allow_unregistered, trusted=True))


def _release(owner: MlirModule, forget: Callable[[], None], handed_out: list[bool]) -> None:
    release(owner, forget, bool(handed_out))
