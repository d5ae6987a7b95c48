"""The part of django-allauth that we show: signing in and out, and one's own security.

Signing up, e-mail addresses and password reset by mail have no page here.
"""

from __future__ import annotations

from allauth.account import views as account
from allauth.mfa.base import views as mfa
from allauth.mfa.recovery_codes import views as codes
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as passkeys
from django.urls import path

urlpatterns = [
    path("sign-in", account.login, name="account_login"),
    path("sign-in/code", mfa.authenticate, name="mfa_authenticate"),
    path("sign-in/passkey", passkeys.login_webauthn, name="mfa_login_webauthn"),
    path("sign-in/inactive", account.account_inactive, name="account_inactive"),
    path("sign-out", account.logout, name="account_logout"),
    path("account/confirm", account.reauthenticate, name="account_reauthenticate"),
    path("account/confirm/code", mfa.reauthenticate, name="mfa_reauthenticate"),
    path(
        "account/confirm/passkey",
        passkeys.reauthenticate_webauthn,
        name="mfa_reauthenticate_webauthn",
    ),
    path("account/password", account.password_change, name="account_change_password"),
    path("account/password/set", account.password_set, name="account_set_password"),
    path("account", mfa.index, name="mfa_index"),
    path("account/app", totp.activate_totp, name="mfa_activate_totp"),
    path("account/app/remove", totp.deactivate_totp, name="mfa_deactivate_totp"),
    path("account/codes", codes.view_recovery_codes, name="mfa_view_recovery_codes"),
    path("account/codes/new", codes.generate_recovery_codes, name="mfa_generate_recovery_codes"),
    path("account/passkeys", passkeys.list_webauthn, name="mfa_list_webauthn"),
    path("account/passkeys/new", passkeys.add_webauthn, name="mfa_add_webauthn"),
    path("account/passkeys/<int:pk>", passkeys.edit_webauthn, name="mfa_edit_webauthn"),
    path("account/passkeys/<int:pk>/remove", passkeys.remove_webauthn, name="mfa_remove_webauthn"),
]
