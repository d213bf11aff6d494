"""Tests of tidings.scaling."""
