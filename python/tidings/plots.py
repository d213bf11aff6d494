"""Left the package for the repository's studies."""

from tidings._moved import refuse

refuse("tidings.plots", __name__)
