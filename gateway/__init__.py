"""The Django project and the data plane: everything between a caller and a provider."""

__version__ = "0.1.0"
