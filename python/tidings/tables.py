"""Left the package for the repository's studies."""

from tidings._moved import refuse

refuse("tidings.tables", __name__)
