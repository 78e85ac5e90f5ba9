// What a run is doing is asked for every two seconds by htmx; here is what markup alone cannot say.
"use strict";
(() => {
  const HIDDEN_EVERY_MS = 20000;
  const last = new WeakMap();
  const since = (one) => Date.now() - (last.get(one) ?? Date.now());
  let across = {};
  const live = (event) => event.target instanceof Element && event.target.matches("[data-live]");
  const lost = (is) => {
    for (const told of document.querySelectorAll("[data-live-lost]")) told.hidden = !is;
  };

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (!live(event)) return;
    // each answer brings a new element, so its age is the time since the last one
    if (!last.has(event.target)) last.set(event.target, Date.now());
    if (document.hidden && since(event.target) < HIDDEN_EVERY_MS) event.preventDefault();
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    // a page that is being read anew says so, and has no counts to put in place of these
    const counts = event.target instanceof Element && event.target.id === "counts";
    if (counts && !event.detail.serverResponse.includes('id="counts"')) event.detail.shouldSwap = false;
    if (!live(event)) return;
    across = {};
    for (const one of event.target.querySelectorAll(".scroll[id]")) across[one.id] = one.scrollLeft;
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const [id, left] of Object.entries(across)) {
      const one = document.getElementById(id);
      if (one) one.scrollLeft = left;
    }
    across = {};
  });
  for (const name of ["htmx:sendError", "htmx:responseError", "htmx:timeout"]) {
    document.addEventListener(name, (event) => { if (live(event)) lost(true); });
  }
})();
