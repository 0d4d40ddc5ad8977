// Small helpers for elements of the page. Data becomes text, never markup.

import { Refusal } from "/api.js";
import * as words from "/words.js";

export const $ = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value == null) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value); else element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

/** Makes an element: `make("p", { class: "muted" }, "text", child)`. */
export const make = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

/** Makes an element of a drawing. */
export const shape = (name, attributes, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

export const icon = (name) => shape("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, shape("use", { href: `#i-${name}` }));

export function setIcon(element, name) {
  element.querySelector("use").setAttribute("href", `#i-${name}`);
}

for (const holder of document.querySelectorAll("[data-icon]")) holder.prepend(icon(holder.dataset.icon));

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setBar(bar, share, tone) {
  const value = Math.floor(100 * share);
  if (bar.getAttribute("aria-valuenow") !== String(value)) bar.setAttribute("aria-valuenow", value);
  bar.dataset.tone = tone ?? "busy";
  bar.firstElementChild.style.transform = `scaleX(${share.toFixed(4)})`;
}

/** Makes these elements the only children, in this order. One that has its place already keeps its focus. */
export function arrange(holder, elements) {
  const wanted = new Set(elements);
  for (const child of [...holder.children]) if (!wanted.has(child)) child.remove();
  elements.forEach((element, index) => {
    if (holder.children[index] !== element) holder.insertBefore(element, holder.children[index] ?? null);
  });
}

/** A button with an icon; without `word` on it, screen readers read `label` and a pointer shows it. */
export function button(iconName, label, onclick, options = {}) {
  return make("button", { class: options.class, "aria-label": options.short ? label : null,
    title: options.short ? label : null, "data-action": options.action, onclick },
    icon(iconName), options.short ? null : label);
}

export const actionButton = (action, onclick, options) =>
  button(words.actions[action].icon, words.actions[action].word, onclick, { action, ...options });

/** Shows a button for each of some actions. Buttons that stay keep the focus. */
export function showButtons(holder, actions, makeButton) {
  if (holder.dataset.offered === actions.join()) return;
  holder.dataset.offered = actions.join();
  holder.replaceChildren(...actions.map(makeButton));
}

let hiding;

/** Shows a sentence at the bottom of the page for a while; screen readers read it. */
export function notify(text) {
  const notice = $("notice");
  notice.textContent = words.sentence(text);
  notice.classList.add("shown");
  clearTimeout(hiding);
  hiding = setTimeout(() => notice.classList.remove("shown"), 4000 + 50 * text.length);
}

/** Opens a dialog. Only what is in it can be seen and read out then, so the notices go along. */
export function open(dialog, onclose) {
  const notices = [$("notice"), $("announcement")];
  dialog.append(...notices);
  dialog.onclose = () => {
    (document.querySelector("dialog[open]") ?? document.body).append(...notices);
    onclose();
  };
  dialog.showModal();
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
    dialog.returnValue = "no";
    open(dialog, () => resolve(dialog.returnValue === "yes"));
    no.focus();
  });
}

const faults = new Set();

/** Shows a fault of the page itself, once. That the agent does not answer, or refuses, is no fault of the page. */
export function reportFault(error) {
  if (error instanceof Refusal) return;
  console.error(error);
  if (faults.has(String(error))) return;
  faults.add(String(error));
  notify(`this page has a fault (${error?.message ?? error}), and may be incomplete. Reload it, or use “outbox status”.`);
}

addEventListener("error", ({ error }) => { if (error) reportFault(error); });
addEventListener("unhandledrejection", ({ reason }) => reportFault(reason));

/** Shows why something that a person asked for failed. */
export function reportFailure(error) {
  if (!(error instanceof Refusal)) reportFault(error); else if (error.status) notify(error.message);
}

/** Runs a function at most once in `pause` milliseconds, and once more after the last call. */
export function paced(pause, run) {
  let waiting = false;
  let again = false;
  return function call() {
    if (waiting) { again = true; return; }
    waiting = true;
    Promise.resolve().then(run).catch(reportFault).finally(() => setTimeout(() => {
      waiting = false;
      if (again) { again = false; call(); }
    }, pause));
  };
}
