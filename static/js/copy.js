// Buttons that copy what their data-copy says, or the text of the element that data-copy-from names.

const SAID_MS = 1600;
const PRESS = /Mac|iPhone|iPad/.test(navigator.platform) ? "Press ⌘ C" : "Press Ctrl C";

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy], [data-copy-from]");
  if (!button) return;
  event.preventDefault();
  const source = document.getElementById(button.dataset.copyFrom ?? "");
  const text = source ? (source.value ?? source.textContent) : button.dataset.copy;
  if ((await copyByPermission(text)) || copyByCommand(text, button)) return answer(button, "Copied");
  // Neither worked: select it, so that the keyboard can copy.
  getSelection().selectAllChildren(source ?? button.previousElementSibling);
  answer(button, PRESS);
});

async function copyByPermission(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

// Without TLS on a foreign host there is no other way.
function copyByCommand(text, button) {
  const area = document.createElement("textarea");
  area.className = "visually-hidden";
  area.value = text;
  button.after(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  button.focus();
  return isCopied;
}

// On the button, and as its name for who does not see it.
function answer(button, said) {
  const words = button.querySelector("[data-copy-words]");
  button.dataset.words ??= words.textContent;
  button.dataset.label ??= button.ariaLabel;
  words.textContent = button.ariaLabel = said;
  setTimeout(() => {
    words.textContent = button.dataset.words;
    button.ariaLabel = button.dataset.label;
  }, SAID_MS);
}
