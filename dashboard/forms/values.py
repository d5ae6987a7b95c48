"""The values of a form by the names of its fields, which Django does not type."""

from __future__ import annotations

from typing import Any

FormValues = dict[str, Any]
