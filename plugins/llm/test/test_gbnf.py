# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grammars in GBNF: texts that they accept, places of errors, and answers of a server."""

from __future__ import annotations

import re

import pytest
from relax_mlir import RelaxError
from relax_mlir_llm.gbnf import lark_of
from relax_mlir_llm.grammar import GrammarCompiler
from served_text import texts
from test_grammar import END, TOKENIZER, VOCABULARY, accepts

#: Grammar of JSON objects in the repository of llama.cpp.
JSON = r"""
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws

object ::=
  "{" ws (
            string ":" ws value
    ("," ws string ":" ws value)*
  )? "}" ws

array  ::=
  "[" ws (
            value
    ("," ws value)*
  )? "]" ws

string ::=
  "\"" (
    [^"\\\x7F\x00-\x1F] |
    "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) # escapes
  )* "\"" ws

number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws

# Optional space: by convention, applied in this grammar after literal chars when allowed
ws ::= | " " | "\n" [ \t]{0,20}
"""
ARITHMETIC = r"""
root  ::= (expr "=" ws term "\n")+
expr  ::= term ([-+*/] term)*
term  ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num   ::= [0-9]+ ws
ws    ::= [ \t\n]*
"""


@pytest.fixture(scope="module")
def compiler() -> GrammarCompiler:
    return GrammarCompiler(TOKENIZER, VOCABULARY, [END])


@pytest.mark.parametrize(
    ("source", "good", "bad"),
    [
        (
            JSON,
            ["{}", '{"name": "Ann", "tags": [1, -2.5e3, null]}', '{"é": "\\u00e9"}\n  '],
            ["[]", '{"a" 1}', "{a: 1}"],
        ),
        (ARITHMETIC, ["a+b=c\n", "x1 *(2-y)= z\n\n", "1=2\n3=4\n"], ["a=\n", "a+b=c", "A=b\n"]),
        # A longer literal and a repetition take no characters that the rest needs.
        ('root ::= "ab" "c" | "a" [b-z] "d"', ["abc", "abd", "axd"], ["ab", "axc"]),
        ('root ::= word "z"\nword ::= [a-z]*', ["z", "abz", "zz"], ["", "za1"]),
        ('root ::= "a"{2} "b"{1,3} "c"{2,}\n', ["aabcc", "aabbbcccc"], ["abcc", "aabbbbcc", "aabc"]),
        ('root ::= . [^\\n] "\\x41\\u00e9" "\\U0001F600"', ["\nxAé😀"], ["x\nAé😀", "xxAe"]),
        (r'root ::= [\]\[a-]+ "/" [/] "\""', ['a-][//"'], ["b"]),
        ('root ::= (\n  "x" |\n  "y" # or\n)\n', ["x", "y"], ["xy"]),
        ('root ::= "a" |\n  "b"\n\n', ["a", "b"], ["ab"]),
        ('root ::= true start-1\ntrue ::= "t"\nstart-1 ::= Start | ""\nStart ::= "s"', ["t", "ts"], ["s"]),
        ('root ::= "a" | ', ["a", ""], ["b"]),
        ('root ::= "a"\nroot ::= "b"', ["b"], ["a"]),
        ('root ::= "a" root | "b"', ["b", "aab"], ["a"]),
    ],
)
def test_texts(compiler: GrammarCompiler, source: str, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if not accepts(compiler.gbnf(source), text)] == []
    assert [text for text in bad if accepts(compiler.gbnf(source), text)] == []


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("", "the rule root, which is the whole answer, is missing"),
        ('a ::= "x"', "the rule root"),
        ("root ::= other", "line 1, column 10: there is no rule other"),
        ('root ::= "a', 'line 1, column 12: expected a character or the closing " or ], got the end'),
        ('root = "a"', "line 1, column 6: expected ::=, got '= \"a\"'"),
        ('root ::= "a" }', "line 1, column 14: expected a symbol or the end of the line, got '}'"),
        ('a ::= "x"\nroot ::= ("a"', "line 2, column 14: expected a symbol or ), got the end"),
        ('root ::= "a" <think>', "line 1, column 14: tokens such as <think> are not supported"),
        ('root ::= "a"{3,2}', "line 1, column 13: {3,2} has a smaller number behind the comma"),
        ('root ::= "a"{2001}', "line 1, column 13: {2001} repeats more than 2000 times"),
        ('root ::= "a"{1,' + "9" * 5000 + "}", "repeats more than 2000 times"),
        ('root ::= "a"{x}', "line 1, column 13: expected a repetition such as {2}, {2,} or {2,4}, got '{x}'"),
        ("root ::= *", "line 1, column 10: expected a symbol or the end of the line, got '*'"),
        (r'root ::= "\q"', r"line 1, column 11: expected one of \n"),
        (r'root ::= "\U00110000"', r"line 1, column 11: '\\U00110000' is no character"),
        (r'root ::= "\ud800"', "is no character"),
        ('root ::= "\ud800"', r"'\ud800' is no character"),
        ("root ::= [z-a]", "line 1, column 10: the range ends before its begin"),
        ("root ::= []", "line 1, column 10: the brackets have no characters"),
        ("root ::= " + "(" * 101, "brackets are nested more than 100 times"),
        ("=", "line 1, column 1: expected the name of a rule"),
        ("root ::= root", "no text matches the grammar"),
    ],
)  # fmt: skip
def test_refused_grammars(compiler: GrammarCompiler, source: str, problem: str) -> None:
    with pytest.raises(RelaxError, match=re.escape(problem)) as caught:
        compiler.gbnf(source)
    assert caught.value.message.startswith("GBNF grammar: ")


def test_each_symbol_of_a_literal_is_one_character() -> None:
    assert lark_of('root ::= "ab"') == "start: r0\nr0: (/[\\x{61}]/ /[\\x{62}]/)\n"


def test_a_server_binds_an_answer() -> None:
    with texts() as served:
        for body in ({"grammar": 'root ::= "k"{3}'}, {"grammar": "", "guided_regex": "k{3}"}):
            assert served.complete("zz", **body)["text"] == "kkk"
        assert served.chat("zz", grammar='root ::= "yes"')["message"]["content"] == "yes"
        for body, field, problem in [
            ({"grammar": 'root ::= "a'}, "grammar", "grammar: GBNF grammar: line 1, column 12: expected a character"),
            ({"grammar": 5}, "grammar", "grammar is 5, expected a text"),
            ({"grammar": 'root ::= "a"', "guided_regex": "a"}, "grammar", "exclude each other"),
            ({"grammar": "# " + "a" * (1 << 18)}, "grammar", "expected at most 262,144"),
        ]:
            answer = served.post("completions", prompt="say:a⏎", **body)
            error = answer.json()["error"]
            assert answer.status_code == 400 and error["param"] == field and problem in error["message"]
