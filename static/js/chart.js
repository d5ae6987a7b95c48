// Charts by pointer and keyboard: a tooltip for the step under the pointer or chosen by the arrows,
// and the calls behind it on a click or Enter. Without it, a chart's table has the same figures and
// leads to the same calls.

const STEPS = new Map([
  ["ArrowRight", 1],
  ["ArrowLeft", -1],
]);
const SERIES = new Map([
  ["ArrowUp", 1],
  ["ArrowDown", -1],
]);

function rowOf(reading) {
  const rows = reading.closest("[data-chart]").querySelectorAll("tbody tr");
  return rows[Number(reading.dataset.reading)];
}

function legendOf(reading) {
  return [...reading.closest("[data-chart]").querySelectorAll(".legend li")];
}

function show(reading, series = -1) {
  const plot = reading.closest(".plot");
  const tooltip = plot.querySelector("[data-tooltip]");
  const legend = legendOf(reading);
  clear(plot);
  reading.dataset.at = "";
  const title = document.createElement("p");
  title.className = "tooltip-title";
  title.textContent = reading.dataset.label;
  tooltip.replaceChildren(title);
  const cells = [...rowOf(reading).querySelectorAll("td")];
  const isQuiet = cells.every((cell) => cell.textContent === "0");
  cells.forEach((cell, index) => {
    if (cell.textContent === "0" && !isQuiet) return;
    const line = document.createElement("p");
    const label = document.createElement("span");
    const value = document.createElement("span");
    line.className = "tooltip-row";
    line.dataset.series = index;
    if (index === series) line.dataset.chosen = "";
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

// The calls of the step: of one series, where one is meant or all are of the same calls.
function follow(reading, series, inNewTab) {
  const link = rowOf(reading).querySelector("a").href;
  const queries = legendOf(reading).map((item) => item.dataset.query);
  const query = queries[series] ?? (new Set(queries).size === 1 ? queries[0] : "");
  const url = query ? `${link}&${query}` : link;
  if (inNewTab) window.open(url, "_blank", "noopener");
  else location.assign(url);
}

// Series of which the tooltip has a line, the lowest of the stack first.
function choose(plot, reading, way) {
  const lines = [...plot.querySelectorAll("[data-series]")];
  const at = lines.findIndex((line) => "chosen" in line.dataset);
  const next = at < 0 ? (way > 0 ? 0 : lines.length - 1) : (at + way + lines.length) % lines.length;
  show(reading, Number(lines[next].dataset.series));
}

let wasShown = null; // the step whose tooltip was there before a finger came

document.addEventListener(
  "pointerdown",
  (event) => {
    const reading = event.target.closest?.("[data-reading]");
    wasShown = event.pointerType !== "touch" || (reading && "at" in reading.dataset) ? reading : null;
  },
  true,
);

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

document.addEventListener("click", (event) => {
  const reading = event.target.closest?.("[data-reading]");
  // A first tap shows what there is; the second one follows.
  if (!reading || reading !== wasShown) return;
  const drawn = [...reading.querySelectorAll("rect:not(.hit)")].includes(event.target);
  const series = legendOf(reading).findIndex(
    (item) => drawn && item.querySelector("svg").classList.contains(event.target.classList[0]),
  );
  follow(reading, series, event.ctrlKey || event.metaKey);
});

document.addEventListener("keydown", (event) => {
  const drawing = event.target.closest?.("[data-plot]");
  if (!drawing) return;
  const plot = drawing.closest(".plot");
  if (event.key === "Escape") clear(plot);
  const readings = [...drawing.querySelectorAll("[data-reading]")];
  const at = readings.findIndex((reading) => "at" in reading.dataset);
  const step = STEPS.get(event.key);
  if (step) {
    event.preventDefault();
    const next = at < 0 ? (step > 0 ? 0 : readings.length - 1) : at + step;
    show(readings[Math.max(0, Math.min(readings.length - 1, next))]);
  } else if (at >= 0 && SERIES.has(event.key)) {
    event.preventDefault();
    choose(plot, readings[at], SERIES.get(event.key));
  } else if (at >= 0 && event.key === "Enter") {
    event.preventDefault();
    const chosen = plot.querySelector("[data-chosen]")?.dataset.series;
    follow(readings[at], chosen ?? -1, event.ctrlKey || event.metaKey);
  }
});

document.addEventListener("focusout", (event) => {
  const plot = event.target.closest?.(".plot");
  if (plot) clear(plot);
});
