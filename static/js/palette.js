// The command palette: Ctrl or Cmd with K. The server finds, arrows choose, Enter goes.

const palette = document.getElementById("palette");
const input = palette.querySelector("input");
const results = document.getElementById("palette-results");

let shown = null; // what was typed when the lines in the list were asked for
let goesOn = false; // Enter was pressed before they came

function open() {
  document.getElementById("sidebar")?.hidePopover?.();
  palette.showModal();
  input.value = "";
  shown = null;
  goesOn = false;
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

function go() {
  goesOn = false;
  results.querySelector("[aria-selected=true]")?.click();
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
    if (shown === input.value) go();
    else goesOn = true;
  } else if (event.key === "Escape") {
    // A search field would only be emptied by it.
    event.preventDefault();
    palette.close();
  }
});

input.addEventListener("input", () => (goesOn = false));
// Nothing will come that Enter could open.
for (const failure of ["htmx:responseError", "htmx:sendError"]) {
  input.addEventListener(failure, () => (goesOn = false));
}

results.addEventListener("htmx:afterSwap", (event) => {
  shown = event.detail.requestConfig.parameters.q;
  choose(lines()[0]);
  if (goesOn && shown === input.value) go();
});
results.addEventListener("mousemove", (event) => {
  const line = event.target.closest("[role=option]");
  if (line && line.getAttribute("aria-selected") !== "true") choose(line);
});
