// Lists by keyboard: j and k, or the arrows, walk the rows of a table; Enter follows the link.

const EDITABLE = "input, textarea, select, [contenteditable]";
const STEPS = new Map([
  ["j", 1],
  ["ArrowDown", 1],
  ["k", -1],
  ["ArrowUp", -1],
]);

document.addEventListener("keydown", (event) => {
  const step = STEPS.get(event.key);
  if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest(EDITABLE) || document.querySelector("dialog[open]")) return;
  const links = [...document.querySelectorAll("tr[data-row] .row-link")];
  const at = links.findIndex((link) => link.closest("tr").contains(document.activeElement));
  // Arrows scroll the page until a row is in focus.
  if (!links.length || (at < 0 && event.key.startsWith("Arrow"))) return;
  event.preventDefault();
  const next = links[at < 0 ? 0 : Math.max(0, Math.min(links.length - 1, at + step))];
  next.focus({ preventScroll: true });
  next.closest("tr").scrollIntoView({ block: "nearest" });
});
