// What htmx is about to replace is busy until its answer has come, and so is the button that was
// pressed, until the next page where a form is sent without htmx. The style sheet shows it, after a
// moment; what comes at once does not blink.

const requests = new WeakMap(); // how many are under way, by what they will replace

function count(target, step) {
  const running = Math.max(0, (requests.get(target) ?? 0) + step);
  requests.set(target, running);
  if (running) target.setAttribute("aria-busy", "true");
  else target.removeAttribute("aria-busy");
}

// data-wait: what a button that takes long says meanwhile.
function press(button) {
  if (!button) return;
  button.setAttribute("aria-busy", "true");
  if (!button.dataset.wait || button.dataset.words) return;
  button.dataset.words = button.textContent;
  button.textContent = button.dataset.wait;
}

function release(button) {
  if (!button) return;
  button.removeAttribute("aria-busy");
  if (button.dataset.words) button.textContent = button.dataset.words;
  delete button.dataset.words;
}

function pressed(event) {
  const { elt, requestConfig } = event.detail;
  return elt.matches("button") ? elt : requestConfig.triggeringEvent?.submitter;
}

document.addEventListener("htmx:beforeSend", (event) => {
  count(event.detail.target, 1);
  press(pressed(event));
});
document.addEventListener("htmx:afterRequest", (event) => {
  count(event.detail.target, -1);
  release(pressed(event));
});

document.addEventListener("submit", (event) => {
  if (!event.defaultPrevented && event.target.method === "post") press(event.submitter);
});
addEventListener("pageshow", () => {
  for (const button of document.querySelectorAll("button[aria-busy]")) release(button);
});
