// Takes the code out of the address, so that it stays in no history, and sends it on.

const form = document.querySelector("[data-join]");

function sendCode() {
  const code = decodeURIComponent(location.hash.slice(1));
  if (code) {
    history.replaceState(null, "", location.pathname);
    form.elements.code.value = code;
    form.requestSubmit();
  }
}

sendCode();
// A link that is opened where this page is open already changes the address alone.
addEventListener("hashchange", sendCode);
