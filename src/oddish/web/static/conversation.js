// Traces: from message to message by keys, links to messages that are not on this page, and what was found in sight.
import { bind, typing } from "./keys.js";

const STEPS = "#messages > .message, #messages > .row";

function steps() {
  return [...document.querySelectorAll(STEPS)];
}

/** The step at the top of the window, or the one that has the focus. */
function current() {
  const focused = document.activeElement?.closest(STEPS);
  if (focused) return focused;
  const top = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
  return steps().find((step) => step.getBoundingClientRect().bottom > top + 1);
}

function go(step) {
  history.replaceState(history.state, "", `#${step.id}`);
  step.focus({ preventScroll: true });
  step.scrollIntoView({ block: "start" });
}

function move(by, elsewhere) {
  const all = steps();
  const here = current();
  const from = here === document.activeElement || by < 0 ? all.indexOf(here) : all.indexOf(here) - 1;
  const next = all[from + by];
  if (next) go(next);
  else document.querySelector(elsewhere)?.click();
}

function hit(by) {
  const links = [...document.querySelectorAll(".hits li a")];
  const at = links.findIndex((link) => link.hash === location.hash);
  links.at(at < 0 ? (by > 0 ? 0 : -1) : (at + by) % links.length)?.click();
}

/** A link to a message of another piece of the trace, as somebody may have kept it, leads to that piece. */
function arrive() {
  const found = /^#(m|r)(\d+)$/.exec(location.hash);
  if (!found) return;
  const element = document.getElementById(location.hash.slice(1));
  if (element) {
    element.closest("details:not([open])")?.setAttribute("open", "");
    if (!typing(document.activeElement)) element.focus({ preventScroll: true });
    return;
  }
  const address = new URL(location.href);
  const first = String(Math.max(Number(found[2]) - 2, 1));
  if (address.searchParams.get("from") === first) return;
  address.searchParams.set("from", first);
  location.replace(address);
}

/** Marks what was found, where the browser can do that without changing the page. */
function highlight() {
  const messages = document.getElementById("messages");
  const wanted = messages?.dataset.find?.toLowerCase();
  if (!wanted || !globalThis.Highlight) return;
  const ranges = [];
  const walker = document.createTreeWalker(messages, NodeFilter.SHOW_TEXT);
  while (walker.nextNode() && ranges.length < 2000) {
    const text = walker.currentNode.data.toLowerCase();
    if (text.length !== walker.currentNode.data.length) continue;
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      const range = new Range();
      range.setStart(walker.currentNode, at);
      range.setEnd(walker.currentNode, at + wanted.length);
      ranges.push(range);
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}

bind("j", "Next message", () => move(1, ".later"));
bind("k", "Message before", () => move(-1, ".earlier"));
if (document.querySelector(".later, .earlier")) {
  bind("g n", "Later messages", () => document.querySelector(".later")?.click());
  bind("g p", "Earlier messages", () => document.querySelector(".earlier")?.click());
}
if (document.querySelector(".hits li")) {
  bind("n", "Next place that was found", () => hit(1));
  bind("N", "Place before that was found", () => hit(-1));
}
if (document.querySelector(".divergence")) {
  bind("d", "Where they go apart", () => document.querySelector(".divergence").click());
}
addEventListener("hashchange", arrive);
document.addEventListener("swapped", (event) => {
  event.target.scrollIntoView({ block: "start" });
  arrive();
  highlight();
});
arrive();
highlight();
