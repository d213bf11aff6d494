"""Tests of tidings.tasks."""
