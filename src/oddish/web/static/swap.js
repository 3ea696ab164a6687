// Exchanges one part of a page instead of loading all of it. What is marked with data-swap="ID", a form or whatever links
// are in, brings the same address that it would without this module, and of its page takes the element ID.
let running = null;

/** Show the element `id` of the page at `address` in place of the one here; the whole page where that fails. */
export async function swap(address, id, { push = true } = {}) {
  const old = document.getElementById(id);
  running?.abort();
  const mine = (running = new AbortController());
  old?.setAttribute("aria-busy", "true");
  try {
    const fresh = await fragment(address, id, mine.signal);
    const active = document.activeElement;
    const focused = marked(active, old);
    old.replaceWith(document.adoptNode(fresh));
    if (push) history.pushState({ swap: id }, "", address);
    if (focused) goOn(active, fresh.querySelector(focused));
    document.getElementById("status").textContent = fresh.dataset.announce ?? "";
    fresh.dispatchEvent(new CustomEvent("swapped", { bubbles: true }));
  } catch (error) {
    if (error.name !== "AbortError") location.assign(address);
  }
}

/** The element `id` of the page at `address`. A page that has not changed is not sent again. */
export async function fragment(address, id, signal) {
  const response = await fetch(address, { signal, cache: "no-cache", headers: { Accept: "text/html" } });
  if (!response.ok) throw new Error(`${response.status}`);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const found = page.getElementById(id);
  if (!found) throw new Error(`no element ${id}`);
  return found;
}

/** Focus what is in the place of an element that is gone, with what was typed into that meanwhile. */
function goOn(old, fresh) {
  fresh?.focus({ preventScroll: true });
  if (fresh?.type !== "search" || old.type !== "search") return;
  fresh.value = old.value;
  fresh.setSelectionRange(old.selectionStart, old.selectionEnd);
}

function marked(element, inside) {
  if (!element || !inside?.contains(element)) return null;
  if (element.id) return `#${CSS.escape(element.id)}`;
  return element.name ? `[name="${CSS.escape(element.name)}"]:not([type="hidden"])` : null;
}

function formAddress(form) {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value !== "") query.append(name, value);
  const address = new URL(form.action);
  address.search = query;
  return address.href;
}

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-swap]");
  if (!form || form.method !== "get") return;
  event.preventDefault();
  swap(formAddress(form), form.dataset.swap);
});

let typing;
document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-swap]");
  if (!form) return;
  clearTimeout(typing);
  typing = setTimeout(
    () => {
      // A form that was replaced meanwhile goes on in the one where the typing does.
      const current = form.isConnected ? form : document.activeElement?.form;
      if (current?.matches("[data-swap]")) current.requestSubmit();
    },
    event.target.type === "search" ? 250 : 0,
  );
});

document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const link = event.target.closest("a[href]");
  const id = link?.closest("[data-swap]")?.dataset.swap;
  if (!id || link.origin !== location.origin || link.pathname !== location.pathname || link.target) return;
  event.preventDefault();
  clearTimeout(typing);
  swap(link.href, id);
});

addEventListener("popstate", (event) => {
  if (event.state?.swap) swap(location.href, event.state.swap, { push: false });
  else if (swapped) location.reload();
});

let swapped = false;
document.addEventListener("swapped", () => (swapped = true));
