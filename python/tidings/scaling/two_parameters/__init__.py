"""Growth in two parameters, such as processes p and elements n: O(n log p + p).

`products` are terms in both, and sums of them; `points` the measurements, on a grid or a cross;
`engine` weighs models of both, `candidates` chooses their terms, `fits` has the arithmetic;
`limits` and `verdict` say whether an expectation is kept; `plot` draws it.
"""
