// A part of a page that could not be brought up to date, or an answer that was not taken, is said so in the page:
// htmx by itself says nothing. It goes when the next one succeeds.
(() => {
  "use strict";
  const LOST = "What you did last was not kept.", PERHAPS = "What you did last may not have been kept.";
  const WHY = {
    0: "The program that serves this page does not answer. Is it still running?",
    403: "This page is of an earlier start of the program. Open the link that it printed last.",
    503: "The store that this page shows is not there right now.",
    413: "That was too long.",
  };
  const banner = document.createElement("p");
  banner.className = "warning trouble";
  banner.setAttribute("role", "alert");
  banner.hidden = true;

  const tell = (status, verb) => {
    const lost = verb === "get" ? "This page is not up to date." : status ? LOST : PERHAPS;
    const words = `${WHY[status] || `The program refused this (${status}).`} ${lost}`;
    if (banner.textContent !== words) banner.textContent = words;
    if (!banner.isConnected) document.getElementById("main").before(banner);
    banner.hidden = false;
  };

  // A page with nothing on it yet, and nowhere to go from
  if (document.querySelector("[data-look-again]")) setTimeout(() => location.reload(), 2000);
  const verb = (event) => event.detail.requestConfig?.verb;
  document.addEventListener("htmx:sendError", (event) => tell(0, verb(event)));
  document.addEventListener("htmx:timeout", (event) => tell(0, verb(event)));
  document.addEventListener("htmx:responseError", (event) => tell(event.detail.xhr.status, verb(event)));
  document.addEventListener("htmx:afterOnLoad", (event) => {
    if (event.detail.successful !== false && event.detail.xhr.status < 400) banner.hidden = true;
  });
})();
