// Charts by pointer and keyboard: a tooltip for the step under the pointer or chosen by the arrows.
// Without it a chart has native tooltips and its table.

const STEPS = new Map([
  ["ArrowRight", 1],
  ["ArrowLeft", -1],
]);

function show(reading) {
  const plot = reading.closest(".plot");
  const tooltip = plot.querySelector("[data-tooltip]");
  const row = plot.parentElement.querySelectorAll("tbody tr")[Number(reading.dataset.reading)];
  const legend = plot.parentElement.querySelectorAll(".legend li");
  clear(plot);
  reading.dataset.at = "";
  const title = document.createElement("p");
  title.className = "tooltip-title";
  title.textContent = reading.dataset.label;
  tooltip.replaceChildren(title);
  const cells = [...row.querySelectorAll("td")];
  const isQuiet = cells.every((cell) => cell.textContent === "0");
  cells.forEach((cell, index) => {
    if (cell.textContent === "0" && !isQuiet) return;
    const line = document.createElement("p");
    const label = document.createElement("span");
    const value = document.createElement("span");
    line.className = "tooltip-row";
    label.textContent = plot.parentElement.querySelectorAll("thead th")[index + 1].textContent;
    value.textContent = cell.textContent;
    line.append(legend[index].querySelector("svg").cloneNode(true), label, value);
    tooltip.append(line);
  });
  tooltip.hidden = false;
  place(tooltip, reading, plot);
}

// Beside the step, on the side that has room.
function place(tooltip, reading, plot) {
  const step = reading.querySelector(".hit").getBoundingClientRect();
  const frame = plot.getBoundingClientRect();
  const after = step.right - frame.left + 8;
  const before = step.left - frame.left - tooltip.offsetWidth - 8;
  const left = after + tooltip.offsetWidth <= frame.width ? after : Math.max(0, before);
  tooltip.style.transform = `translate(${Math.round(left)}px, 8px)`;
}

function clear(plot) {
  plot.querySelector("[data-at]")?.removeAttribute("data-at");
  plot.querySelector("[data-tooltip]").hidden = true;
}

document.addEventListener("pointerover", (event) => {
  const plot = event.target.closest?.(".plot");
  const reading = event.target.closest?.("[data-reading]");
  if (!reading) {
    if (!plot) document.querySelectorAll(".plot:has([data-at])").forEach(clear);
    return;
  }
  // Ours takes the place of the browser's own, which would come on top of it.
  reading.querySelector("title")?.remove();
  show(reading);
});

document.addEventListener("keydown", (event) => {
  const drawing = event.target.closest?.("[data-plot]");
  if (!drawing) return;
  if (event.key === "Escape") clear(drawing.closest(".plot"));
  const step = STEPS.get(event.key);
  if (!step) return;
  event.preventDefault();
  const readings = [...drawing.querySelectorAll("[data-reading]")];
  const at = readings.findIndex((reading) => "at" in reading.dataset);
  const next = at < 0 ? (step > 0 ? 0 : readings.length - 1) : at + step;
  show(readings[Math.max(0, Math.min(readings.length - 1, next))]);
});

document.addEventListener("focusout", (event) => {
  const plot = event.target.closest?.(".plot");
  if (plot) clear(plot);
});
