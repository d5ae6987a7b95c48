"""What a kind of provider asks of its operators beside an address and a credential."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class ProviderSetting:
    """One setting, such as the region. What is entered travels in URLs and headers."""

    name: str
    # As people read it.
    label: str
    _: KW_ONLY
    required: bool = False
    # Applies where nothing is entered.
    default: str = ""
    # What the whole of it has to match.
    pattern: re.Pattern[str] = _NAME
    # Nothing else can be entered, where there are any.
    choices: tuple[str, ...] = ()
    # A sentence beside the field.
    help: str = ""
    # Something that could be entered.
    example: str = ""
    # Where a first start looks for it, beside the kind's own variable.
    env_var: str = ""
