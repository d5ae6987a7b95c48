// Toasts: good news goes by itself, bad news stays until it is dismissed. Nothing is said twice.

const TOAST_MS = 6000;
const UNREACHED = "The server cannot be reached. Check your connection and try again.";
const REFUSALS = new Map([
  [403, "You may not do this, or this page is too old: reload it and try again."],
  [404, "This no longer exists. Reload the page."],
  [413, "The request is too large."],
  [429, "Too many attempts. Wait a moment, then try again."],
]);

const toasts = document.getElementById("toasts");

function watch(toast) {
  if (toast.dataset.toast !== "success") return;
  setTimeout(() => {
    if (toast.matches(":hover, :focus-within")) watch(toast);
    else toast.remove();
  }, TOAST_MS);
}

function find(text) {
  return [...toasts.children].find((toast) => toast.querySelector("[data-toast-text]").textContent === text);
}

function say(text, level = "success") {
  if (find(text)) return;
  const toast = document.getElementById("toast-template").content.firstElementChild.cloneNode(true);
  toast.dataset.toast = level;
  toast.classList.toggle("toast-bad", level === "error");
  toast.classList.toggle("toast-ok", level !== "error");
  toast.querySelector("[data-toast-text]").textContent = text;
  // Under an open dialog nobody could press, or be told, what lies outside of it.
  const dialog = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
  if (toasts.parentElement !== dialog) dialog.append(toasts);
  // In a turn of its own: a place that comes together with its words is not read out.
  setTimeout(() => toasts.append(toast));
  watch(toast);
}

// What a dialog loses when it closes or is filled anew, toasts survive.
function rescue(container) {
  if (container !== document.body && container.contains(toasts)) document.body.append(toasts);
}

document.addEventListener("close", (event) => rescue(event.target), true);
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.shouldSwap) rescue(event.detail.target);
});

toasts.querySelectorAll("[data-toast]").forEach(watch);
document.addEventListener("click", (event) => {
  event.target.closest("[data-dismiss]")?.closest("[data-toast]").remove();
});
document.addEventListener("toast", (event) => say(event.detail.text, event.detail.level));

document.addEventListener("htmx:responseError", (event) => {
  const { status } = event.detail.xhr;
  const ours = `An internal error occurred (error ${status}). Try again in a moment.`;
  const theirs = `The request failed (error ${status}). Reload the page and try again.`;
  say(REFUSALS.get(status) ?? (status < 500 ? theirs : ours), "error");
});
document.addEventListener("htmx:sendError", () => say(UNREACHED, "error"));
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.successful) find(UNREACHED)?.remove();
});
