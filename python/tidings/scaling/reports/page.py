"""A page of a whole suite: verdicts in a table, and below it the plot of each expectation.

One HTML file without scripts, fonts or other files, so that it can be kept as it is by a CI.
"""

from __future__ import annotations

from html import escape

from tidings.scaling.checking import Report
from tidings.scaling.reports import plot, table

_STYLE = (
    "body{font:15px sans-serif;margin:2em auto;max-width:1320px;padding:0 1em;color:#222}"
    "table{border-collapse:collapse}td,th{padding:.3em .8em;text-align:left;"
    "border-bottom:1px solid #ddd}td:last-child{font-weight:bold}"
    ".plots{display:flex;flex-wrap:wrap;gap:1em}.plots svg{width:630px;max-width:100%}"
)


def html(report: Report) -> str:
    """Return the page."""
    rows = []
    for index, one in enumerate(report.checked):
        verdict, color = plot.verdict_of(one)
        *cells, _ = table.cells(one)
        first = f'<a href="#e{index}">{escape(cells[0])}</a>'
        rest = "".join(f"<td>{escape(cell)}</td>" for cell in cells[1:])
        rows.append(f'<tr><td>{first}</td>{rest}<td style="color:{color}">{verdict}</td></tr>')
    said = [remark for one in report.checked for remark in table.remarks(one)]
    said += [table.rule_line(one) for one in report.rules]
    plots = "\n".join(
        f'<div id="e{index}">{plot.svg(one, str(index))}</div>'
        for index, one in enumerate(report.checked)
    )
    heading = "".join(f"<th>{escape(name)}</th>" for name in table.HEADINGS)
    remarks = "".join(f"<li>{escape(remark)}</li>" for remark in said)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>Scaling: {escape(table.summary(report))}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{escape(table.summary(report).split(';')[0])}</h1>\n"
        f"<table><tr>{heading}</tr>\n{chr(10).join(rows)}\n</table>\n<ul>{remarks}</ul>\n"
        f'<div class="plots">\n{plots}\n</div>\n'
        f"<p>{escape(table.summary(report))}</p></body></html>\n"
    )
