"""The providers of the installation: list, add, edit, test."""
