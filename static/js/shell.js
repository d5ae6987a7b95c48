// The frame: menus that close when one looks elsewhere, the theme, forms, keys to go places.

const EDITABLE = "input, textarea, select, [contenteditable]";
const SENT_MS = 5000;

// Menus.
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("[data-menu][open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

// Without a related target, the window lost the focus or nothing was hit that can have it.
document.addEventListener("focusout", (event) => {
  const menu = event.target.closest("[data-menu][open]");
  if (menu && event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
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
  const sent = fetch(form.action, { method: "POST", body, redirect: "manual" });
  const answer = await sent.catch(() => null);
  if (answer?.type !== "opaqueredirect") {
    const text = "The theme was not changed. Reload the page and try again.";
    document.dispatchEvent(new CustomEvent("toast", { detail: { text, level: "error" } }));
    return;
  }
  if (chosen) document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
  for (const button of form.querySelectorAll("[name=theme]")) {
    button.setAttribute("aria-pressed", String(button.value === chosen));
  }
});

// A form that was sent is not sent again while its answer is on the way.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if ("sent" in form.dataset) event.preventDefault();
  form.dataset.sent = "";
  setTimeout(() => delete form.dataset.sent, SENT_MS);
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("[data-sent]")) delete form.dataset.sent;
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
