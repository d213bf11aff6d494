"""Left the package for the repository's studies."""

from tidings._moved import refuse

refuse("tidings.reproduction", __name__)
