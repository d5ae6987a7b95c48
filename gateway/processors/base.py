"""The contract every processor keeps.

A processor reads or changes a request before it is admitted, and may follow its answer. It fails
closed: what it raises refuses the call. Whoever runs it (gateway.processors.run) checks scope and
language, and measures how long it takes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import ClassVar, NamedTuple, Protocol

from msgspec import Struct

from gateway.core.answer_steps import AnswerStep
from gateway.core.call import AnyCall
from gateway.core.chat import ChatCall
from gateway.core.processing import ProcessorReport
from gateway.core.processor_errors import ProcessorRejected
from gateway.core.processor_rules import ServiceSettings
from gateway.core.result_steps import ResultStep
from gateway.processors.services import Found as FoundByService
from gateway.processors.services import Misspelling

Options = Mapping[str, object]


class Engines(Protocol):
    """What processors compute with (gateway.processors.engine_pool)."""

    def run(self, engine: str, request: Mapping[str, object]) -> Awaitable[dict[str, object]]:
        """Return what an engine makes of a request, JSON values both, without keeping the event
        loop from its work. Raises ProcessorFailure, Overloaded."""

    def find_entities(
        self, service: ServiceSettings, text: str, language: str, threshold: float
    ) -> Awaitable[list[FoundByService]]:
        """Return what a service of the workspace finds in a text. Raises ProcessorFailure."""

    def find_misspellings(
        self, service: ServiceSettings, text: str, language: str, level: str
    ) -> Awaitable[list[Misspelling]]:
        """Return what a service of the workspace corrects in a text. Raises ProcessorFailure."""


class ProcessorContext(Struct, frozen=True, kw_only=True):
    """What a processor may know of a call besides its request."""

    # Of the request's texts, in lower case; None where nobody has said.
    language: str | None = None
    # Others in which they may be: a caller's own, where a workspace has said one.
    more_languages: tuple[str, ...] = ()
    # What processors before it took out, each value with what stands there instead.
    taken_out: Mapping[str, str] = {}
    # The public name.
    model: str = ""
    # A provider on premises serves the model.
    is_model_local: bool = False
    workspace_id: str = ""
    engines: Engines
    # By their ids.
    services: Mapping[str, ServiceSettings] = {}


class Processed(NamedTuple):
    """A call as a processor leaves it."""

    call: ChatCall
    # What is to be done with the answer; None: nothing.
    step: AnswerStep | None
    # What the answer says of the processor. The step may add to it.
    report: ProcessorReport
    # What was taken out of the request and the step puts back, each with what stands there instead:
    # what is stored of the answer has that, too.
    taken_out: Mapping[str, str] = {}
    # What is to be done with results of server tools; None: nothing.
    result_step: ResultStep | None = None


class Processor(Protocol):
    """Stateless; one instance serves every call in the process. Derive from it for the defaults."""

    # As callers name it in `inferada.processors`.
    name: str
    # The scope that a key needs.
    scope: str
    # For the catalogue: what it does, in a sentence.
    description: str
    # The type of its own member of `inferada`, in which unknown members are refused
    # (forbid_unknown_fields). None for a processor without options.
    options: ClassVar[type[Struct] | None] = None
    # A call has to say its language.
    needs_language: ClassVar[bool] = False
    # Those that can be said; empty for any.
    languages: ClassVar[tuple[str, ...]] = ()
    # Files of the call are read as texts before it runs, and go to the model as texts.
    reads_files: ClassVar[bool] = False

    # Calls that go through it can have no tools of the gateway.
    refuses_tools: ClassVar[bool] = False
    # It can be made mandatory: it needs nothing that only a caller knows.
    can_be_required: ClassVar[bool] = True

    @property
    def languages_if_required(self) -> tuple[str, ...]:
        """Those in which it works where it is mandatory; empty for any."""
        return self.languages

    def require(self, call: AnyCall, *, is_model_local: bool) -> AnyCall:
        """Return a call of another operation than chat as it goes on where the processor is
        mandatory. It is refused unless a processor knows better: nothing goes on unprocessed.
        Raises ProcessorRejected."""
        raise ProcessorRejected.of(
            self.name,
            f"{self.name} is mandatory for this API key and cannot process calls of this endpoint."
            " The call was refused.",
            reason="endpoint_not_processed",
        )

    def scope_for(self, options: Options) -> str:
        """Return the scope that a key needs for these options."""
        return self.scope

    def is_language_needed(self, options: Options) -> bool:
        """True when a call with these options has to say its language."""
        return self.needs_language

    async def apply(self, call: ChatCall, options: Options, context: ProcessorContext) -> Processed:
        """Return the call as the model gets it, and what is to be done with its answer.

        options: the processor's own member of `inferada`, which is of the type `options`. Raises
        GatewayError to refuse the call.
        """
