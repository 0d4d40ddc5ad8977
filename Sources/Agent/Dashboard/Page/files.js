// The list of files: filters, search, rows, selection, details.

import * as api from "/api.js";
import { WindowedList } from "/list.js";
import { $, actionButton, arrange, button, confirm, icon, make, notify, open, paced, reportFailure, reportFault, setBar, setIcon, setText, showButtons } from "/page.js";
import * as words from "/words.js";

const pageSize = 200;
const newest = 60; // files of each state in the view "now" at first
const mostNow = 1000; // files in this view after hours of events

let filter = words.filters[0];
let search = "";
let cursor = null; // of the next page; null at the end
let loading = null; // what is being read: an object per load, so that an older answer is recognised
let changedMeanwhile = new Map(); // events that came while a page was being read
let counts = {}; // of all files by state
let found = {}; // likewise, of those that match the search
let shown = null; // the file in the dialog
const selected = new Map();
let allSelected = false; // everything that the filter and the search show, loaded or not
let lastPicked = null;

const list = new WindowedList($("list"), { compare: byTime, makeRow, fillRow, onEnd: loadMore });

// MARK: Order

const moment = (file) => (words.final.includes(file.state) ? file.finished_at : null) ?? file.accepted_at ?? "";

const compare = (one, other) => (one < other ? -1 : one > other ? 1 : 0);

/** What came or ended last comes first, as in the agent's pages. */
function byTime(a, b) {
  return compare(moment(b), moment(a)) || compare(a.id, b.id);
}

const ranks = ["uploading", "verifying", "processing", "hashing", "settling", "waiting", "signed_out", "failed", "queued", "paused"];

/** What moves comes first, then what waits, then what ended, the latest first. */
function byUrgency(a, b) {
  const [one, other] = [a, b].map((file) => ranks.indexOf(file.state));
  if (one < 0 || other < 0) return compare(one < 0, other < 0) || byTime(a, b);
  return one - other || compare(a.path, b.path);
}

const isNow = () => filter.id === "now" && !search;

function matches(file) {
  if (filter.states?.length && !filter.states.includes(file.state)) return false;
  return !search || file.path.toLowerCase().includes(search.toLowerCase());
}

// MARK: Loading

/** Reads the view anew, after a change of the filter or a gap in the events. */
export function reload() {
  cursor = null;
  read((files) => {
    list.replace(files, isNow() ? byUrgency : byTime);
    for (const id of selected.keys()) if (!list.byId.has(id)) selected.delete(id);
  });
}

function loadMore() {
  if (!loading && cursor) read((files) => files.forEach((file) => list.put(file)));
}

async function read(show) {
  const load = (loading = {});
  changedMeanwhile = new Map();
  try {
    const answer = await api.files(isNow() ? { limit: newest } : { state: filter.states?.join(","), search, page: pageSize, after: cursor });
    if (load !== loading) return;
    loading = null;
    cursor = answer.next;
    found = answer.counts;
    show(answer.files);
    changedMeanwhile.forEach(apply);
  } catch (error) {
    if (load === loading) loading = null; // scrolling tries again
    reportFailure(error);
  }
  showSelection();
}

// MARK: Events

/** Shows the new state of a file. */
export function apply(file) {
  if (loading) changedMeanwhile.set(file.id, file);
  if (shown?.id === file.id) fillDetails(file);
  if (!matches(file)) { hide(file.id); return; }
  if (selected.has(file.id)) selected.set(file.id, file);
  // A file behind the last page comes with its page.
  const last = list.items.at(-1);
  if (!list.byId.has(file.id) && cursor && last && byTime(file, last) > 0) return;
  list.update(file);
}

/** An action on the selection reaches no file that has left the list. */
function hide(id) {
  selected.delete(id);
  list.remove(id);
}

export function remove(id) {
  hide(id);
  showSelection();
}

export function setCounts(value) {
  counts = value;
  if (search) countFound();
  showFoot();
}

const countFound = paced(2000, async () => {
  const asked = search;
  const answer = await api.files({ search, page: 1 });
  if (asked !== search) return;
  found = answer.counts;
  showFoot();
});

/** Called when this part of the page opens. */
export const show = () => list.schedule();

/** Called after a batch of events. */
export function settle() {
  while (isNow() && list.items.length > mostNow) hide(list.items.at(-1).id);
  showSelection();
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
  setText($("list-foot"), `The latest ${words.count(number)} of ${words.files(all)}. “All” shows every one.`);
}

function note(number) {
  if (isNow()) return "On their way, then the latest";
  return `${words.files(Math.max(number, list.total))}${search ? ` with “${search}” in the path` : ""}, the latest first`;
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
  setText(fact, why || words.facts(directory, words.size(file.size), pixels(file)));
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
  return words.facts(shape, file.duration ? words.length(file.duration) : "");
}

export function showBadge(badge, state) {
  const description = words.describe(state);
  badge.dataset.tone = description.tone;
  badge.title = description.meaning;
  if (!badge.firstChild) badge.append(icon("clock"), make("span"));
  setIcon(badge, description.icon);
  setText(badge.lastElementChild, description.word);
}

/** The figures beside the state: the first for every page, the second for a wide one. */
function figures(file) {
  const share = words.percent(words.share(file));
  if (file.state === "uploading") {
    return [share, words.facts(file.speed ? words.speed(file.speed) : "", file.eta ? `${words.duration(file.eta)} left` : "")];
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
  const focused = holder.contains(document.activeElement);
  showButtons(holder, words.offered(file), (action, index) => button(
    words.actions[action].icon, `${words.actions[action].word}: ${words.name(file)}`, () => performAsked(action, [list.byId.get(file.id) ?? file]),
    { short: true, action, class: index ? "quiet second" : "quiet" }));
  if (focused && !holder.contains(document.activeElement)) (holder.firstElementChild ?? holder.closest("li")).focus();
}

// MARK: Selection

function pick(file, on, range) {
  if (!file) return;
  const from = range && lastPicked ? list.items.findIndex((item) => item.id === lastPicked) : -1;
  const to = list.indexOf(file);
  allSelected = false;
  const files = from < 0 ? [file] : list.items.slice(Math.min(from, to), Math.max(from, to) + 1);
  for (const item of files) {
    if (on) selected.set(item.id, item); else selected.delete(item.id);
    list.refresh(item.id);
  }
  lastPicked = file.id;
  showSelection();
}

$("select-all").onclick = (event) => {
  allSelected = false;
  for (const item of list.items) {
    if (event.target.checked) selected.set(item.id, item); else selected.delete(item.id);
    list.refresh(item.id);
  }
  showSelection();
};

function clearSelection() {
  allSelected = false;
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
  showFoot();
  if (!files.length) return;
  // More rows may match than are loaded.
  const isPart = !isNow() && all.checked && list.total > files.length;
  if (!isPart) allSelected = false;
  const chosen = allSelected ? list.total : files.length;
  setText($("list-note"), isPart && !allSelected ? `${words.count(chosen)} of ${words.count(list.total)} selected` : `${words.count(chosen)} selected`);
  const more = isPart && !allSelected ? ["everything"] : [];
  showButtons(holder, [...more, ...words.offered(...files), "clear"], (action) => {
    if (action === "clear") return button("cross", "Clear", clearSelection, { class: "quiet", action });
    if (action === "everything") return button("check", `Select all ${words.count(list.total)}`, selectEverything, { class: "quiet", action });
    return actionButton(action, () => performOnSelection(action));
  });
}

function selectEverything() {
  allSelected = true;
  showSelection();
}

async function performOnSelection(action) {
  if (allSelected) {
    await performOnEverything(action);
  } else if (!await performAsked(action, [...selected.values()].filter(words.actions[action].for))) return;
  clearSelection();
}

/** Carries out an action on all files of the filter and the search, page by page. */
async function performOnEverything(action) {
  const { word } = words.actions[action];
  if (!await confirm(`${word} ${words.files(list.total)}?`, "This concerns every file that the filter and the search show. Keep the page open until it says that it is done.", word)) return;
  const [states, text] = [filter.states?.join(","), search];
  const end = { changed: 0, refusals: [] };
  try {
    for (let after = null, more = true; more;) {
      const answer = await api.files({ state: states, search: text, page: pageSize, after });
      await carryOut(action, answer.files.filter(words.actions[action].for), end);
      notify(`${words.files(end.changed)} ${words.actions[action].done} so far.`);
      after = answer.next;
      more = Boolean(after);
    }
  } catch (error) {
    end.refusals.push(error.message);
    reportFault(error);
  }
  tell(action, words.files(end.changed), end);
}

/** Carries out an action on files; asks before it cancels several uploads, or one that has begun. */
async function performAsked(action, files) {
  if (action === "cancel" && (files.length > 1 || files.some(hasBegun))) {
    const [one] = files;
    const sure = await confirm(files.length > 1 ? `Cancel ${words.plural(files.length, "upload")}?` : `Cancel the upload of ${words.name(one)}?`,
      `The server forgets what it has of ${files.length > 1 ? "them" : `it${one.progress > 0 ? ` (${words.percent(one.progress)})` : ""}`}. The ${files.length > 1 ? "files stay where they are" : "file stays where it is"}, and “Retry” takes ${files.length > 1 ? "them" : "it"} again.`,
      files.length > 1 ? "Cancel them" : "Cancel it");
    if (!sure) return false;
  }
  await perform(action, files);
  return true;
}

const hasBegun = (file) => file.progress > 0 || ["uploading", "verifying"].includes(file.state);

/** Carries out an action on files, and says what came of it. */
async function perform(action, files) {
  const end = { changed: 0, refusals: [] };
  await carryOut(action, files, end);
  tell(action, files.length === 1 ? words.name(files[0]) : words.files(end.changed), end);
}

/** Carries out an action on files, six requests at a time. */
async function carryOut(action, files, end) {
  const waiting = [...files];
  const work = async () => {
    for (let file = waiting.shift(); file; file = waiting.shift()) {
      try {
        const answer = await api.act("files", file.id, action);
        for (const entry of answer.changed) { end.changed += 1; apply(entry); }
        for (const { reason } of answer.unchanged) end.refusals.push(`${words.name(file)}: ${reason}`);
      } catch (error) {
        end.refusals.push(`${words.name(file)}: ${error.message}`);
        reportFault(error);
      }
    }
  };
  await Promise.all(Array.from({ length: 6 }, work));
  settle();
}

function tell(action, what, { changed, refusals }) {
  const said = changed ? [`${what} ${words.actions[action].done}.`] : [];
  if (refusals.length) said.push(words.sentence(refusals[0]), refusals.length > 1 ? `And ${refusals.length - 1} more.` : "");
  notify(said.filter(Boolean).join(" ") || "No file was in a state for this.");
}

// MARK: Details

function openDetails(file) {
  if (!file) return;
  fillDetails(file);
  open($("details"), () => {
    shown = null;
    // The row that opened the dialog may have left the list.
    if (document.activeElement === document.body) $("main").focus({ preventScroll: true });
  });
}

$("details-close").onclick = () => $("details").close();
$("details").onclick = (event) => { if (event.target === $("details")) $("details").close(); };

function fillDetails(file) {
  shown = file;
  const { name, directory } = words.split(file.path);
  setText($("details-name"), name);
  showThumb($("details-thumb"), file);
  const why = words.reason(file);
  const [badge, meaning] = $("details-state").children;
  showBadge(badge, file.state);
  meaning.className = why ? "why" : "muted";
  setText(meaning, why || words.describe(file.state).meaning);
  showButtons($("details-actions"), words.offered(file), (action) => actionButton(action, () => performAsked(action, [shown])));
  const date = (text) => (text ? new Date(text).toLocaleString("en-GB") : null);
  const facts = [
    ["Directory", directory || "the outbox itself"],
    ["Size", file.size == null ? null : `${words.size(file.size)} (${words.count(file.size)} bytes)`],
    ["Type", file.type], ["Picture", pixels(file)],
    ["Progress", file.fragments ? `${words.percent(words.share(file))}, ${words.count(file.fragments.finished)} of ${words.plural(file.fragments.total, "fragment")}` : null],
    ["Sent", file.deduplicated ? "nothing: the server had this content, or another file brings it" : null],
    ["Processed", file.product?.size ? `${words.size(file.product.size)} are sent in place of the file` : null],
    ["On the server", file.remote?.url],
    ["Attempts", file.attempts || null], ["Error code", file.error?.code],
    ["Dropped", date(file.accepted_at)], ["Began", date(file.started_at)], ["Ended", date(file.finished_at)],
    ["Moved from", file.moved_from], ["Key (MD5)", file.key],
  ];
  // Only texts that changed are replaced, or what a person has selected to copy would be lost.
  const places = new Map([...$("details-facts").children].map((place) => [place.dataset.fact, place]));
  arrange($("details-facts"), facts.filter(([, value]) => value != null && value !== "").map(([term, value]) => {
    const place = places.get(term) ?? make("div", { "data-fact": term }, make("dt", {}, term), make("dd"));
    const text = place.lastChild;
    if (text.textContent !== String(value)) text.replaceChildren(link(String(value)));
    return place;
  }));
}

/** A link if the address is one of the web, else its text. */
export function link(address, text = address) {
  if (!/^https?:\/\//i.test(address)) return text;
  return make("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, text);
}
