// Takes the code out of the address, so that it stays in no history, and sends it on.

const form = document.querySelector("[data-join]");
const code = decodeURIComponent(location.hash.slice(1));
if (code) {
  history.replaceState(null, "", location.pathname);
  form.elements.code.value = code;
  form.requestSubmit();
}
