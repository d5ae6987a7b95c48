"""What callers speak: one module per format."""
