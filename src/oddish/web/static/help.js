// What the keys of this page do.
import { bind, bound } from "./keys.js";

function dialog() {
  const element = document.createElement("dialog");
  element.className = "keys";
  element.setAttribute("aria-labelledby", "keys-title");
  const title = document.createElement("h2");
  title.id = "keys-title";
  title.textContent = "Keys";
  const list = document.createElement("dl");
  for (const { keys, label } of bound()) {
    const term = document.createElement("dt");
    keys.forEach((key, position) => {
      if (position) term.append(" ");
      term.append(Object.assign(document.createElement("kbd"), { textContent: key }));
    });
    list.append(term, Object.assign(document.createElement("dd"), { textContent: label }));
  }
  const form = document.createElement("form");
  form.method = "dialog";
  form.append(Object.assign(document.createElement("button"), { textContent: "Close", autofocus: true }));
  element.append(title, list, form);
  element.addEventListener("close", () => element.remove());
  return element;
}

function show() {
  const element = dialog();
  document.body.append(element);
  element.showModal();
}

bind("?", "Show the keys of this page", show);
const button = document.getElementById("keys");
button.hidden = false;
button.addEventListener("click", show);
