// Small helpers for elements of the page. Data becomes text, never markup.

export const $ = (id) => document.getElementById(id);

/** Makes an element: `make("p", { class: "muted" }, "text", child)`. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const drawing = document.createElementNS(space, "svg");
  drawing.setAttribute("class", "icon");
  drawing.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(space, "use");
  use.setAttribute("href", `#i-${name}`);
  drawing.append(use);
  return drawing;
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setBar(bar, share, tone) {
  const value = Math.floor(100 * share);
  if (bar.getAttribute("aria-valuenow") !== String(value)) bar.setAttribute("aria-valuenow", value);
  bar.dataset.tone = tone ?? "busy";
  bar.firstElementChild.style.transform = `scaleX(${share.toFixed(4)})`;
}

/** A button with an icon; without `word` on it, screen readers read `label` and a pointer shows it. */
export function button(iconName, label, onclick, options = {}) {
  return make("button", { type: "button", class: options.class, "aria-label": options.short ? label : null,
    title: options.short ? label : null, "data-action": options.action, onclick },
    icon(iconName), options.short ? null : label);
}

let hiding;

/** Shows a sentence at the bottom of the page for a while; screen readers read it. */
export function notify(text) {
  const notice = $("notice");
  notice.textContent = text;
  notice.classList.add("shown");
  clearTimeout(hiding);
  hiding = setTimeout(() => notice.classList.remove("shown"), 4000 + 50 * text.length);
}

/** Asks before something that is hard to take back. Resolves to true or false. */
export function confirm(title, text, yes) {
  const dialog = $("question");
  $("question-title").textContent = title;
  $("question-text").textContent = text;
  const [no, go] = dialog.querySelectorAll("button");
  go.textContent = yes;
  return new Promise((resolve) => {
    no.onclick = () => dialog.close("no");
    go.onclick = () => dialog.close("yes");
    dialog.onclose = () => resolve(dialog.returnValue === "yes");
    dialog.returnValue = "no";
    dialog.showModal();
    no.focus();
  });
}

/** Runs a function at most once in `pause` milliseconds, and once more after the last call. */
export function paced(pause, run) {
  let waiting = false;
  let again = false;
  return function call() {
    if (waiting) { again = true; return; }
    waiting = true;
    Promise.resolve(run()).catch(() => {}).finally(() => setTimeout(() => {
      waiting = false;
      if (again) { again = false; call(); }
    }, pause));
  };
}
