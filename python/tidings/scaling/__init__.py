"""tidings.scaling: expectations of growth as tests."""
