// What a run is doing is asked for every two seconds by htmx; here is what markup alone cannot say.
"use strict";
(() => {
  const HIDDEN_EVERY_MS = 20000;
  let last = 0;
  let across = {};
  const live = (event) => event.target instanceof Element && event.target.id === "live";
  const lost = (is) => {
    for (const told of document.querySelectorAll("[data-live-lost]")) told.hidden = !is;
  };

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (!live(event)) return;
    if (document.hidden && Date.now() - last < HIDDEN_EVERY_MS) event.preventDefault();
    else last = Date.now();
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
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
