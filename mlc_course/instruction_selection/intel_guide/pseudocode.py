"""The language of Intel's pseudocode, as a tree, and its parser.

::

    program    = { statement }                                 one a line
    statement  = place := expr
               | FOR name := expr TO expr  { statement }  ENDFOR
               | IF expr  { statement }  { ELSE IF expr  { statement } }
                 [ ELSE  { statement } ]  FI
               | DEFINE name(name[expr:expr], ...) {  { statement }  RETURN expr  }
    place      = name | name[expr:expr] | name[expr] | name.byte[expr] | name.word
    expr       = expr ? expr : expr | expr operator expr | -expr | NOT expr
               | name(expr, ...) | (expr) | number | place of an expression

``ELSE IF`` in one line shares the ``FI``. What the language has besides, such as WHILE and CASE, is
refused. Nothing of a text is ever run as Python.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from mlc_course.errors import TextError

MOST_CHARACTERS = 20_000
MOST_LEVELS = 40  # of parentheses, brackets and blocks

STRIDES = {"bit": 1, "byte": 8, "word": 16, "dword": 32, "qword": 64, "m128": 128}
COMPARISONS = ("==", "!=", "<", ">", "<=", ">=")
# From the loosest to the tightest; operators of one line go from left to right.
OPERATORS = (
    ("OR", "|"),
    ("XOR", "^"),
    ("AND", "&"),
    COMPARISONS,
    ("<<", ">>"),
    ("+", "-"),
    ("*",),
)
SAME = {"|": "OR", "^": "XOR", "&": "AND", "~": "NOT"}


@dataclass(frozen=True)
class Number:
    """A number, written in decimal or as 0xFF."""

    value: int


@dataclass(frozen=True)
class Name:
    """A variable."""

    text: str


@dataclass(frozen=True)
class Slice:
    """Bits ``low`` to ``high`` of something, both included."""

    of: Expr
    high: Expr
    low: Expr


@dataclass(frozen=True)
class Unary:
    """The negative of a value, ``-``, or its bits inverted, ``NOT``."""

    operator: str
    of: Expr


@dataclass(frozen=True)
class Binary:
    """An operator of ``OPERATORS`` between two values."""

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Choice:
    """``condition ? yes : no``."""

    condition: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True)
class Call:
    """A function of the language, or of the text."""

    name: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class Assign:
    """``to := value``."""

    line: int
    to: Name | Slice
    value: Expr


@dataclass(frozen=True)
class For:
    """A loop whose variable takes every number from ``first`` to ``last``."""

    line: int
    name: str
    first: Expr
    last: Expr
    body: Block


@dataclass(frozen=True)
class If:
    """Two blocks, of which one is run."""

    line: int
    condition: Expr
    yes: Block
    no: Block


@dataclass(frozen=True)
class Define:
    """A function of the text's own; a parameter's expression says how many bits it has."""

    line: int
    name: str
    parameters: tuple[Name | Slice, ...]
    body: Block
    value: Expr


Expr: TypeAlias = "Number | Name | Slice | Unary | Binary | Choice | Call"
Statement: TypeAlias = "Assign | For | If | Define"
Block: TypeAlias = "tuple[Statement, ...]"

_TOKEN = re.compile(
    r"(?P<blank>[ \t\r\f]+|//[^\n]*|\\[ \t\r]*\n)|(?P<line>[\n;])"
    r"|(?P<number>0x[0-9A-Fa-f]{1,32}\b|[0-9]{1,9}\b)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>:=|==|!=|<=|>=|<<|>>|[-+*<>?:()\[\]{},.&|^~])",
    re.ASCII,
)
_KEYWORDS = {"FOR", "TO", "ENDFOR", "IF", "ELSE", "FI", "DEFINE", "RETURN"}
_REFUSED = {"WHILE", "DO", "CASE", "ESAC", "DOWNTO"}
_LINE_END = "the end of the line"


@dataclass(frozen=True)
class _Token:
    line: int
    kind: str
    text: str


def parsed(text: str) -> Block:
    """Return the statements of a text.

    Raises:
        TextError: the text is longer or deeper than any of the guide's, or is of no such form.
    """
    if len(text) > MOST_CHARACTERS:
        raise TextError(
            "the pseudocode is too long",
            expected=f"at most {MOST_CHARACTERS:,} characters",
            got=f"{len(text):,}",
        )
    parser = _Parser(_tokens(text))
    statements = parser.block(top=True)
    if parser.next.kind != "end":
        raise parser.refused("a statement")
    return statements


def _tokens(text: str) -> list[_Token]:
    found, at, line = [], 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise TextError(
                "the pseudocode has a character that starts nothing",
                expected="a name, a number, or a sign of the language",
                got=f"{text[at : at + 20]!r} in line {line}",
            )
        kind, token = str(match.lastgroup), match[0]
        if kind == "name" and token.upper() in _KEYWORDS | _REFUSED:
            kind, token = "keyword", token.upper()
        if kind != "blank":
            found.append(_Token(line, kind, token))
        line += match[0].count("\n")
        at = match.end()
    return [*found, _Token(line, "end", "")]


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.level = 0

    @property
    def next(self) -> _Token:
        return self.tokens[self.at]

    def refused(self, expected: str) -> TextError:
        here = self.next
        got = _LINE_END if here.kind in ("line", "end") else repr(here.text)
        what = "the pseudocode cannot be read"
        if here.kind == "keyword" and here.text in _REFUSED:
            what = f"{here.text} is not read"
        return TextError(what, expected=expected, got=f"{got} in line {here.line}")

    def deeper(self) -> None:
        self.level += 1
        if self.level > MOST_LEVELS:
            raise TextError(
                "the pseudocode is nested too deeply",
                expected=f"at most {MOST_LEVELS} levels",
                got=f"more, in line {self.next.line}",
            )

    def take(self, *texts: str) -> str | None:
        """Return the next token and pass it if it is one of these; otherwise ``None``."""
        here = self.next
        if here.kind not in ("keyword", "sign", "name") or here.text not in texts:
            return None
        self.at += 1
        return here.text

    def need(self, text: str) -> None:
        if self.take(text) is None:
            raise self.refused(repr(text))

    def name(self, expected: str = "a name") -> str:
        if self.next.kind != "name":
            raise self.refused(expected)
        self.at += 1
        return self.tokens[self.at - 1].text

    def lines(self) -> None:
        while self.next.kind == "line":
            self.at += 1

    # ---- statements

    def block(self, *, top: bool = False) -> Block:
        """Return the statements up to a word that starts none."""
        self.deeper()
        found: list[Statement] = []
        self.lines()
        while self.next.kind == "name" or self.next.text in ("FOR", "IF", "DEFINE"):
            if self.next.text == "DEFINE" and not top:
                raise self.refused("a function at the top of the text")
            found.append(self.statement())
            if self.next.kind not in ("line", "end") and self.next.text != "}":
                raise self.refused(_LINE_END)
            self.lines()
        self.level -= 1
        return tuple(found)

    def statement(self) -> Statement:
        line = self.next.line
        match self.take("FOR", "IF", "DEFINE"):
            case "FOR":
                name = self.name()
                self.need(":=")
                first = self.expression()
                self.need("TO")
                last = self.expression()
                body = self.block()
                self.need("ENDFOR")
                return For(line, name, first, last, body)
            case "IF":
                return self.branches(line)
            case "DEFINE":
                return self.function(line)
            case _:
                to = self.postfix()
                if not isinstance(to, Name) and not (
                    isinstance(to, Slice) and isinstance(to.of, Name)
                ):
                    raise self.refused("a name or bits of a name before ':='")
                self.need(":=")
                return Assign(line, to, self.expression())

    def branches(self, line: int) -> If:
        condition = self.expression()
        yes = self.block()
        no: Block = ()
        if self.take("ELSE"):
            other = self.next.line
            if self.take("IF"):
                self.deeper()
                shared = self.branches(other)
                self.level -= 1
                return If(line, condition, yes, (shared,))
            no = self.block()
        self.need("FI")
        return If(line, condition, yes, no)

    def function(self, line: int) -> Define:
        name = self.name()
        self.need("(")
        parameters: list[Name | Slice] = []
        while not parameters or self.take(","):
            each = self.postfix()
            if not isinstance(each, Name) and not (
                isinstance(each, Slice) and isinstance(each.of, Name)
            ):
                raise self.refused("a parameter")
            parameters.append(each)
        self.need(")")
        self.need("{")
        body = self.block()
        self.need("RETURN")
        value = self.expression()
        self.lines()
        self.need("}")
        return Define(line, name, tuple(parameters), body, value)

    # ---- expressions

    def expression(self) -> Expr:
        self.deeper()
        found = self.binary(0)
        if self.take("?"):
            yes = self.expression()
            self.need(":")
            found = Choice(found, yes, self.expression())
        self.level -= 1
        return found

    def binary(self, tightness: int) -> Expr:
        if tightness == len(OPERATORS):
            return self.unary()
        found = self.binary(tightness + 1)
        while operator := self.take(*OPERATORS[tightness]):
            right = self.binary(tightness + 1)
            found = Binary(SAME.get(operator, operator), found, right)
        return found

    def unary(self) -> Expr:
        operator = self.take("-", "NOT", "~")
        if operator is None:
            return self.postfix()
        self.deeper()
        of = self.unary()
        self.level -= 1
        return Unary(SAME.get(operator, operator), of)

    def postfix(self) -> Expr:
        found = self.primary()
        while True:
            if self.take("["):
                high = self.expression()
                low = self.expression() if self.take(":") else high
                self.need("]")
                found = Slice(found, high, low)
            elif self.take("."):
                found = self.lane(found)
            else:
                return found

    def lane(self, of: Expr) -> Slice:
        """Return ``.word[2*j]``, or ``.word``, the lowest one, as bits."""
        if self.next.text not in STRIDES:
            raise self.refused(f"one of {', '.join(STRIDES)}")
        bits = STRIDES[self.name()]
        if not self.take("["):
            return Slice(of, Number(bits - 1), Number(0))
        low = Binary("*", self.expression(), Number(bits))
        self.need("]")
        return Slice(of, Binary("+", low, Number(bits - 1)), low)

    def primary(self) -> Expr:
        here = self.next
        if here.kind == "number":
            self.at += 1
            return Number(int(here.text, 16 if here.text.startswith("0x") else 10))
        if self.take("("):
            found = self.expression()
            self.need(")")
            return found
        name = self.name("a value")
        if not self.take("("):
            return Name(name)
        arguments = [self.expression()]
        while self.take(","):
            arguments.append(self.expression())
        self.need(")")
        return Call(name, tuple(arguments))
