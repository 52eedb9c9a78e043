# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refused scripts of IR: each error has its location, and shows the line with a caret under the mistake."""

import pytest

import relax_mlir as rx

HEAD = "from relax_mlir.script import ir as I, relax as R, tir as T\n@I.ir_module(ssa=True)\nclass Module:\n"
PARAMETERS = (
    'x: R.Tensor((4, "n"), "float32"), A: T.Buffer((8,), "float32"), s: T.float32, k: T.int32, i: T.index, '
    "c: T.bool, v: T.float32x8"
)


def body(text):
    """Return a script with statements of a function from line 6 on, indented by four columns each for class and
    function."""
    lines = "".join(f"        {line}\n" for line in text.split("\n"))
    return f"{HEAD}    @R.function\n    def f({PARAMETERS}):\n{lines}        return\n"


def member(text):
    """Return a script with lines of the class from line 4 on."""
    return HEAD + "".join(f"    {line}\n" for line in text.split("\n"))


NEST = "for j in T.grid(8): "

# ruff: noqa: E501  # each case is a line
#: name: (script, line:column, the message)
CASES = {
    # names
    "a name": (body("y = k + kk"), "6:17", "there is no value 'kk' here; did you mean 'k'?"),
    "a name before its value": (body("y = k + z\nz = k + k"), "6:17", "there is no value 'z' here"),
    "a name of a loop inside": (body("for j in range(i):\n    y = k + k\nz = y + y"), "8:13", "there is no value 'y' here"),
    "a name of one side": (body("if c:\n    y = k + k\nz = y + y"), "8:13", "there is no value 'y' here"),
    "a name of a region": (body("with scf.execute_region():\n    y = k + k\n    scf.yield_()\nz = y + y"), "9:13", "there is no value 'y' here"),
    "an element of nothing": (body("y = B[i]"), "6:13", "there is no value 'B' here"),
    "a carried name": (body("for j in range(i, carry=[q]):\n    pass"), "6:33", "there is no value 'q' here"),
    "a block": (body("cf.br(to=(bb1,))"), "6:19", "there is no block 'bb1'"),
    "a function": (body("y = cls.g(k)"), "6:13", "the module has no function 'g'"),
    "a function by name": (body("cls.f(x=x)"), "6:9", "a function is called by position"),
    # words
    "an operator": (body("y: R.Object = R.addd(x, x)"), "6:23", "R has no 'addd'; did you mean 'add'?"),
    "an operation of upstream": (body("y = arith.addx(k, k)"), "6:13", "dialect 'arith' has no operation 'addx'"),
    "a dialect": (body("y = arit.addi(k, k)"), "6:13", "there is no dialect 'arit'; did you mean 'arith'?"),
    "an operation without dialect": (body('I.op("nothing", k)'), "6:9", "'nothing' is not an operation"),
    "an operation without name": (body("I.op(k)"), "6:9", "I.op takes the operation's name first"),
    "a call of a call": (body("y = k()(k)"), "6:13", "is not an operation"),
    "a statement": (body("while c:\n    pass"), "6:9", "an ssa function cannot contain `while`"),
    "a lambda": (body("y = lambda z: k"), "6:13", "this is not a value: lambda z: k"),
    "nothing happens": (body("k"), "6:9", "this does nothing"),
    "a function's decorator": (member("def f(): ..."), "4:5", "has no decorator"),
    "a class's decorator": (member("class A:\n    pass"), "4:5", "class 'A' is not an @I.ir_module"),
    "an option": (member("@R.function(privat=True)\ndef f(): ..."), "4:24", "there is no option 'privat' here; did you mean 'private'?"),
    "an option of a class": (member("@I.ir_module(attr={})\nclass A: pass"), "4:23", "there is no option 'attr' here; did you mean 'attrs'?"),
    "a name that is none": (member("@R.function(name=5)\ndef f(): ..."), "4:22", "a name must be text"),
    "a member": (member("import os"), "4:5", "a module contains functions, classes"),
    "an offset of more than 64 bits": (body(f"y = tensor.extract_slice(x, [{2**63}], [4], [1])"), "6:38", "9223372036854775808 is not a 64-bit integer"),
    # numbers and types
    "a number alone": (body("y = 5"), "6:13", "a number needs a type here"),
    "two numbers": (body("y = 1 + 2"), "6:13", "a number needs a type here"),
    "a number of no operand": (body("y = math.exp(1.0)"), "6:22", "a number needs a type here"),
    "minus a number": (body("y = -(5)"), "6:13", "a number needs a type here"),
    "a fraction as integer": (body("y = k + 1.5"), "6:17", "1.5 is not a number of type i32"),
    "a large number": (body("y = k + 5000000000"), "6:17", "5000000000 does not fit into i32"),
    "a number of a bool": (body("y = T.bool(7)"), "6:20", "7 does not fit into i1"),
    "a typed number": (body("y = T.float32(k)"), "6:13", "T.float32 takes one number"),
    "an infinite integer": (body('y = T.int32("inf")'), "6:13", "T.int32 takes one number"),
    "types that differ": (body("y = k + s"), "6:13", "`k + s`: no operation on i32 and f32 has this operator"),
    "a tensor's sign": (body("y = x + x"), "6:13", "has this operator"),
    "a sign": (body("y = s % s"), "6:13", "no operation on f32 and f32 has this operator"),
    "a division of integers": (body("y = k / k"), "6:13", "no operation on i32 and i32 has this operator"),
    "minus an integer": (body("y = -k"), "6:13", "no operation on i32 has this operator"),
    "a comparison": (body("y = k < s"), "6:13", "i32 and f32 cannot be compared"),
    "a chain": (body("y = k < k < k"), "6:13", "comparisons do not chain"),
    "is": (body("y = k is k"), "6:13", "cannot be compared with this operator"),
    "a type that is none": (member("@R.function\ndef f(x: R.Tensr((4,))): ..."), "5:14", "this is not a type; did you mean 'R.Tensor'?"),
    "no type": (member("@R.function\ndef f(x): ..."), "5:11", "parameter 'x' has no type"),
    "a parameter's default": (member("@R.function\ndef f(x: T.int32 = 5): ..."), "5:5", "plain parameters only"),
    "an element type": (member('@R.function\ndef f(x: R.Tensor((4,), "float33")): ...'), "5:14", "'float33' is not an element type"),
    "a size": (member('@R.function\ndef f(x: R.Tensor((-4,), "float32")): ...'), "5:24", "a size must be a number or text"),
    "a size of text": (member('@R.function\ndef f(x: R.Tensor(("n +",), "float32")): ...'), "5:14", "this is not a type"),
    "a large vector": (member("@R.function\ndef f(x: T.float32x99999999999999999999): ..."), "5:14", "this is not a type"),
    "a large size": (member('@R.function\ndef f(x: R.Tensor((99999999999999999999,), "float32")): ...'), "5:14", "this is not a type"),
    "a large size of a buffer": (member('@R.function\ndef f(x: T.Buffer((99999999999999999999,), "float32")): ...'), "5:14", "this is not a type"),
    "a shape": (member('@R.function\ndef f(x: R.Tensor(4, "float32")): ...'), "5:23", "a shape must be a tuple"),
    "MLIR's type": (member('@R.function\ndef f(x: I.type("tensor<")): ...'), "5:14", "this is not a type"),
    "a type's argument": (member('@R.function\ndef f(x: R.Tensor((4,), dtype="float32")): ...'), "5:35", "R.Tensor takes no argument 'dtype'"),
    "the type of a result": (body("y = R.call_dps_packed('f', (x,))"), "6:13", "the type of the result is missing"),
    "a wrong type of a result": (body('y: R.Tensor((5,), "float32") = R.exp(x)'), "6:9", "is stated as tensor<5xf32>"),
    "an argument": (body("y: R.Object = R.sum(x, axs=1)"), "6:36", "relax.sum has no argument 'axs'; did you mean 'axis'?"),
    "too many arguments": (body("y: R.Object = R.exp(x, x)"), "6:23", "relax.exp takes at most 1 arguments"),
    "too few arguments": (body("y = R.add(x)"), "6:13", "relax.add lacks its argument 'x2'"),
    "an attribute that is no literal": (body("y: R.Object = R.sum(x, axis=1 << k)"), "6:37", "'axis' is a literal, not 1 << k"),
    "an attribute's value": (body('y: R.Object = R.sum(x, axis="a")'), "6:37", "attribute 'axis'"),
    "too few names": (body("a, b = arith.addi(k, k)"), "6:16", "2 names for"),
    "one name": (body("y = scf.yield_()"), "6:13", "one name for 0 values"),
    "names and values": (body("a, b = k, k, k"), "6:16", "2 names for 3 values"),
    "several targets": (body("a = b = k"), "6:9", "expected one assigned name per statement"),
    "a target": (body("a.b = k"), "6:9", "expected a name or an element"),
    # elements
    "too few places": (body("y = x[i]"), "6:13", "has 2 dimensions, not 1"),
    "too many places": (body("A[i, i] = s"), "6:9", "has 1 dimensions, not 2"),
    "no elements": (body("y = k[i]"), "6:13", "i32 has no elements"),
    "elements to set": (body("k[i] = s"), "6:9", "i32 has no elements"),
    "a place": (body("y = A[1.5]"), "6:15", "1.5 is not a number of type index"),
    "a slice": (body("A[1:4] = s"), "6:9", "expected an assignment of all elements: C[:] = 0.0"),
    "a vector's load": (body("y = A.vload(i, T.float32x8)"), "6:13", "vload takes indices and a type"),
    "a vector of other dimensions": (body('y = A.vload([i], T.Vector((2, 4), "float32"))'), "6:13", "has more dimensions than memref<8xf32>"),
    "a load of no vector": (body("y = A.vload([i], T.float32)"), "6:13", "f32 is not a part of memref<8xf32>"),
    "a vector's load of a number": (body("y = s.vload([i], T.float32x8)"), "6:13", "is not a part of f32"),
    "a vector's store": (body("A.vstore([i], v)"), "6:9", "vstore takes a vector and indices"),
    "a store of no vector": (body("A.vstore(s, [i])"), "6:9", "f32 is not a part of memref<8xf32>"),
    "an argument of a load": (body("y = A.vload([i], T.float32x8, msk=c)"), "6:43", "there is no such argument; did you mean 'mask'?"),
    # loops and branches
    "a loop": (body("for j in [1, 2]:\n    pass"), "6:9", "a loop is `for i in range(...)`"),
    "a loop's else": (body("for j in range(3):\n    pass\nelse:\n    pass"), "6:9", "a loop is"),
    "no range": (body("for j in range():\n    pass"), "6:9", "a loop is `for i in range(start, stop, step)`"),
    "names of a range": (body("for j, l in range(3):\n    pass"), "6:9", "a loop is"),
    "a range's argument": (body("for j in range(i, step=2):\n    pass"), "6:32", "range has no such argument"),
    "a bound": (body("for j in range(1.5):\n    pass"), "6:24", "1.5 is not a number of type index"),
    "a return in a loop": (body("for j in range(i):\n    return"), "7:13", "no operation may follow the end of a block"),
    "behind a return": (body("return\ny = k + k"), "7:9", "no operation may follow the end of a block"),
    "behind a jump": (member("@R.function\ndef f(k: T.int32):\n    cf.br(to=(bb1,))\n    y = k + k\n    def bb1():\n        return"), "7:9", "no operation may follow the end of a block"),
    "sides of other types": (body("if c:\n    y = k + k\nelse:\n    y = s + s"), "9:13", "both branches must assign values of the same types last"),
    "a condition": (body("if 1:\n    pass"), "6:12", "a number needs a type here"),
    "with": (body("with open:\n    pass"), "6:9", "`with` needs an operation with regions"),
    "two withs": (body("with scf.execute_region(), scf.execute_region():\n    pass"), "6:9", "`with` needs an operation"),
    "regions next to statements": (body("with scf.if_(c):\n    with I.region():\n        pass\n    k = k + k"), "6:9", "a body with regions contains only regions"),
    "names of with": (body("with scf.execute_region() as (a, b):\n    scf.yield_()"), "6:14", "2 names for 0 values"),
    "a block's argument": (body("with scf.execute_region():\n    def bb0(q):\n        scf.yield_()"), "7:21", "'q' has no type"),
    # nests
    "sizes that contradict": (body(NEST.replace("8", "9") + "A[j] = s"), "6:25", "loop 'j' runs over A.shape[0], which is 8"),
    "a place that is not affine": (body("for j, l in T.grid(8, 8): A[j * l] = s"), "6:35", "outputs must be affine in its loop variables"),
    "a place of a value": (body(NEST + "A[i] = s"), "6:29", "outputs must be affine in its loop variables"),
    "a place modulo nothing": (body(NEST + "A[j % 0] = s"), "6:29", "outputs must be affine in its loop variables"),
    "a large place": (body(NEST + "A[j + 99999999999999999999] = s"), "6:29", "outputs must be affine in its loop variables"),
    "no store": (body(NEST + "y = s"), "6:29", "outputs must be affine in its loop variables"),
    "no end": (body("for j in T.grid(8):\n    pass"), "7:13", "a nest must end with a store to its outputs"),
    "names of a nest": (body("for j, l in T.grid(8): A[j] = s"), "6:9", "2 names for 1 loops"),
    "the same name twice": (body("for j, j in T.grid(8, 8): A[j] = s"), "6:9", "2 names for 2 loops"),
    "an argument of a nest": (body("for j in T.grid(8, read=[]): A[j] = s"), "6:33", "T.grid has no such argument; did you mean 'reads'?"),
    "what is read": (body("for j in T.grid(8, reads=A[j]): A[j] = s"), "6:34", "reads must be a list"),
    "what is read nowhere": (body("for j in T.grid(8, reads=[5]): A[j] = s"), "6:35", "a nest's reads must be numbers"),
    "what is not there": (body("for j in T.grid(8, reads=[q]): A[j] = s"), "6:35", "there is no value 'q' here"),
    "a tensor that is read whole": (body("for j in T.grid(8, reads=[A]): A[j] = s"), "6:9", "'A' is memref<8xf32>"),
    "elements of one tensor": (body("for j in T.grid(8): A[j], A[j + 1] = s, s"), "6:29", "the outputs of a nest must be different tensors"),
    "elements and values": (body("for j in T.grid(8): A[j] = s, s"), "6:36", "1 elements for 2 values"),
    "lost in an if": (body("y = s + s\nif k < k:\n    y = s"), "7:9", "'y' from outside is assigned inside, and the new value is lost afterwards: the results of an `if` are"),
    "lost in a nest": (body("y = s\nfor j in T.grid(8):\n    y = s + s\n    A[j] = y"), "7:9", "give it a name of its own"),
    "lost in a loop": (body("y = s\nz = s\nfor j in range(8, carry=[z]):\n    y = s + z\n    z = y"), "8:9", "list it in carry"),
    "lost in a region": (body("y = s\nwith scf.execute_region():\n    y = s + s\n    scf.yield_()"), "8:13", "give it a name of its own"),
    "a loop's variable": (body("for j in T.grid(8):\n    j = k\n    A[j] = s"), "7:13", "'j' is a loop variable and cannot be assigned"),
    "a name of a nest": (body(NEST + "A[j] = ss"), "6:36", "there is no value 'ss' here"),
    # attributes
    "an attribute": (body("y = arith.addi(k, k, a=k + k)"), "6:32", "this is not an attribute"),
    "MLIR's attribute": (body('y = arith.addi(k, k, a=I.attr("dense<"))'), "6:32", "this is not an attribute"),
    "a large attribute": (body("y = arith.addi(k, k, a=99999999999999999999)"), "6:32", "this is not an attribute"),
    "a tuple of text": (body('y = arith.addi(k, k, a=("b",))'), "6:33", "a tuple among attributes has integers"),
    "a large number in a tuple": (body("y = arith.addi(k, k, a=(99999999999999999999,))"), "6:32", "this is not an attribute"),
    "attributes": (body("y = arith.addi(k, k, attrs=[])"), "6:36", "expected a dictionary of attributes"),
    "a key": (body("y = arith.addi(k, k, attrs={5: 6})"), "6:37", "an attribute's name must be text"),
    "keys elsewhere": (body("y = arith.addi(k, k, **attrs)"), "6:32", "pass attributes by name"),
    "another kind": (body("y = arith.addi(k, k, overflowFlags=5)"), "6:13", "'arith.addi' has another kind of attribute 'overflowFlags'"),
    "a case": (body('y = arith.addi(k, k, overflowFlags="odd")'), "6:44", "this is not an attribute"),
    "segments": (body("y = arith.addi(k, k, segments=k)"), "6:39", "segments must be a tuple"),
    "large segments": (body("y = arith.addi(k, k, segments=(1, 99999999999))"), "6:39", "segments must be a tuple"),
    "another kind of a function": (member('@R.function(attrs={"arg_attrs": 5})\ndef f(): ...'), "5:5", "'func.func' has another kind of attribute 'arg_attrs'"),
    "an annotation": (member("@R.function\ndef f(x: I.annotated(T.int32)): ..."), "5:14", "I.annotated takes a type and a dictionary"),
    "lists of sizes": (body("y = memref.subview(A, [0], [4])"), "6:13", "'memref.subview' takes 1 values and 3 lists of sizes"),
    # constants
    "elements": (body('y = R.const([1, "a"], "int64")'), "6:25", "the elements of a constant are numbers"),
    "ragged elements": (body('y = R.const([[1], [2, 3]], "int64")'), "6:21", "these are not elements"),
    "elements that do not fit": (body('y = R.const([300], "int8")'), "6:21", "these are not elements"),
    "elements' type": (body('y = R.const([1], "int65")'), "6:26", "'int65' is not an element type"),
    "a constant": (body("y = I.const(I.unit)"), "6:9", "'arith.constant' op requires attribute 'value'"),
    "a resource": (body('y = I.const(I.resource("w"))'), "6:21", "there is no resource 'w'"),
    "a resource of another size": (member('I.resource("w", "tensor<4xf32>", "AAAA")'), "4:1", "resource 'w' has 3 bytes, and tensor<4xf32> 16"),
    "a resource of no tensor": (member('I.resource("w", "f32", "AAAA")'), "4:1", "is not a tensor with static sizes"),
    "a resource of unknown size": (member('I.resource("w", "tensor<?xf32>", "AAAA")'), "4:1", "is not a tensor with static sizes"),
    "a resource of no type": (member('I.resource("w", "tensor<", "AAAA")'), "4:1", "resource 'w': "),
    "a resource of no bytes": (member('I.resource("w", "tensor<4xf32>", "A")'), "4:1", "resource 'w': "),
    "shapes": (body("y = R.shape(4)"), "6:21", "a shape must be a tuple"),
    "a size as number": (body("y = R.prim_value(x)"), "6:13", "R.prim_value takes a size"),
    # MLIR's text
    "what MLIR refuses": (member('I.mlir("func.func @f() { retur }")'), "4:5", "MLIR refuses this: "),
    "no text of MLIR": (member("I.mlir(5)"), "4:5", "I.mlir takes 1 arguments of text"),
    "types of operands": (body("y = math.exp(k)"), "6:9", "must be floating-point-like"),
    "depth": (body("y = " + "-(" * 300 + "s" + ")" * 300), "6:414", "too many nested parentheses"),
    "depth of signs": (body("y = " + "-" * 400 + "s"), "6:313", "the expression is nested too deep"),
    "not Python in a type": (body('y: R.Tensor((4, "float32") = R.exp(x)'), "6:12", "this is not Python"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_errors(name):
    script, place, message = CASES[name]
    with pytest.raises(rx.RelaxError) as caught:
        rx.Module.from_script(script, "s.py")
    text = str(caught.value)
    assert message in text
    assert f"s.py:{place}: " in text.split("\n", 1)[0]
    if text.startswith("s.py:"):
        _, shown, marks = text.split("\n")
        row, column = map(int, place.split(":"))
        line = script.split("\n")[row - 1]
        assert shown.strip() and (len(line) > 120 or shown == f"    {line}")
        assert set(marks.strip()) <= {"^", "~"} and (len(line) > 120 or marks.index("^") == 3 + column)
