"""What operators enter as the credential of a provider: which forms there are, read and checked.

A key is one word, and so is an access token that somebody else renews. Of what has several parts,
an account or a pair of keys, it is a JSON object.
Instead of any of them it can say where the credential is: env::NAME, a variable of the server, or
dynamic::NAME, what each call brings under that name (gateway.core.call_credentials).
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

import msgspec

CREDENTIAL_CHARS, KEY_CHARS = 16_384, 4_096
ENV, DYNAMIC = "env::", "dynamic::"
# What is made into tokens, and for which kind of credential (ProviderKind.credential).
GOOGLE, AWS, ENTRA = "google", "aws", "entra"
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
SHOWN_CHARS = 4
# Of shorter ones the last characters would give away too much.
LEAST_CHARS_SHOWN = 12


class Source(StrEnum):
    """Where a credential is: stored encrypted, in the server's environment, or in each call."""

    STORED = "stored"
    ENV = "env"
    DYNAMIC = "dynamic"


class Entered(NamedTuple):
    """secret: of a stored one, in its shortest form. variable: the name of any other."""

    source: Source
    secret: str = ""
    variable: str = ""


class AwsKeys(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Keys of a user or a session of AWS, and the role to assume with them, if there is one."""

    access_key_id: str
    secret_access_key: str
    session_token: str = ""
    role_arn: str = ""
    external_id: str = ""
    # Where STS is reached otherwise than at its public address of the region.
    sts_endpoint: str = ""


class EntraApp(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An application registered with Microsoft Entra ID."""

    tenant_id: str
    client_id: str
    client_secret: str
    # Another one for national clouds.
    authority: str = "https://login.microsoftonline.com"
    scope: str = "https://cognitiveservices.azure.com/.default"


class GoogleAccount(msgspec.Struct, kw_only=True):
    """A service account's key, or what a person has authorized, as Google's tools write it."""

    type: str
    client_email: str = ""
    private_key: str = ""
    private_key_id: str = ""
    token_uri: str = "https://oauth2.googleapis.com/token"  # noqa: S105
    project_id: str = ""
    client_id: str = ""
    client_secret: str = ""
    refresh_token: str = ""
    quota_project_id: str = ""


Account = AwsKeys | EntraApp | GoogleAccount
_FORMS: dict[str, type[AwsKeys] | type[EntraApp] | type[GoogleAccount]] = {
    AWS: AwsKeys,
    ENTRA: EntraApp,
    GOOGLE: GoogleAccount,
}
_SERVICE_ACCOUNT, _AUTHORIZED_USER = "service_account", "authorized_user"
_ARN = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]{1,512}", re.ASCII)
_GUID = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,127}")


def read_entered(kind: str, text: str) -> Entered:
    """Return what was entered. kind: of the credential. Raises ValueError with a sentence."""
    text = text.strip()
    for prefix, source in ((ENV, Source.ENV), (DYNAMIC, Source.DYNAMIC)):
        if text.startswith(prefix):
            name = text.removeprefix(prefix)
            if not VARIABLE.fullmatch(name):
                raise ValueError(f"After {prefix} comes a name of letters, digits and _.")
            return Entered(source, variable=name)
    return Entered(Source.STORED, secret=read_secret(kind, text))


def read_secret(kind: str, text: str) -> str:
    """Return a credential in its shortest form. Raises ValueError with a sentence, which never
    quotes any of it."""
    if not text:
        raise ValueError("Enter the credential.")
    if len(text) > CREDENTIAL_CHARS:
        raise ValueError(f"A credential has at most {CREDENTIAL_CHARS:,} characters.")
    if kind in _FORMS and text.startswith("{"):
        account = _read_account(kind, text)
        _check_account(account)
        return msgspec.json.encode(account).decode()
    if len(text) > KEY_CHARS:
        raise ValueError(f"A key has at most {KEY_CHARS:,} characters.")
    # It travels in a header, where anything invisible could do harm.
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise ValueError("Use visible ASCII characters only, without spaces.")
    return text


def account_of(kind: str, secret: str) -> Account | None:
    """Return of what the provider's tokens are made; None where it is sent as it is. The secret has
    been read before."""
    if kind not in _FORMS or not secret.startswith("{"):
        return None
    account = _read_account(kind, secret)
    return None if isinstance(account, AwsKeys) and not account.role_arn else account


def hint_of(kind: str, secret: str) -> str:
    """Return the last characters of a credential, by which people tell it from others."""
    known = secret
    if kind in _FORMS and secret.startswith("{"):
        account = _read_account(kind, secret)
        if isinstance(account, AwsKeys):
            known = account.access_key_id
        elif isinstance(account, EntraApp):
            known = account.client_secret
        else:
            known = account.private_key_id or account.refresh_token
    return known[-SHOWN_CHARS:] if len(known) >= LEAST_CHARS_SHOWN else ""


def _read_account(kind: str, text: str) -> Account:
    form = _FORMS[kind]
    try:
        account = msgspec.json.decode(text, type=form)
    except msgspec.ValidationError as error:
        # It names members and types, never a value.
        raise ValueError(f"The JSON object is not a credential of this kind: {error}.") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ValueError("This is not a JSON object.") from None
    return account


def _check_account(account: Account) -> None:
    """Raises ValueError with a sentence."""
    if isinstance(account, GoogleAccount):
        _check_google(account)
    elif isinstance(account, AwsKeys):
        _require(account, ("access_key_id", "secret_access_key"))
        if account.role_arn and not _ARN.fullmatch(account.role_arn):
            raise ValueError("role_arn is not the ARN of a role, arn:aws:iam::…:role/….")
    else:
        _require(account, ("tenant_id", "client_id", "client_secret"))
        if not _GUID.fullmatch(account.tenant_id):
            raise ValueError("tenant_id is the ID of a tenant or one of its domains.")
    for name in account.__struct_fields__:
        value: str = getattr(account, name)
        if name != "private_key" and not (value.isascii() and value.isprintable()):
            raise ValueError(f"{name} has characters that are not visible ASCII.")


def _check_google(account: GoogleAccount) -> None:
    if account.type == _SERVICE_ACCOUNT:
        _require(account, ("client_email", "private_key", "token_uri"))
    elif account.type == _AUTHORIZED_USER:
        _require(account, ("client_id", "client_secret", "refresh_token"))
    else:
        raise ValueError(
            f"type is {account.type[:40]!r}. It has to be {_SERVICE_ACCOUNT} or {_AUTHORIZED_USER}."
        )


def _require(account: Account, names: tuple[str, ...]) -> None:
    missing = [name for name in names if not getattr(account, name)]
    if missing:
        raise ValueError(f"It lacks {', '.join(missing)}.")
