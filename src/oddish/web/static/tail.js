// Keeps the parts of a page that grow as they are on the server. Whoever reads one of them is not disturbed: sizes stay,
// what was opened stays open, and a part under the pointer waits until it is left.
import { fragment } from "./swap.js";

const SHORTEST = 3_000; // milliseconds
const LONGEST = 60_000;
const KEPT = "summary, a, button, [tabindex]";

let pause = SHORTEST;
let timer;

async function look() {
  const here = document.getElementById("live");
  let is_new = false;
  try {
    const fresh = await fragment(location.href, "live");
    is_new = fresh.dataset.version !== here.dataset.version;
    if (is_new && renew(here, fresh)) here.dataset.version = fresh.dataset.version;
  } catch {
    pause = LONGEST;
  }
  pause = is_new ? SHORTEST : Math.min(LONGEST, pause * 1.5);
  wait();
}

function renew(here, fresh) {
  let all = true;
  for (const part of fresh.querySelectorAll(".part")) {
    const old = document.getElementById(part.id);
    if (old?.matches(":hover")) all = false;
    else if (old) replace(old, document.adoptNode(part));
    else here.append(document.adoptNode(part));
  }
  return all;
}

function replace(old, part) {
  const focused = [...old.querySelectorAll(KEPT)].indexOf(document.activeElement);
  const opened = [...old.querySelectorAll("details")].map(({ open }) => open);
  const scrolled = [...old.querySelectorAll(".chart-table")].map(({ scrollTop }) => scrollTop);
  old.replaceWith(part);
  part.querySelectorAll("details").forEach((details, index) => { details.open = opened[index] ?? false; });
  part.querySelectorAll(".chart-table").forEach((table, index) => { table.scrollTop = scrolled[index] ?? 0; });
  if (focused >= 0) part.querySelectorAll(KEPT)[focused]?.focus({ preventScroll: true });
  part.dispatchEvent(new CustomEvent("swapped", { bubbles: true }));
}

function wait() {
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(look, pause);
}

document.addEventListener("visibilitychange", () => {
  pause = SHORTEST;
  wait();
});
wait();
