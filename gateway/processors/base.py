"""The contract every processor keeps.

A processor reads or changes a request before it is admitted, and may follow its answer. It fails
closed: what it raises refuses the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from gateway.core.answer_steps import AnswerStep
from gateway.core.chat import ChatCall


class Processor(Protocol):
    """Stateless; one instance serves every call in the process."""

    # As callers name it in `inferada.processors`.
    name: str
    # The scope that a key needs.
    scope: str

    @property
    def options(self) -> type[Struct] | None:
        """The type of its own member of `inferada`, in which unknown members are refused
        (forbid_unknown_fields). None for a processor without options."""

    async def apply(
        self, call: ChatCall, options: Mapping[str, object]
    ) -> tuple[ChatCall, AnswerStep | None]:
        """Return the call as the model gets it, and what is to be done with its answer.

        options: the processor's own member of `inferada`, which is of the type `options`. Raises
        GatewayError to refuse the call.
        """
