// Files that a person drops onto the page, or chooses, on their way into the outbox.

import * as api from "/api.js";
import { $, button, icon, make, setBar, setText } from "/page.js";
import * as words from "/words.js";

const atOnce = 2;
const queue = [];
let running = 0;

/** Adds files one after the other. Each is `{ file, path }`, with a path below the outbox. */
function add(files) {
  for (const { file, path } of files) {
    const item = { file, path };
    item.row = makeRow(item);
    $("adding").append(item.row);
    queue.push(item);
  }
  next();
}

function next() {
  $("adding-section").hidden = !$("adding").childElementCount;
  while (running < atOnce && queue.length) send(queue.shift());
}

async function send(item) {
  running += 1;
  show(item, "busy", "Adding …");
  try {
    const answer = await api.addFile(item.file, item.path, (share) => {
      setBar(item.row.querySelector(".bar"), share);
      setText(item.row.querySelector(".fact"), `${words.percent(share)} of ${words.size(item.file.size)}`);
    });
    show(item, "good", `In the outbox${answer.path && answer.path !== item.path ? ` as ${answer.path}` : ""}`);
    setTimeout(() => dismiss(item), 4000);
  } catch (error) {
    show(item, "bad", words.sentence(error.message));
    item.row.append(make("div", { class: "actions" },
      button("retry", "Try again", () => { item.row.lastElementChild.remove(); queue.push(item); next(); }),
      button("cross", `Dismiss ${item.path}`, () => dismiss(item), { short: true, class: "quiet" })));
  }
  running -= 1;
  next();
}

function dismiss(item) {
  item.row.remove();
  next();
}

function makeRow(item) {
  return make("li", {}, make("span", { class: "badge" }, icon("clock")), make("div", { class: "what" },
    make("p", { class: "name" }, item.path), make("p", { class: "fact", role: "status" }, "In line"),
    make("div", { class: "bar", role: "progressbar", "aria-label": `Adding ${item.path}`, "aria-valuemin": 0, "aria-valuemax": 100 }, make("span"))));
}

function show(item, tone, text) {
  item.row.firstElementChild.dataset.tone = tone;
  item.row.querySelector("use").setAttribute("href", `#i-${{ busy: "up", good: "check", bad: "warn" }[tone]}`);
  item.row.querySelector(".fact").classList.toggle("why", tone === "bad");
  setText(item.row.querySelector(".fact"), text);
  const bar = item.row.querySelector(".bar");
  bar.hidden = tone !== "busy";
  if (tone === "busy") setBar(bar, 0);
}

// MARK: Where files come from

$("add-files").onclick = () => $("file-input").click();
$("file-input").onchange = (event) => {
  add([...event.target.files].map((file) => ({ file, path: file.name })));
  event.target.value = "";
};

let depth = 0; // how many elements under the pointer have seen it enter
const hasFiles = (event) => event.dataTransfer?.types.includes("Files");

addEventListener("dragenter", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  depth += 1;
  $("drop-cover").hidden = false;
});
addEventListener("dragover", (event) => { if (hasFiles(event)) event.preventDefault(); });
addEventListener("dragleave", (event) => {
  if (!hasFiles(event)) return;
  depth = Math.max(0, depth - 1);
  $("drop-cover").hidden = depth === 0;
});
addEventListener("drop", async (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  depth = 0;
  $("drop-cover").hidden = true;
  // The entries must be asked for before the first `await`: the browser forgets them then.
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const files = [...event.dataTransfer.files];
  if (!entries.some((entry) => entry.isDirectory)) { add(files.map((file) => ({ file, path: file.name }))); return; }
  for (const entry of entries) add(await filesBelow(entry));
});

/** All files of a dropped directory, with their paths. */
async function filesBelow(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ file, path: entry.fullPath.slice(1) }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found;
    for (const child of some) found.push(...await filesBelow(child));
  }
}
