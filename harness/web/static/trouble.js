// A part of a page that could not be brought up to date, or an answer that was not taken, is said so in the page:
// htmx by itself says nothing. It goes when the next one succeeds.
(() => {
  "use strict";
  const WORDS = {
    0: "The program that serves this page does not answer. What you did last was not kept. Is it still running?",
    403: "This page is of an earlier start of the program. Open the link that it printed last.",
    413: "That was too long. It was not kept.",
  };
  const banner = document.createElement("p");
  banner.className = "warning trouble";
  banner.setAttribute("role", "alert");
  banner.hidden = true;

  const tell = (status) => {
    const words = WORDS[status] || `The program refused this (${status}). What you did last was not kept.`;
    if (banner.textContent !== words) banner.textContent = words;
    if (!banner.isConnected) document.getElementById("main").before(banner);
    banner.hidden = false;
  };

  document.addEventListener("htmx:sendError", () => tell(0));
  document.addEventListener("htmx:timeout", () => tell(0));
  document.addEventListener("htmx:responseError", (event) => tell(event.detail.xhr.status));
  document.addEventListener("htmx:afterOnLoad", (event) => {
    if (event.detail.successful !== false && event.detail.xhr.status < 400) banner.hidden = true;
  });
})();
