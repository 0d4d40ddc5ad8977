// What the journal says: sums, and what became of each file, also of those that are gone.

import * as api from "/api.js";
import { link, showBadge } from "/files.js";
import { $, make, paced, reportFault, setText } from "/page.js";
import * as words from "/words.js";

const pageSize = 50;

let search = "";
let next = null; // continues with older outcomes
let asked = 0; // answers to an earlier question come too late

export async function loadHistory() {
  showSums(await api.sums());
  if ($("history").children.length <= pageSize) await read(); // else somebody reads older ones
}

/** Something has ended. */
export const refreshHistory = paced(2000, () => ($("part-activity").hidden ? null : loadHistory().catch(reportFault)));

function showSums({ since, today, month, all }) {
  setText($("sums-note"), since ? `Since ${words.date(since)}, also of files that are gone.` : "Nothing yet.");
  $("sums").replaceChildren(...[["Today", today], ["30 days", month], ["In all", all]].map(([title, sum]) => make("div", { class: "card" },
    make("dt", {}, title), make("dd", { class: "title" }, words.facts(words.files(sum.done), words.size(sum.size))),
    make("dd", { class: "muted" }, saved(sum)), sum.failed ? make("dd", { class: "muted" }, `${words.plural(sum.failed, "time")} a file failed`) : null)));
}

const saved = (sum) => (sum.saved_by_products || sum.saved_by_deduplication
  ? `Not sent: ${words.facts(sum.saved_by_products && `${words.size(sum.saved_by_products)} by smaller versions`,
    sum.saved_by_deduplication && `${words.size(sum.saved_by_deduplication)} that the server had`)}` : "");

/** Reads the latest outcomes, or those before some that are shown. */
async function read(before = null) {
  asked += 1;
  const question = asked;
  const name = search && (/[*?[\]]/.test(search) ? search : `*${search}*`);
  const answer = await api.history({ name, before, limit: pageSize });
  if (question !== asked) return;
  next = answer.next;
  $("older-history").hidden = !next;
  const rows = answer.history.map(makeRow);
  if (before) $("history").append(...rows);
  else if (rows.length) $("history").replaceChildren(...rows);
  else $("history").replaceChildren(make("li", { class: "muted" }, search ? "No file with this name." : "Nothing has ended yet."));
}

function makeRow(outcome) {
  const state = make("span", { class: "badge" });
  showBadge(state, outcome.state);
  const { url } = outcome.remote ?? {};
  const kind = { post: "Post ", portrait: "Profile picture " }[outcome.event] ?? "";
  return make("li", {}, make("span", { class: "name", title: outcome.path }, kind, url ? link(url, outcome.path) : outcome.path), state,
    make("span", { class: "figures" }, words.size(outcome.size)), make("span", { class: "muted" }, words.dateAndTime(outcome.time)),
    outcome.error ? make("p", { class: "why" }, words.sentence(outcome.error.message)) : null,
    note(outcome) ? make("p", { class: "muted note" }, note(outcome)) : null);
}

const note = ({ now, deduplicated }) =>
  [now ? `Now ${now}.` : "", deduplicated ? "The server had its content." : ""].filter(Boolean).join(" ");

$("history-search").addEventListener("input", paced(300, () => {
  search = $("history-search").value.trim();
  read().catch(reportFault);
}));
$("older-history").onclick = () => { read(next).catch(reportFault); };
