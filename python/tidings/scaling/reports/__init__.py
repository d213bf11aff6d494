"""Reports: what a check found, as text for a terminal, JSON, JUnit, SARIF, Markdown and SVG."""
