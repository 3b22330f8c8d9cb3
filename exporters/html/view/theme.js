// Light and dark: the system's, or what the reader chose.
function storedTheme() {
  try {
    return localStorage.getItem("fa-profile-theme");
  } catch (error) {  // a page from a file may have no storage
    return null;
  }
}

function setTheme(theme) {
  if (theme)
    document.documentElement.dataset.theme = theme;
  else
    delete document.documentElement.dataset.theme;
  try {
    if (theme) localStorage.setItem("fa-profile-theme", theme);
  } catch (error) { /* chosen for this visit alone */
  }
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function themeButton() {
  const label = () => (isDark() ? "Light" : "Dark");
  const toggle = button(label(), () => {
    setTheme(isDark() ? "light" : "dark");
    toggle.textContent = label();
  }, {class: "theme", title: "Change between light and dark"});
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    toggle.textContent = label();
  });
  return toggle;
}
