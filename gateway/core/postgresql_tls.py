"""Why a connection to PostgreSQL with TLS fails, for the person who has written DATABASE_URL.

libpq says it in terms of OpenSSL, and ignores a certificate of ours whose file is not there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# What libpq reads of the files that DATABASE_URL can name, all in PEM format.
_FILES = ("sslrootcert", "sslcert", "sslkey", "sslcrl")
_OF_SYSTEM = "system"  # sslrootcert: the authorities that this machine trusts
# What each side says of a certificate is in libpq's message: the server's words follow "alert".
_ALERT = re.compile(
    r"alert ((?:unknown ca|bad certificate|unsupported certificate|certificate \w+).*?)$", re.M
)
_OTHER_HOST = re.compile(r"certificate for (.+) does not match host name")
_NO_AUTHORITY = re.compile(r"root certificate file .* does not exist")
_NOT_PEM = re.compile(
    r'could not (?:read|load) (?:root )?(?:certificate|private key) file "(.+?)": (.+)'
)
_OPEN_KEY = re.compile(r'private key file "(.+?)" has group or world access')


def explain_tls_failure(reason: str, database: Mapping[str, object]) -> str:
    """Return a sentence on what to change in DATABASE_URL or at PostgreSQL; empty where the failure
    is not about TLS.

    reason: libpq's message. database: Django's settings of the database.
    """
    options = database.get("OPTIONS")
    options = options if isinstance(options, Mapping) else {}
    given = {str(name): str(value) for name, value in options.items()}
    place = f"{database.get('HOST') or 'the socket'}:{database.get('PORT') or 5432}"
    return (
        _explain_files(reason, given)
        or _explain_server(reason, given, f"PostgreSQL at {place}", str(database.get("HOST")))
        or _explain_own(reason, f"PostgreSQL at {place}", str(database.get("USER")))
    )


def _explain_files(reason: str, given: Mapping[str, str]) -> str:
    if missing := _find_unreadable(reason, given):
        return missing
    if "key values mismatch" in reason:
        return (
            "DATABASE_URL names a key (sslkey) that does not belong to the certificate (sslcert)."
        )
    if found := _OPEN_KEY.search(reason):
        return f"Other users can read the key {found[1]}. Run `chmod 600 {found[1]}`."
    if "certificate present, but not private key file" in reason:
        return "DATABASE_URL names a certificate (sslcert) without its key. Add sslkey."
    if found := _NOT_PEM.search(reason):
        return (
            f"DATABASE_URL names {found[1]}, which is not a certificate or key in PEM format: "
            f"{found[2].rstrip('.')}."
        )
    return ""


def _find_unreadable(reason: str, given: Mapping[str, str]) -> str:
    if not any(word in reason for word in ("certificate", "SSL", "private key")):
        return ""
    for name in _FILES:
        file = given.get(name)
        if not file or file == _OF_SYSTEM:
            continue
        try:
            open(file, "rb").close()
        except OSError as error:
            return f"DATABASE_URL names {file} ({name}): {error.strerror}."
    return ""


def _explain_server(reason: str, given: Mapping[str, str], server: str, host: str) -> str:
    """Return what is wrong with the server's certificate."""
    mode = given.get("sslmode", "")
    if _NO_AUTHORITY.search(reason):
        return (
            f"sslmode={mode} in DATABASE_URL needs the certificate authority of {server}. Add "
            "sslrootcert=/path/to/ca.pem, or sslrootcert=system for those of this machine."
        )
    if "certificate verify failed" in reason:
        return (
            f"The certificate of {server} is not trusted or has expired. Name the file of its "
            "certificate authority: DATABASE_URL=postgresql://…?sslmode=verify-full"
            "&sslrootcert=/path/to/ca.pem."
        )
    if found := _OTHER_HOST.search(reason):
        return (
            f"The certificate of {server} is for {found[1]}, not for {host}. Use a host of the "
            "certificate in DATABASE_URL."
        )
    if "does not support SSL" in reason:
        return (
            f"{server} does not support TLS, which DATABASE_URL requires (sslmode={mode}). Set ssl "
            "= on in its postgresql.conf."
        )
    return ""


def _explain_own(reason: str, server: str, user: str) -> str:
    """Return what the server has against our certificate."""
    if "requires a valid client certificate" in reason:
        return (
            f"{server} requires a certificate of the gateway. Name it and its key in DATABASE_URL: "
            "sslcert=/path/to/client.pem&sslkey=/path/to/client.key."
        )
    if "certificate authentication failed" in reason:
        return (
            f"{server} rejects the certificate of the gateway for the user {user}. The common name "
            "of the certificate has to be the user, or be mapped to it in pg_ident.conf."
        )
    if found := _ALERT.search(reason):
        return (
            f"{server} rejects the certificate of the gateway: {found[1]}. Use one that its "
            "certificate authority (ssl_ca_file) has signed and that is valid."
        )
    return ""
