"""The command tidings-scaling: check, plan, run, library and explain.

Exit codes: 0 all expectations hold (or are undecided, without --strict), 1 one is violated, 2 wrong
usage or measurements that cannot be used, 3 a misfit, or with --strict one is undecided, 128
and the number of the signal that stopped it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tidings.scaling.expectation import ExpectationError
from tidings.scaling.measurement import Measurement, MeasurementError
from tidings.scaling.specification import Specification, SpecificationError
from tidings.scaling.stopping import exit_code, stoppable

if TYPE_CHECKING:
    from tidings.scaling.checking import Report
    from tidings.scaling.readers import Measured

USAGE = 2
STOPPED_READING = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        if sys.stdout is None:
            raise SpecificationError("standard output is closed: give it a file, or /dev/null")
        code = int(options.action(options))
        sys.stdout.flush()
        return code
    except (SpecificationError, MeasurementError, ExpectationError) as error:
        print(f"error: {error}", file=sys.stderr)
    except KeyboardInterrupt as stopped:
        print("stopped", file=sys.stderr)
        return exit_code(stopped)
    except BrokenPipeError:
        # The reader closed the pipe, as with `| head`: the interpreter must not try again when it
        # ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return STOPPED_READING
    except OSError as error:
        print(f"error: {_said(error)}", file=sys.stderr)
    return USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tidings-scaling", description="Scalability expectations as tests."
    )
    parser.add_argument("--version", action=_Version, help="print the version")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    check = commands.add_parser("check", help="check measurements against the expectations")
    _shared(check)
    check.add_argument(
        "--alpha", type=float, help="false alarms of the whole suite, 0.01 if not set"
    )
    check.add_argument("--target", type=float, help="the size to predict")
    check.add_argument("--strict", action="store_true", help="exit with 3 where one is undecided")
    check.add_argument("--no-record", action="store_true", help="record no growth found")
    check.add_argument(
        "--update", action="store_true", help="record the growth found in place of that recorded"
    )
    check.add_argument(
        "--github", action="store_true", help="annotate the lines of the file in a pull request"
    )
    check.add_argument("--format", choices=("table", "json", "markdown"), default="table")
    for form in ("json", "junit", "sarif", "markdown", "html"):
        check.add_argument(f"--{form}", metavar="FILE", type=Path, help=f"write {form} to a file")
    check.add_argument(
        "--svg", metavar="FOLDER", type=Path, help="write a plot for each expectation"
    )
    check.add_argument(
        "--png", metavar="FOLDER", type=Path, help="the same as PNG; needs matplotlib"
    )
    check.set_defaults(action=_check)
    plan = commands.add_parser(
        "plan", help="propose the size and the number of runs that decide at the least cost"
    )
    _shared(plan)
    plan.add_argument("--largest", type=float, help="the largest size that can be measured")
    plan.add_argument("--cost-power", type=float, default=1.0, help="cost = runs * size^this")
    plan.set_defaults(action=_plan)
    run = commands.add_parser(
        "run", help="make the runs that the file states; continue after a stop"
    )
    run.add_argument("--file", type=Path, default=Path("scaling.toml"))
    run.add_argument(
        "--anew", action="store_true", help="repeat the runs that are already measured"
    )
    run.set_defaults(action=_run)
    library = commands.add_parser("library", help="print the path of the counting library")
    library.add_argument("--include", action="store_true", help="the folder of its header instead")
    library.add_argument(
        "--callgrind", action="store_true", help="the one with marks for callgrind"
    )
    library.set_defaults(action=_library)
    explain = commands.add_parser("explain", help="show limits and search space of an expectation")
    explain.add_argument("growth", help="such as `p log p`")
    explain.add_argument("--within", help="the deviation D, such as `p^(1/4)`")
    explain.set_defaults(action=_explain)
    return parser


class _Version(argparse.Action):
    """Print the version of the installed package; it is asked for only then."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version("tidings")
        except PackageNotFoundError:
            found = "not installed, run from its sources"
        print(f"tidings-scaling {found}")
        parser.exit()


def _shared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "measurements", nargs="*", help="files or folders; those of scaling.toml if none"
    )
    parser.add_argument("--file", type=Path, default=Path("scaling.toml"))


def _specification(options: argparse.Namespace) -> Specification:
    specification = Specification.read(options.file)
    alpha = getattr(options, "alpha", None)
    if alpha is not None and not 0 < alpha <= 0.5:
        raise SpecificationError(f"--alpha is {alpha}: it must be above 0 and at most 0.5")
    for name in ("target", "largest"):
        size = getattr(options, name, None)
        if size is not None and not 0 < size < float("inf"):
            raise SpecificationError(f"--{name} is {size:g}: it must be positive")
    return replace(
        specification,
        alpha=alpha or specification.alpha,
        target=getattr(options, "target", None) or specification.target,
    )


def _measurements(options: argparse.Namespace, specification: Specification) -> list[Measured]:
    from tidings.scaling.readers import inside, read_any

    folder = specification.path.parent
    named = options.measurements or [str(folder / p) for p in specification.measurements]
    paths: list[Path] = []
    for pattern in named:
        name = Path(pattern).name
        matching = sorted(Path(pattern).parent.glob(name)) if name else [Path(pattern)]
        if not matching:
            raise MeasurementError(f"`{pattern}`: there is no such file")
        for path in matching:
            paths += inside(path) if path.is_dir() else [path]
    if not paths:
        raise MeasurementError(
            f"{specification.path}: no measurements named; give files, or set `measurements`"
        )
    return read_any(dict.fromkeys(paths), specification.names)


def _check(options: argparse.Namespace) -> int:
    specification = _specification(options)
    measurements = _measurements(options, specification)
    if specification.engine == "paper":
        return _check_by_paper(options, specification, measurements)
    from tidings.scaling.checking import check
    from tidings.scaling.reports import table

    record = not options.no_record
    report = check(specification, measurements, record=record, update=options.update)
    if options.format == "table":
        sys.stdout.write(table.terminal(report, color=sys.stdout.isatty()))
    elif options.format == "markdown":
        sys.stdout.write(table.markdown(report))
    code = report.exit_code(options.strict)
    try:
        _write_files(options, report)
    except BrokenPipeError:
        raise
    except (SpecificationError, OSError) as error:
        print(f"error: {_said(error)}", file=sys.stderr)
        # A violation is what a script must learn first, whatever could not be written of it.
        return code or USAGE
    return code


def _said(error: Exception) -> str:
    """Return an error's message, with the file that the system refused."""
    if not isinstance(error, OSError):
        return str(error)
    place = error.filename or "standard output, or a file that was being written"
    return f"{place}: {error.strerror or error}"


def _check_by_paper(
    options: argparse.Namespace, specification: Specification, measurements: list[Measured]
) -> int:
    """Check by the paper's engine, which has no probabilities: it writes a table and JSON."""
    from tidings.scaling import paper_check, whole

    forms = ("junit", "sarif", "markdown", "html", "svg", "png")
    refused = next((name for name in forms if getattr(options, name)), None)
    if options.update or options.github:
        raise SpecificationError('engine = "paper" records and annotates nothing')
    if refused or options.format == "markdown":
        what = f"--{refused}" if refused else "--format markdown"
        raise SpecificationError(
            f'{what}: engine = "paper" writes a table and JSON; remove the option, or the engine'
        )
    plain = [one for one in measurements if isinstance(one, Measurement)]
    if len(plain) < len(measurements):
        raise SpecificationError('engine = "paper" is for one parameter, but two were measured')
    checked = paper_check.check_paper(specification, plain)
    as_json = paper_check.as_json(specification.path, checked)
    sys.stdout.write(as_json if options.format == "json" else paper_check.as_table(checked))
    if options.json:
        whole.write(options.json, as_json)
    return paper_check.exit_code(checked)


def _write_files(options: argparse.Namespace, report: Report) -> None:
    from tidings.scaling import whole
    from tidings.scaling.reports import table

    wanted = (options.json, options.junit, options.sarif)
    if options.format == "json" or any(wanted):
        from tidings.scaling.reports import structured

        if options.format == "json":
            sys.stdout.write(structured.as_json(report))
        makers = (structured.as_json, structured.as_junit, structured.as_sarif)
        for path, make in zip(wanted, makers):
            if path:
                whole.write(path, make(report))
    if options.markdown:
        whole.write(options.markdown, table.markdown(report))
    if options.github:
        from tidings.scaling.reports import annotations

        sys.stdout.write(annotations.github(report))
        annotations.add_summary(report)
    if options.html:
        from tidings.scaling.reports import page

        whole.write(options.html, page.html(report))
    _write_plots(options, report)


def _write_plots(options: argparse.Namespace, report: Report) -> None:
    for one in report.checked if options.svg or options.png else ():
        name = "".join(c if c.isalnum() or c in "-._" else "-" for c in one.stated.name)
        if options.svg:
            from tidings.scaling import whole
            from tidings.scaling.reports import plot

            options.svg.mkdir(parents=True, exist_ok=True)
            whole.write(options.svg / f"{name}.svg", plot.svg(one))
        if options.png:
            from tidings.scaling.reports import picture

            options.png.mkdir(parents=True, exist_ok=True)
            try:
                picture.write(one, options.png / f"{name}.png")
            except picture.PictureError as error:
                raise SpecificationError(f"--png: {error}") from None


def _plan(options: argparse.Namespace) -> int:
    from tidings.scaling import plan, verdict
    from tidings.scaling.checking import check
    from tidings.scaling.engines.bayes import BayesModel
    from tidings.scaling.limits import Limits
    from tidings.scaling.verdict import Outcome

    specification = _specification(options)
    report = check(specification, _measurements(options, specification), record=False)
    share = report.alpha / max(len(report.checked), 1)
    for one in report.checked:
        low = verdict.threshold(share, len(one.model.summary.sizes))
        if one.evaluation.outcome is not Outcome.UNDECIDED:
            print(f"{one.stated.name}: {one.evaluation.outcome.value}; nothing to plan")
            continue
        evaluation = one.evaluation
        if not isinstance(one.model, BayesModel) or not isinstance(evaluation.limits, Limits):
            print("; ".join([f"{one.stated.name}: undecided", *evaluation.reasons]))
            continue
        listed = plan.designs(
            one.model,
            evaluation.limits,
            evaluation.two_sided,
            (low, verdict.HOLDS),
            options.largest,
            options.cost_power,
        )
        best = plan.cheapest(listed, plan.spent(one.model, options.cost_power))
        print(f"{one.stated.name}: P {evaluation.probability:.3f}, undecided")
        print("    size      runs      cost  decides")
        for design in listed:
            mark = "  <- cheapest" if design is best else ""
            print(
                f"{design.size:8g}  {design.runs:8d}  {design.cost:8.4g}  "
                f"{design.decides:7.2f}{mark}"
            )
    return 0


def _run(options: argparse.Namespace) -> int:
    from tidings.scaling.runs import RunError, make

    specification = Specification.read(options.file)
    if not specification.runs:
        raise SpecificationError(f"{options.file}: there is no [[run]]")
    try:
        with stoppable():
            for stated in specification.runs:
                make(stated, specification.path.parent, sys.stderr, options.anew)
    except KeyboardInterrupt as stopped:
        print("stopped; measured runs are kept: start it again to continue", file=sys.stderr)
        return exit_code(stopped)
    except RunError as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE
    return 0


def _library(options: argparse.Namespace) -> int:
    from tidings.scaling.counters import library

    try:
        print(library.INCLUDE if options.include else library.path(options.callgrind))
    except library.CounterError as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE
    return 0


def _explain(options: argparse.Namespace) -> int:
    from tidings.scaling import search_space
    from tidings.scaling.expectation import Expectation
    from tidings.scaling.limits import Limits

    expected = Expectation.parse(options.growth)
    within = Expectation.parse(options.within).term if options.within else None
    try:
        limits = Limits.around(expected.term, within)
    except ValueError as error:
        raise SpecificationError(str(error)) from None
    variable = expected.variable
    low, high = limits.bounds
    space = search_space.around(expected.term)
    print(f"expectation   {expected}   class {expected.term.class_name}")
    print(f"deviation     {limits.deviation.big_o(variable)}")
    print(f"limits        {limits.lower.big_o(variable)} to {limits.upper.big_o(variable)}")
    print(f"bounds        {low.big_o(variable)} to {high.big_o(variable)}")
    print(f"search space  {', '.join(term.text(variable) for term in space)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
