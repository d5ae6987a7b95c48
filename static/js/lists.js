// A search field above a list of boxes to tick hides what does not fit. What is ticked stays.

document.addEventListener("input", (event) => {
  const list = document.getElementById(event.target.dataset?.filters ?? "");
  if (!list) return;
  const wanted = event.target.value.trim().toLowerCase();
  for (const line of list.querySelectorAll(".check")) {
    const fits = line.textContent.toLowerCase().includes(wanted);
    line.hidden = !fits && !line.querySelector(":checked");
  }
});
