// Says in words why a passkey did not work; without this it would only stand in the console.

const WORDS = {
  NotAllowedError: "No passkey was used. The request was cancelled or timed out.",
  InvalidStateError: "This device already has a passkey for your account.",
  SecurityError: "Passkeys work on https addresses and on http://localhost only.",
};

document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  const place = document.getElementById("passkey-error");
  if (!place) return;
  place.textContent =
    WORDS[event.detail.exception?.name] ?? "The passkey could not be used. Try again, or use your password.";
  place.hidden = false;
});
