"""Server tools of the installation."""
