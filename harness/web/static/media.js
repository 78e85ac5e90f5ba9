// Pictures of a case looked at: a[data-medium] opens over the page, those of the same data-medium follow each other.
// data-screen (else href) is the picture, data-whole the whole one, which has data-size "w h" pixels (or "h w", where the
// file is turned when shown), data-box "x0 y0 x1 y1" in them.
(() => {
  "use strict";
  const STEP = 1.25, MOST = 32, PAN = 80;
  const SVG = "http://www.w3.org/2000/svg";
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  const make = (name, properties = {}, ...children) => {
    const found = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (key.startsWith("aria-") || key === "role") found.setAttribute(key, value);
      else found[key] = value;
    }
    found.append(...children);
    return found;
  };

  let viewer = null;

  class Viewer {
    constructor() {
      this.dialog = make("dialog", { className: "viewer", "aria-labelledby": "viewer-title" });
      this.title = make("h2", { className: "viewer-title", id: "viewer-title" });
      this.stage = make("div", { className: "viewer-stage", tabIndex: 0, role: "application", "aria-roledescription": "picture" });
      this.plane = make("div", { className: "viewer-plane" });
      this.image = make("img", { alt: "", draggable: false });
      this.box = document.createElementNS(SVG, "svg");
      this.box.setAttribute("class", "viewer-box");
      this.box.setAttribute("aria-hidden", "true");
      this.rect = document.createElementNS(SVG, "rect");
      this.box.append(this.rect);
      this.plane.append(this.image, this.box);
      this.told = make("p", { className: "viewer-told", role: "status" });
      this.stage.append(this.plane, this.told);
      this.buttons = {};
      const bar = make("div", { className: "viewer-bar", role: "toolbar", "aria-label": "zoom and pictures" },
        this.title,
        this.button("before", "\u2190", "previous picture (p)", () => this.go(-1)),
        this.button("after", "\u2192", "next picture (n)", () => this.go(1)),
        this.button("out", "\u2212", "zoom out (-)", () => this.zoom(1 / STEP)),
        this.button("in", "+", "zoom in (+)", () => this.zoom(STEP)),
        this.button("fit", "fit", "fit the window (0)", () => this.fit(true)),
        this.button("one", "1:1", "1:1, a pixel of the whole picture to one of the screen (1)", () => this.one()),
        this.button("close", "close", "close (Escape)", () => this.dialog.close()));
      this.contrast = this.slider("contrast");
      this.brightness = this.slider("brightness");
      const below = make("div", { className: "viewer-bar", role: "toolbar", "aria-label": "how it is drawn" },
        this.contrast.parentElement, this.brightness.parentElement,
        this.button("invert", "invert", "invert grey and colours (i)", () => this.toggle("invert")),
        this.button("reset", "reset", "reset contrast and brightness (r)", () => this.reset()),
        this.button("box", "box", "box: the region of interest (b)", () => this.toggle("box")),
        this.button("whole", "whole picture", "whole picture: load it in its full size (w)", () => this.whole()),
        this.button("full", "full screen", "full screen (f)", () => this.full()),
        make("p", { className: "viewer-hint", textContent: "drag or arrow keys: move \u00b7 + \u2212 0 1: zoom \u00b7 Ctrl and wheel: zoom \u00b7 n p: pictures" }));
      this.dialog.append(bar, this.stage, below);
      this.listen();
      document.body.append(this.dialog);
    }

    button(name, text, label, act) {
      const found = make("button", { type: "button", textContent: text, title: label, "aria-label": label });
      found.addEventListener("click", act);
      this.buttons[name] = found;
      return found;
    }

    slider(name) {
      const found = make("input", { type: "range", min: "20", max: "300", step: "10", value: "100" });
      found.addEventListener("input", () => this.draw());
      make("label", {}, name, found);
      return found;
    }

    open(link) {
      this.opener = link;
      this.links = [...document.querySelectorAll("a[data-medium]")].filter((one) => one.dataset.medium === link.dataset.medium);
      this.at = this.links.indexOf(link);
      this.boxed = true;
      this.inverted = false;
      this.contrast.value = this.brightness.value = "100";
      this.dialog.showModal();
      this.show();
      this.stage.focus();
    }

    show() {
      const link = this.links[this.at];
      const of = this.links.length > 1 ? ` (${this.at + 1} of ${this.links.length})` : "";
      this.title.textContent = link.dataset.title + of;
      this.stage.setAttribute("aria-label", `${link.dataset.title}${of}: arrow keys move it, plus and minus zoom`);
      this.buttons.before.disabled = this.at === 0;
      this.buttons.after.disabled = this.at === this.links.length - 1;
      this.buttons.before.hidden = this.buttons.after.hidden = this.links.length < 2;
      this.fitted = true;
      this.isWhole = false;
      this.size = link.dataset.size ? link.dataset.size.split(" ").map(Number) : null;
      this.load(link.dataset.screen || link.href, of ? `${link.dataset.title}${of}` : "");
    }

    load(address, words) {
      const link = this.links[this.at];
      this.tell("loading \u2026");
      this.ready = false;
      const image = make("img", { alt: link.dataset.title, draggable: false });
      image.addEventListener("load", () => {
        if (this.image !== image) return;
        this.ready = true;
        const held = this.width;
        this.width = image.naturalWidth;
        this.height = image.naturalHeight;
        if (this.size && this.size[0] < this.size[1] !== this.width < this.height) this.size.reverse();
        if (this.fitted || !held) this.fit(false);
        else {
          this.scale *= held / this.width;
          this.draw();
        }
        this.tell(words || this.percent());
      });
      image.addEventListener("error", () => {
        if (this.image === image) this.tell(`${link.dataset.title} could not be loaded`);
      });
      this.image.replaceWith(image);
      this.image = image;
      image.src = address;
      this.frame();
      this.draw();
    }

    frame() {
      const box = this.links[this.at].dataset.box;
      this.buttons.box.hidden = !box;
      if (!box) {
        this.box.setAttribute("hidden", "");
        return;
      }
      const [x0, y0, x1, y1] = box.split(" ").map(Number);
      this.box.setAttribute("viewBox", `0 0 ${this.size[0]} ${this.size[1]}`);
      this.box.setAttribute("preserveAspectRatio", "none");
      const sides = { x: x0, y: y0, width: x1 - x0, height: y1 - y0 };
      for (const [name, value] of Object.entries(sides)) this.rect.setAttribute(name, value);
    }

    whole() {
      const link = this.links[this.at];
      if (this.isWhole || !link.dataset.whole) return;
      this.isWhole = true;
      this.load(link.dataset.whole, "the whole picture");
    }

    go(by) {
      const next = clamp(this.at + by, 0, this.links.length - 1);
      if (next === this.at) return;
      this.at = next;
      this.show();
    }

    smallest() {
      const { clientWidth, clientHeight } = this.stage;
      return this.width ? Math.min(clientWidth / this.width, clientHeight / this.height) : 1;
    }

    fit(says) {
      this.fitted = true;
      this.scale = this.smallest();
      this.x = (this.stage.clientWidth - this.width * this.scale) / 2;
      this.y = (this.stage.clientHeight - this.height * this.scale) / 2;
      this.draw();
      if (says) this.tell("fits the window");
    }

    one() {
      this.zoom(this.across() / this.width / devicePixelRatio / this.scale);
    }

    zoom(by, x = this.stage.clientWidth / 2, y = this.stage.clientHeight / 2) {
      if (!this.ready) return;
      const scale = clamp(this.scale * by, Math.min(this.smallest(), 1) / 4, Math.max(MOST, this.smallest()));
      this.x = x - ((x - this.x) * scale) / this.scale;
      this.y = y - ((y - this.y) * scale) / this.scale;
      this.scale = scale;
      this.fitted = false;
      this.draw();
      this.tell(this.percent());
    }

    move(x, y) {
      if (!this.ready) return;
      this.fitted = false;
      this.x += x;
      this.y += y;
      this.draw();
    }

    draw() {
      if (this.width) {
        const wide = this.width * this.scale, high = this.height * this.scale;
        const { clientWidth, clientHeight } = this.stage;
        this.x = clamp(this.x, Math.min(0, clientWidth - wide) - clientWidth / 2, Math.max(0, clientWidth - wide) + clientWidth / 2);
        this.y = clamp(this.y, Math.min(0, clientHeight - high) - clientHeight / 2, Math.max(0, clientHeight - high) + clientHeight / 2);
        this.plane.style.width = `${wide}px`;
        this.plane.style.height = `${high}px`;
        this.plane.style.transform = `translate(${this.x}px, ${this.y}px)`;
        this.plane.classList.toggle("sharp", this.scale >= 3);
      }
      const drawn = [];
      if (this.contrast.value !== "100") drawn.push(`contrast(${this.contrast.value}%)`);
      if (this.brightness.value !== "100") drawn.push(`brightness(${this.brightness.value}%)`);
      if (this.inverted) drawn.push("invert(1)");
      this.image.style.filter = drawn.join(" ");
      this.box.toggleAttribute("hidden", !this.boxed || this.buttons.box.hidden);
      this.box.style.display = this.box.hasAttribute("hidden") ? "none" : "";
      this.buttons.invert.setAttribute("aria-pressed", String(Boolean(this.inverted)));
      this.buttons.box.setAttribute("aria-pressed", String(Boolean(this.boxed)));
      this.buttons.whole.disabled = this.isWhole;
    }

    toggle(what) {
      if (what === "invert") {
        this.inverted = !this.inverted;
        this.tell(this.inverted ? "inverted" : "not inverted");
      } else if (!this.buttons.box.hidden) {
        this.boxed = !this.boxed;
        this.tell(this.boxed ? "box shown" : "box hidden");
      }
      this.draw();
    }

    reset() {
      this.contrast.value = this.brightness.value = "100";
      this.inverted = false;
      this.draw();
      this.tell("drawn as it is");
    }

    full() {
      if (document.fullscreenElement) document.exitFullscreen();
      else if (this.dialog.requestFullscreen) this.dialog.requestFullscreen().catch(() => this.tell("no full screen here"));
    }

    // How many pixels the whole picture has across.
    across() {
      return this.size ? this.size[0] : this.width;
    }

    percent() {
      return `zoom ${Math.round((100 * this.width * this.scale * devicePixelRatio) / this.across())} %`;
    }

    tell(words) {
      this.told.textContent = words;
    }

    key(event) {
      if (event.altKey || event.metaKey || event.ctrlKey) return;
      event.stopPropagation();
      const acts = {
        "+": () => this.zoom(STEP), "=": () => this.zoom(STEP), "-": () => this.zoom(1 / STEP), _: () => this.zoom(1 / STEP),
        0: () => this.fit(true), 1: () => this.one(),
        n: () => this.go(1), PageDown: () => this.go(1), p: () => this.go(-1), PageUp: () => this.go(-1),
        i: () => this.toggle("invert"), r: () => this.reset(), b: () => this.toggle("box"), w: () => this.whole(), f: () => this.full(),
      };
      const moves = { ArrowLeft: [PAN, 0], ArrowRight: [-PAN, 0], ArrowUp: [0, PAN], ArrowDown: [0, -PAN] };
      if (event.target.type === "range") {
        if (event.key.startsWith("Arrow") || event.key.startsWith("Page")) return;
      } else if (moves[event.key]) {
        event.preventDefault();
        // A picture that is seen whole has nowhere to go: the arrows go to the next one.
        if (this.fitted && this.links.length > 1 && moves[event.key][0]) this.go(moves[event.key][0] > 0 ? -1 : 1);
        else this.move(...moves[event.key]);
        return;
      }
      if (acts[event.key]) {
        event.preventDefault();
        acts[event.key]();
      }
    }

    listen() {
      this.dialog.addEventListener("keydown", (event) => this.key(event));
      this.dialog.addEventListener("close", () => {
        this.image.removeAttribute("src");
        if (document.fullscreenElement) document.exitFullscreen();
        const back = this.links[this.at] || this.opener;
        if (back && back.isConnected) back.focus();
      });
      this.stage.addEventListener("wheel", (event) => {
        event.preventDefault();
        const { left, top } = this.stage.getBoundingClientRect();
        if (event.ctrlKey) this.zoom(Math.exp(-event.deltaY / 300), event.clientX - left, event.clientY - top);
        else this.move(-event.deltaX, -event.deltaY);
      }, { passive: false });
      this.stage.addEventListener("dblclick", (event) => {
        const { left, top } = this.stage.getBoundingClientRect();
        if (this.fitted) this.zoom(2.5, event.clientX - left, event.clientY - top);
        else this.fit(true);
      });
      new ResizeObserver(() => {
        if (this.dialog.open && this.ready) this.fitted ? this.fit(false) : this.draw();
      }).observe(this.stage);
      this.pointers();
    }

    pointers() {
      const down = new Map();
      const spread = () => {
        const [one, two] = [...down.values()];
        return Math.hypot(one.x - two.x, one.y - two.y) || 1;
      };
      this.stage.addEventListener("pointerdown", (event) => {
        if (event.button) return;
        this.stage.setPointerCapture(event.pointerId);
        down.set(event.pointerId, { x: event.clientX, y: event.clientY });
        this.stage.classList.add("moving");
      });
      this.stage.addEventListener("pointermove", (event) => {
        const before = down.get(event.pointerId);
        if (!before) return;
        const apart = down.size === 2 ? spread() : 0;
        down.set(event.pointerId, { x: event.clientX, y: event.clientY });
        if (down.size === 2) {
          const { left, top } = this.stage.getBoundingClientRect();
          const [one, two] = [...down.values()];
          this.zoom(spread() / apart, (one.x + two.x) / 2 - left, (one.y + two.y) / 2 - top);
        } else {
          this.move(event.clientX - before.x, event.clientY - before.y);
        }
      });
      const up = (event) => {
        down.delete(event.pointerId);
        if (!down.size) this.stage.classList.remove("moving");
      };
      this.stage.addEventListener("pointerup", up);
      this.stage.addEventListener("pointercancel", up);
    }
  }

  document.addEventListener("click", (event) => {
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element && event.target.closest("a[data-medium]");
    if (!link) return;
    event.preventDefault();
    viewer ||= new Viewer();
    viewer.open(link);
  });
})();
