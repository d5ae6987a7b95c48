"""The contract every server tool keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class ServerTool(Protocol):
    """Stateless; one instance serves every call in the process."""

    # As callers name it in `plugins`. The model knows it as hi_<name>.
    name: str
    description: str

    @property
    def parameters(self) -> Mapping[str, object]:
        """The JSON Schema of its arguments."""

    # What one use costs the caller, in nano-USD.
    nusd_each: int

    async def run(self, arguments: Mapping[str, object]) -> object:
        """Return the result, a JSON value that the model reads.

        What it raises is told to the model as a failure of the tool and does not end the call.
        """
