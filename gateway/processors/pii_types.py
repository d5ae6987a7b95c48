"""The kinds of personal data and the languages that the engine knows."""

from __future__ import annotations

# The languages that texts may be in, as callers name them.
LANGUAGES = ("de", "en", "es", "fr", "it", "nl", "pt")

# As callers name the engine with a model of names and places beside the patterns, lists and check
# digits: in `service_id`, where a service of the workspace's own can be named as well.
NER = "ner"

# With a check digit, a checksum or a strictly given form.
CHECKED_TYPES = (
    "IBAN_CODE",
    "CREDIT_CARD",
    "NL_BSN",
    "US_SSN",
    "US_ITIN",
    "UK_NHS",
    "UK_NINO",
    "DE_TAX_ID",
    "DE_PENSION_NUMBER",
    "DE_ID_CARD",
    "FR_NIR",
    "FR_TAX_NUMBER",
    "ES_NIF",
    "ES_NIE",
    "ES_SOCIAL_SECURITY",
    "IT_FISCAL_CODE",
    "PT_NIF",
    "PT_CITIZEN_CARD",
    "BR_CPF",
)
FORM_TYPES = ("EMAIL_ADDRESS", "PHONE_NUMBER", "IP_ADDRESS", "MAC_ADDRESS", "URL")
# Known by the words beside them.
NAMED_TYPES = ("DATE_OF_BIRTH", "PASSPORT", "ID_CARD")
NAME_TYPES = ("PERSON", "LOCATION")
# With the engine "ner" alone.
NER_TYPES = ("ORGANIZATION",)
ENTITY_TYPES = (*CHECKED_TYPES, *FORM_TYPES, *NAMED_TYPES, *NAME_TYPES, *NER_TYPES)
