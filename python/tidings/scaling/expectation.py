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
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NoReturn

from tidings.scaling.terms import Term
from tidings.scaling.two_parameters.products import SEPARATOR, Product, Sum

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
        """Read an expectation in one variable, or raise ExpectationError."""
        return _Parser(text, 1).in_one()

    @classmethod
    def read(cls, text: str) -> Expectation | TwoExpectation:
        """Read an expectation in one variable or two, or raise ExpectationError."""
        parser = _Parser(text, 2)
        found = parser.expectation()
        return found if len(parser.variables) == 2 else parser.narrowed(found)

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
class TwoExpectation:
    """The growth that is expected in two parameters, ``O(n log p + p)``, as `Expectation` is.

    `stated` are the products that were written, also such that another one exceeds.
    """

    growth: Sum
    variables: tuple[str, str]
    source: str = ""
    two_sided: bool = False
    stated: tuple[Product, ...] = field(default=(), compare=False)

    @property
    def variable(self) -> str:
        """Both names as one text."""
        return SEPARATOR.join(self.variables)

    def __str__(self) -> str:
        return self.growth.big_o(self.variable)

    @classmethod
    def lifted(
        cls, one: Expectation | TwoExpectation, variables: tuple[str, str]
    ) -> TwoExpectation:
        """Return an expectation in these parameters, in their order; it may be in one of them.

        Raises ValueError if it names another.
        """
        if isinstance(one, Expectation):
            if one.term.is_constant:
                return cls(Sum(), variables, one.source, one.two_sided)
            one = cls(Sum((Product(one.term),)), (one.variable, ""), one.source, one.two_sided)
        unknown = [name for name in one.variables if name and name not in variables]
        if unknown:
            raise ValueError(
                f"{one} is in `{unknown[0]}`, but what was measured is in {' and '.join(variables)}"
            )
        turned = variables[0] not in one.variables or one.variables.index(variables[0]) == 1
        growth, stated = one.growth, one.stated
        if turned:
            growth = Sum.of(Product(own.second, own.first) for own in growth.products)
            stated = tuple(Product(own.second, own.first) for own in stated)
        return cls(growth, variables, one.source, one.two_sided, stated)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    column: int


class _Parser:
    """Recursive descent over the tokens; one method per rule of the grammar."""

    def __init__(self, text: str, most_variables: int) -> None:
        self.text = text
        self.most_variables = most_variables
        self.variables: list[str] = []
        self.called = ""
        self.stated: list[Product] = []
        self.tokens = self._tokens()
        self.at = 0

    def in_one(self) -> Expectation:
        return self.narrowed(self.expectation())

    def narrowed(self, found: TwoExpectation) -> Expectation:
        """Return what is in one variable as that."""
        term = found.growth.products[0].first
        return Expectation(term, found.variables[0] or "x", found.source, found.two_sided)

    def expectation(self) -> TwoExpectation:
        symbol = self._peek()
        if symbol.text in _NO_UPPER_LIMIT and self.tokens[1].text == "(":
            self._fail(f"`{symbol.text}` states no upper limit: write O(...), or Θ(...)")
        wrapped = symbol.text in ("O", "Θ", "Theta")
        if wrapped:
            self._next()
            self._demand("(", f"`(` is missing after {symbol.text}")
        growth = self._sum()
        if wrapped:
            self._demand(")", "`)` is missing")
        if self._peek().kind != "end":
            raised = "; of a logarithm: log^2 n, or log(n^2)" if self._peek().text == "^" else ""
            self._fail(f"`{self._peek().text}` is not expected here{raised}")
        two_sided = symbol.text in ("Θ", "Theta")
        first, second, *_ = [*self.variables, "", ""]
        source = self.text.strip()
        return TwoExpectation(growth, (first, second), source, two_sided, tuple(self.stated))

    def _sum(self) -> Sum:
        total = self._product()
        stated = list(total.products)
        while self._peek().text in ("+", "-"):
            sign = self._next()
            term = self._product()
            if sign.text == "-" and (not total.covers(term) or term.covers(total)):
                self._back_at(sign)
                self._fail("what is subtracted must grow more slowly than what it is taken from")
            stated += term.products
            total = total + term
        self.stated = stated
        return total

    def _product(self) -> Sum:
        term = self._factor()
        while True:
            mark = self._peek()
            if mark.text == "/":
                self._next()
                term = term / self._divisor()
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

    def _divisor(self) -> Product:
        at = self._peek()
        divisor = self._factor()
        if len(divisor.products) > 1:
            self._back_at(at)
            self._fail("division by a sum in two variables: it has no growth in both")
        return divisor.products[0]

    def _factor(self) -> Sum:
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
            return self._exponential(token)
        if token.kind == "name" and token.text not in _WORDS:
            return self._named(token) ** self._raised_to(Fraction(1))
        self._back_at(token)
        self._fail("a term is missing here" if token.kind == "end" else _unexpected(token))

    def _group(self) -> Sum:
        opening = self._peek()
        term = self._sum()
        self._demand(")", "`)` is missing")
        power = self._raised_to(Fraction(1))
        if power < 0 and len(term.products) > 1:
            self._back_at(opening)
            self._fail("division by a sum in two variables: it has no growth in both")
        return term**power

    def _of_variable(self, name: str, term: Term) -> Sum:
        """Return a term in one of the variables."""
        second = self.variables.index(name) == 1
        return Sum((Product(second=term) if second else Product(first=term),))

    def _alone(self, value: Sum) -> tuple[str, Term] | None:
        """Return the variable and the term of a value that is in one variable."""
        product = value.products[0]
        if len(value.products) > 1 or not (product.first.is_constant or product.second.is_constant):
            return None
        if not product.second.is_constant:
            return self.variables[1], product.second
        return (self.variables[0] if self.variables else ""), product.first

    def _number(self, token: _Token) -> Sum:
        value = float(token.text)
        if self._peek().text not in ("^", "**"):
            if value <= 0:
                self._back_at(token)
                self._fail("a coefficient must be positive")
            return Sum()
        self._next()
        rate, name = self._power_of_variable()
        if rate == 0:
            return Sum()
        if value <= 0:
            self._back_at(token)
            self._fail("the base of an exponential must be positive")
        return self._of_variable(name, Term(rate=_nearest(math.log2(value)) * rate))

    def _power_of_variable(self) -> tuple[Fraction, str]:
        """Read the exponent of a number: ``k``, ``-k``, ``(k/2)``, ``(1.5 k)``; a number is 0."""
        closing = {"(": ")", "{": "}"}.get(self._peek().text)
        if closing:
            self._next()
        rate = self._sign()
        seen = ""
        while True:
            token = self._peek()
            if token.kind == "number":
                rate *= Fraction(self._next().text)
            elif token.kind == "name" and token.text not in _WORDS and not seen:
                seen = token.text
                self._named(self._next())
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
        return (rate if seen else Fraction(0)), seen

    def _logarithm(self, token: _Token) -> Sum:
        power = self._raised_to(Fraction(1))
        argument = self._peek()
        after = self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        if argument.text in _LOGS or (argument.text == "(" and after.text in _LOGS):
            self._fail(
                "log log is not among the terms: it hardly changes over sizes that can be "
                'measured; leave it out, and allow a little more, as by within = "log n"'
            )
        found = self._alone(self._argument(token))
        if found is None or found[1].rate or found[1].logs or found[1].power <= 0:
            self._back_at(argument)
            self._fail("the argument of a logarithm is the variable or a power of it")
        return self._of_variable(found[0], Term(logs=power))

    def _argument(self, token: _Token) -> Sum:
        """Read ``p``, ``(p)`` or ``(p^2)`` after a function's name."""
        following = self._peek()
        if following.text == "(":
            self._next()
            return self._closed(self._sum())
        if following.kind == "name" and following.text not in _WORDS:
            return self._named(self._next())
        if following.kind == "number" and token.text in ("sqrt", "√"):
            self._next()
            return Sum()
        self._fail(f"`{token.text}` of what? The variable is missing")

    def _exponential(self, token: _Token) -> Sum:
        following = self._peek()
        found = self._alone(self._argument(token))
        if found is None or found[1] != Term(power=Fraction(1)):
            self._back_at(following)
            self._fail("the argument of exp is the variable alone; write 2^(c x) for others")
        return self._of_variable(found[0], Term(rate=_nearest(1 / math.log(2.0))))

    def _closed(self, term: Sum) -> Sum:
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

    def _named(self, token: _Token) -> Sum:
        if len(token.text) > 3 and any(word in token.text for word in ("log", "sqrt", "exp")):
            self._back_at(token)
            self._fail(f"`{token.text}` is one word; put spaces between its factors")
        if token.text not in self.variables:
            if len(self.variables) == self.most_variables:
                self._back_at(token)
                self._fail(self._too_many(token.text))
            self.variables.append(token.text)
            if len(token.text) > 1 and self._peek().text == "(":
                self.called = token.text
        return self._of_variable(token.text, Term(power=Fraction(1)))

    def _too_many(self, name: str) -> str:
        first, *_ = self.variables
        if self.called:
            return (
                f"`{self.called}` is not among the functions, which are log, sqrt and exp; as a "
                f"variable it would be one beside `{name}`"
            )
        if self.most_variables == 1:
            return (
                f"two variables, `{first}` and `{name}`: only one can grow here; keep one fixed, "
                "and state the growth in the other, or state both in scaling.toml"
            )
        return f"a third variable, `{name}`: at most two can grow; keep one fixed"

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
