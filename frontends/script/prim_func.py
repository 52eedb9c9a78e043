# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reader of `@T.prim_func`: statements and names. Errors state the problem and its position."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence

from ...dialects.core.infos import dtype_name, is_dtype
from ...dialects.script.syntax import dotted, items_of, text_of
from ...support.names import fresh_name
from .annotations import argument_of, arguments_of, literals
from .buffer_parts import vector_store, within
from .buffers import Buffers
from .names import TIR, Names
from .program import (
    OPAQUE,
    REDUCE,
    SPATIAL,
    Allocate,
    Assert,
    Block,
    BlockAxis,
    Buffer,
    Evaluate,
    For,
    If,
    Leave,
    Let,
    Loop,
    Program,
    Statement,
    Store,
    While,
    element_of,
)

_AXIS_KINDS = {"spatial": SPATIAL, "S": SPATIAL, "reduce": REDUCE, "R": REDUCE, "opaque": OPAQUE, "scan": OPAQUE}
_LOOP_KINDS = {"serial": "serial", "parallel": "parallel", "vectorized": "vectorized", "unroll": "unrolled"}
_LOOPS = (*_LOOP_KINDS, "grid", "thread_binding")
_BLOCKS = ("block", "sblock")
#: Hints about blocks that do not change their semantics.
_ATTRIBUTES = ("block_attr", "sblock_attr")
_HINTS = (*_ATTRIBUTES, "reads", "writes")
#: Calls that allocate a buffer, and the scope that each implies.
_ALLOCATIONS = {"alloc_buffer": "global", "sblock_alloc_buffer": "global", "decl_buffer": "global", "Buffer": "global",
                "alloc_local": "local", "alloc_shared": "shared"}  # fmt: skip
#: Calls that leave a loop as print-outs write them. True for `break`.
_LEAVING = {"break_loop": True, "continue_loop": False}
#: Attribute of functions that TVM has finished lowering.
_LOWERED = "calling_conv"
#: The deepest nest of loops. Python's own limits are higher.
_MOST_DEPTH = 64


class ProgramReader:
    """Reader of one function's syntax as a Program."""

    def __init__(self, names: Names, function: ast.FunctionDef):
        self.buffers = Buffers(names, function)
        self.names, self.source, self.function = self.buffers.names, names.source, function
        self.annotations = self.buffers.annotations
        self.attributes: dict[str, object] = {}
        self._depth = 0
        #: Kind of each enclosing loop.
        self._loops: list[str] = []
        #: Threads of T.env_thread by name.
        self._threads: dict[str, str] = {}
        self._returned: Buffer | None = None

    def read(self) -> Program:
        self.annotations.declare(self.function.body)
        for argument in [*self.function.args.posonlyargs, *self.function.args.args]:
            self.buffers.parameter(argument)
        for name in self.annotations.symbols:
            self.buffers.scope.setdefault(name, True)
        body = self._statements(self.function.body)
        for name, position in self.buffers.handles.items():
            if self.buffers.parameters[position] is None:
                hint = f"declare it: {name}_buffer = T.match_buffer({name}, (...), dtype)"
                raise self.source.problem(self.function, f"parameter '{name}' is a T.handle without a buffer; {hint}")
        parameters = tuple(parameter for parameter in self.buffers.parameters if parameter is not None)
        return Program(self.function, self.function.name, parameters, body, self.attributes, self._returned)

    # ---- statements ----

    def _statements(self, nodes: Sequence[ast.stmt]) -> tuple[Statement, ...]:
        statements: list[Statement] = []
        nodes = list(nodes)
        for position, node in enumerate(nodes):
            word, call = self._called(node)
            if call is not None and (loop := self._launched(node, word, call)) is not None:
                return (*statements, self._in_thread(node, loop, nodes[position + 1 :]))
            if call is not None and (region := self.buffers.region(node, word, call)) is not None:
                nodes[position + 1 :] = within(self.names, region, nodes[position + 1 :])
            else:
                statements += self._statement(node)
        return tuple(statements)

    def _inner(self, nodes: Sequence[ast.stmt], loops: Sequence[str] = ()) -> tuple[Statement, ...]:
        """Read statements in a scope of their own, with the variables of the enclosing loops."""
        outer, self.buffers.scope = self.buffers.scope, {**self.buffers.scope, **dict.fromkeys(loops, True)}
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise self.source.problem(nodes[0], f"statements are nested deeper than {_MOST_DEPTH}")
        statements = self._statements(nodes)
        self._depth -= 1
        self.buffers.scope = outer
        return statements

    def _statement(self, node: ast.stmt) -> Iterable[Statement]:
        if (read := _READERS.get(type(node))) is None:
            word = type(node).__name__.lower()
            raise self.source.problem(node, f"a PrimFunc cannot contain `{word}`")
        return read(self, node)

    def _on_return(self, node: ast.Return) -> Iterable[Statement]:
        if node is not self.function.body[-1]:
            raise self.source.problem(node, "`return` is only allowed at the end of a PrimFunc")
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            return ()
        return (self._result(node, node.value),)

    def _result(self, node: ast.stmt, value: ast.expr) -> Store:
        """Return the store of a number that the function returns: to a buffer of one element, at the function's end."""
        if (annotation := self.function.returns) is None:
            hint = f"state the type: def {self.function.name}(...) -> T.int32:"
            raise self.source.problem(node, f"a PrimFunc that returns a number needs a return type; {hint}")
        dtype = self.annotations.dtype(annotation.func if isinstance(annotation, ast.Call) else annotation)
        names = {each.id for each in ast.walk(self.function) if isinstance(each, ast.Name)}
        names.update(each.arg for each in ast.walk(self.function) if isinstance(each, ast.arg))
        result = Buffer(node, fresh_name("result", names), (), (), dtype)
        self.buffers.parameters.append(result)
        self._returned = result
        return Store(node, result, (), value)

    def _on_assign(self, node: ast.Assign) -> Iterable[Statement]:
        if len(node.targets) != 1:
            raise self.source.problem(node, "expected one assignment per statement")
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Subscript):
            return (self._store(node, target, value),)
        if node in self.annotations.declarations or self._is_declared(value):
            return ()
        if not isinstance(target, ast.Name):
            raise self.source.problem(target, "only names and elements of buffers can be assigned")
        return self._define(node, target, value, None)

    def _is_declared(self, value: ast.expr) -> bool:
        """Check for a declaration of a name without a value, `x = T.float32()`. A T.Let defines the value."""
        kind, name = self.names.word(value)
        is_empty = isinstance(value, ast.Call) and not value.args and not value.keywords
        return is_empty and kind == TIR and is_dtype(dtype_name(name) or "")

    def _on_annassign(self, node: ast.AnnAssign) -> Iterable[Statement]:
        if not isinstance(node.target, ast.Name) or node.value is None:
            raise self.source.problem(node, "a name with a type needs a value: v: T.float32 = ...")
        if isinstance(annotation := node.annotation, ast.Subscript):  # T.let[T.float32]
            annotation = annotation.slice
        call = annotation.func if isinstance(annotation, ast.Call) else annotation
        return self._define(node, node.target, node.value, self.annotations.dtype(call))

    def _define(self, node: ast.stmt, target: ast.Name, value: ast.expr, dtype: str | None) -> Iterable[Statement]:
        kind, name = self.names.word(value)
        if isinstance(value, ast.Call) and kind == TIR:
            if name == "match_buffer":
                self.buffers.match(target, value)
                return ()
            if name in _ALLOCATIONS and self.buffers.is_pointed(target, value):
                return ()
            if name in _ALLOCATIONS:
                return (Allocate(node, self.buffers.declare(value, target.id, scope=_ALLOCATIONS[name])),)
            if name == "bind":
                arguments = arguments_of(self.names, value, ("value", "type_annotation", "var"), 1)
                return self._define(node, target, arguments["value"], dtype)
            if name == "env_thread":
                self._threads[target.id] = self.names.text(argument_of(self.names, value, "thread"))
                return ()
            if name.startswith("axis."):
                raise self.source.problem(value, "a block's variables come first in `with T.block(...):`")
        self.buffers.scope[target.id] = True
        return (Let(node, target.id, value, dtype),)

    def _on_augassign(self, node: ast.AugAssign) -> Iterable[Statement]:
        if not isinstance(node.target, ast.Subscript):
            raise self.source.problem(node.target, "a named number cannot change: use an element of a buffer")
        read = ast.copy_location(ast.Subscript(node.target.value, node.target.slice, ast.Load()), node.target)
        value = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
        return (self._store(node, node.target, value),)

    def _store(self, node: ast.stmt, target: ast.Subscript, value: ast.expr) -> Statement:
        if (vector := vector_store(self.names, target, value)) is None:
            return Store(node, *self.element(target), value)
        name, lanes, target, value = vector
        stop = ast.copy_location(ast.Constant(lanes), target)
        store = Store(node, *self.element(target), value)
        return For(node, (Loop(target, name, None, stop, "vectorized"),), (store,))

    def element(self, node: ast.Subscript) -> tuple[Buffer, tuple[ast.expr, ...]]:
        """Return the buffer and the indices of `A[i, j]`."""
        return element_of(self.source, node, self.buffers.scope)

    def _on_expr(self, node: ast.Expr) -> Iterable[Statement]:
        if isinstance(node.value, ast.Constant):
            return ()
        name, call = self._called(node)
        if call is None:
            raise self.source.problem(node, "this expression has no effect: expected a call of T")
        if name == "func_attr":
            self._take_attributes(call)
            return ()
        if name == "evaluate":
            if not isinstance(inner := argument_of(self.names, call, "value"), ast.Call):
                return ()
            call = inner
        if name == "ret":
            if node is not self.function.body[-1]:
                raise self.source.problem(node, "T.ret is only allowed at the end of a PrimFunc")
            return (self._result(node, argument_of(self.names, call, "value")),)
        if name in _LEAVING:
            arguments_of(self.names, call, ())
            return (self._leave(node, _LEAVING[name]),)
        if name in ("attr", "assume"):  # pragmas and assumptions are not needed
            if name == "attr" and len(call.args) > 1 and (text_of(call.args[1]) or "").startswith("pragma_"):
                self.source.warn(call, f"{text_of(call.args[1])} is dropped: the compiler decides how loops run")
            return ()
        if name in (*_HINTS, "where"):
            raise self.source.problem(call, f"T.{name} is only allowed in a `with T.block(...):`")
        return (Evaluate(node, call),)

    def _take_attributes(self, call: ast.Call) -> None:
        if not isinstance(argument := argument_of(self.names, call, "attrs"), ast.Dict):
            raise self.source.problem(argument, "a function's attributes must be a dictionary")
        for key, value in zip(argument.keys, argument.values, strict=True):
            if text_of(key) == _LOWERED:
                hint = "read the module as it was before tvm.compile"
                raise self.source.problem(call, f"'{self.function.name}' is already lowered for TVM's runtime: {hint}")
            # The target comes from T.target(...).
            self.attributes[self.names.text(key) if key is not None else ""] = self.names.found(value)

    def _on_assert(self, node: ast.Assert) -> Iterable[Statement]:
        return (Assert(node, node.test, self._message(node.msg)),)

    def _message(self, node: ast.expr | None) -> str:
        """Return a message: text, or TVM's print-out `("RuntimeError", ["in", " parts"])`."""
        if node is None:
            return "assertion failed"
        value = self.names.found(node)
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], tuple):
            return "".join(map(str, value[1]))
        return self.names.text(node)

    def _on_while(self, node: ast.While) -> Iterable[Statement]:
        if node.orelse:
            raise self.source.problem(node.orelse[0], "a loop has no `else`")
        return (While(node, node.test, self._repeated("serial", node.body)),)

    # ---- loops ----

    def _on_for(self, node: ast.For) -> Iterable[Statement]:
        if node.orelse:
            raise self.source.problem(node.orelse[0], "a loop has no `else`")
        targets = items_of(node.target)
        ranges = self._ranges(node.iter)
        if len(targets) != len(ranges):
            raise self.source.problem(node.target, f"{len(targets)} names for {len(ranges)} loops")
        loops = []
        keywords = node.iter.keywords if isinstance(node.iter, ast.Call) else ()
        annotations = literals(self.source, [keyword.value for keyword in keywords if keyword.arg == "annotations"])
        for target, (start, stop, kind) in zip(targets, ranges, strict=True):
            if not isinstance(target, ast.Name):
                raise self.source.problem(target, "a loop's variable must be a name")
            loops.append(Loop(target, target.id, start, stop, kind, annotations))
        kind = loops[0].kind if len(loops) == 1 else "of several variables"
        return (For(node, tuple(loops), self._repeated(kind, node.body, [loop.name for loop in loops])),)

    def _launched(self, node: ast.stmt, word: str, call: ast.Call) -> Loop | None:
        """Return the thread that runs all later statements: `tx = T.launch_thread("threadIdx.x", 32)`."""
        if word != "launch_thread" or isinstance(node, ast.With):
            return None
        return self._thread_of(call, node.targets[0] if isinstance(node, ast.Assign) else None)

    def _thread_of(self, call: ast.Call, target: ast.expr | None) -> Loop:
        """Return the loop of a T.launch_thread.

        Its first argument is the thread's name, or a result of T.env_thread.
        """
        arguments = arguments_of(self.names, call, ("thread", "extent"), 2)
        thread = arguments["thread"]
        if isinstance(thread, ast.Name) and thread.id in self._threads:
            name, kind = thread.id, self._threads[thread.id]
        elif isinstance(target, ast.Name):
            name, kind = target.id, self.names.text(thread)
        else:
            raise self.source.problem(call, 'a thread needs a name: tx = T.launch_thread("threadIdx.x", 32)')
        if kind in self._loops:
            raise self.source.problem(thread, f"{kind} is already an enclosing loop")
        return Loop(call, name, None, arguments["extent"], kind)

    def _in_thread(self, node: ast.stmt, loop: Loop, nodes: Sequence[ast.stmt]) -> For:
        return For(node, (loop,), self._repeated(loop.kind, nodes, [loop.name]))

    def _repeated(self, kind: str, nodes: Sequence[ast.stmt], names: Sequence[str] = ()) -> tuple[Statement, ...]:
        """Read the body of a loop."""
        self._loops.append(kind)
        found = self._inner(nodes, names)
        self._loops.pop()
        return found

    def _leave(self, node: ast.stmt, is_break: bool) -> Leave:
        if not self._loops:
            raise self.source.problem(node, "no loop encloses this, or a T.init() is in between")
        kind = self._loops[-1]
        if is_break and kind not in ("serial", "unrolled"):
            message = f"`break` leaves one T.serial, T.unroll, range or `while`, this loop is {kind}"
            raise self.source.problem(node, message)
        return Leave(node, is_break)

    def _ranges(self, node: ast.expr) -> list[tuple[ast.expr | None, ast.expr, str]]:
        """Return start, stop and kind of each loop."""
        kind, name = self.names.word(node)
        call = node if isinstance(node, ast.Call) else None
        if call is None or kind != TIR:
            name = "serial" if call is not None and dotted(call.func) == "range" else ""
        if call is None or name not in _LOOPS:
            hint = "T.grid(...), T.serial(...), T.parallel(...), range(...)"
            raise self.source.problem(node, f"a loop must iterate over {hint}", _LOOPS, name)
        if name == "grid":
            return [(None, arg, "serial") for arg in call.args]
        arguments = arguments_of(self.names, call, ("start", "stop", "thread" if name == "thread_binding" else "step",
                                                "annotations"), 1)  # fmt: skip
        if name == "thread_binding":
            return [self._thread(call, arguments)]
        if "step" in arguments and not (isinstance(arguments["step"], ast.Constant) and arguments["step"].value == 1):
            raise self.source.problem(arguments["step"], "loops have a step of 1: multiply the variable instead")
        if "stop" not in arguments:
            return [(None, arguments["start"], _LOOP_KINDS[name])]
        return [(arguments["start"], arguments["stop"], _LOOP_KINDS[name])]

    def _thread(self, call: ast.Call, exprs: dict[str, ast.expr]) -> tuple[ast.expr | None, ast.expr, str]:
        """Read T.thread_binding(128, "threadIdx.x") or T.thread_binding(0, 128, thread="threadIdx.x")."""
        start, stop, thread = exprs["start"], exprs.get("stop"), exprs.get("thread")
        if thread is None and stop is not None:
            start, stop, thread = ast.copy_location(ast.Constant(0), call), start, stop
        if thread is None:
            raise self.source.problem(call, "T.thread_binding lacks the thread's name")
        if stop is None:
            start, stop = ast.copy_location(ast.Constant(0), call), start
        is_zero = isinstance(start, ast.Constant) and start.value == 0
        return (None if is_zero else start), stop, self.names.text(thread)

    # ---- blocks ----

    def _on_with(self, node: ast.With) -> Iterable[Statement]:
        item = node.items[0]
        name, call = self._called(node)
        if len(node.items) != 1 or call is None:
            raise self.source.problem(item.context_expr, "in a PrimFunc `with` must open a T.block(...) or T.init()")
        if name in _BLOCKS:
            return (self._block(node, call),)
        if name == "launch_thread":
            return (self._in_thread(node, self._thread_of(call, item.optional_vars), node.body),)
        if name == "attr":
            return (Block(node, "", (), (), (), self._inner(node.body)),)
        if name == "init":
            raise self.source.problem(call, "T.init() is only allowed in a `with T.block(...):`")
        raise self.source.problem(call, f"T.{name} does not open a block", (*_BLOCKS, "init", "launch_thread"), name)

    def _block(self, node: ast.With, call: ast.Call) -> Block:
        arguments = arguments_of(self.names, call, ("name", "no_realize"))
        name = self.names.text(arguments["name"]) if "name" in arguments else ""
        outer, self.buffers.scope = self.buffers.scope, dict(self.buffers.scope)
        axes: list[BlockAxis] = []
        where: list[ast.expr] = []
        init: tuple[Statement, ...] = ()
        access: dict[str, list[Buffer]] = {}
        rest: list[Statement] = []
        annotations: dict[str, object] = {}
        nodes = list(node.body)
        for position, statement in enumerate(nodes):
            word, held = self._called(statement)
            if held is not None and isinstance(statement, ast.Assign) and word.startswith("axis."):
                found = self._axes(statement, held, word.partition(".")[2])
                axes += found
                self.buffers.scope.update(dict.fromkeys([axis.name for axis in found], True))
            elif held is not None and isinstance(statement, ast.Expr) and word in (*_HINTS, "where"):
                if word == "where":
                    where += held.args
                elif word in _ATTRIBUTES:
                    annotations |= literals(self.source, held.args)
                elif word in ("reads", "writes"):
                    access.setdefault(word, []).extend(self._regions(held))
            elif isinstance(statement, ast.With) and word == "init":
                around, self._loops = self._loops, []
                init = self._inner(statement.body)
                self._loops = around
            elif held is not None and (loop := self._launched(statement, word, held)) is not None:
                rest.append(self._in_thread(statement, loop, nodes[position + 1 :]))
                break
            elif held is not None and (region := self.buffers.region(statement, word, held)) is not None:
                nodes[position + 1 :] = within(self.names, region, nodes[position + 1 :])
            else:
                rest += self._statement(statement)
        self.buffers.scope = outer
        block = Block(node, name, tuple(axes), tuple(where), init, tuple(rest), annotations)
        if annotations and block.is_plain:
            self.source.warn(node, f"annotations {annotations} are dropped: the block only groups statements")
        self._check_writes(block, access)
        return block

    def _called(self, node: ast.stmt) -> tuple[str, ast.Call | None]:
        """Return the call of a function of T in a statement: in an assignment, an expression, or a `with`."""
        call = None
        if isinstance(node, (ast.Assign, ast.Expr)):
            call = node.value
        elif isinstance(node, ast.With):
            call = node.items[0].context_expr
        if not isinstance(call, ast.Call):
            return "", None
        kind, name = self.names.word(call)
        return (name, call) if kind == TIR else ("", None)

    def _axes(self, node: ast.Assign, call: ast.Call, kind: str) -> list[BlockAxis]:
        """Return the block variables that a statement declares."""
        targets = items_of(node.targets[0])
        made: list[tuple[str, ast.expr | None, ast.expr | None, ast.expr]]
        if kind == "remap":
            made = self._remapped(call)
        elif kind in _AXIS_KINDS:
            arguments = arguments_of(self.names, call, ("dom", "value", "dtype"), 2)
            dom = arguments["dom"]
            is_range = isinstance(dom, ast.Tuple) and len(dom.elts) == 2
            first, last = (dom.elts[0], dom.elts[1]) if isinstance(dom, ast.Tuple) and is_range else (None, dom)
            made = [(_AXIS_KINDS[kind], first, last, arguments["value"])]
        else:
            raise self.source.problem(call.func, f"T.axis has no '{kind}'", [*_AXIS_KINDS, "remap"], kind)
        if len(made) != len(targets):
            raise self.source.problem(node, f"{len(targets)} names for {len(made)} variables")
        axes = []
        for target, (kind, start, stop, value) in zip(targets, made, strict=True):
            if not isinstance(target, ast.Name):
                raise self.source.problem(target, "a block's variable must be a name")
            axes.append(BlockAxis(node, target.id, kind, start, stop, value))
        return axes

    def _remapped(self, call: ast.Call) -> list[tuple[str, ast.expr | None, ast.expr | None, ast.expr]]:
        arguments = arguments_of(self.names, call, ("kinds", "bindings", "dtype"), 2)
        kinds, bindings = self.names.text(arguments["kinds"]), arguments["bindings"]
        items = bindings.elts if isinstance(bindings, (ast.List, ast.Tuple)) else []
        if (wrong := next((letter for letter in kinds if letter not in "SR"), None)) is not None:
            raise self.source.problem(
                arguments["kinds"], f"'{wrong}' is not a kind of variable: expected S (spatial) or R (reduce)"
            )
        if len(items) != len(kinds):
            raise self.source.problem(call, f"{len(kinds)} kinds for {len(items)} loops")
        return [(_AXIS_KINDS[letter], None, None, item) for letter, item in zip(kinds, items, strict=True)]

    def _regions(self, call: ast.Call) -> list[Buffer]:
        """Return the buffers in T.reads or T.writes, each by name or with a region."""
        nodes = [item for arg in call.args for item in (arg.elts if isinstance(arg, ast.List) else [arg])]
        regions = []
        for node in nodes:
            base = node.value if isinstance(node, ast.Subscript) else node
            buffer = self.buffers.scope.get(base.id) if isinstance(base, ast.Name) else None
            if not isinstance(buffer, Buffer):
                name = ast.unparse(base)
                raise self.source.problem(base, f"there is no buffer '{name}' here", self.buffers.known(), name)
            regions.append(buffer)
        return regions

    def _check_writes(self, block: Block, access: Mapping[str, list[Buffer]]) -> None:
        """Check that a block writes only the buffers that it declares."""
        if "writes" not in access:
            return
        inside = [each for each in (*block.init, *block.body)]
        own = [each.buffer for each in inside if isinstance(each, Allocate)]
        for store in inside:
            if isinstance(store, Store) and store.buffer not in (*access["writes"], *own):
                named = ", ".join(buffer.name for buffer in access["writes"]) or "nothing"
                message = f"block '{block.name}' writes '{store.buffer.name}', but T.writes names {named}"
                raise self.source.problem(store.node, message)


_READERS: dict[type, Callable[..., Iterable[Statement]]] = {
    ast.Pass: lambda reader, node: (),
    ast.Return: ProgramReader._on_return,
    ast.Assign: ProgramReader._on_assign,
    ast.AnnAssign: ProgramReader._on_annassign,
    ast.AugAssign: ProgramReader._on_augassign,
    ast.Expr: ProgramReader._on_expr,
    ast.Assert: ProgramReader._on_assert,
    ast.If: lambda reader, node: (If(node, node.test, reader._inner(node.body), reader._inner(node.orelse)),),
    ast.While: ProgramReader._on_while,
    ast.For: ProgramReader._on_for,
    ast.Break: lambda reader, node: (reader._leave(node, True),),
    ast.Continue: lambda reader, node: (reader._leave(node, False),),
    ast.With: ProgramReader._on_with,
}
