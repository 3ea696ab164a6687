// Runs before anything is drawn, so that no page flashes in the other theme.
(() => {
  const KEY = "oddish-theme";
  const root = document.documentElement;

  function kept() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // storage is closed to pages in foreign frames
    }
  }

  function keep(theme) {
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // it holds for this page then
    }
  }

  function show(theme) {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
  }

  show(kept());
  addEventListener("storage", (event) => event.key === KEY && show(event.newValue));
  document.addEventListener("DOMContentLoaded", () => {
    const select = document.getElementById("theme");
    select.value = root.dataset.theme ?? "system";
    select.closest("label").hidden = false;
    select.addEventListener("change", () => {
      keep(select.value);
      show(select.value);
    });
  });
})();
