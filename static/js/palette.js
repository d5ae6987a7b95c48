// The command palette: Ctrl or Cmd with K. The server finds, arrows choose, Enter goes.

const palette = document.getElementById("palette");
const input = palette.querySelector("input");
const results = document.getElementById("palette-results");

function open() {
  document.getElementById("sidebar")?.hidePopover?.();
  palette.showModal();
  input.value = "";
  input.focus();
  input.dispatchEvent(new CustomEvent("palette-open"));
}

function lines() {
  return [...results.querySelectorAll("[role=option]")];
}

function choose(line) {
  for (const other of lines()) other.setAttribute("aria-selected", String(other === line));
  if (!line) return input.removeAttribute("aria-activedescendant");
  line.id = "palette-line";
  for (const other of lines()) if (other !== line) other.removeAttribute("id");
  input.setAttribute("aria-activedescendant", line.id);
  line.scrollIntoView({ block: "nearest" });
}

function move(step) {
  const all = lines();
  if (!all.length) return;
  const at = all.findIndex((line) => line.getAttribute("aria-selected") === "true");
  choose(all[(at + step + all.length) % all.length]);
}

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey) return;
  event.preventDefault();
  if (palette.open) palette.close();
  else open();
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-palette-open]")) open();
  else if (event.target === palette) palette.close();
});

input.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    move(event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "Enter") {
    event.preventDefault();
    results.querySelector("[aria-selected=true]")?.click();
  } else if (event.key === "Escape") {
    // A search field would only be emptied by it.
    event.preventDefault();
    palette.close();
  }
});

results.addEventListener("htmx:afterSwap", () => choose(lines()[0]));
results.addEventListener("mousemove", (event) => {
  const line = event.target.closest("[role=option]");
  if (line && line.getAttribute("aria-selected") !== "true") choose(line);
});
