"""The first thing a byte meets: what is not decent HTTP is refused before any application runs."""
