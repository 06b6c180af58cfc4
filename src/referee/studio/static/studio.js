"use strict";
// Keys for what the page's links do anyway: without this script every page works, only with the mouse or Tab.
(() => {
  const rows = () => [...document.querySelectorAll("[data-row]")];
  const link = (row) => row.querySelector("[data-open]") || row.querySelector("a");

  function step(by) {
    const all = rows();
    const here = all.findIndex((row) => row.contains(document.activeElement));
    const from = here >= 0 ? here : all.findIndex((row) => row.classList.contains("selected"));
    const next = from < 0 ? (by > 0 ? 0 : all.length - 1) : from + by;
    if (next >= all.length || next < 0) {
      const more = document.querySelector(by > 0 ? "a[rel=next]" : "a[rel=prev]");
      if (more) more.focus();
      return;
    }
    const target = link(all[next]);
    if (target) target.focus();
    all[next].scrollIntoView({ block: "nearest" });
  }

  function toFilter() {
    const field = document.querySelector("[role=search] :is(input:not([type=hidden]), select)");
    if (!field) return;
    const folded = field.closest("details");
    if (folded) folded.open = true;
    field.focus();
  }

  const actions = {
    j: () => step(1),
    k: () => step(-1),
    "/": () => toFilter(),
    "?": () => document.getElementById("keys").showModal(),
    Escape: () => document.querySelector("[data-close]")?.click(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const field = event.target.closest("input, select, textarea");
    if (field) {
      if (event.key === "Escape") field.blur();
      return;
    }
    const button = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (button) {
      event.preventDefault();
      button.click();
      return;
    }
    const action = actions[event.key];
    if (action) {
      event.preventDefault();
      action();
    }
  });

  // What changes by itself, such as the progress of a job, is asked for again; everything else stays as it is.
  const PAUSE_MS = 1500;
  async function refresh() {
    const shown = document.querySelector("[data-live]");
    if (!shown) return;
    if (!document.hidden && !shown.contains(document.activeElement)) {
      try {
        const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const main = page.querySelector("main");
        if (answer.ok && main) document.querySelector("main").replaceWith(document.adoptNode(main));
      } catch {
        // The Studio was stopped; what is shown stays.
      }
    }
    setTimeout(refresh, PAUSE_MS);
  }
  setTimeout(refresh, PAUSE_MS);

  // An address without the empty fields of a form.
  document.addEventListener("submit", (event) => {
    if (event.target.method !== "get") return;
    for (const field of event.target.elements) if (field.name && !field.value) field.disabled = true;
  });
})();
