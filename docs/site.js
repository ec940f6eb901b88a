// Parts of the theme without a name get one, for readers who cannot see the page.
addEventListener("load", () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  // A column without a name has no heading; a wide table is scrolled with the keyboard, too.
  document.querySelectorAll("th:empty").forEach((cell) => cell.replaceWith(document.createElement("td")));
  document.querySelectorAll(".md-typeset__scrollwrap").forEach((table) => { table.tabIndex = 0; });
  document.querySelectorAll(".md-code__nav").forEach((nav, i) => nav.setAttribute("aria-label", `Code ${i + 1}`));
});

// Dark pages are printed as light ones.
const scheme = document.body.dataset;
let onScreen = scheme.mdColorScheme;
addEventListener("beforeprint", () => { onScreen = scheme.mdColorScheme; scheme.mdColorScheme = "default"; });
addEventListener("afterprint", () => { scheme.mdColorScheme = onScreen; });
