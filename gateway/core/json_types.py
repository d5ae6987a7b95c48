"""The types of decoded JSON that nothing has checked yet."""

from __future__ import annotations

from typing import Any

# Any value, to be read like the value that it should be. Who asks what it is first takes object.
# Not object in structs: msgspec checks each value of that type once more when it decodes.
JsonValue = Any
# An object, its members of any kind.
JsonObject = dict[str, Any]
