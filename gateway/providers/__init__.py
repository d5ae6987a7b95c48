"""What providers speak: one module per dialect, and the one module that owns the sockets."""
