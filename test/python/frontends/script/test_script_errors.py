# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refused scripts: each error has its location, and shows the line with a caret under the mistake."""

import pytest

import relax_mlir as rx

HEAD = "from relax_mlir.script import ir as I, relax as R, tir as T\n"
GRAPH = HEAD + '@R.function\ndef main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor((4,), "float32")):\n'
PRIM = HEAD + '@T.prim_func\ndef f(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):\n'
SSA = (
    HEAD
    + "@I.ir_module(ssa=True)\nclass Module:\n    @R.function\n    def f(k: T.int32) -> T.int32:\n        return SUM\n"
)
COPY = "for i, j in T.grid(8, 4):\n    "


def graph(body):
    return GRAPH + indented(body)


def prim(body):
    return PRIM + indented(body)


def indented(body):
    return "".join(f"    {line}\n" for line in body.split("\n"))


# ruff: noqa: E501  # each case is a line
#: name: (script, line:column, the message)
CASES = {
    # not the language
    "no Python": ("def f(:\n  pass\n", "1:7", "this is not Python: invalid syntax"),
    "a null byte": ("x = 1\ny\0", "2:2", "this is not Python: a null byte"),
    "nothing": ("\n", "1:1", "the script has no function"),
    "a statement of a program": (HEAD + "print('x')\n", "2:1", "not `expr`"),
    "a class without decorator": (HEAD + "class M:\n    pass\n", "2:1", "class 'M' is not an @I.ir_module"),
    "a function without decorator": (HEAD + "@I.ir_module\nclass M:\n    def f(x): pass\n", "4:5", "has no decorator"),
    "two functions of a name": (graph("return x") + GRAPH + "    return x\n", "7:1", "'main' already"),
    "too many elements": (HEAD + "@R.function\ndef main(x: R.Tensor((9223372036854775807, 2, 8), 'f32')):\n    return x\n", "3:1", "more than 2**63 - 1"),
    # graphs
    "an operator": (graph("z = R.addd(x, y)\nreturn z"), "4:9", "R has no 'addd'; did you mean 'add'?"),
    "a name": (graph("z = R.add(x, yy)\nreturn z"), "4:18", "there is no 'yy' here; did you mean 'y'?"),
    "an attribute": (graph("return R.sum(x, axs=1)"), "4:12", "no argument 'axs'; did you mean 'axis'?"),
    "shapes": (graph("return R.add(x, R.const([1.0, 2.0, 3.0]))"), "4:12", "dimension -1 is 3 against 4"),
    "a loop": (graph("for i in range(3):\n    pass\nreturn x"), "4:5", "a graph's function cannot contain `for`"),
    "an import": (graph("import os\nreturn x"), "4:5", "a graph's function cannot contain `import`"),
    "a file": (graph("with open('x') as f:\n    pass\nreturn x"), "4:10", "R.dataflow()"),
    "an index": (graph("return x[0]"), "4:12", "only tuples can be indexed"),
    "an item": (graph("z = (x, y)\nreturn z[2]"), "5:14", "a tuple of 2 has no item 2"),
    "a lambda": (graph("return lambda: 1"), "4:12", "this expression is not supported in a graph's function (lambda)"),
    "no return": (graph("z = x"), "4:5", "ends without `return`"),
    "too few names": (graph("a, b = R.split(x, 4, axis=1)\nreturn a"), "4:5", "2 names for 4 values"),
    "itself": (graph("z = main(x, y)\nreturn z"), "3:1", "'main' calls itself"),
    "a stated type": (graph("z: R.Tensor((5,), 'float32') = R.exp(y)\nreturn z"), "4:8", "this is tensor<4xf32>"),
    "one side": (graph("if R.const(True):\n    z = x\nelse:\n    w = x\nreturn z"), "8:12", "only one branch of the preceding `if`"),
    "other types": (graph("if R.const(True):\n    z = x\nelse:\n    z = y\nreturn z"), "4:5", "on one side of the `if`"),
    "no else": (graph("if R.const(True):\n    z = x\nreturn x"), "4:5", "`if` without `else`"),
    "a condition": (graph("if x:\n    z = x\nelse:\n    z = x\nreturn z"), "4:8", "a condition must be a 0-D tensor of bool"),
    "a PrimFunc": (graph("return R.call_tir(cls.g, (x,), out_sinfo=R.Tensor((4,)))"), "4:23", "no function 'g'"),
    "types": (graph("return R.call_dps_packed('f', (x,))"), "4:12", "lacks its argument 'out_sinfo'"),
    "a size": (HEAD + '@R.function\ndef main(x: R.Tensor((n,), "float32")):\n    return x\n', "3:23", "no size 'n'"),
    "a size of text alone": (HEAD + "@R.function\ndef main(x: R.Tensor((T.int64('n'),))):\n    return x\n", "3:23", "this is not a function of sizes"),
    "a negative size": (HEAD + "@R.function\ndef main(x: R.Tensor((-1,))):\n    return x\n", "3:23", "a size cannot be -1"),
    "a type": (HEAD + "@R.function\ndef main(x: R.Tensr((1,))):\n    return x\n", "3:13", "did you mean 'Tensor'?"),
    "no type": (HEAD + "@R.function\ndef main(x):\n    return x\n", "3:10", "parameter 'x' has no type"),
    "a place": (graph("return R.call_inplace_packed('f', x, inplace_indices=[n], sinfo_args=R.Tensor((4,)))"), "4:58", "the positions of arguments must be numbers"),
    "an unknown type": (graph("return x.astype()"), "4:12", "lacks its argument 'dtype'"),
    "a dictionary": (graph("R.func_attr({{}: 1})\nreturn x"), "4:17", "this cannot be evaluated"),
    "a huge number": (graph("k = 9 ** 900\nz = k * k * k * k\nreturn x"), "5:9", "this number is too large"),
    "numbers compared": (graph("z = 1 < 2\nreturn x"), "4:9", "cannot be computed while the graph is read"),
    "a power": (graph("k = 9 ** 10 ** 9\nreturn x"), "4:9", "cannot be computed while the graph is read"),
    # tensor programs
    "a name in a binding": (prim('for i in range(32):\n    with T.block("B"):\n        vi = T.axis.spatial(8, ii // 4)\n        vj = T.axis.spatial(4, i % 4)\n        B[vi, vj] = A[vi, vj]'), "6:36", "there is no 'ii' here"),
    "a rank": (prim(COPY + "B[i] = A[i, j]"), "5:9", "'B' has 2 dimensions, not 1"),
    "an index beyond all numbers": (HEAD + "@T.prim_func\ndef f(A: T.Buffer((5,)), B: T.Buffer((8,))):\n" + indented("for i in range(5):\n    with T.block('a'):\n        v = T.axis.spatial(5, i)\n        B[v] = A[v]\nfor i in range(3):\n    with T.block('b'):\n        v = T.axis.spatial(3, i)\n        B[v + 99999999999999999999] = A[v]"), "11:13", "an index of 'B' is too large"),
    "a buffer": (prim(COPY + "C[i, j] = A[i, j]"), "5:9", "there is no buffer 'C' here"),
    "a function": (prim(COPY + "B[i, j] = T.expp(A[i, j])"), "5:19", "T has no 'expp'; did you mean 'exp'?"),
    "a variable": (prim(COPY + "B[i, j] = A[i, k]"), "5:24", "there is no 'k' here"),
    "text": (prim(COPY + "B[i, j] = 'a'"), "5:19", "expected a number"),
    "integers": (prim(COPY + "B[i, j] = i / 2"), "5:19", "use //, T.truncdiv or T.ceildiv"),
    "an element type": (prim(COPY + "B[i, j] = T.Cast('int32', A[i, j])"), "5:19", "this is int32, not float32"),
    "a wrong element type": (prim("C = T.alloc_buffer((4,), 'floot32')"), "4:30", "did you mean 'float32'?"),
    "an absurd grid": (prim("for i, j in T.grid(8, 10**40):\n    B[i, j] = A[i, j]"), "4:27", "a size cannot be 1000"),
    "names for loops": (prim("for i, j in T.grid(8):\n    B[i, j] = A[i, j]"), "4:9", "2 names for 1 loops"),
    "over a buffer": (prim("for i in A:\n    pass"), "4:14", "a loop must iterate over T.grid"),
    "a step": (prim("for i in range(0, 8, 2):\n    B[i, 0] = A[i, 0]"), "4:26", "loops have a step of 1"),
    "try": (prim("try:\n    pass\nexcept: pass"), "4:5", "a PrimFunc cannot contain `try`"),
    "a result": (prim(COPY + "B[i, j] = A[i, j]\nreturn B"), "6:5", "a PrimFunc that returns a number needs a return type"),
    "a block": (prim("with T.blok('x'):\n    pass"), "4:10", "did you mean 'block'?"),
    "a kind": (prim(COPY + "with T.block('b'):\n        v = T.axis.spatal(8, i)\n        B[v, j] = A[v, j]"), "6:17", "T.axis has no 'spatal'; did you mean 'spatial'?"),
    "a binding": (prim(COPY + "with T.block('b'):\n        v = T.axis.spatial(8, i * 0.5)\n        B[v, j] = A[v, j]"), "6:35", "an index must be an integer, this is float32"),
    "writes": (prim(COPY + "with T.block('b'):\n        v, w = T.axis.remap('SS', [i, j])\n        T.writes(A[v, w])\n        B[v, w] = A[v, w]"), "8:13", "block 'b' writes 'B', but T.writes names A"),
    "a handle": (HEAD + "@T.prim_func\ndef f(a: T.handle):\n    pass\n", "3:1", "parameter 'a' is a T.handle without a buffer"),
    "a barrier": (prim("for i in T.thread_binding(8, thread='threadIdx.x'):\n    B[i, 0] = A[i, 0]\n    T.tvm_storage_sync('shared')"), "6:9", "none can wait for others"),
    "memory of several threads": (prim("C = T.alloc_buffer((8,), 'float32', scope='shared')\nfor i in T.thread_binding(8, thread='threadIdx.x'):\n    C[i] = A[i, 0]\n    B[i, 0] = C[7 - i]"), "4:9", "'C' is shared by threads, which run as sequential loops here"),
    "a view": (prim("C = T.decl_buffer((4,), 'int8', data=A.data)"), "4:9", "'A' is of float32, not int8"),
    "too far": (prim(COPY + "B[i, j] = A[i + 100, j]"), "5:19", "'A' has 8 elements along dimension 0, but the index goes from 100 to 107"),
    "before the begin": (prim(COPY + "B[i, j] = A[i - 1, j]"), "5:19", "the index goes from -1 to 6"),
    "a place behind the end": (prim(COPY + "B[i, j] = A[i, 4]"), "5:19", "has 4 elements along dimension 1, but the index is 4"),
    "written too far": (prim("for i, j in T.grid(9, 4):\n    B[i, j] = 0.0"), "5:9", "'B' has 8 elements along dimension 0, but the index goes from 0 to 8"),
    # statements of programs on their way to code
    "break alone": (prim("B[0, 0] = A[0, 0]\nbreak"), "5:5", "no loop encloses this"),
    "break of two loops": (prim(COPY + "break"), "5:9", "this loop is of several variables"),
    "break of no order": (prim("for i in T.parallel(8):\n    break"), "5:9", "this loop is parallel"),
    "break of an init": (prim("for i in range(8):\n    with T.block('b'):\n        with T.init():\n            break\n        B[i, 0] = A[i, 0]"), "7:17", "a T.init() is in between"),
    "a thread without name": (prim("T.launch_thread('threadIdx.x', 8)"), "4:5", "a thread needs a name"),
    "a thread twice": (prim("x = T.launch_thread('threadIdx.x', 8)\ny = T.launch_thread('threadIdx.x', 4)\nB[x, y] = A[x, y]"), "5:25", "threadIdx.x is already an enclosing loop"),
    "a thread that does not run": (prim("x = T.env_thread('threadIdx.x')\nB[x, 0] = A[x, 0]"), "5:17", "there is no 'x' here"),
    "a part of itself": (prim("B[0, 1:4] = B[0, 0:3]"), "4:5", "reads its buffer at other indices"),
    "parts of two lengths": (prim("B[0, 0:4] = A[0, 0:3]"), "4:22", "a part of 3 elements is combined with a part of 4"),
    "a part of two dimensions": (prim("B[0:4, 0:4] = A[0:4, 0:4]"), "4:5", "a part has one dimension"),
    "a part without end": (prim("B[0, :] = A[0, :]"), "4:10", "needs a start and an end"),
    "a part of a length": (prim("for i in range(4):\n    B[0, 0:i] = A[0, 0:i]"), "5:14", "a part needs a constant number of elements"),
    "a part as a number": (prim("B[0, 0] = A[0, 0:4]"), "4:15", "element by element"),
    "a ramp": (prim("B[0, T.Ramp(0, 1, A)] = 1.0"), "4:23", "a vector needs a constant number of elements"),
    "a region of another size": (prim("C = T.match_buffer(A[0:4, 0:4], (4, 5))"), "4:41", "the region has 4 elements here, not 5"),
    "a region of another rank": (prim("C = T.match_buffer(A[0:4, 0:4], (4,))"), "4:37", "1 sizes for a region of 2 dimensions"),
    "a region's index": (prim("C = T.match_buffer(A[0:4, 0:4], (4, 4))\nB[0, 0] = C[0]"), "5:15", "'C' has 2 dimensions, not 1"),
    "a region's memory": (prim("C = T.match_buffer(A[0:4, 0:4], (4, 4))\nT.evaluate(T.call_extern('int32', 'f', C.data))"), "5:44", "'C' is a region of 'A': only its elements can be used"),
    "a region's type": (prim("C = T.match_buffer(A[0:4, 0:4], (4, 4), 'int32')"), "4:9", "'A' is of float32, not int32"),
    "a region without end": (prim("C = T.match_buffer(A[0, :], (4,))"), "4:29", "needs a start and an end"),
    "a region whose place changes": (prim("for i in range(3):\n    C = T.match_buffer(A[i : i + 4, 0:4], (4, 4))\n    for i in range(3):\n        B[0, 0] = C[0, 0]"), "6:9", "'i' is redefined in the scope of the region 'C'"),
    "an operator of text": (prim(COPY + "B[i, j] = -'a'"), "5:19", "expected a number, got 'a'"),
    "an operator of several results": (prim(COPY + "B[i, j] = -T.frexp(A[i, j])"), "5:19", "expected a number, got ("),
    "an inverted float": (prim(COPY + "B[i, j] = ~1.5"), "5:19", "this operation takes integers, not 1.5"),
    "an inverted element": (prim(COPY + "B[i, j] = ~A[i, j]"), "5:19", "this operation takes integers, not float32"),
    "no operand": (graph("return R.add(x, R.null_value())"), "4:12", "misses operand 'x2'"),
    "nothing as a result": (graph("return R.null_value()"), "4:5", "expected a value"),
    "a rank that is read and written": (prim(COPY + "B[i, j] = B[i,] + A[i, j]"), "5:19", "'B' has 2 dimensions, not 1"),
    "a rank that is read": (prim(COPY + "B[i, j] = A[i]"), "5:19", "'A' has 2 dimensions, not 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_error_has_its_place_and_says_what_is_wrong(name):
    text, place, message = CASES[name]
    with pytest.raises(rx.RelaxError) as caught:
        rx.Module.from_script(text, "model.py")
    error = caught.value
    assert message in str(error)
    assert error.location == f"model.py:{place}"


def test_error_shows_the_line_and_marks_what_is_wrong():
    with pytest.raises(rx.RelaxError) as caught:
        rx.Module.from_script(graph("z = R.exp(ä, yy)\nreturn z").replace("ä", "x"), "model.py")
    assert str(caught.value).split("\n")[1:] == ["        z = R.exp(x, yy)", "                     ^~"]


@pytest.mark.parametrize(
    "text",
    [
        graph("return " + "(" * 300 + "x" + ")" * 300),
        graph("return " + "-" * 5000 + "x"),
        prim("\n".join("    " * i + "with T.block('b'):" for i in range(5000))),
        prim(COPY + "B[i, j] = " + "T.exp(-" * 160 + "A[i, j]" + ")" * 160),
    ],
    ids=["parentheses", "signs", "blocks", "functions"],
)
def test_texts_nested_too_deep_are_refused(text):
    with pytest.raises(rx.RelaxError, match=r"too deep|too many|not Python"):
        rx.Module.from_script(text)


@pytest.mark.parametrize("count", [400, 5000])
@pytest.mark.parametrize(
    ("text", "operand", "add"),
    [
        (prim(COPY + "B[i, j] = SUM"), "A[i, j]", "arith.addf"),
        (graph("return SUM"), "x", "relax.add"),
        (SSA, "k", "arith.addi"),
    ],
    ids=["program", "graph", "ssa"],
)
def test_a_long_sum_is_read_whole_or_refused(text, operand, add, count):
    """Read long sums, which are no nesting. The longest sum depends on the version of Python."""
    try:
        module = rx.Module.from_script(text.replace("SUM", "+".join([operand] * count)))
    except rx.RelaxError as error:
        assert count == 5000 and "too deep" in str(error)
    else:
        assert str(module).count(add) >= count - 1


def test_statements_one_after_the_other_are_not_nested():
    """Read more loops in sequence than may be nested, with branches."""
    loop = "for {0} in range(4):\n    if {0} < 3:\n        B[{0}, 0] = B[{0}, 0] + A[{0}, 0]"
    text = prim("\n".join(loop.format(f"i{number}") for number in range(100)))
    assert str(rx.Module.from_script(text)).count("scf.for") == 100


def test_text_is_never_run(tmp_path):
    mark = tmp_path / "ran"
    text = HEAD + f"import pathlib\npathlib.Path({str(mark)!r}).touch()\n" + GRAPH + "    return x\n"
    with pytest.raises(rx.RelaxError, match="not `expr`"):
        rx.Module.from_script(text)
    text = GRAPH + f"    z = open({str(mark)!r}, 'w')\n    return x\n"
    with pytest.raises(rx.RelaxError, match="there is no 'open' here"):
        rx.Module.from_script(text)
    assert not mark.exists()
