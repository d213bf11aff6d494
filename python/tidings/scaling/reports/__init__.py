"""Reports: the results of a check, as text for a terminal, JSON, JUnit, SARIF, Markdown and SVG."""
