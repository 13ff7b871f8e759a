/** Light or dark, before anything is drawn. Nothing but this choice is kept in the browser. */
"use strict";
{
  const CHOICES = ["auto", "light", "dark"];
  const root = document.documentElement;
  const stored = () => {
    try {
      return localStorage.getItem("toolsearch-theme");
    } catch {
      return null; // storage may be forbidden
    }
  };
  root.dataset["theme"] = CHOICES.find((choice) => choice === stored()) ?? "auto";
  document.addEventListener("toolsearch-theme", () => {
    const next = CHOICES[(CHOICES.indexOf(root.dataset["theme"] ?? "auto") + 1) % CHOICES.length] ?? "auto";
    root.dataset["theme"] = next;
    try {
      localStorage.setItem("toolsearch-theme", next);
    } catch {
      // then it lasts as long as the page
    }
  });
}
