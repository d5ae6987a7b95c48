"""What operators enter of the settings that a kind of provider declares, checked."""

from __future__ import annotations

from collections.abc import Mapping

from django.core.exceptions import ValidationError

from gateway.providers.catalogue import ProviderKind, ProviderSetting

SETTING_CHARS = 200
# Of the fields that errors name, and that forms have: the setting's name follows.
FIELD_PREFIX = "setting_"


def read_settings(kind: ProviderKind, given: Mapping[str, str]) -> dict[str, str]:
    """Return the settings trimmed, empty ones left out.

    Raises ValidationError, by FIELD_PREFIX and name, for each that the kind does not have, that
    cannot be taken, or that is required and not there.
    """
    declared = {setting.name: setting for setting in kind.settings}
    entered = {name: text.strip() for name, text in given.items()}
    errors = {
        name: _refuse_unknown(kind, name) for name in entered if name and name not in declared
    }
    if "" in entered:
        errors[""] = "A setting needs a name."
    for name, setting in declared.items():
        if problem := _find_problem(setting, entered.get(name, "")):
            errors[name] = problem
    if errors:
        raise ValidationError({f"{FIELD_PREFIX}{name}"[:80]: said for name, said in errors.items()})
    return {name: text for name, text in entered.items() if text}


def _refuse_unknown(kind: ProviderKind, name: str) -> str:
    known = ", ".join(setting.name for setting in kind.settings)
    there = f"It has {known}." if known else "It has none."
    return f"{kind.label} does not have a setting {name[:40]!r}. {there}"


def _find_problem(setting: ProviderSetting, text: str) -> str:
    """Return why the text cannot be taken, empty if it can."""
    if not text:
        missing = setting.required and not setting.default
        return f"Enter the {_in_a_sentence(setting.label)}." if missing else ""
    if setting.choices:
        wrong = text not in setting.choices
        return f"Use one of {', '.join(setting.choices)}." if wrong else ""
    if len(text) > SETTING_CHARS:
        return f"Use at most {SETTING_CHARS} characters."
    if not (text.isascii() and setting.pattern.fullmatch(text)):
        example = f", such as {setting.example}" if setting.example else ""
        return f"This is not a valid {_in_a_sentence(setting.label)}{example}."
    return ""


def _in_a_sentence(label: str) -> str:
    """Return a label as the middle of a sentence has it; abbreviations stay as they are."""
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]
