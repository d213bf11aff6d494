"""Extra-P on cases from standard input, a line of JSON each; answers a line of JSON each.

Runs in an environment of its own: ``python3 -m venv V && V/bin/pip install extrap==4.2.5``. A case
has sizes, values (repetitions a size) and the far size; the answer the exponents of the leading
term, the forecast and the CPU time of the model alone, in ms. `summary` is mean (Extra-P's default)
or median, which is taken before, because Extra-P ignores ``--median`` with one parameter. A case
with points instead of sizes is in two parameters: the answer has the exponents of all products.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings
from fractions import Fraction

from extrap.entities.callpath import Callpath
from extrap.entities.coordinate import Coordinate
from extrap.entities.measurement import Measurement
from extrap.entities.metric import Metric
from extrap.modelers.multi_parameter.multi_parameter_modeler import MultiParameterModeler
from extrap.modelers.single_parameter.basic import SingleParameterModeler


def exponents(function: object) -> list[str]:
    """Return power and logarithm of the fastest growing term, as text of fractions."""
    found = []
    for compound in getattr(function, "compound_terms", []):
        if compound.coefficient == 0:
            continue
        power = logs = Fraction(0)
        for term in compound.simple_terms:
            exponent = Fraction(term.exponent).limit_denominator(1000)
            if term.term_type == "polynomial":
                power += exponent
            else:
                logs += exponent
        found.append((power, logs))
    return [str(part) for part in max(found, default=(Fraction(0), Fraction(0)))]


def modelled(
    case: dict, modeler: SingleParameterModeler | MultiParameterModeler, places: list
) -> tuple[object, dict]:
    """Return the function of a case's model, the forecast, and the CPU time of the model alone."""
    summary = case.get("summary", "mean")
    values = [[statistics.median(at)] if summary == "median" else at for at in case["values"]]
    measurements = [
        Measurement(place, Callpath("f"), Metric("t"), at)
        for place, at in zip(places, values, strict=True)
    ]
    began = time.process_time()
    model = modeler.create_model(measurements)
    spent = time.process_time() - began
    function = model.hypothesis.function
    try:
        far = float(function.evaluate(case["far"]))
    except OverflowError:
        far = None
    return function, {"far": far, "cpu_ms": 1e3 * spent}


def answer(case: dict, modeler: SingleParameterModeler) -> dict:
    """Model one case."""
    function, said = modelled(case, modeler, [Coordinate(size) for size in case["sizes"]])
    return {"growth": exponents(function), **said}


def products(function: object) -> list[list[str]]:
    """Return power and logarithm in both parameters, of each product that has a coefficient."""
    found = []
    for term in getattr(function, "compound_terms", []):
        if term.coefficient == 0:
            continue
        exponents_of = [["0", "0"], ["0", "0"]]
        for parameter, compound in term.parameter_term_pairs:
            compound.coefficient = 1
            single = type("Single", (), {"compound_terms": [compound]})()
            exponents_of[parameter] = exponents(single)
        found.append([*exponents_of[0], *exponents_of[1]])
    return found


def answer_in_two(case: dict, modeler: MultiParameterModeler) -> dict:
    """Model one case in two parameters."""
    function, said = modelled(case, modeler, [Coordinate(*point) for point in case["points"]])
    return {"products": products(function), **said}


def main() -> None:
    """Answer all lines."""
    warnings.simplefilter("ignore")
    modeler = SingleParameterModeler()
    modeler.allow_negative_exponents = "--decays" in sys.argv
    modeler._exponents_changed()
    both = MultiParameterModeler()
    for line in sys.stdin:
        case = json.loads(line)
        answered = answer_in_two(case, both) if "points" in case else answer(case, modeler)
        print(json.dumps(answered), flush=True)


if __name__ == "__main__":
    main()
