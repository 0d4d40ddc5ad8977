// The list of files: filters, search, rows, selection, details.

import * as api from "/api.js";
import { WindowedList } from "/list.js";
import { $, button, confirm, icon, make, notify, setBar, setText } from "/page.js";
import * as words from "/words.js";

const pageSize = 200;
const newest = 60; // files of each state in the view "now" at first
const mostNow = 1000; // files in this view after hours of events

let filter = words.filters[0];
let search = "";
let cursor = null; // of the next page; null at the end
let loading = null; // what is being read: an object per load, so that an older answer is recognised
let changedMeanwhile = new Map(); // events that came while a page was being read
let complete = false;
let counts = {}; // of all files by state
let found = {}; // likewise, of those that match the search
let shown = null; // the file in the dialog
const selected = new Map();
let lastPicked = null;

const list = new WindowedList($("list"), { compare: byTime, makeRow, fillRow, onEnd: loadMore });

// MARK: Order

const moment = (file) => (words.final.includes(file.state) ? file.finished_at : null) ?? file.accepted_at ?? "";

/** What came or ended last comes first, as in the agent's pages. */
function byTime(a, b) {
  const [one, other] = [moment(a), moment(b)];
  return one > other ? -1 : one < other ? 1 : a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

const ranks = ["uploading", "verifying", "processing", "hashing", "settling", "waiting", "signed_out", "failed", "queued", "paused"];

/** What moves comes first, then what waits, then what ended, the latest first. */
function byUrgency(a, b) {
  const rank = (file) => (ranks.includes(file.state) ? ranks.indexOf(file.state) : ranks.length);
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  return rank(a) === ranks.length ? byTime(a, b) : a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}

const isNow = () => filter.id === "now" && !search;

function matches(file) {
  if (filter.states?.length && !filter.states.includes(file.state)) return false;
  return !search || file.path.toLowerCase().includes(search.toLowerCase());
}

// MARK: Loading

/** Reads the view anew, after a change of the filter or a gap in the events. */
export async function reload() {
  const load = (loading = {});
  changedMeanwhile = new Map();
  cursor = null;
  try {
    const answer = await api.files(isNow() ? { limit: newest } : parameters());
    if (load !== loading) return;
    loading = null;
    setPage(answer);
    list.replace(answer.files, isNow() ? byUrgency : byTime);
    applyMissed();
  } catch (error) {
    if (load === loading) loading = null;
    if (error.status) notify(words.sentence(error.message));
  }
  showFoot();
}

function parameters() {
  return { state: filter.states?.join(","), search, page: pageSize, after: cursor };
}

async function loadMore() {
  if (loading || !cursor || isNow()) return;
  const load = (loading = {});
  changedMeanwhile = new Map();
  try {
    const answer = await api.files(parameters());
    if (load !== loading) return;
    loading = null;
    setPage(answer);
    list.append(answer.files);
    applyMissed();
  } catch {
    if (load === loading) loading = null; // scrolling tries again
  }
  showFoot();
}

function setPage(answer) {
  cursor = isNow() ? null : answer.next ?? null;
  complete = !cursor;
  found = answer.counts;
}

function applyMissed() {
  for (const file of changedMeanwhile.values()) apply(file);
  changedMeanwhile = new Map();
}

// MARK: Events

/** Shows the new state of a file. */
export function apply(file) {
  if (loading) changedMeanwhile.set(file.id, file);
  if (selected.has(file.id)) selected.set(file.id, file);
  if (shown?.id === file.id) fillDetails(file);
  if (!matches(file)) { list.remove(file.id); return; }
  // A file behind the last page comes with its page.
  const last = list.items.at(-1);
  if (!list.byId.has(file.id) && !isNow() && !complete && last && byTime(file, last) > 0) return;
  list.update(file);
}

export function remove(id) {
  selected.delete(id);
  list.remove(id);
  showSelection();
}

export function setCounts(value) {
  counts = value;
  showFoot();
}

/** Called when this part of the page opens. */
export const show = () => list.schedule();

/** Called after a batch of events. */
export function settle() {
  while (isNow() && list.items.length > mostNow) list.remove(list.items.at(-1).id);
  if (selected.size) showSelection();
  showFoot();
}

// MARK: Filters and search

const total = (names) => Object.entries(search ? found : counts).reduce((sum, [state, number]) => (!names || names.includes(state) ? sum + number : sum), 0);

function showFilters() {
  const holder = $("filters");
  for (const item of words.filters) {
    let chip = holder.querySelector(`[data-filter=${item.id}]`);
    if (!chip) {
      chip = make("button", { type: "button", "data-filter": item.id, onclick: () => choose(item.id) }, item.word, make("span", { class: "count" }));
      holder.append(chip);
    }
    const number = item.id === "now" ? null : total(item.states.length ? item.states : null);
    chip.setAttribute("aria-pressed", item === filter);
    chip.hidden = !item.always && !number && item !== filter;
    setText(chip.lastChild, number == null ? "" : words.count(number));
  }
}

export function choose(id) {
  filter = words.filters.find((item) => item.id === id) ?? words.filters[0];
  restart();
}

function restart() {
  clearSelection();
  showFilters();
  const top = $("part-files").getBoundingClientRect().top + scrollY;
  if (scrollY > top) scrollTo({ top, behavior: "instant" });
  reload();
}

let typing;
$("search").addEventListener("input", (event) => {
  clearTimeout(typing);
  typing = setTimeout(() => {
    search = event.target.value.trim();
    // Searching looks at all files; "now" would only show the latest of them.
    if (search && filter.id === "now") filter = words.filters.find((item) => item.id === "all");
    restart();
  }, 200);
});

function showFoot() {
  const number = list.items.length;
  $("list-head").hidden = !number;
  $("empty").hidden = number > 0 || Boolean(loading);
  const all = total();
  showFilters();
  list.total = isNow() ? number : total(filter.states.length ? filter.states : null);
  if (!number && !loading) showEmpty(all);
  if (!selected.size) setText($("list-note"), note(number));
  $("list-foot").hidden = !isNow() || number >= all || !number;
  setText($("list-foot"), `The latest ${words.count(number)} of ${words.plural(all, "file")}. “All” shows every one.`);
}

function note(number) {
  if (isNow()) return "On their way, then the latest";
  return `${words.plural(Math.max(number, list.total), "file")}${search ? ` with “${search}” in the path` : ""}, the latest first`;
}

function showEmpty(all) {
  const nothing = all === 0 && !search;
  setText($("empty-title"), nothing ? "Nothing in the outbox yet" : search ? `No file has “${search}” in its path` : "No file is in this state");
  setText($("empty-hint"), nothing ? "Drop pictures or videos onto this page, or copy them into the outbox’s directory." : "");
}

// MARK: Rows

function makeRow() {
  const row = $("row-template").content.firstElementChild.cloneNode(true);
  const file = () => list.byId.get(row.dataset.id);
  row.querySelector(".name").onclick = () => openDetails(file());
  row.querySelector("input").onclick = (event) => pick(file(), event.target.checked, event.shiftKey);
  row.onkeydown = (event) => {
    if (event.target !== row || !["Enter", " "].includes(event.key)) return;
    event.preventDefault(); // else Enter would press a button of the dialog too
    if (event.key === "Enter") openDetails(file()); else pick(file(), !selected.has(file().id), event.shiftKey);
  };
  return row;
}

function fillRow(row, file) {
  const { name, directory } = words.split(file.path);
  const [pick, thumb, what, state, buttons] = row.children;
  pick.firstElementChild.checked = selected.has(file.id);
  setText(pick.lastElementChild, `Select ${name}`);
  row.classList.toggle("picked", selected.has(file.id));
  showThumb(thumb, file);
  setText(what.firstElementChild, name);
  const why = words.reason(file);
  const fact = what.lastElementChild;
  setText(fact, why || [directory, words.size(file.size), pixels(file)].filter(Boolean).join(" · "));
  fact.className = why ? `fact why ${words.describe(file.state).tone}` : "fact";
  fact.title = why;
  showBadge(state.firstElementChild, file.state);
  const [share, more] = figures(file);
  setText(state.children[1].firstElementChild, share);
  setText(state.children[1].lastElementChild, more ? ` · ${more}` : "");
  const moves = ["uploading", "verifying", "hashing", "processing"].includes(file.state) || (file.state !== "done" && file.progress > 0 && !words.final.includes(file.state));
  const bar = state.lastElementChild;
  bar.hidden = !moves;
  bar.setAttribute("aria-label", `Progress of ${name}`);
  if (moves) setBar(bar, words.share(file), words.describe(file.state).tone);
  showActions(buttons, file);
}

function pixels(file) {
  const shape = file.width && file.height ? `${file.width} × ${file.height}` : "";
  return [shape, file.duration ? words.length(file.duration) : ""].filter(Boolean).join(" · ");
}

export function showBadge(badge, state) {
  const description = words.describe(state);
  badge.dataset.tone = description.tone;
  badge.title = description.meaning;
  badge.querySelector("use").setAttribute("href", `#i-${description.icon}`);
  setText(badge.lastElementChild, description.word);
}

/** The figures beside the state: the first for every page, the second for a wide one. */
function figures(file) {
  const share = words.percent(words.share(file));
  if (file.state === "uploading") {
    return [share, [file.speed ? words.speed(file.speed) : "", file.eta ? `${words.duration(file.eta)} left` : ""].filter(Boolean).join(" · ")];
  }
  if (words.final.includes(file.state)) return [words.time(file.finished_at)];
  return [file.progress > 0 || ["hashing", "processing", "verifying"].includes(file.state) ? share : ""];
}

const withoutThumbnail = new Set();

/** Shows the thumbnail of a file, or an icon as long as there is none: the agent may still be drawing it. */
export function showThumb(holder, file) {
  const address = file.key && ["image", "video"].includes(file.kind) && file.width !== null ? api.thumbnail(file) : "";
  if (holder.dataset.shown === address && holder.firstElementChild) return;
  holder.dataset.shown = address;
  holder.replaceChildren(icon(file.kind === "image" ? "image" : file.kind === "video" ? "video" : "file"));
  if (!address || withoutThumbnail.has(address)) return;
  const picture = make("img", { alt: "", width: 48, height: 48, decoding: "async" });
  const isWanted = () => holder.isConnected && holder.dataset.shown === address;
  let failures = 0;
  picture.onload = () => { if (isWanted()) holder.replaceChildren(picture); };
  picture.onerror = () => {
    failures += 1;
    if (failures === 4) withoutThumbnail.add(address);
    else setTimeout(() => { if (isWanted()) picture.src = address; }, 1000 * 2 ** failures);
  };
  picture.src = address;
}

function showActions(holder, file) {
  const offered = ["retry", "resume", "pause", "first", "cancel"].filter((name) => words.actions[name].for(file));
  if (holder.dataset.offered === offered.join()) return;
  const { name } = words.split(file.path);
  const focused = holder.contains(document.activeElement);
  holder.dataset.offered = offered.join();
  holder.replaceChildren(...offered.map((action, index) => button(
    words.actions[action].icon, `${words.actions[action].word}: ${name}`, () => perform(action, [list.byId.get(file.id) ?? file]),
    { short: true, action, class: index ? "quiet second" : "quiet" })));
  if (focused) (holder.firstElementChild ?? holder.closest("li")).focus();
}

// MARK: Selection

function pick(file, on, range) {
  if (!file) return;
  const from = range && lastPicked ? list.items.findIndex((item) => item.id === lastPicked) : -1;
  const to = list.indexOf(file);
  const files = from < 0 ? [file] : list.items.slice(Math.min(from, to), Math.max(from, to) + 1);
  for (const item of files) {
    if (on) selected.set(item.id, item); else selected.delete(item.id);
    list.refresh(item.id);
  }
  lastPicked = file.id;
  showSelection();
}

$("select-all").onclick = (event) => {
  for (const item of list.items) {
    if (event.target.checked) selected.set(item.id, item); else selected.delete(item.id);
    list.refresh(item.id);
  }
  showSelection();
};

function clearSelection() {
  for (const id of selected.keys()) list.refresh(id);
  selected.clear();
  showSelection();
}

function showSelection() {
  const files = [...selected.values()];
  const holder = $("selection");
  const all = $("select-all");
  all.checked = files.length > 0 && files.length >= list.items.length;
  all.indeterminate = files.length > 0 && !all.checked;
  holder.hidden = !files.length;
  $("list-head").classList.toggle("picking", files.length > 0);
  if (!files.length) { showFoot(); return; }
  setText($("list-note"), `${words.count(files.length)} selected`);
  const offered = ["retry", "resume", "pause", "first", "cancel"].filter((name) => files.some(words.actions[name].for));
  if (holder.dataset.offered === offered.join() && holder.childElementCount) return;
  holder.dataset.offered = offered.join();
  holder.replaceChildren(
    ...offered.map((name) => button(words.actions[name].icon, words.actions[name].word, () => performOnSelection(name), { action: name })),
    button("cross", "Clear", clearSelection, { class: "quiet", action: "clear" }));
}

async function performOnSelection(action) {
  const files = [...selected.values()].filter(words.actions[action].for);
  if (action === "cancel" && files.length > 1) {
    const sure = await confirm(`Cancel ${words.plural(files.length, "upload")}?`,
      "The server forgets what it has of them. The files stay where they are, and “Retry” takes them again.", "Cancel them");
    if (!sure) return;
  }
  await perform(action, files);
  clearSelection();
}

/** Carries out an action on files, six requests at a time, and says what came of it. */
export async function perform(action, files) {
  const waiting = [...files];
  const refusals = [];
  let changed = 0;
  const work = async () => {
    for (let file = waiting.shift(); file; file = waiting.shift()) {
      try {
        const answer = await api.actOnFile(file.id, action);
        for (const entry of answer.changed) { changed += 1; apply(entry); }
        for (const { reason } of answer.unchanged) refusals.push(`${words.split(file.path).name}: ${reason}`);
      } catch (error) {
        refusals.push(`${words.split(file.path).name}: ${error.message}`);
      }
    }
  };
  await Promise.all(Array.from({ length: 6 }, work));
  settle();
  const what = files.length === 1 ? words.split(files[0].path).name : words.plural(changed, "file");
  const said = changed ? [`${what} ${words.actions[action].done}.`] : [];
  if (refusals.length) said.push(words.sentence(refusals[0]), refusals.length > 1 ? `And ${refusals.length - 1} more.` : "");
  notify(said.filter(Boolean).join(" ") || "Nothing to change.");
}

// MARK: Details

function openDetails(file) {
  if (!file) return;
  fillDetails(file);
  $("details").showModal();
}

$("details-close").onclick = () => $("details").close();
$("details").onclick = (event) => { if (event.target === $("details")) $("details").close(); };
$("details").onclose = () => { shown = null; };

function fillDetails(file) {
  shown = file;
  const { name, directory } = words.split(file.path);
  setText($("details-name"), name);
  showThumb($("details-thumb"), file);
  const description = words.describe(file.state);
  const badge = make("p", { class: "badge", "data-tone": description.tone }, icon(description.icon), make("span", {}, description.word));
  const why = words.reason(file);
  $("details-state").replaceChildren(badge, make("p", { class: why ? "why" : "muted" }, why || description.meaning));
  const offered = Object.keys(words.actions).filter((action) => action !== "submit" && words.actions[action].for(file));
  const holder = $("details-actions");
  if (holder.dataset.offered !== offered.join()) { // else the focus would be lost
    holder.dataset.offered = offered.join();
    holder.replaceChildren(...offered.map((action) =>
      button(words.actions[action].icon, words.actions[action].word, () => perform(action, [shown]), { action })));
  }
  const date = (text) => (text ? new Date(text).toLocaleString("en-GB") : null);
  const facts = [
    ["Directory", directory || "the outbox itself"],
    ["Size", file.size == null ? null : `${words.size(file.size)} (${words.count(file.size)} bytes)`],
    ["Type", file.type], ["Picture", pixels(file)],
    ["Progress", file.fragments ? `${words.percent(words.share(file))}, ${words.count(file.fragments.finished)} of ${words.plural(file.fragments.total, "fragment")}` : null],
    ["Sent", file.deduplicated ? "nothing: the server had this content, or another file brings it" : null],
    ["Processed", file.product?.size ? `${words.size(file.product.size)} are sent in place of the file` : null],
    ["On the server", file.remote?.url ? link(file.remote.url) : null],
    ["Attempts", file.attempts || null], ["Error code", file.error?.code],
    ["Dropped", date(file.accepted_at)], ["Began", date(file.started_at)], ["Ended", date(file.finished_at)],
    ["Moved from", file.moved_from], ["Key (MD5)", file.key],
  ];
  $("details-facts").replaceChildren(...facts.filter(([, value]) => value != null && value !== "").flatMap(([term, value]) =>
    [make("dt", {}, term), make("dd", {}, value instanceof Node ? value : String(value))]));
}

/** A link if the address is one of the web, else its text. */
export function link(address, text = address) {
  if (!/^https?:\/\//i.test(address)) return text;
  return make("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, text);
}
