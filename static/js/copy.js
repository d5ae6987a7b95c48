// Buttons that copy what their data-copy says, or the text of the element that data-copy-from names.

const SAID_MS = 1600;

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy], [data-copy-from]");
  if (!button) return;
  event.preventDefault();
  const source = document.getElementById(button.dataset.copyFrom ?? "");
  const text = source ? (source.value ?? source.textContent) : button.dataset.copy;
  const words = button.querySelector("[data-copy-words]");
  const before = words.dataset.words ?? words.textContent;
  words.dataset.words = before;
  try {
    await navigator.clipboard.writeText(text);
    words.textContent = "Copied";
  } catch {
    // No clipboard without TLS on a foreign host: select it, so that the keyboard can copy.
    if (source) getSelection().selectAllChildren(source);
    words.textContent = "Press Ctrl C";
  }
  setTimeout(() => (words.textContent = before), SAID_MS);
});
