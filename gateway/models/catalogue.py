"""The catalogue: which public models there are, and the targets behind each."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from accounts.ids import new_id


class Provider(models.Model):
    """One account at a company (or one server of ours) that answers calls."""

    class StructuredDialect(models.TextChoices):
        AUTO = "auto", "Automatic, by the version that the server reports"
        GUIDED = "guided", "guided_json and its siblings (before vLLM 0.12)"
        STRUCTURED_OUTPUTS = "structured_outputs", "structured_outputs (vLLM 0.12 and later)"

    class Transport(models.TextChoices):
        AUTOMATIC = "automatic", "Automatic"
        DIRECT = "direct", "Direct (HTTP/1.1)"
        HTTPX = "httpx", "httpx (proxy, HTTP/2, certificates)"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.SlugField(max_length=60, unique=True)
    kind = models.CharField(max_length=40, help_text="A name in gateway.providers.catalogue.")
    base_url = models.CharField(max_length=400, blank=True)
    settings = models.JSONField(
        default=dict, blank=True, help_text="By name: those that its kind declares."
    )
    structured_dialect = models.CharField(
        max_length=20,
        choices=StructuredDialect.choices,
        default=StructuredDialect.AUTO,
        help_text="For vLLM: the parameters of guided decoding.",
    )
    # Of vLLM: gateway.services.vllm_versions.
    server_version = models.CharField(
        max_length=60, blank=True, editable=False, help_text="As it last said; empty: unknown."
    )
    version_asked_at = models.DateTimeField(null=True, blank=True, editable=False)
    is_local = models.BooleanField(default=False, help_text="On-premises.")
    location = models.CharField(max_length=60, blank=True, help_text="Data center region.")
    allows_passthrough = models.BooleanField(
        default=False, help_text="Calls can use provider/provider-model-id as the model."
    )
    # How it is reached: gateway.services.provider_connections.
    transport = models.CharField(
        max_length=10, choices=Transport.choices, default=Transport.AUTOMATIC
    )
    uses_http2 = models.BooleanField(default=False)
    proxy_url = models.CharField(max_length=400, blank=True)
    proxy_credential = models.BinaryField(
        null=True, blank=True, editable=False, help_text="Encrypted: name:password."
    )
    ca_certificate = models.TextField(blank=True, help_text="PEM, trusted instead of the system's.")
    client_certificate = models.TextField(blank=True, help_text="PEM.")
    client_key = models.BinaryField(
        null=True, blank=True, editable=False, help_text="Encrypted: PEM."
    )
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]

    def __str__(self) -> str:
        return self.name


class ProviderHealth(models.Model):
    """What is known of a provider's answers: by the test of its connection, and by calls, which
    update it once a minute and whenever it changes. No row: nothing is known.

    answered_at: when it last answered. failing_since: the first failure since then. failure: a code
    of gateway.outbound.findings.Outcome, or of an error that a call ended with. tested_at and
    test_message: of the last test.
    """

    provider = models.OneToOneField(
        Provider, on_delete=models.CASCADE, primary_key=True, related_name="health"
    )
    answered_at = models.DateTimeField(null=True)
    failing_since = models.DateTimeField(null=True)
    failure = models.CharField(max_length=60, blank=True)
    tested_at = models.DateTimeField(null=True)
    test_outcome = models.CharField(max_length=60, blank=True)
    test_message = models.CharField(max_length=400, blank=True)

    def __str__(self) -> str:
        return f"{self.provider_id}: {self.failure or 'answers'}"


class LanguageModel(models.Model):
    """A public model: the name callers use, what it costs them, and its limits.

    Prices are pico-USD per token, which is USD per million tokens times 10^6.
    """

    class UnknownFields(models.TextChoices):
        FORWARD = "forward"
        DROP = "drop"
        REJECT = "reject"

    class TemplateMode(models.TextChoices):
        OFF = "off"
        VARS = "vars"
        LOGIC = "logic"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=200, unique=True)
    aliases = models.JSONField(default=list, blank=True, help_text="Further names for callers.")
    fallbacks = models.JSONField(default=list, blank=True, help_text="Fallback models, in order.")
    display_name = models.CharField(max_length=200, blank=True)
    description = models.TextField(blank=True)
    owned_by = models.CharField(max_length=80, blank=True)
    input_pusd_per_token = models.BigIntegerField()
    cached_input_pusd_per_token = models.BigIntegerField()
    output_pusd_per_token = models.BigIntegerField()
    # Prices of other units (gateway.core.units). Null: not set, so that a part costs what its whole
    # does, and the others cost nothing.
    cache_write_pusd_per_token = models.BigIntegerField(null=True, blank=True)
    cache_write_1h_pusd_per_token = models.BigIntegerField(null=True, blank=True)
    research_pusd_per_token = models.BigIntegerField(null=True, blank=True)
    image_pusd = models.BigIntegerField(null=True, blank=True)
    second_pusd_per_ms = models.BigIntegerField(null=True, blank=True)
    character_pusd = models.BigIntegerField(null=True, blank=True)
    search_pusd = models.BigIntegerField(null=True, blank=True)
    context_tokens = models.PositiveIntegerField(null=True, blank=True)
    max_output_tokens = models.PositiveIntegerField()
    unknown_fields = models.CharField(
        max_length=8, choices=UnknownFields.choices, default=UnknownFields.FORWARD
    )
    default_params = models.JSONField(
        default=dict, blank=True, help_text="Parameters that are sent unless the caller sets them."
    )
    template_render_mode = models.CharField(
        max_length=8,
        choices=TemplateMode.choices,
        default=TemplateMode.OFF,
        help_text="How template variables are rendered (gateway.prompts).",
    )
    default_system_prompt = models.TextField(
        blank=True, help_text="Added before the system messages of every call."
    )
    # Abilities: null where nobody has said; only a plain no refuses a call.
    supports_vision = models.BooleanField(null=True, blank=True)
    supports_pdf = models.BooleanField(null=True, blank=True)
    supports_audio = models.BooleanField(null=True, blank=True)
    supports_tools = models.BooleanField(null=True, blank=True)
    operation = models.CharField(
        max_length=20,
        blank=True,
        default="",
        help_text="The only operation it is for (gateway.core.operations); empty: any.",
    )
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(input_pusd_per_token__gte=0)
                & Q(cached_input_pusd_per_token__gte=0)
                & Q(output_pusd_per_token__gte=0),
                name="gateway_languagemodel_prices_not_negative",
            ),
            models.CheckConstraint(
                condition=(
                    Q(cache_write_pusd_per_token__gte=0)
                    | Q(cache_write_pusd_per_token__isnull=True)
                )
                & (
                    Q(cache_write_1h_pusd_per_token__gte=0)
                    | Q(cache_write_1h_pusd_per_token__isnull=True)
                )
                & (Q(research_pusd_per_token__gte=0) | Q(research_pusd_per_token__isnull=True))
                & (Q(image_pusd__gte=0) | Q(image_pusd__isnull=True))
                & (Q(second_pusd_per_ms__gte=0) | Q(second_pusd_per_ms__isnull=True))
                & (Q(character_pusd__gte=0) | Q(character_pusd__isnull=True))
                & (Q(search_pusd__gte=0) | Q(search_pusd__isnull=True)),
                name="gateway_languagemodel_unit_prices_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(max_output_tokens__gte=1),
                name="gateway_languagemodel_output_at_least_one",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Target(models.Model):
    """One way to serve a model: a native model name at a provider. Tried by position."""

    model = models.ForeignKey(LanguageModel, on_delete=models.CASCADE, related_name="targets")
    provider = models.ForeignKey(Provider, on_delete=models.PROTECT, related_name="targets")
    native_model = models.CharField(max_length=200)
    position = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering: ClassVar[list[str]] = ["position", "id"]

    def __str__(self) -> str:
        return f"{self.native_model} at {self.provider}"
