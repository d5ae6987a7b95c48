"""Accepting an invitation: the way into the dashboard for who has no account yet.

The code comes in the part of the link behind #, which browsers keep to themselves, and from there
in a form: no address that we or a proxy write down holds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from allauth.account.utils import perform_login
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from accounts.invitations import NotOpen, accept, accept_as_new_person
from accounts.models import Invitation, User
from accounts.selectors import find_invitation, get_open_invitation, has_account
from dashboard.forms.service_errors import show_service_error
from dashboard.http.htmx import variables
from dashboard.http.page_urls import page_address
from dashboard.join.forms import CodeForm, NewPersonForm

SESSION_KEY = "invitation_id"


@dataclass(frozen=True)
class CodeContext:
    """Variables of dashboard/join/code.html."""

    form: CodeForm


@dataclass(frozen=True)
class AcceptContext:
    """Variables of dashboard/join/accept.html.

    person: who is signed in, None for nobody. form: for who has no account yet.
    """

    invitation: Invitation
    person: User | None
    is_the_one: bool
    form: NewPersonForm | None
    sign_in_url: str


@sensitive_post_parameters("code")
@require_http_methods(["GET", "POST"])
def enter_code(request: HttpRequest) -> HttpResponse:
    """Take the code, and remember in the session which invitation it opens."""
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        invitation = find_invitation(form.cleaned_data["code"])
        if invitation is not None:
            request.session[SESSION_KEY] = str(invitation.pk)
            return HttpResponseRedirect(reverse("dashboard:join-accept"))
        form.add_error("code", "This invitation code is invalid or expired. Ask for a new one.")
    status = 422 if form.errors else 200
    return render(request, "dashboard/join/code.html", variables(CodeContext(form)), status=status)


@sensitive_variables()
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def accept_invitation(request: HttpRequest) -> HttpResponse:
    invitation = get_open_invitation(request.session.get(SESSION_KEY))
    if invitation is None:
        messages.error(request, str(NotOpen().message))
        return HttpResponseRedirect(reverse("dashboard:join"))
    person = request.user if isinstance(request.user, User) else None
    is_new = person is None and not has_account(invitation.email)
    form = NewPersonForm(request.POST or None) if is_new else None
    status = 200
    if request.method == "POST":
        try:
            answer = _joined(request, invitation, person, form)
        except ValidationError as error:
            if form is None:
                messages.error(request, " ".join(error.messages))
                return HttpResponseRedirect(reverse("dashboard:join"))
            show_service_error(form, error)
            answer = None
        if answer is not None:
            return answer
        status = 422
    context = AcceptContext(
        invitation=invitation,
        person=person,
        is_the_one=person is not None and person.email == invitation.email,
        form=form,
        sign_in_url=f"{reverse('account_login')}?"
        + urlencode({"next": reverse("dashboard:join-accept")}),
    )
    return render(request, "dashboard/join/accept.html", variables(context), status=status)


def _joined(
    request: HttpRequest, invitation: Invitation, person: User | None, form: NewPersonForm | None
) -> HttpResponse | None:
    """Return the way in, or None with the reasons in the form. Raises as accept does."""
    overview = page_address(invitation.workspace, "overview")
    if person is not None:
        accept(invitation, user=person)
        request.session.pop(SESSION_KEY, None)
        messages.success(request, f"You joined {invitation.workspace}.")
        return HttpResponseRedirect(overview)
    if form is None or not form.is_valid():
        return None
    user = accept_as_new_person(invitation, **form.cleaned_data)
    request.session.pop(SESSION_KEY, None)
    answer: HttpResponse = perform_login(request, user, redirect_url=overview)
    return answer
