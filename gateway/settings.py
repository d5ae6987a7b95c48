"""Every knob, read once. Names carry their unit; variables of the environment start TOLLHOUSE_."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gateway.env import read_bool, read_list, read_secret, read_str
from gateway.home import find_or_make_secret

BASE_DIR = Path(__file__).resolve().parent.parent

# Where this installation keeps its data: database, journal, broker folders, secrets.
HOME = Path(read_str("TOLLHOUSE_HOME", str(BASE_DIR / "var"))).resolve()

DEBUG = read_bool("TOLLHOUSE_DEBUG", False)
SECRET_KEY = read_secret("TOLLHOUSE_SECRET_KEY") or find_or_make_secret(HOME, "secret_key")
# First key seals, all keys open: put a new one in front to rotate.
SEALING_KEYS = read_list("TOLLHOUSE_SEALING_KEYS") or [find_or_make_secret(HOME, "sealing_key")]
ALLOWED_HOSTS = read_list("TOLLHOUSE_ALLOWED_HOSTS") or ["127.0.0.1", "localhost", "[::1]"]

INSTALLED_APPS = [
    "dashboard",
    "gateway",
    "keys",
    "accounts",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "lucide",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "rest_framework",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "gateway.urls"
ASGI_APPLICATION = "gateway.asgi.application"
AUTH_USER_MODEL = "accounts.User"
APPEND_SLASH = False
DATA_UPLOAD_MAX_MEMORY_SIZE = 50 * 1024 * 1024

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
            ],
        },
    },
]

DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": HOME / "tollhouse.sqlite3",
        # One writer at a time, asked for at BEGIN: a later upgrade of a read would fail at once.
        # FULL: an acknowledged commit survives power loss (docs/adr/0009).
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
        },
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
LOGIN_REDIRECT_URL = "/"
LOGIN_URL = "account_login"

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = HOME / "static"
