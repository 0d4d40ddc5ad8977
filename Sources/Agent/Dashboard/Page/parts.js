// The parts beside the list of files: posts, pictures, activity and settings. Each is read when it is opened.

import * as api from "/api.js";
import { draw } from "/graph.js";
import { link, showBadge, showThumb } from "/files.js";
import { $, actionButton, arrange, make, notify, paced, setBar, setText, showButtons } from "/page.js";
import * as words from "/words.js";

// MARK: Posts

const posts = new Map();
let shownPosts = 30;

export async function loadPosts() {
  const answer = await api.sources();
  posts.clear();
  for (const post of answer.sources) posts.set(post.id, post);
  showPosts();
}

export function applyPost(post) {
  posts.set(post.id, post);
  showSoon();
}

export function removePost(id) {
  posts.delete(id);
  showSoon();
}

/** The number of files that wait because their post is a draft. */
export function filesOfDrafts() {
  return sum([...posts.values()].filter((post) => post.state === "draft")
    .map((post) => post.files.filter((file) => file.state === "paused").length));
}

const showSoon = paced(250, showPosts);

/** Posts that are not done come first, then the latest. */
function postOrder(a, b) {
  const open = (post) => !words.final.includes(post.state);
  if (open(a) !== open(b)) return open(a) ? -1 : 1;
  return a.accepted_at < b.accepted_at ? 1 : -1;
}

function showPosts() {
  const all = [...posts.values()].sort(postOrder);
  setText($("posts-count"), all.length ? words.count(all.filter((post) => !words.final.includes(post.state)).length || "") : "");
  if ($("part-posts").hidden) return;
  $("more-posts").hidden = all.length <= shownPosts;
  const holder = $("posts");
  const cards = new Map([...holder.children].map((card) => [card.dataset.id, card]));
  arrange(holder, all.slice(0, shownPosts).map((post) => {
    const card = cards.get(post.id) ?? makePost(post.id);
    if (card.shownPost !== post) fillPost(card, post);
    card.shownPost = post;
    return card;
  }));
  if (!all.length) holder.replaceChildren(make("li", { class: "muted" }, "No post in the outbox."));
}

$("more-posts").onclick = () => { shownPosts += 30; showPosts(); };

function makePost(id) {
  return make("li", { class: "card post", "data-id": id },
    make("div", { class: "thumb large" }),
    make("div", { class: "post-words" }, make("h3"), make("p", { class: "muted" }), make("span", { class: "badge" }),
      make("div", { class: "bar", role: "progressbar" }, make("span")), make("p", { class: "why" })),
    make("div", { class: "actions" }),
    make("details", {}, make("summary", {}, "Files"), make("ul", { class: "post-files" })));
}

function fillPost(card, post) {
  const [thumb, text, buttons, details] = card.children;
  const [title, facts, badge, bar, why] = text.children;
  const finished = post.files.filter((file) => file.state === "done").length;
  showCover(thumb, post);
  setText(title, post.title || words.name(post));
  facts.replaceChildren(words.facts(post.path, `${finished} of ${words.files(post.files.length)} done`, words.size(post.size),
    post.revision > 1 ? `revision ${post.revision}` : ""), post.url ? " · " : "", post.url ? link(post.url, "open the post") : "");
  showBadge(badge, post.state);
  bar.hidden = words.final.includes(post.state) || post.state === "draft";
  bar.setAttribute("aria-label", `Progress of ${title.textContent}`);
  setBar(bar, words.share(post), words.describe(post.state).tone);
  setText(why, postNews(post));
  why.hidden = !why.textContent;
  showButtons(buttons, words.offered(post).filter((action) => action !== "first" || post.state === "queued"), (action) =>
    actionButton(action, () => performOnPost(action, card.shownPost), { class: action === "submit" ? "primary" : null }));
  details.lastElementChild.replaceChildren(...post.files.map((file) => {
    const state = make("span", { class: "badge" });
    showBadge(state, file.state);
    return make("li", {}, make("span", { class: "name" }, file.url ? link(file.url, file.name) : file.name), state,
      make("span", { class: "figures" }, words.final.includes(file.state) ? words.size(file.size) : words.percent(file.progress)),
      file.error ? make("p", { class: "why" }, words.sentence(file.error.message)) : null);
  }));
}

function postNews(post) {
  const news = [words.reason(post)];
  if (post.skipped?.length) news.push(`Left out, since the file is missing: ${post.skipped.join(", ")}.`);
  if (post.pending_changes?.length && post.state !== "draft") news.push(`Changed since: ${post.pending_changes.join(", ")}. “Submit” sends the changes.`);
  return news.filter(Boolean).join(" ");
}

function showCover(thumb, post) {
  const cover = post.files.find((file) => file.name === post.cover) ?? post.files.find((file) => file.kind === "image");
  showThumb(thumb, cover ?? { kind: "other" });
}

async function performOnPost(action, post) {
  const name = post.title || post.path;
  try {
    const answer = await api.act("sources", post.id, action);
    applyPost(answer.source);
    notify(answer.refusal ? `${name}: ${answer.refusal}` : `${name} ${words.actions[action].done}.`);
  } catch (error) {
    notify(`${name}: ${error.message}`);
  }
}

// MARK: Pictures

let told = 0;

export async function loadPictures() {
  const before = told;
  const [profile, mirror] = await Promise.all([api.profile(), api.avatars().catch(() => null)]);
  // An event is newer.
  if (told === before) showProfile(profile);
  if (mirror) showAvatars(mirror); else setText($("avatars-note"), "The mirror of pictures is not in use.");
}

export function showProfile(profile) {
  told += 1;
  const picture = $("portrait");
  const { pending } = profile;
  // The server appends the size behind a `!`; the mirror has the picture without it.
  const address = pending?.key ? api.thumbnail(pending) : profile.portraitURL && api.avatar(profile.portraitURL.replace(/![^!]*$/, ""));
  picture.onload = () => { picture.hidden = false; };
  picture.onerror = () => { picture.hidden = true; };
  if (address) picture.src = address; else picture.hidden = true;
  setText($("portrait-state"), pending ? `${words.describe(pending.state).word}: ${words.name(pending)}. ${words.reason(pending)}`
    : address ? `The server has it${profile.updatedAt ? `, since ${words.time(profile.updatedAt)}` : ""}.`
      : "None yet. Put a picture into the folder “portrait” of the outbox, and it becomes your profile picture.");
}

function showAvatars(mirror) {
  const shown = mirror.avatars.slice(0, 200);
  setText($("avatars-note"), mirror.avatars.length
    ? `${words.plural(mirror.avatars.length, "picture")}, ${words.size(mirror.bytes)} of at most ${words.size(mirror.max_size)}${shown.length < mirror.avatars.length ? `; the first ${shown.length} are shown` : ""}.`
    : "No picture of the server is mirrored yet.");
  $("avatars").replaceChildren(...shown.map((avatar) => make("li", {},
    make("img", { src: api.avatar(avatar.url), alt: "", loading: "lazy", width: 64, height: 64 }),
    make("div", {}, make("p", { class: "name", title: avatar.url }, link(avatar.url, avatar.url.replace(/^https?:\/\//, ""))),
      make("p", { class: "muted" }, `${words.size(avatar.size)} · ${avatar.fresh ? "fresh" : "to be asked for again"}`)))));
}

// MARK: Activity

let lastHour = null; // lists with a number for each interval, the latest last

export async function loadActivity() {
  lastHour = await api.transfers();
  drawHour();
}

function drawHour() {
  if (!lastHour) return;
  drawSpark();
  if (!$("part-activity").hidden) drawActivity();
}

addEventListener("resize", paced(200, drawHour));

/** Sums of the numbers in periods of some seconds. */
function periods(numbers, seconds) {
  const step = Math.max(1, Math.round(seconds / lastHour.interval));
  const sums = [];
  for (let index = 0; index < numbers.length; index += step) sums.push(sum(numbers.slice(index, index + step)));
  return sums;
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

function drawSpark() {
  const minutes = periods(lastHour.bytes, 60);
  $("spark").hidden = minutes.filter(Boolean).length < 5; // else little more than a line
  if (!$("spark").hidden) draw($("spark"), [minutes], { kind: "area", bare: true, height: 44 });
}

function drawActivity() {
  const { bytes, fragments, failed, interval } = lastHour;
  const news = sum(failed) ? `${words.plural(sum(failed), "fragment")} failed and ${sum(failed) === 1 ? "was" : "were"} sent again` : "none failed";
  setText($("activity-note"), sum(bytes) || sum(failed)
    ? `${words.size(sum(bytes))} acknowledged in ${words.plural(sum(fragments), "fragment")}; ${news}.` : "Nothing was sent in the last hour.");
  const begin = new Date(lastHour.end) - 1000 * interval * bytes.length;
  const times = [...[0, 15, 30, 45].map((minute) => words.time(begin + 60_000 * minute)), "now"];
  draw($("throughput"), [periods(bytes, 30).map((number) => number / 30)],
    { kind: "area", label: words.speed, times, title: `Throughput of the last hour: ${$("activity-note").textContent}` });
  draw($("fragments"), [periods(fragments, 60), periods(failed, 60)],
    { kind: "bars", label: (value) => `${words.count(value)} a minute`, times, title: "Fragments of the last hour, acknowledged and failed" });
  const columns = [periods(bytes, 300).map(words.size), periods(fragments, 300).map(words.count), periods(failed, 300).map(words.count)];
  $("activity-rows").replaceChildren(...columns[0].map((_, index) => make("tr", {},
    make("th", { scope: "row" }, words.time(begin + 300_000 * index)), ...columns.map((column) => make("td", {}, column[index])))));
}

// MARK: Settings

export async function loadSettings(health) {
  const { file, settings } = await api.configuration();
  setText($("settings-note"), `${file ? `From ${file}, in bold.` : "No file: defaults."}${health?.version ? ` outbox ${health.version}.` : ""} A change needs a restart of the agent; limits, log level and token only a SIGHUP.`);
  const sections = new Map();
  for (const setting of settings) {
    const section = setting.key.slice(0, Math.max(0, setting.key.lastIndexOf(".")));
    sections.set(section, [...sections.get(section) ?? [], setting]);
  }
  $("settings").replaceChildren(...[...sections].map(([section, rows]) => make("section", { class: "card" },
    make("h3", {}, section ? `[${section}]` : "Places"),
    make("dl", { class: "settings" }, ...rows.flatMap(({ key, value, origin }) => [
      make("dt", {}, make("code", {}, key.slice(section ? section.length + 1 : 0))),
      make("dd", { class: origin === "default" ? null : "set", title: origin }, make("code", {}, typeof value === "string" ? value || '""' : JSON.stringify(value)))])))));
}
