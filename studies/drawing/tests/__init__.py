"""Tests of the drawing of all studies."""
