"""One's own name. All else about one's account are pages of django-allauth."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from accounts.services import rename_user
from dashboard.account.forms import PersonForm
from dashboard.forms.service_errors import show_service_error
from dashboard.http.htmx import PageRequest


@login_required
@require_http_methods(["GET", "POST"])
def change_name(request: PageRequest) -> HttpResponse:
    form = PersonForm(request.POST or None, initial={"name": request.user.name})
    if request.method == "POST" and form.is_valid():
        try:
            rename_user(request.user, name=form.cleaned_data["name"], actor=request.user.email)
        except ValidationError as error:
            show_service_error(form, error)
        else:
            messages.success(request, "Saved.")
            return HttpResponseRedirect(reverse("mfa_index"))
    return render(request, "account/name.html", {"form": form}, status=422 if form.errors else 200)
