// What htmx is about to replace is busy until its answer has come. The style sheet shows it, after a
// moment; what comes at once does not blink.

const requests = new WeakMap(); // how many are under way, by what they will replace

function count(target, step) {
  const running = Math.max(0, (requests.get(target) ?? 0) + step);
  requests.set(target, running);
  if (running) target.setAttribute("aria-busy", "true");
  else target.removeAttribute("aria-busy");
}

document.addEventListener("htmx:beforeSend", (event) => count(event.detail.target, 1));
document.addEventListener("htmx:afterRequest", (event) => count(event.detail.target, -1));
