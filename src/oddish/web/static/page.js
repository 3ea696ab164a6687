// What every page has.
import { bind } from "./keys.js";
import "./help.js";
import "./swap.js";

function follow(selector) {
  return () => document.querySelector(selector)?.click();
}

bind("g h", "Go to the first page", follow(".brand"));
if (document.querySelector(".trail")) bind("u", "Go up", follow(".trail li:last-child a"));
if (document.querySelector("[data-search]")) {
  bind("/", "Search", () => {
    const field = document.querySelector("[data-search]");
    field.focus();
    field.select();
  });
}
if (document.querySelector("a[rel~=prev], a[rel~=next]")) {
  bind("[", "Previous", follow("a[rel~=prev]"));
  bind("]", "Next", follow("a[rel~=next]"));
}
for (const link of document.querySelectorAll("a[data-key]")) bind(link.dataset.key, link.textContent, () => link.click());
