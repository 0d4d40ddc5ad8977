// Files that a person drops onto the page, or chooses, on their way into the outbox.

import * as api from "/api.js";
import { $, arrange, button, icon, make, setBar, setIcon, setText, showButtons } from "/page.js";
import * as words from "/words.js";

const atOnce = 2;
const mostRows = 20;
const looks = { queued: ["clock", "calm"], running: ["up", "busy"], done: ["check", "good"], refused: ["warn", "bad"] };

let items = []; // in the order of their arrival
const those = (...states) => items.filter((item) => states.includes(item.state));

const addFiles = (files) => add([...files].map((file) => ({ file, path: file.name })));

/** Adds files: each is `{ path, file }` with a path below the outbox, or `{ path, text }` if the browser cannot read it. */
function add(found) {
  for (const item of found) items.push(Object.assign(item, { state: item.file ? "queued" : "refused" }));
  next();
}

function next() {
  those("queued").slice(0, atOnce - those("running").length).forEach(send);
  show();
}

async function send(item) {
  Object.assign(item, { state: "running", text: "Adding …", share: 0, stop: new AbortController() });
  try {
    const answer = await api.addFile(item.file, item.path, (share) => {
      Object.assign(item, { share, text: `${words.percent(share)} of ${words.size(item.file.size)}` });
      if (item.row) showRow(item);
    }, item.stop.signal);
    Object.assign(item, { state: "done", text: `In the outbox${answer.path && answer.path !== item.path ? ` as ${answer.path}` : ""}` });
    setTimeout(() => dismiss([item]), 4000);
  } catch (error) {
    Object.assign(item, { state: "refused", text: words.sentence(error.message) });
  }
  setText($("announcement"), `${item.path}: ${item.text}`);
  next();
}

/** Forgets files; one on its way is not added. */
function dismiss(gone) {
  for (const item of gone) item.stop?.abort();
  items = items.filter((item) => !gone.includes(item));
  const focused = document.activeElement;
  const inside = $("adding-section").contains(focused);
  next();
  if (inside && !focused.checkVisibility()) ($("adding").querySelector("button") ?? $("add-files")).focus();
}

/** Shows some of the files: those on their way, those that were refused, then the others. */
function show() {
  const shown = new Set(["running", "refused", "done", "queued"].flatMap((state) => those(state)).slice(0, mostRows));
  arrange($("adding"), items.filter((item) => shown.has(item)).map(showRow));
  const [open, refused] = [those("queued", "running").length, those("refused").length];
  setText($("adding-note"), words.facts(open > 1 ? `${words.files(open)} to go` : "", refused > 1 ? `${words.count(refused)} not added` : "",
    items.length > mostRows ? `${mostRows} are shown` : ""));
  $("cancel-adding").hidden = open < 2;
  $("dismiss-all").hidden = refused < 2;
  $("adding-section").hidden = !items.length;
}

function showRow(item) {
  item.row ??= make("li", {}, make("span", { class: "badge" }, icon("clock")), make("div", { class: "what" },
    make("p", { class: "name" }, item.path), make("p", { class: "fact" }),
    make("div", { class: "bar", role: "progressbar", "aria-label": `Adding ${item.path}` }, make("span"))),
    make("div", { class: "actions" }));
  const [badge, { children: [, fact, bar] }, actions] = item.row.children;
  const [iconName, tone] = looks[item.state];
  badge.dataset.tone = tone;
  setIcon(badge, iconName);
  fact.classList.toggle("why", tone === "bad");
  setText(fact, item.text ?? "In line");
  bar.hidden = tone !== "busy";
  setBar(bar, item.share ?? 0);
  const offered = { done: [], refused: item.file ? ["retry", "dismiss"] : ["dismiss"] }[item.state] ?? ["cancel"];
  showButtons(actions, offered, (action) => (action === "retry"
    ? button("retry", "Try again", () => { item.state = "queued"; next(); }, { action })
    : button("cross", `${action === "cancel" ? "Cancel" : "Dismiss"}: ${item.path}`, () => dismiss([item]), { short: true, class: "quiet", action })));
  return item.row;
}

$("cancel-adding").onclick = () => dismiss(those("queued", "running"));
$("dismiss-all").onclick = () => dismiss(those("refused"));
addEventListener("beforeunload", (event) => { if (those("queued", "running").length) event.preventDefault(); });

// MARK: Where files come from

$("add-files").onclick = () => $("file-input").click();
$("file-input").onchange = (event) => {
  addFiles(event.target.files);
  event.target.value = "";
};

let depth = 0; // how many elements under the pointer have seen it enter

for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) {
  addEventListener(kind, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    depth = { dragenter: depth + 1, dragleave: Math.max(0, depth - 1), drop: 0 }[kind] ?? depth;
    $("drop-cover").hidden = depth === 0;
    if (kind === "drop") addDropped(event.dataTransfer);
  });
}

async function addDropped({ items, files }) {
  // The entries must be asked for before the first `await`: the browser forgets them then.
  const entries = [...items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (entries.some((entry) => entry.isDirectory)) for (const entry of entries) add(await filesBelow(entry));
  else addFiles(files);
}

/** All files of a dropped directory, with their paths. What cannot be read has a `text` that says so instead of a file. */
async function filesBelow(entry) {
  const path = entry.fullPath.slice(1);
  const found = [];
  try {
    if (entry.isFile) return [{ path, file: await new Promise((resolve, reject) => entry.file(resolve, reject)) }];
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (!some.length) return found;
      for (const child of some) found.push(...await filesBelow(child));
    }
  } catch (error) {
    return [...found, { path, text: `The browser cannot read it: ${error.message}` }];
  }
}
