// The keys of a page: one list, from which they are both obeyed and explained.
const bindings = [];
const PAUSE = 900; // milliseconds between the keys of a sequence such as "g h"
let pressed = [];
let last = 0;

/** Bind `keys`, one or several with spaces between, as in "j" or "g h", to `run`. The later binding of a page goes first. */
export function bind(keys, label, run) {
  bindings.unshift({ keys: keys.split(" "), label, run });
}

/** What is bound, in the order in which it was. */
export function bound() {
  const seen = new Set();
  return bindings
    .filter(({ keys }) => !seen.has(keys.join(" ")) && seen.add(keys.join(" ")))
    .reverse();
}

/** Whether `target` is where somebody writes. */
export function typing(target) {
  return target instanceof Element && target.closest("input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable]");
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
  if (event.key === "Escape" && typing(event.target)) return event.target.blur();
  if (typing(event.target) || document.querySelector("dialog[open]") || event.key.length > 1) return;
  const now = performance.now();
  pressed = now - last < PAUSE ? [...pressed, event.key] : [event.key];
  last = now;
  for (const candidate of [pressed, [event.key]]) {
    const found = bindings.find(({ keys }) => keys.length === candidate.length && keys.every((key, i) => key === candidate[i]));
    if (found) {
      pressed = [];
      event.preventDefault();
      found.run(event);
      return;
    }
    if (bindings.some(({ keys }) => keys.length > candidate.length && candidate.every((key, i) => key === keys[i]))) return;
  }
});
