// The dialog: opens when the server puts something into it, closes when asked to.
// Links that open it carry hx-target="#modal" and lead to the same content as a page.

// What is wrong comes first, then what is to be filled in, then what is to be pressed.
const FOCUS_FIRST = [
  "[aria-invalid=true], [data-invalid] input",
  "input:not([type=hidden]), textarea, select",
  "[data-copy-from], .modal-actions .button",
];

const modal = document.getElementById("modal");

modal.addEventListener("htmx:load", () => {
  if (!modal.firstElementChild) return;
  if (!modal.open) modal.showModal();
  const first = FOCUS_FIRST.map((selector) => modal.querySelector(selector)).find(Boolean);
  first?.focus();
});

modal.addEventListener("close", () => {
  // What was shown once (a secret) must not stay in the page.
  modal.replaceChildren();
});

modal.addEventListener("click", (event) => {
  if (event.target.closest("[data-close]")) {
    event.preventDefault();
    modal.close();
  } else if (event.target === modal && !keeps()) {
    modal.close();
  }
});

modal.addEventListener("cancel", (event) => {
  if (keeps()) event.preventDefault();
});

document.addEventListener("modal-close", () => modal.close());

// True while the dialog shows what cannot be shown again: only its own button closes it then.
function keeps() {
  return modal.querySelector("[data-keep]") !== null;
}
