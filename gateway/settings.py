"""Every setting, read once. Names carry their unit; environment variables start TOLLHOUSE_."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gateway.config.database_url import database_file, describe_database, read_database
from gateway.config.env import (
    read_bool,
    read_choice,
    read_choices,
    read_collector,
    read_header_name,
    read_hosts,
    read_int,
    read_list,
    read_nusd,
    read_origins,
    read_prefixes,
    read_proxies,
    read_redis,
    read_scanner,
    read_secret,
    read_secrets,
    read_str,
    read_url,
)
from gateway.config.home import find_or_make_secret
from gateway.config.logs import logging_config
from gateway.core.parameters import MOST_STOP_SEQUENCES
from gateway.core.profiles import BY_NAME, OWN_USAGE_MODES
from gateway.core.profiles import KEY_PREFIXES as USUAL_KEY_PREFIXES
from gateway.edge.form_bytes import FORM_BYTES
from gateway.providers.catalogue import BY_NAME as KINDS
from gateway.web import content_security_policy

BASE_DIR = Path(__file__).resolve().parent.parent

# Where this installation keeps its data: database, journal, broker folders, secrets.
HOME = Path(read_str("TOLLHOUSE_HOME", str(BASE_DIR / "var"))).resolve()

# Where `manage.py up` listens. Another host than this one needs TOLLHOUSE_PUBLIC_URL too.
HOST = read_str("TOLLHOUSE_HOST", "127.0.0.1")
PORT = read_int("TOLLHOUSE_PORT", 8000, least=1, most=65535)
# Where the worker makes the requests of batches, and how many of one batch side by side.
_REACHED = "127.0.0.1" if HOST in ("0.0.0.0", "::", "localhost") else HOST  # noqa: S104
BATCH_ORIGIN = (
    read_url("TOLLHOUSE_BATCH_ORIGIN")
    or f"http://{f'[{_REACHED}]' if ':' in _REACHED else _REACHED}:{PORT}"
)
BATCH_CONCURRENCY = read_int("TOLLHOUSE_BATCH_CONCURRENCY", 4, least=1, most=64)
# The address people and programs use, when it is not the one above: "https://gw.example.com".
PUBLIC_URL = read_url("TOLLHOUSE_PUBLIC_URL")
# Networks (CIDR) of the proxies whose X-Forwarded-For is believed. Empty: no proxy's is.
TRUSTED_PROXIES = read_list("TOLLHOUSE_TRUSTED_PROXIES")
# The header in which these proxies name the caller's country: "CF-IPCountry". Empty: in none.
COUNTRY_HEADER = read_header_name("TOLLHOUSE_COUNTRY_HEADER")

DEBUG = read_bool("TOLLHOUSE_DEBUG", False)
SECRET_KEY = read_secret("TOLLHOUSE_SECRET_KEY") or find_or_make_secret(HOME, "secret_key")
# First key seals, all keys open: put a new one in front to rotate.
SEALING_KEYS = read_secrets("TOLLHOUSE_SEALING_KEYS") or [find_or_make_secret(HOME, "sealing_key")]
_PUBLIC = urlsplit(PUBLIC_URL)
_IS_HTTPS = _PUBLIC.scheme == "https"
_NAMED_HOSTS = [
    *([_PUBLIC.hostname] if _PUBLIC.hostname else []),
    *read_hosts("TOLLHOUSE_ALLOWED_HOSTS"),
]
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]", *_NAMED_HOSTS]
# Nobody has the gateway fetch from itself. Patterns of hosts may be those of others, too.
OWN_HOSTS = [host.lower() for host in _NAMED_HOSTS if host[0] not in ".*"]

INSTALLED_APPS = [
    # Daphne is for development: it teaches `runserver` ASGI (docs/adr/0013).
    *(["daphne"] if "runserver" in sys.argv else []),
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
    "gateway.api.limit_concurrency.limit_concurrency",  # before all that needs a thread
    "gateway.web.client_address.find_client_address",
    "gateway.web.nul_characters.replace_nul_characters",
    "gateway.web.secure_cookies.secure_cookies",  # outside all that set some
    "django.middleware.security.SecurityMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "dashboard.http.compression.CompressionMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "dashboard.http.middleware.NoStoreMiddleware",
]

ROOT_URLCONF = "gateway.urls"
ASGI_APPLICATION = "gateway.asgi.application"
AUTH_USER_MODEL = "accounts.User"
APPEND_SLASH = False
# The edge refuses longer ones before any of it is read.
DATA_UPLOAD_MAX_MEMORY_SIZE = FORM_BYTES
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1_000
# Nothing of a form is on a disk in plain text.
FILE_UPLOAD_HANDLERS = ["gateway.web.form_uploads.EncryptedUploads"]

TEMPLATES: list[dict[str, object]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["dashboard.templatetags.addresses"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "dashboard.shell.context.shell",
            ],
        },
    },
]

# SQLite in HOME, or what DATABASE_URL names.
_MAKES_DATABASE = not {"migrate", "makemigrations"}.isdisjoint(sys.argv)
_DATABASE = read_database(read_secret("DATABASE_URL"), HOME, may_make=_MAKES_DATABASE)
DATABASES: dict[str, dict[str, Any]] = {"default": _DATABASE}
DATABASE_FILE = database_file(_DATABASE)
# What people call it.
DATABASE_TITLE = describe_database(_DATABASE)
# The connections to PostgreSQL that one server process may have.
DATABASE_CONNECTIONS = read_int("TOLLHOUSE_DATABASE_CONNECTIONS", 16, least=10, most=1000)
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
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "servestatic.storage.CompressedManifestStaticFilesStorage"},
}
SERVESTATIC_ALLOW_ALL_ORIGINS = False

# Behind a proxy that speaks TLS we see plain HTTP. The edge knows from PUBLIC_URL, or a trusted
# proxy, that a request came by HTTPS, and sends HSTS (gateway.edge.https).
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = _IS_HTTPS
SESSION_COOKIE_NAME = "tollhouse_session"
SESSION_COOKIE_AGE = 14 * 24 * 60 * 60
CSRF_COOKIE_NAME = "tollhouse_csrf"
CSRF_COOKIE_HTTPONLY = True
CSRF_TRUSTED_ORIGINS = [f"{_PUBLIC.scheme}://{_PUBLIC.netloc}"] if PUBLIC_URL else []
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if _IS_HTTPS else "http"
# HSTS is the edge's, the redirect to https the proxy's; subdomains and preload lists are the
# domain's owner's.
SILENCED_SYSTEM_CHECKS = ["security.W004", "security.W005", "security.W008", "security.W021"]

# Pages run only scripts that carry the nonce of their answer, and load only our own files.
CONTENT_SECURITY_POLICY = content_security_policy.PAGES

# Background work: one worker with its clock, its queue a folder (started by `manage.py up`).
_QUEUE = str(HOME / "broker" / "queue")
CELERY_BROKER_URL = "whole-files://localhost/"  # gateway.launch.broker
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "data_folder_in": _QUEUE,
    "data_folder_out": _QUEUE,
    "control_folder": str(HOME / "broker" / "control"),
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BEAT_SCHEDULE_FILENAME = str(HOME / "broker" / "beat")
# The clock sleeps for so long at a time, and a worker that is asked to stop waits for that.
CELERY_BEAT_MAX_LOOP_INTERVAL = 1
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_TIME_LIMIT = 600
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = TIME_ZONE

REST_FRAMEWORK = {
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "gateway.api.negotiation.JsonAlways",
    "DEFAULT_RENDERER_CLASSES": ["gateway.api.rendering.StructRenderer"],
}
SPECTACULAR_SETTINGS = {"OAS_VERSION": "3.1.0", "SERVE_PUBLIC": True}

# The compatibility profile of keys and workspaces that have none (gateway.core.profiles).
DEFAULT_PROFILE = read_choice("TOLLHOUSE_DEFAULT_PROFILE", "unified", BY_NAME)
# How the secrets of new keys may begin; the first is for those whose profile has none of its own.
KEY_PREFIXES = read_prefixes("TOLLHOUSE_KEY_PREFIXES", USUAL_KEY_PREFIXES)
# Where the profile unified puts a stream's usage, and what providers learn of a call's user.
STREAM_USAGE_MODE = read_choice("TOLLHOUSE_STREAM_USAGE_MODE", "auto", OWN_USAGE_MODES)
FORWARD_USER = read_choice("TOLLHOUSE_FORWARD_USER", "plain", ("plain", "hashed"))
# True: credits are shown rounded up to whole ones. What is charged stays exact.
CREDITS_INTEGER = read_bool("TOLLHOUSE_CREDITS_INTEGER", False)
# How many stop sequences a call may have; whether a tool's answer has to name a call of it.
MAX_STOP_SEQUENCES = read_int("TOLLHOUSE_MAX_STOP_SEQUENCES", 4, least=1, most=MOST_STOP_SEQUENCES)
# The longest sound of a call, as far as its bytes say how long it is.
MAX_AUDIO_S = read_int("TOLLHOUSE_MAX_AUDIO_S", 14_400, least=1, most=86_400)
STRICT_TOOL_PAIRING = read_bool("TOLLHOUSE_STRICT_TOOL_PAIRING", False)
# Kinds of provider that calls may name, as tensorzero::model_name::<kind>::<its model>.
SHORTHAND_PROVIDERS = read_choices("TOLLHOUSE_SHORTHAND_PROVIDERS", KINDS)
# GET /v1/models without a key; with one it shows what the key may use.
PUBLIC_MODEL_CATALOG = read_bool("TOLLHOUSE_PUBLIC_MODEL_CATALOG", False)
# Web pages of these origins may call the API from a browser; "*" is any.
CORS_ORIGINS = read_origins("TOLLHOUSE_CORS_ORIGINS")
# The longest request body that is read.
BODY_LIMIT_BYTES = read_int("TOLLHOUSE_BODY_LIMIT_MB", 50, least=1, most=1024) * 1024 * 1024
# The memory that the bodies of all requests may take together (gateway.edge.body_budget).
BODY_MEMORY_BYTES = read_int("TOLLHOUSE_BODY_MEMORY_MB", 256, least=16, most=65_536) * 1024 * 1024
# What a workspace may store where an operator has set no other limits: the size of one file, their
# number, and all of them together (gateway.services.files.limits).
MAX_FILE_BYTES = read_int("TOLLHOUSE_MAX_FILE_MB", 512, least=1, most=65_536) * 1024 * 1024
MAX_FILES = read_int("TOLLHOUSE_MAX_FILES", 10_000, least=0, most=10_000_000)
MAX_STORAGE_BYTES = (
    read_int("TOLLHOUSE_MAX_STORAGE_MB", 10_240, least=0, most=1_000_000_000) * 1024 * 1024
)
# Where their bytes are: a folder, which all hosts must share, or a bucket of storage that speaks
# S3's API. Without access keys, boto3 looks for credentials itself.
FILES_DIR = Path(read_str("TOLLHOUSE_FILES_DIR", str(HOME / "files"))).resolve()
FILES_S3_BUCKET = read_str("TOLLHOUSE_FILES_S3_BUCKET")
FILES_S3_ENDPOINT = read_url("TOLLHOUSE_FILES_S3_ENDPOINT")
FILES_S3_REGION = read_str("TOLLHOUSE_FILES_S3_REGION")
FILES_S3_PREFIX = read_str("TOLLHOUSE_FILES_S3_PREFIX", "tollhouse")
FILES_S3_ACCESS_KEY = read_secret("TOLLHOUSE_FILES_S3_ACCESS_KEY")
FILES_S3_SECRET_KEY = read_secret("TOLLHOUSE_FILES_S3_SECRET_KEY")
# What scans uploads: clamd, or another that speaks its protocol (gateway.services.files.scanning).
FILE_SCANNER = read_scanner("TOLLHOUSE_FILE_SCANNER")
# Networks (CIDR) that files may be fetched from although they are not public (docs/adr/0022).
FETCH_ALLOWED_NETWORKS = read_list("TOLLHOUSE_FETCH_ALLOWED_NETWORKS")
# How many URLs are fetched for one key a minute, at most (docs/adr/0070).
FETCHES_PER_MINUTE = read_int("TOLLHOUSE_FETCHES_PER_MINUTE", 300, least=1, most=1_000_000)
# Whether a provider's address may be link-local, or one of a cloud's metadata service.
LINK_LOCAL_PROVIDERS = read_bool("TOLLHOUSE_LINK_LOCAL_PROVIDERS", False)
# HTTPS_PROXY, HTTP_PROXY and NO_PROXY, for providers that have no proxy of their own.
ENVIRONMENT_PROXIES = read_proxies()
# What a page of a PDF costs that is made into a picture for a model that reads no PDFs.
PDF_PAGE_NUSD = read_nusd("TOLLHOUSE_PDF_PAGE_FEE_USD", "0.001", most="10")
# What calls of one key may cost a day (UTC) beyond the balance of their workspace, before they are
# refused until the day is over (docs/adr/0034).
KEY_LOSS_NUSD_PER_DAY = read_nusd("TOLLHOUSE_KEY_LOSS_USD_PER_DAY", "1", most="1000000")
# No calls are admitted while the disk has less free than the larger of these: what is left is for
# calls that run (gateway.stores.free_space). 0 and 0: it is not looked at.
MIN_FREE_MB = read_int("TOLLHOUSE_MIN_FREE_MB", 512, least=0, most=100_000_000)
MIN_FREE_PERCENT = read_int("TOLLHOUSE_MIN_FREE_PERCENT", 2, least=0, most=50)
# How many server processes `up` starts. More than one needs PostgreSQL and Redis.
WORKERS = read_int("WORKERS", 1, least=1, most=64)
# What one connection may ask of us before any application runs (gateway.edge.limits).
EDGE = {
    "head_s": read_int("TOLLHOUSE_HEAD_S", 10, least=1, most=300),
    "body_silence_s": read_int("TOLLHOUSE_BODY_SILENCE_S", 15, least=1, most=600),
    "body_rate_window_s": read_int("TOLLHOUSE_BODY_PACE_S", 10, least=1, most=300),
    "body_memory_bytes": BODY_MEMORY_BYTES,
    "idle_connections": read_int("TOLLHOUSE_IDLE_CONNECTIONS", 256, least=1, most=65_535),
    "refusals_per_s": read_int("TOLLHOUSE_REFUSALS_PER_S", 250, least=0, most=100_000),
    # How long running calls may take to end after a stop was asked for.
    "drain_s": read_int("TOLLHOUSE_DRAIN_S", 30, least=0, most=3600),
}
# Requests are refused while the process uses more memory; 0: 85 % of what there is.
MEMORY_LIMIT_MB = read_int("TOLLHOUSE_MEMORY_LIMIT_MB", 0, least=0, most=1 << 24)
# Calls are refused while the event loop is later than this, whoever makes most of them first
# (gateway.admission.load_shedding). 0: none are.
SHED_LAG_S = read_int("TOLLHOUSE_SHED_LAG_MS", 500, least=0, most=60_000) / 1000
# Calls with a bad key that one address may make in ten seconds (gateway.admission.auth_throttle).
WRONG_KEYS = read_int("TOLLHOUSE_WRONG_KEYS", 50, least=1, most=1_000_000)
# Limits on requests of keys that have none of their own; 0: there are none. Without a burst as
# many calls may come at once as in a minute.
KEY_REQUESTS_PER_MINUTE = read_int("TOLLHOUSE_KEY_REQUESTS_PER_MINUTE", 0, least=0, most=1_000_000)
KEY_BURST = read_int("TOLLHOUSE_KEY_BURST", 0, least=0, most=1_000_000)
# Calls beyond the concurrency limit of a key or workspace wait, so many in one queue.
QUEUE_TIMEOUT_S = read_int("TOLLHOUSE_QUEUE_TIMEOUT_MS", 30_000, least=0, most=600_000) / 1000
MAX_QUEUE = read_int("TOLLHOUSE_MAX_QUEUE", 100, least=0, most=100_000)
# The Redis or Valkey server where several processes count limits together; None: there is none.
REDIS = read_redis("REDIS_URL")
# How long a call may wait for it before limits are enforced by shares.
REDIS_WAIT_S = read_int("TOLLHOUSE_REDIS_WAIT_MS", 50, least=5, most=5_000) / 1000
# Where limits are counted: a row of gateway.runtime.counter_backends.
COUNTERS = "memory" if REDIS is None else "redis"
# How often a target is asked again that did not take a request (providers.transports.retrying).
RETRIES = read_int("TOLLHOUSE_RETRIES", 0, least=0, most=2)
# Timeouts of calls (gateway.streaming.timeouts).
STREAM_TIMEOUTS = {
    "connect_s": read_int("TOLLHOUSE_CONNECT_S", 10, least=1, most=120),
    "first_byte_s": read_int("TOLLHOUSE_FIRST_BYTE_S", 300, least=1, most=3600),
    "idle_s": read_int("TOLLHOUSE_IDLE_S", 120, least=1, most=3600),
    "output_s": read_int("TOLLHOUSE_OUTPUT_S", 300, least=1, most=3600),
    "total_s": read_int("TOLLHOUSE_TOTAL_S", 600, least=1, most=86_400),
    "total_stream_s": read_int("TOLLHOUSE_TOTAL_STREAM_S", 3600, least=1, most=86_400),
    "stall_s": read_int("TOLLHOUSE_STALL_S", 30, least=1, most=3600),
    "keep_alive_s": read_int("TOLLHOUSE_KEEP_ALIVE_S", 15, least=1, most=300),
}
# How long one run of a server tool may take (gateway.tools.runner).
TOOL_TIMEOUT_S = read_int("TOLLHOUSE_TOOL_S", 60, least=1, most=600)

# Days that stored bodies are kept, where a workspace stores them. Records and ledger stay.
# Batches that have ended, and the files of their results.
BATCH_DAYS = read_int("TOLLHOUSE_BATCH_DAYS", 30, least=1, most=3650)
BODY_DAYS = read_int("TOLLHOUSE_BODY_DAYS", 30, least=1, most=3650)

# Where Prometheus reads metrics: at a port of their own, or with the token at the server's. Off
# where neither is set (gateway.metrics.exposition).
METRICS_HOST = read_str("TOLLHOUSE_METRICS_HOST", "127.0.0.1")
METRICS_PORT = read_int("TOLLHOUSE_METRICS_PORT", 0, least=0, most=65535)
METRICS_TOKEN = read_secret("TOLLHOUSE_METRICS_TOKEN")
COUNTS_CALLS = bool(METRICS_PORT or METRICS_TOKEN)

# Where traces and metrics of calls are sent by OTLP over HTTP; empty: nowhere. OpenTelemetry's
# libraries read its other variables themselves (gateway.telemetry).
OTLP_ENDPOINT = read_collector("OTEL_EXPORTER_OTLP_ENDPOINT")
if read_bool("OTEL_SDK_DISABLED", False):
    OTLP_ENDPOINT = ""
if OTLP_ENDPOINT:
    read_choice("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf", ("http/protobuf",))
OTLP_METRICS_EVERY_S = (
    read_int("OTEL_METRIC_EXPORT_INTERVAL", 60_000, least=100, most=86_400_000) / 1000
)

LOG_LEVEL = read_choice("TOLLHOUSE_LOG_LEVEL", "WARNING", ("DEBUG", "INFO", "WARNING", "ERROR"))
# text, or json: an object a line (gateway.config.json_logs).
LOG_FORMAT = read_choice("TOLLHOUSE_LOG_FORMAT", "text", ("text", "json"))
LOGGING = logging_config(LOG_LEVEL, LOG_FORMAT)

# Signing in (django-allauth): by e-mail and password, then a code or passkey where one is set up.
# Nothing is sent by mail and nobody signs up uninvited (see accounts.adapter).
ACCOUNT_ADAPTER = "accounts.adapter.AccountAdapter"
ACCOUNT_FORMS = {"change_password": "dashboard.account.forms.PasswordForm"}
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_SESSION_REMEMBER = True
# login_failed is for codes: passwords have a limit of their own (accounts.sign_in_throttle).
ACCOUNT_RATE_LIMITS = {"login": "60/m/ip", "login_failed": "10/m/ip,5/5m/key"}
# django-allauth counts in it; a flood from many addresses shall not push others out at once.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 20_000},
    }
}
ACCOUNT_REAUTHENTICATION_TIMEOUT = 5 * 60  # seconds
MFA_ADAPTER = "gateway.services.factor_encryption.EncryptedFactors"
MFA_FORMS = {"add_webauthn": "dashboard.account.forms.PasskeyForm"}
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_TOTP_ISSUER = "Tollhouse"
# Browsers allow passkeys without TLS on localhost alone; we need not be stricter than they are.
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not _IS_HTTPS
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

CSRF_FAILURE_VIEW = "dashboard.error_pages.views.csrf_failure"
EDGE_REFUSAL_VIEW = "dashboard.error_pages.views.refused"
