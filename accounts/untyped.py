"""Names for data whose types only its reader knows: rows, options of commands."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

# A parameter of a statement.
SqlValue = bool | int | float | Decimal | str | bytes | date | datetime | UUID | None
# A row as it was read: the types of its columns are the statement's affair.
SqlRow = tuple[Any, ...]
# A row as QuerySet.values() returns it.
NamedRow = Mapping[str, Any]
# Arguments of a function by their names, handed on to it.
Arguments = Mapping[str, Any]
# What argparse has read.
Options = Mapping[str, Any]
