// Keys of a page: an element with data-key="j" (several: "j ArrowRight") is pressed by it, a field gets the focus.
// Within data-key-list, j and k go from one [data-key-item] to the next. "?" lists all of them.
// What a key does is named by data-key-label, aria-label or the words of its element.
(() => {
  "use strict";
  const OFF = "harness-keys-off";
  const NAMES = { ArrowLeft: "\u2190", ArrowRight: "\u2192", ArrowUp: "\u2191", ArrowDown: "\u2193", " ": "Space", Space: "Space" };
  const FIELD = "textarea, select, [contenteditable], input:not([type=checkbox], [type=radio], [type=button], [type=submit])";
  const MOVES = "video, audio, .scroll, .whole, [role=slider], input[type=radio], input[type=range]";

  const off = () => {
    try { return localStorage.getItem(OFF) === "1"; } catch { return false; }
  };
  const turn = (on) => {
    try { on ? localStorage.removeItem(OFF) : localStorage.setItem(OFF, "1"); } catch { /* not kept, then */ }
  };
  const keysOf = (element) => element.dataset.key.split(" ").filter(Boolean).map((key) => (key === "Space" ? " " : key));
  // What only hints at a key is told of wherever a keyboard is, also where hints are not shown (app.css: hover).
  const told = (element) => seen(element) || element.closest(".keys:not([hidden])") !== null;
  const seen = (element) => element.checkVisibility() && !element.disabled && element.getAttribute("aria-disabled") !== "true";
  const all = () => [...document.querySelectorAll("[data-key]")].filter(seen);
  const listed = () => [...document.querySelectorAll("[data-key]")].filter(told);
  const items = () => [...document.querySelectorAll("[data-key-list] [data-key-item]")].filter(seen);
  const label = (element) => {
    const words = element.cloneNode(true);
    words.querySelectorAll("kbd").forEach((one) => one.remove());
    return element.dataset.keyLabel || element.getAttribute("aria-label") || words.textContent.trim() || element.name || "";
  };

  // A link to another page is followed once: pressed again before that page is there, it would begin anew each time,
  // and whoever presses faster than pages come would never get one.
  const PATIENCE_MS = 3000;
  let left = -PATIENCE_MS;
  addEventListener("pageshow", () => { left = -PATIENCE_MS; });
  const leads = (element) => element instanceof HTMLAnchorElement && !element.hash && !element.target
    && !element.closest("[hx-boost=true]") && !element.matches("[hx-get]");

  const press = (element) => {
    if (leads(element)) {
      if (performance.now() - left < PATIENCE_MS) return;
      left = performance.now();
    }
    if (element.matches(FIELD)) {
      element.focus();
      if (element.select) element.select();
    } else {
      if (element.matches("input, summary, button")) element.focus();
      element.click();
    }
  };

  const step = (by) => {
    const list = items();
    if (!list.length) return false;
    const at = list.indexOf(document.activeElement);
    const next = at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(Math.max(at + by, 0), list.length - 1);
    list[next].focus();
    list[next].scrollIntoView({ block: "nearest" });
    return true;
  };

  const entry = (list, keys, text) => {
    const term = document.createElement("dt");
    keys.forEach((key, number) => {
      const cap = document.createElement("kbd");
      cap.textContent = NAMES[key] || key;
      if (number) term.append(" ");
      term.append(cap);
    });
    const meaning = document.createElement("dd");
    meaning.textContent = text;
    list.append(term, meaning);
  };

  const help = () => {
    const dialog = document.createElement("dialog");
    dialog.setAttribute("aria-labelledby", "keys-title");
    const title = document.createElement("h2");
    title.id = "keys-title";
    title.textContent = "Keys of this page";
    const list = document.createElement("dl");
    list.className = "key-list";
    for (const element of listed()) entry(list, keysOf(element), label(element));
    if (items().length) {
      if (!find("j")) entry(list, ["j"], "next in the list");
      if (!find("k")) entry(list, ["k"], "previous in the list");
      entry(list, ["Enter"], "open it");
    }
    entry(list, ["?"], "this list");
    const choice = document.createElement("label");
    choice.className = "check";
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = !off();
    box.addEventListener("change", () => turn(box.checked));
    choice.append(box, "single keys work (the ? always does)");
    const form = document.createElement("form");
    form.method = "dialog";
    const close = document.createElement("button");
    close.textContent = "close";
    form.append(close);
    dialog.append(title, list, choice, form);
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
    close.focus();
  };

  // Enter in the search gives the focus to its list; keys that are pressed before the list is there wait for it.
  let waiting = null;
  const take = (key) => {
    if (key === "Enter") document.activeElement.click();
    else step(key === "j" ? 1 : -1);
  };
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[role=search][hx-get]") || !event.defaultPrevented) return;
    waiting = [];
    document.activeElement.blur();
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    if (!waiting || event.detail.requestConfig.triggeringEvent?.type !== "submit") return;
    const keys = waiting;
    waiting = null;
    if (document.activeElement === document.body && step(1)) keys.forEach(take);
  });
  for (const failure of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(failure, () => { waiting = null; });
  }

  const find = (key) => all().find((element) => keysOf(element).includes(key));

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
    const at = event.target instanceof Element ? event.target : document.body;
    const open = document.querySelector("dialog[open]");
    if (event.key === "Escape" && !open && at.matches("input") && at.closest(FIELD)) {
      at.blur();
      event.preventDefault();
      return;
    }
    if (open || at.closest(FIELD)) {
      if (open && event.key === "?" && !at.closest(FIELD)) open.close();
      return;
    }
    if (waiting && at === document.body && ["j", "k", "Enter"].includes(event.key)) {
      if (event.key === "Enter" || !off()) waiting.push(event.key);
      event.preventDefault();
      return;
    }
    if ((event.key.startsWith("Arrow") || event.key === " ") && at.closest(MOVES)) return;
    if ((event.key === " " || event.key === "Enter") && at.closest("a, button, summary, input")) return;
    if (event.key === "?") {
      help();
    } else if (off()) {
      return;
    } else {
      const element = find(event.key);
      if (element) press(element);
      else if (!(event.key === "j" && step(1)) && !(event.key === "k" && step(-1))) return;
    }
    event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("[data-keys-help]")) help();
  });

  const tell = () => {
    document.querySelectorAll("[data-key]").forEach((element) => {
      const names = keysOf(element).map((key) => (key === " " ? "Space" : key)).join(" ");
      if (element.getAttribute("aria-keyshortcuts") !== names) element.setAttribute("aria-keyshortcuts", names);
    });
    document.querySelectorAll("[data-keys-help]").forEach((element) => {
      element.hidden = !document.querySelector("[data-key], [data-key-list]");
    });
  };
  document.addEventListener("htmx:afterSettle", tell);
  tell();
})();
