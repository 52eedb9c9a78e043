# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host functions in Python: the sources of statically typed functions become native code.

A module of host functions is a unit of the library (units.py). Its functions never run in Python. The reader turns the
statements of their source into the LLVM dialect when the unit is compiled, and reports a wrong type at its line. mypy
finds most wrong types too.

    class Block(Struct):
        size: I64

    cached = storage(Block)

    @library_function
    def take(size: I64, out: Array[Ptr]) -> Status:
        block = malloc(size + 64)
        if block == NULL:
            raise MemoryError("%s: %lld bytes needed", "out of memory", size)
        Block(block).size = size
        out[0] = block + 64

Operations of MLIR and their form in Python:

| MLIR | Python |
| --- | --- |
| `func.func @__relax_f`, `func.func private @__relax_f` | `@library_function def f`, `@local_function def f` |
| `llvm.cold, llvm.no_inline`, `llvm.no_inline`, `llvm.always_inline` | `.cold`, `.apart`, `.inline` |
| `func.func @__tvm_ffi___relax_f` | `@exported_function def f` |
| function of another unit | import it |
| declaration of a function of C | `@c_function` with the body `...`; `*values: Any` for `...` |
| `relax.entry` | result `Status`: a call leaves the caller on failure, `f.status(...)` returns the i32 |
| call of `__relax_fail`, then the end of the function | `raise ValueError("%s: %lld", where, number)` |
| `tir.return_unless_ok` | `require_ok(status)` |
| `tir.release` with `relax.ended_by` | `try:` with a `finally:` that calls the function |
| `llvm.mlir.global constant @x("text\\00")` with `addressof` | the literal `"text"`, of type `Text` |
| other globals | `x = storage(I64, count)`, `x = function_table(f, NULL)`, as variables of the module |
| `.fini_array`, `llvm.used` | `@unload_function` |
| `arith.constant 3 : i32` | `I32(3)`; a plain `3` is I64, or has the type of the other operand |
| offsets of bytes, `!any`, `llvm.extractvalue` | fields of a `Struct`; `Struct(address)` is a cast |
| `getelementptr %p[%i]` of a type, load or store | `p[i]` of an `Array[...]`; `place_of(p[i])` is the address |
| `getelementptr %p[%i] ... i8` | `p + i` for a `Ptr` |
| load and store of a whole struct, or of its zeros | `copy(target, source)`, `clear(target)` |
| `llvm.alloca` | `stack(I64, count)`, an `Array`; `stack(AnyValue)[0]` is the struct |
| `llvm.call %function(...)` | call of a value of type `Callable[[...], ...]`, often a field of a struct |
| `scf.if`, `scf.for`, `scf.while`, `cf.br`, `iter_args` | `if`, `for i in range(...)`, `while`, `break`, variables |
| `arith.ori`, `arith.andi` of comparisons | `\\|` and `&`; `or` and `and` skip loads and calls |
| `weights([2000, 1])` | `if likely(...)`; calls that can fail have them |
| `cmpi ult`, `extui`, `divui` | values of type `U32` and `U64` |
| `arith.select` | `a if condition else b`, `min`, `max` |
| atomic loads and stores, `atomicrmw`, `cmpxchg`, intrinsics | the built-in functions of language.py |
| text that depends on the architecture | `if architecture() == "x86_64":` |

A unit's object in the cache belongs to the sources in its folder, so a program with cached units reads no function.
"""
