"""Expectations: a developer's statement of a function's growth, read into a term.

``O(log p)``, ``O(p^1.25 log^2 p)``, ``k^3 2^k``, ``n log n``, ``1/p``, ``sqrt(n)``, ``O(1)``. A sum
is its fastest growing part; coefficients are dropped, as in big O. Slower parts may be subtracted.
``Θ(n)`` asks for both sides: slower growth is a fault, too. Text that cannot be read is rejected
with a caret under the place and the remedy; nothing is guessed.

Grammar, with optional spaces and optional ``*`` or ``·``::

    expectation = ( "O(" | "Θ(" ) sum ")" | sum
    sum         = product { ( "+" | "-" ) product }
    product     = factor { factor | "/" factor }
    factor      = number | base [ "^" exponent ] | log [ "^" exponent ] argument
                | "sqrt" argument | number "^" power-of-variable | "(" product ")"
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from tidings.scaling.terms import CONSTANT, Term

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?|\.\d+)|(?P<name>log10|log2|[ΘΩ]|[A-Za-z_]+)"
    r"|(?P<raised>[⁰¹²³⁴-⁹]+)|(?P<mark>\*\*|[-+*/^()·√×{}!]))"
)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_LOGS = {"log": 1.0, "log2": 1.0, "ld": 1.0, "ln": 1.0, "lg": 1.0, "log10": 1.0}
_WORDS = {*_LOGS, "O", "Θ", "Theta", "Ω", "Omega", "sqrt", "exp"}
_NO_UPPER_LIMIT = ("Ω", "Omega", "o", "ω")
_REMEDY = "write it like `O(p^1.25 log^2 p)`, `k^3 2^k`, `1/p` or `O(1)`"


class ExpectationError(ValueError):
    """An expectation cannot be read. The message shows the text with a caret under the place."""

    def __init__(self, text: str, column: int, problem: str) -> None:
        """Keep the text, the column (from 0) and what is wrong there."""
        self.text = text
        self.column = column
        self.problem = problem
        super().__init__(f"{problem}\n    {text}\n    {' ' * column}^\n{_REMEDY}")


@dataclass(frozen=True)
class Expectation:
    """The growth that is expected: its leading term, its variable, the text as given.

    `two_sided` says that slower growth is a fault, too, as ``Θ(n)`` states.
    """

    term: Term
    variable: str = "x"
    source: str = ""
    two_sided: bool = False

    @classmethod
    def parse(cls, text: str) -> Expectation:
        """Read an expectation, or raise ExpectationError."""
        return _Parser(text).expectation()

    @classmethod
    def of(cls, value: str | Term | Expectation) -> Expectation:
        """Accept an expectation, a term or a text."""
        if isinstance(value, Expectation):
            return value
        if isinstance(value, Term):
            return cls(value, "x", value.big_o())
        return cls.parse(value)

    def __str__(self) -> str:
        return self.term.big_o(self.variable)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    column: int


class _Parser:
    """Recursive descent over the tokens; one method per rule of the grammar."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.variable: str | None = None
        self.tokens = self._tokens()
        self.at = 0

    def expectation(self) -> Expectation:
        symbol = self._peek()
        if symbol.text in _NO_UPPER_LIMIT and self.tokens[1].text == "(":
            self._fail(f"`{symbol.text}` states no upper limit: write O(...), or Θ(...)")
        wrapped = symbol.text in ("O", "Θ", "Theta")
        if wrapped:
            self._next()
            self._demand("(", f"`(` is missing after {symbol.text}")
        term = self._sum()
        if wrapped:
            self._demand(")", "`)` is missing")
        if self._peek().kind != "end":
            self._fail(f"`{self._peek().text}` is not expected here")
        two_sided = symbol.text in ("Θ", "Theta")
        return Expectation(term, self.variable or "x", self.text.strip(), two_sided)

    def _sum(self) -> Term:
        fastest = self._product()
        while self._peek().text in ("+", "-"):
            sign = self._next()
            term = self._product()
            if sign.text == "-" and term >= fastest:
                self._back_at(sign)
                self._fail("what is subtracted must grow more slowly than what it is taken from")
            fastest = max(fastest, term)
        return fastest

    def _product(self) -> Term:
        term = self._factor()
        while True:
            mark = self._peek()
            if mark.text == "/":
                self._next()
                term = term / self._factor()
            elif mark.text in ("*", "·", "×"):
                self._next()
                term = term * self._factor()
            elif mark.kind in ("number", "name") or mark.text in ("(", "√"):
                term = term * self._factor()
            elif mark.text == "!":
                self._fail(
                    "a factorial is not among the terms: it exceeds every exponential, and at the "
                    "few sizes that can be measured it cannot be told from one, like 4^n"
                )
            else:
                return term

    def _factor(self) -> Term:
        token = self._next()
        if token.kind == "number":
            return self._number(token)
        if token.text == "(":
            return self._group()
        if token.text in ("sqrt", "√"):
            return self._argument(token) ** Fraction(1, 2)
        if token.text in _LOGS:
            return self._logarithm(token)
        if token.text == "exp":
            return Term(rate=_nearest(1 / math.log(2.0))) * self._exp_argument(token)
        if token.kind == "name" and token.text not in _WORDS:
            return self._named(token) ** self._raised_to(Fraction(1))
        self._back_at(token)
        self._fail("a term is missing here" if token.kind == "end" else _unexpected(token))

    def _group(self) -> Term:
        term = self._sum()
        self._demand(")", "`)` is missing")
        return term ** self._raised_to(Fraction(1))

    def _number(self, token: _Token) -> Term:
        value = float(token.text)
        if self._peek().text not in ("^", "**"):
            if value <= 0:
                self._back_at(token)
                self._fail("a coefficient must be positive")
            return CONSTANT
        self._next()
        rate = self._power_of_variable()
        if rate == 0:
            return CONSTANT
        if value <= 0:
            self._back_at(token)
            self._fail("the base of an exponential must be positive")
        return Term(rate=_nearest(math.log2(value)) * rate)

    def _power_of_variable(self) -> Fraction:
        """Read the exponent of a number: ``k``, ``-k``, ``(k/2)``, ``(1.5 k)``; a number is 0."""
        closing = {"(": ")", "{": "}"}.get(self._peek().text)
        if closing:
            self._next()
        rate = self._sign()
        seen = False
        while True:
            token = self._peek()
            if token.kind == "number":
                rate *= Fraction(self._next().text)
            elif token.kind == "name" and token.text not in _WORDS and not seen:
                self._named(self._next())
                seen = True
            elif closing and token.text in ("*", "·"):
                self._next()
            elif closing and token.text == "/":
                self._next()
                rate /= self._positive_number()
            else:
                break
            if not closing:
                break
        if closing:
            self._demand(closing, f"`{closing}` is missing")
        elif not seen and token.kind != "number":
            self._fail("an exponent is missing here: a variable or a number")
        return rate if seen else Fraction(0)

    def _logarithm(self, token: _Token) -> Term:
        power = self._raised_to(Fraction(1))
        argument = self._peek()
        after = self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        if argument.text in _LOGS or (argument.text == "(" and after.text in _LOGS):
            self._fail(
                "log log is not among the terms: it hardly changes over sizes that can be "
                'measured; leave it out, and allow a little more, as by within = "log n"'
            )
        inner = self._argument(token)
        if inner.rate or inner.logs or inner.power <= 0:
            self._back_at(argument)
            self._fail("the argument of a logarithm is the variable or a power of it")
        return Term(logs=power)

    def _argument(self, token: _Token) -> Term:
        """Read ``p``, ``(p)`` or ``(p^2)`` after a function's name."""
        following = self._peek()
        if following.text == "(":
            self._next()
            return self._closed(self._sum())
        if following.kind == "name" and following.text not in _WORDS:
            return self._named(self._next())
        if following.kind == "number" and token.text in ("sqrt", "√"):
            self._next()
            return CONSTANT
        self._fail(f"`{token.text}` of what? The variable is missing")

    def _exp_argument(self, token: _Token) -> Term:
        following = self._peek()
        if self._argument(token) != Term(power=Fraction(1)):
            self._back_at(following)
            self._fail("the argument of exp is the variable alone; write 2^(c x) for others")
        return CONSTANT

    def _closed(self, term: Term) -> Term:
        self._demand(")", "`)` is missing")
        return term

    def _raised_to(self, otherwise: Fraction) -> Fraction:
        """Read ``^2``, ``^-0.5``, ``^(1/3)``, ``^{0.67}``, ``²``; without, return `otherwise`."""
        token = self._peek()
        if token.kind == "raised":
            return Fraction(self._next().text.translate(_RAISED))
        if token.text not in ("^", "**"):
            return otherwise
        self._next()
        closing = {"(": ")", "{": "}"}.get(self._peek().text)
        if closing:
            self._next()
        value = self._sign() * self._exponent_number()
        if closing and self._peek().text == "/":
            self._next()
            value /= self._positive_number()
        if closing:
            self._demand(closing, f"`{closing}` is missing")
        return value

    def _exponent_number(self) -> Fraction:
        if self._peek().kind != "number":
            self._fail("an exponent is missing here: a number like 2, 1.25 or (2/3)")
        return Fraction(self._next().text)

    def _positive_number(self) -> Fraction:
        token = self._peek()
        value = self._exponent_number()
        if value == 0:
            self._back_at(token)
            self._fail("division by zero")
        return value

    def _sign(self) -> Fraction:
        if self._peek().text == "-":
            self._next()
            return Fraction(-1)
        return Fraction(1)

    def _named(self, token: _Token) -> Term:
        if len(token.text) > 3 and any(word in token.text for word in ("log", "sqrt", "exp")):
            self._back_at(token)
            self._fail(f"`{token.text}` is one word; put spaces between its factors")
        if self.variable is None:
            self.variable = token.text
        elif token.text != self.variable:
            self._back_at(token)
            self._fail(
                f"two variables, `{self.variable}` and `{token.text}`: only one can grow; keep one "
                "fixed, and state the growth in the other, once for each"
            )
        return Term(power=Fraction(1))

    def _tokens(self) -> list[_Token]:
        tokens: list[_Token] = []
        at = 0
        end = len(self.text.rstrip())
        while at < end:
            found = _TOKEN.match(self.text, at)
            if found is None:
                blanks = len(self.text[at:]) - len(self.text[at:].lstrip())
                wrong = self.text[at + blanks]
                raise ExpectationError(self.text, at + blanks, f"`{wrong}` is not part of a growth")
            kind = str(found.lastgroup)
            tokens.append(_Token(kind, found.group(kind), found.start(kind)))
            at = found.end()
        tokens.append(_Token("end", "", end))
        return tokens

    def _peek(self) -> _Token:
        return self.tokens[self.at]

    def _next(self) -> _Token:
        token = self.tokens[self.at]
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def _back_at(self, token: _Token) -> None:
        self.at = self.tokens.index(token)

    def _demand(self, mark: str, problem: str) -> None:
        if self._peek().text != mark:
            self._fail(problem)
        self._next()

    def _fail(self, problem: str) -> NoReturn:
        raise ExpectationError(self.text, self._peek().column, problem)


def _unexpected(token: _Token) -> str:
    return f"`{token.text}` is not expected here: a term is"


def _nearest(value: float) -> Fraction:
    return Fraction(value).limit_denominator(10_000)
