// Grading by keyboard: each answer is saved as it is given, and nobody moves on before it is.
// Links have their keys from keys.js. Without this script the pages are plain forms with a button.
(() => {
  "use strict";
  const WAITS_S = [1, 2, 4, 8, 15];
  const PATIENCE_MS = 20000;
  const TYPED = "textarea, select, input:not([type=radio], [type=checkbox])";
  const find = (selector) => document.querySelector(selector);
  const form = find("form.sheet");
  const told = find("#told");
  const say = (words) => { if (told) told.textContent = words; };

  // Times are the reader's own
  const times = (root) => {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (!Number.isNaN(at.valueOf())) time.textContent = at.toLocaleTimeString(undefined, { hour12: false });
    }
  };
  times(document);
  document.addEventListener("htmx:afterSwap", (event) => {
    times(event.target);
    if (event.target.id !== "media") return;
    const first = event.target.querySelector("[tabindex], a, button");
    if (first) first.focus();
  });

  // Links to copy
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const place = document.getElementById(button.dataset.copy);
      const byHand = () => { place.focus(); place.select(); say("press Ctrl-C to copy the marked link"); };
      if (!navigator.clipboard) byHand();
      else navigator.clipboard.writeText(place.value).then(() => say(`copied: ${button.dataset.label}`), byHand);
    });
  }
  const start = find("[data-start]");
  document.addEventListener("keydown", (event) => {
    // A click beside everything gives the focus to main.
    const free = event.target === document.body || event.target === find("main");
    const plain = !event.ctrlKey && !event.altKey && !event.metaKey && !event.isComposing && !event.repeat;
    if (start && event.key === "Enter" && free && plain && !find("dialog[open]")) start.click();
  });
  if (!form) return;

  const alarm = find("#alarm");
  const onward = find("#onward");
  const fields = [...form.querySelectorAll("[data-field]")];
  const questions = fields.filter((one) => one.matches("fieldset"));
  const states = new Map(fields.map((one) => [one, { given: 0, sent: 0, kept: 0, flying: false, why: null, tries: 0, timer: 0 }]));
  let leaving = null;
  const of = (field) => states.get(field);
  const name = (field) => field.dataset.label;
  const names = (some) => some.map(name).join(", ");
  const answered = (field) => field.querySelector("input:checked") !== null;
  const unsaved = () => fields.filter((one) => of(one).given > of(one).kept);
  const failed = () => unsaved().filter((one) => of(one).why !== null);
  const open = () => questions.filter((one) => !answered(one) && !("optional" in one.dataset));

  // Saving
  const word = (field, words, kind) => {
    const note = document.createElement("span");
    note.className = kind;
    note.textContent = words;
    field.querySelector(".state").replaceChildren(note);
  };
  const given = (field) => {
    of(field).given += 1;
    if (of(field).why === null) word(field, "saving \u2026", "flying");
    shown();
  };
  const again = (field) => {
    clearTimeout(of(field).timer);
    if (!of(field).flying && of(field).given > of(field).kept) htmx.trigger(field, "again");
  };
  const kept = (field) => {
    Object.assign(of(field), { kept: of(field).sent, why: null, tries: 0 });
    if (of(field).given > of(field).kept) word(field, "saving \u2026", "flying");
  };
  const reason = (field, xhr) => {
    if (xhr.status === 0) return { words: "the server cannot be reached", again: true };
    const plain = (xhr.getResponseHeader("content-type") || "").startsWith("text/plain");
    if (xhr.status === 503 && plain) return { words: xhr.responseText, again: true };
    if (xhr.status >= 500 || xhr.status < 300) return { words: `the server failed (${xhr.status})`, again: true };
    return { words: plain ? xhr.responseText : `the server refused it (${xhr.status})`, again: false };
  };
  const lost = (field, xhr) => {
    const state = of(field);
    state.why = reason(field, xhr);
    word(field, `not saved: ${state.why.words}`, "lost");
    clearTimeout(state.timer);
    if (!state.why.again) return;
    state.timer = setTimeout(() => again(field), WAITS_S[Math.min(state.tries, WAITS_S.length - 1)] * 1000);
    state.tries += 1;
  };
  const alarmed = () => {
    const missing = failed();
    if (missing.length === 0) {
      if (!alarm.hidden) say("everything is saved");
      alarm.hidden = true;
      return;
    }
    const why = (missing.map((one) => of(one).why).find((one) => !one.again)) || of(missing[0]).why;
    const words = `Not saved: ${names(missing)}: ${why.words}. ` + (why.again
      ? "It is tried again by itself; stay on this page until it is saved."
      : "Load the page again to see what stands.");
    if (alarm.querySelector("p").textContent !== words) alarm.querySelector("p").textContent = words;
    alarm.querySelector("[data-again]").hidden = !why.again;
    alarm.querySelector("[data-load]").hidden = why.again;
    alarm.hidden = false;
    leaving = null;
  };
  const shown = () => {
    const missing = failed();
    for (const field of fields) field.classList.toggle("unsaved", missing.includes(field));
    alarmed();
    onward.classList.toggle("button-main", open().length === 0);
    const words = open().length === 0 ? "all answered" : `no answer yet: ${open().map((one) => one.dataset.number).join(", ")}`;
    if (find("#open").textContent !== words) find("#open").textContent = words;
    if (leaving !== null && unsaved().length === 0) leave(leaving);
  };

  // Moving on
  const leave = (href) => {
    if (failed().length > 0) {
      say(`not saved yet: ${names(failed())}; leaving this page would lose it`);
      alarm.classList.add("insists");
      return;
    }
    leaving = unsaved().length > 0 ? href : null;
    if (leaving === null) {
      window.location.assign(href);
      return;
    }
    say("saving; goes on as soon as that is done");
    unsaved().forEach(again);
  };
  const goOn = () => {
    const first = open()[0];
    if (!first) return leave(onward.href);
    to(first);
    say(`${name(first)} has no answer yet`);
  };

  // Questions
  const at = () => document.activeElement.closest("fieldset[data-field]");
  const to = (field, still) => {
    (field.querySelector("input:checked") || field.querySelector("input")).focus({ preventScroll: true });
    if (!still) field.scrollIntoView({ block: "nearest" });
  };
  const move = (by) => {
    const next = at() ? questions[questions.indexOf(at()) + by] : open()[0] || questions[by < 0 ? questions.length - 1 : 0];
    if (next) to(next);
    else if (by > 0) onward.focus();
  };
  const within = (by) => {
    if (!at()) return;
    const radios = [...at().querySelectorAll("input")];
    const next = radios[radios.indexOf(document.activeElement) + by];
    if (next) next.focus();
  };
  const choose = (field, radio) => {
    if (!radio.checked || of(field).why !== null) {
      radio.checked = true;
      radio.dispatchEvent(new Event("change", { bubbles: true }));
    }
    const next = questions[questions.indexOf(field) + 1] || open()[0];
    if (next) to(next);
    else {
      onward.focus();
      say("all questions are answered; Enter goes on");
    }
  };
  const ARROWS = { ArrowDown: () => move(1), ArrowUp: () => move(-1), ArrowRight: () => within(1), ArrowLeft: () => within(-1) };
  const keysOff = () => {
    try { return localStorage.getItem("harness-keys-off") === "1"; } catch { return false; }
  };
  const meaning = (event) => {
    const scrolls = event.target.closest("video, audio, .scroll, .whole, .case, #media");
    if (event.key in ARROWS) return scrolls ? null : ARROWS[event.key];
    if (event.key === "Enter") return event.target.closest("summary, a:not(#onward), button") ? null : goOn;
    if (keysOff()) return null;
    const field = at() || open()[0];
    const radio = field && [...field.querySelectorAll("input")].find((one) => one.dataset.option === event.key.toLowerCase());
    if (radio) return () => choose(field, radio);
    if (field || !/^[0-9]$/.test(event.key)) return null;
    return () => say("all questions are answered; the arrow up goes back to them");
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || find("dialog[open]")) return;
    if (event.target.matches(TYPED)) {
      if (event.key !== "Escape" || !form.contains(event.target)) return;
      event.preventDefault();
      to(open()[0] || questions[0]);
      return;
    }
    const act = meaning(event);
    if (!act) return;
    event.preventDefault();
    if (!event.repeat) act();
  }, true);

  // Beginning
  htmx.config.timeout = PATIENCE_MS;
  for (const one of document.querySelectorAll("[data-plain]")) one.hidden = true;
  for (const field of fields) {
    field.addEventListener(field.matches("fieldset") ? "change" : "input", () => given(field));
    field.addEventListener("htmx:beforeSend", () => Object.assign(of(field), { sent: of(field).given, flying: true }));
    // The alarm says more of these than trouble.js would.
    for (const event of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
      field.addEventListener(event, (one) => one.stopPropagation());
    }
    field.addEventListener("htmx:afterRequest", (event) => {
      of(field).flying = false;
      const xhr = event.detail.xhr;
      if (event.detail.successful && xhr.getResponseHeader("x-saved") === field.dataset.field) kept(field);
      else lost(field, xhr);
      shown();
    });
  }
  const scale = find("details.scale");
  if (scale) {
    // Open or closed as it was on the sheet before.
    const KEY = "harness-grading-scale";
    try {
      if (sessionStorage.getItem(KEY) !== null) scale.open = sessionStorage.getItem(KEY) === "open";
      scale.addEventListener("toggle", () => sessionStorage.setItem(KEY, scale.open ? "open" : "closed"));
    } catch { /* not kept, then */ }
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (!link || event.defaultPrevented || link.target || link.closest("#media")) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0 || link.pathname === location.pathname) return;
    event.preventDefault();
    leave(link.href);
  });
  window.addEventListener("beforeunload", (event) => { if (unsaved().length > 0) event.preventDefault(); });
  alarm.querySelector("[data-load]").addEventListener("click", (event) => {
    event.preventDefault();
    for (const field of fields) of(field).kept = of(field).given;
    location.reload();
  });
  alarm.querySelector("[data-again]").addEventListener("click", () => failed().forEach(again));
  shown();
  const first = open()[0] || questions[0];
  if (first) to(first, true);
})();
