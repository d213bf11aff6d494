"""What the studies share where they draw: style, tables, pages, and the scaling paper's tables."""
