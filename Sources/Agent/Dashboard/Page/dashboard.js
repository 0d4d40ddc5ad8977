// The dashboard: the summary at the top, what needs a person, and the way between the parts of the page.

import * as api from "/api.js";
import "/drop.js";
import * as files from "/files.js";
import { loadHistory, refreshHistory } from "/history.js";
import { $, button, confirm, icon, make, notify, paced, reportFailure, reportFault, setIcon, setText } from "/page.js";
import * as parts from "/parts.js";
import * as words from "/words.js";

const troubled = ["failed", "signed_out", "waiting"];

let health = null;
let counts = null;
let lost = null; // since when the agent does not answer
let expired = false; // the cookie of this page is of an earlier run of the agent
const troubles = new Map(); // some of the files that failed or wait
let changed = new Map(); // the latest event of each file since the last frame

// MARK: Events

api.listen({
  open() {
    const again = lost;
    lost = null;
    expired = false;
    if (again) notify("The agent answers again.");
    readAll();
  },
  async lost() {
    lost ??= new Date();
    try {
      await api.health();
    } catch (error) {
      expired = [401, 403].includes(error.status);
    }
    showSummary();
  },
  state(file) {
    receive(file);
    readCounts();
    if (words.final.includes(file.state)) refreshHistory();
  },
  progress: receive,
  gone({ id }) {
    changed.delete(id);
    troubles.delete(id);
    files.remove(id);
    readCounts();
  },
  source(post) {
    parts.applyPost(post);
    showSummary();
  },
  source_gone({ id }) { parts.removePost(id); },
  problem() { readHealth(); },
  portrait: parts.showProfile,
  avatar: paced(1000, () => (currentPart() === "pictures" ? parts.loadPictures() : null)),
  reset: readAll,
});

let flushing = false;

/** Keeps the latest event of each file, and shows them all with the next frame. */
function receive(file) {
  changed.set(file.id, file);
  if (flushing) return;
  flushing = true;
  // A hidden page has no frames.
  if (document.hidden) setTimeout(flush, 1000); else requestAnimationFrame(flush);
}

function flush() {
  flushing = false;
  const batch = changed;
  changed = new Map();
  for (const file of batch.values()) {
    noteTrouble(file);
    files.apply(file);
  }
  files.settle();
  showSummary();
}

function noteTrouble(file) {
  if (troubled.includes(file.state)) {
    if (troubles.size < 200 || troubles.has(file.id)) troubles.set(file.id, file);
  } else {
    troubles.delete(file.id);
  }
}

// MARK: Reading

function readAll() {
  readHealth();
  readCounts();
  readTroubles();
  files.reload();
  openPart();
  if (currentPart() !== "posts") parts.loadPosts().then(showSummary).catch(reportFault);
  if (currentPart() !== "activity") parts.loadActivity().catch(reportFault);
}

const readHealth = paced(1000, async () => {
  health = await api.health();
  showSummary();
});

const readCounts = paced(1000, async () => {
  counts = await api.counts();
  files.setCounts(counts);
  showSummary();
});

async function readTroubles() {
  try {
    const answer = await api.files({ state: troubled.join(","), limit: 20 });
    troubles.clear();
    for (const file of answer.files) noteTrouble(changed.get(file.id) ?? file);
    showSummary();
  } catch (error) {
    reportFault(error); // `lost` shows that the agent does not answer
  }
}

// Speeds and times change without an event.
setInterval(() => {
  if (document.hidden) return;
  if (!lost) readHealth();
  showNeeds();
}, 2000);
setInterval(() => { if (!document.hidden && !lost) parts.loadActivity().catch(reportFault); }, 10_000);
// A page in the background hears of no events (`listen`), but its tab has a title.
setInterval(() => {
  if (!document.hidden || lost) return;
  readHealth();
  readCounts();
}, 30_000);

// MARK: Summary

const number = (...names) => names.reduce((sum, name) => sum + (counts?.[name] ?? 0), 0);
const filesWait = (count) => `${words.files(count)} ${count === 1 ? "waits" : "wait"}`;

function showSummary() {
  showHeadline();
  showNeeds();
  document.body.classList.toggle("lost", Boolean(lost));
  const paused = Boolean(health?.paused);
  const pause = $("pause-all");
  pause.lastElementChild.textContent = paused ? "Resume all" : "Pause all";
  setIcon(pause, paused ? "play" : "pause");
  pause.classList.toggle("primary", paused);
}

function showHeadline() {
  if (lost) { headline("warn", "bad", expired ? "This page’s address has expired" : "The agent does not answer", `Since ${words.time(lost)}`); return; }
  if (!counts || !health) return;
  const onTheWay = number(...words.moving);
  const stuck = number("waiting", "signed_out");
  const drafts = parts.filesOfDrafts();
  const paused = number("paused") - drafts;
  const open = onTheWay + stuck;
  const obstacle = problems().find(({ code }) => obstacles.includes(code));
  if (health.paused) {
    const waiting = open + number("paused");
    headline("pause", "warn", "Everything is paused", waiting ? `${words.files(waiting)} not yet uploaded` : "New files will wait");
  } else if (obstacle && (open || ["ledger", "outbox"].includes(obstacle.code))) {
    headline(obstacle.code === "session" ? "key" : "warn", "bad", `${title(obstacle)} since ${words.time(obstacle.since)}`,
      open ? `${words.files(open)} not yet uploaded` : "");
  } else if (onTheWay) {
    const facts = words.facts(health.left && `${words.size(health.left)} to go`, health.speed && words.speed(health.speed),
      health.eta && `about ${words.duration(health.eta)} left`, stuck && `${words.count(stuck)} waiting`);
    headline("up", "busy", `${words.files(onTheWay)} on ${onTheWay === 1 ? "its" : "their"} way`, facts || "Getting ready");
  } else if (stuck) {
    headline(number("signed_out") ? "key" : "clock", "warn", filesWait(stuck), "The reason is below");
  } else if (paused > 0) {
    headline("pause", "calm", `${words.files(paused)} paused`, `${words.files(number("done"))} uploaded`);
  } else if (number("failed")) {
    headline("warn", "bad", `${words.files(number("failed"))} could not be uploaded`, `${words.files(number("done"))} uploaded`);
  } else if (!health.scanned) {
    headline("eye", "calm", "Looking through the outbox", "The agent has just started");
  } else if (number("done")) {
    headline("check", "good", "Everything is uploaded", `${words.files(number("done"))}, confirmed by the server${drafts ? ` · ${words.files(drafts)} in drafts` : ""}`);
  } else {
    headline("outbox", "calm", "Ready", "Drop pictures or videos onto this page, or copy them into the outbox");
  }
}

let announced = "";

function headline(iconName, tone, title, facts) {
  $("mark").dataset.tone = tone;
  setIcon($("mark"), iconName);
  setText($("headline"), title);
  setText($("subline"), facts);
  document.title = tone === "good" || title === "Ready" ? "Outbox" : `${title} · Outbox`;
  // Screen readers hear of another situation, not of each number.
  const kind = title.replace(/[\d,]+/g, "");
  if (announced && announced !== kind) setText($("announcement"), `${title}. ${facts}`);
  announced = kind;
}

// MARK: What needs a person

const tryNow = () => button("retry", "Try again now", () => actOnAll("retry"), { action: "try-now" });

/** The codes of problems that keep all files from being uploaded. */
const obstacles = ["ledger", "outbox", "session", "server"];

/** Titles of problems, by their codes; one without a title shows its message. */
const titles = {
  server: "The server does not take uploads", session: "Nobody is signed in", outbox: "The outbox cannot be used",
  watch: "New files may be noticed late", ledger: "The agent cannot store what it does", after_upload: "Uploaded files cannot be moved away",
};

function title({ code, message }) {
  if (code === "ledger" && message.includes("free space")) return "The disk is full";
  if (code === "server" && /connect|resolve|timed out|unreachable|no route|empty reply/i.test(message)) return "The server can’t be reached";
  return titles[code];
}

/** If the server refuses the token, the files that wait tell so. */
const problems = () => health.attention.filter(({ code }) => code !== "server" || !number("signed_out"));

function showNeeds() {
  const needs = [];
  if (lost && expired) {
    needs.push(need("lock", "key", "bad", "The agent has started anew, and this page’s address has changed", "Find the new address with this command, and open it:", command("outbox dashboard")));
  } else if (lost) {
    needs.push(need("lost", "warn", "bad", `The agent does not answer since ${words.time(lost)}`,
      "It may have ended. Start it, then open the new address that “outbox dashboard” prints. “outbox doctor” may know why it ended.",
      command("outbox run"), command("outbox dashboard"), command("outbox doctor")));
  } else if (health && counts) {
    addProblems(needs);
    addTroubles(needs);
  }
  const holder = $("needs");
  const text = JSON.stringify(needs.map((item) => [item.id, item.tone, item.title, item.detail]));
  $("needs-section").hidden = !needs.length;
  if (holder.dataset.shown === text) return;
  holder.dataset.shown = text;
  const focused = document.activeElement?.closest?.("#needs li")?.dataset.need;
  holder.replaceChildren(...needs.map((item) => make("li", { "data-need": item.id, "data-tone": item.tone },
    icon(item.icon), make("div", {}, make("p", { class: "title" }, item.title), item.detail ? make("p", { class: "muted" }, item.detail) : null),
    make("div", { class: "actions" }, ...item.buttons))));
  if (focused) holder.querySelector(`[data-need="${focused}"] button`)?.focus();
}

function need(id, iconName, tone, title, detail, ...buttons) {
  return { id, icon: iconName, tone, title, detail, buttons };
}

function addProblems(needs) {
  for (const problem of problems()) {
    const { code, message, since } = problem;
    const known = title(problem);
    const remedy = { session: command("outbox login"), server: tryNow() }[code];
    needs.push(need(code, code === "session" ? "key" : "warn", "warn", known ? `${known} since ${words.time(since)}` : words.sentence(message),
      known ? words.sentence(message) : `Since ${words.time(since)}`, ...(remedy ? [remedy] : [])));
  }
}

function addTroubles(needs) {
  const all = [...troubles.values()];
  const explained = health.attention.length > 0;
  if (number("signed_out") && !health.attention.some((item) => item.code === "session")) {
    const file = all.find((file) => file.state === "signed_out");
    const usesKeys = file?.remote?.protocol === "s3";
    needs.push(need("signed-out", "key", "warn", `${filesWait(number("signed_out"))} ${usesKeys ? "for other access keys" : "until you sign in"}`,
      words.sentence(file?.error?.message), ...(usesKeys ? [] : [command("outbox login")])));
  }
  if (number("waiting") && !explained) {
    const next = all.find((file) => file.state === "waiting");
    needs.push(need("waiting", "clock", "warn", `${filesWait(number("waiting"))} for another attempt`,
      next ? `${words.name(next)}: ${words.sentence(next.error?.message)}` : "", tryNow()));
  }
  if (number("failed")) {
    const examples = all.filter((file) => file.state === "failed").slice(0, 3).map((file) => `${words.name(file)}: ${words.sentence(file.error?.message)}`);
    if (number("failed") > examples.length && examples.length) examples.push(`And ${words.count(number("failed") - examples.length)} more.`);
    needs.push(need("failed", "warn", "bad", `${words.files(number("failed"))} failed`, examples.join(" "),
      button("retry", "Retry", () => actOnAll("retry"), { action: "retry-failed" }), button("line", "Show", () => showFiles("failed"), { action: "show-failed" })));
  }
}

/** A command for the terminal, which a click copies. */
function command(text) {
  return make("button", { class: "command", title: "Copy", "aria-label": `Copy the command ${text}`, onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      notify(`Copied. Paste “${text}” into a terminal.`);
    } catch {
      notify(`Type “${text}” into a terminal.`);
    }
  } }, make("code", {}, text));
}

for (const text of document.querySelectorAll(".help code")) text.replaceWith(command(text.textContent));

// MARK: Actions on everything

async function actOnAll(action) {
  try {
    const answer = await api.actOnAll(action);
    const said = { pause: "Everything is paused.", resume: "Everything goes on." }[action];
    notify(said ?? (answer.counts.changed ? `${words.files(answer.counts.changed)} ${words.actions[action].done}.` : { retry: "No file has failed or is waiting.", cancel: "No file is under way." }[action]));
    readHealth();
    readCounts();
  } catch (error) {
    reportFailure(error);
  }
}

$("pause-all").onclick = () => actOnAll(health?.paused ? "resume" : "pause");
const menu = $("all-menu");
for (const item of document.querySelectorAll("[data-all]")) {
  item.onclick = async () => {
    menu.open = false;
    if (item.dataset.all === "cancel" && !await confirm("Cancel all uploads?",
      "The server forgets what it has of unfinished files. The files stay where they are, and “Retry” takes them again.", "Cancel all")) return;
    actOnAll(item.dataset.all);
  };
}
for (const kind of ["click", "focusin"]) document.addEventListener(kind, ({ target }) => { if (!menu.contains(target)) menu.open = false; });
menu.onkeydown = ({ key }) => {
  if (key !== "Escape") return;
  menu.open = false;
  menu.firstElementChild.focus();
};

// MARK: Parts of the page

const names = ["files", "posts", "pictures", "activity", "settings"];
const currentPart = () => (names.includes(location.hash.slice(1)) ? location.hash.slice(1) : "files");

function openPart() {
  const part = currentPart();
  for (const name of names) {
    $(`part-${name}`).hidden = name !== part;
    const place = document.querySelector(`nav a[href="#${name}"]`);
    if (name === part) {
      place.setAttribute("aria-current", "page");
      place.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else place.removeAttribute("aria-current");
  }
  const load = { posts: parts.loadPosts, pictures: parts.loadPictures, activity: () => Promise.all([parts.loadActivity(), loadHistory()]), settings: () => parts.loadSettings(health) }[part];
  load?.().catch(reportFailure);
  if (part === "files") files.show();
}

function showFiles(filter) {
  location.hash = "#files";
  files.choose(filter);
  $("main").focus({ preventScroll: true });
  $("main").scrollIntoView({ block: "nearest" });
}

document.querySelector(".skip").onclick = (event) => {
  event.preventDefault(); // the address names the part that is shown
  $("main").focus();
};

addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
addEventListener("hashchange", openPart);
openPart();
