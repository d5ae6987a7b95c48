// The frame: menus that close when one looks elsewhere, the theme, toasts, keys to go places.

const EDITABLE = "input, textarea, select, [contenteditable]";
const TOAST_MS = 6000;

// Menus.
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("[data-menu][open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = document.querySelector("[data-menu][open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

// The theme: the server reads the cookie, so that no page is ever drawn in the wrong one.
document.addEventListener("submit", async (event) => {
  const form = event.target.closest("[data-theme-form]");
  if (!form) return;
  event.preventDefault();
  const chosen = event.submitter?.value ?? "";
  const body = new FormData(form, event.submitter);
  const answer = await fetch(form.action, { method: "POST", body, redirect: "manual" });
  if (answer.type !== "opaqueredirect") return;
  if (chosen) document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
  for (const button of form.querySelectorAll("[name=theme]")) {
    button.setAttribute("aria-pressed", String(button.value === chosen));
  }
});

// Toasts: good news goes by itself, bad news stays until it is dismissed.
function watch(toast) {
  if (toast.dataset.toast === "error") return;
  setTimeout(() => toast.remove(), TOAST_MS);
}

function say(text, level = "success") {
  const toast = document.getElementById("toast-template").content.firstElementChild.cloneNode(true);
  toast.dataset.toast = level;
  toast.classList.toggle("toast-bad", level === "error");
  toast.classList.toggle("toast-ok", level !== "error");
  toast.querySelector("[data-toast-text]").textContent = text;
  document.getElementById("toasts").append(toast);
  watch(toast);
}

document.querySelectorAll("#toasts [data-toast]").forEach(watch);
document.addEventListener("click", (event) => {
  event.target.closest("[data-dismiss]")?.closest("[data-toast]").remove();
});
document.addEventListener("toast", (event) => say(event.detail.text, event.detail.level));
document.addEventListener("htmx:responseError", (event) => {
  say(`That did not work (error ${event.detail.xhr.status}). Reload the page and try again.`, "error");
});
document.addEventListener("htmx:sendError", () => {
  say("The server cannot be reached. Check your connection and try again.", "error");
});

// g, then a letter, goes to a page; n presses the page's main button; / goes to its search.
let isGoing = false;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.closest(EDITABLE) || document.querySelector("dialog[open]")) return;
  const link = isGoing && document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
  isGoing = event.key === "g" && !isGoing;
  if (isGoing) setTimeout(() => (isGoing = false), 1000);
  const target =
    link ||
    (event.key === "n" && document.querySelector("[data-new]")) ||
    (event.key === "/" && document.querySelector("[data-search]"));
  if (!target) return;
  event.preventDefault();
  if (target.matches("[data-search]")) target.select();
  else target.click();
});

if (/Mac|iPhone|iPad/.test(navigator.platform)) {
  for (const hint of document.querySelectorAll("[data-mod-key]")) hint.textContent = "⌘ K";
}
