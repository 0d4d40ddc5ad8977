// How the page words states, sizes, times and errors.

/** Each state of a file or post: its word, its icon, its tone (a colour that repeats what the word says) and its meaning. */
export const states = {
  settling: { word: "Settling", icon: "eye", tone: "calm", meaning: "Seen; waits until the file is quiet." },
  hashing: { word: "Hashing", icon: "gear", tone: "busy", meaning: "The agent reads the file and computes its MD5." },
  processing: { word: "Processing", icon: "gear", tone: "busy", meaning: "The agent makes the version to upload." },
  queued: { word: "Queued", icon: "line", tone: "calm", meaning: "Waits for its turn." },
  uploading: { word: "Uploading", icon: "up", tone: "busy", meaning: "Fragments are on their way." },
  verifying: { word: "Verifying", icon: "eye", tone: "busy", meaning: "All is sent; the server checks the whole." },
  waiting: { word: "Waiting", icon: "clock", tone: "warn", meaning: "A temporary error; the agent tries again by itself." },
  paused: { word: "Paused", icon: "pause", tone: "calm", meaning: "Held back, by you or because its post is a draft; keeps what the server has." },
  signed_out: { word: "Signed out", icon: "key", tone: "warn", meaning: "Waits for you to sign in; keeps its progress." },
  done: { word: "Done", icon: "check", tone: "good", meaning: "The server confirmed the content." },
  failed: { word: "Failed", icon: "warn", tone: "bad", meaning: "Refused for good, or the file cannot be read." },
  cancelled: { word: "Cancelled", icon: "cross", tone: "calm", meaning: "Given up; the file stays where it is." },
  rejected: { word: "Rejected", icon: "no", tone: "calm", meaning: "Not taken at all." },
  draft: { word: "Draft", icon: "pen", tone: "calm", meaning: "Nothing is uploaded until you submit it." },
};

export const moving = ["settling", "hashing", "processing", "queued", "uploading", "verifying"];
export const final = ["done", "failed", "cancelled", "rejected"];

/** Returns the description of a state; an unknown one of a later agent shows by its own name. */
export function describe(state) {
  return states[state] ?? { word: state, icon: "clock", tone: "calm", meaning: "" };
}

/** The filters above the list, in their order. Without `states`, `now` shows what moves and what ended last. */
export const filters = [
  { id: "now", word: "Now", always: true },
  { id: "moving", word: "On their way", states: moving },
  { id: "waiting", word: "Waiting", states: ["waiting", "signed_out"] },
  { id: "failed", word: "Failed", states: ["failed"] },
  { id: "paused", word: "Paused", states: ["paused"] },
  { id: "done", word: "Done", states: ["done"] },
  { id: "dropped", word: "Cancelled, rejected", states: ["cancelled", "rejected"] },
  { id: "all", word: "All", states: [], always: true },
];

/** The actions on a file or post. `for` tells the states in which the page offers the action. */
export const actions = {
  submit: { word: "Submit", icon: "up", done: "submitted", for: (it) => "revision" in it && (it.state === "draft" || it.pending_changes?.length > 0) },
  retry: { word: "Retry", icon: "retry", done: "tried again", for: (it) => ["waiting", "failed", "cancelled", "rejected"].includes(it.state) },
  resume: { word: "Resume", icon: "play", done: "resumed", for: (it) => it.state === "paused" },
  pause: { word: "Pause", icon: "pause", done: "paused", for: (it) => [...moving, "waiting", "signed_out"].includes(it.state) },
  first: { word: "Send first", icon: "first", done: "moved to the front", for: (it) => moving.includes(it.state) },
  cancel: { word: "Cancel", icon: "cross", done: "cancelled", for: (it) => !final.includes(it.state) && it.state !== "draft" },
};

/** The names of the actions that one of these files or posts offers. */
export const offered = (...things) => Object.keys(actions).filter((name) => things.some(actions[name].for));

const numbers = new Intl.NumberFormat("en");
export const count = (number) => numbers.format(number);

/** "1 file", "2 files", "100,000 files". */
export function plural(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

export const files = (number) => plural(number, "file");

/** "trip · 4.8 MB": the texts that are not empty. */
export const facts = (...texts) => texts.filter(Boolean).join(" · ");

/** "4.8 MB": powers of 1000, as file managers show them. */
export function size(bytes) {
  if (bytes == null) return "";
  let unit = 0;
  while (bytes >= 999.5 && unit < 4) { bytes /= 1000; unit += 1; }
  const text = unit === 0 || bytes >= 99.5 ? Math.round(bytes) : bytes.toFixed(1);
  return `${text} ${["B", "kB", "MB", "GB", "TB"][unit]}`;
}

export const speed = (bytes) => `${size(bytes)}/s`;

/** "12 s", "4 min", "2 h 5 min", "3 days". */
export function duration(seconds) {
  if (seconds == null) return "";
  const whole = Math.max(1, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.round(whole / 60);
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 48 * 60) {
    const rest = minutes % 60;
    return `${Math.floor(minutes / 60)} h${rest ? ` ${rest} min` : ""}`;
  }
  return plural(Math.round(minutes / 1440), "day");
}

/** "0:07", "1:02:03": the length of a video. */
export function length(seconds) {
  const whole = Math.round(seconds);
  const parts = [Math.floor(whole / 60) % 60, whole % 60];
  if (whole >= 3600) parts.unshift(Math.floor(whole / 3600));
  return parts.map((part, index) => (index ? String(part).padStart(2, "0") : part)).join(":");
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const dayAndClock = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

/** "14:03" today, "22 Nov, 14:03" on another day. */
export function time(text) {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return "";
  return (date.toDateString() === new Date().toDateString() ? clock : dayAndClock).format(date);
}

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** "22 Nov 2026". */
export const date = (text) => day.format(new Date(text));

/** "22 Nov 2026, 14:03". */
export const dateAndTime = (text) => `${date(text)}, ${clock.format(new Date(text))}`;

/** "now", "in 40 s", "at 14:03": when the next attempt comes. */
export function attempt(text) {
  const seconds = (new Date(text) - Date.now()) / 1000;
  if (!(seconds > 1)) return "now";
  return seconds < 600 ? `in ${duration(seconds)}` : `at ${time(text)}`;
}

export const percent = (share) => `${Math.floor(100 * Math.min(1, share ?? 0))} %`;

/** The name of a path, and its directory. */
export function split(path) {
  const cut = path.lastIndexOf("/");
  return { name: path.slice(cut + 1), directory: path.slice(0, Math.max(0, cut)) };
}

export const name = (file) => split(file.path).name;

/** The share of a file that the other end has: acknowledged bytes, and those that have arrived since. */
export function share(file) {
  if (file.state === "done") return 1;
  if (file.state === "hashing" && file.size) return (file.hashed ?? 0) / file.size;
  const size = file.product?.size ?? file.size;
  return Math.min(0.99, (file.progress ?? 0) + (size ? (file.bytes_in_flight ?? 0) / size : 0));
}

/** The reason why a file or post does not move on, as a sentence; empty without one. */
export function reason(it) {
  if (!it.error) return "";
  const next = it.state === "waiting" && it.next_attempt_at ? ` Next attempt ${attempt(it.next_attempt_at)}.` : "";
  return sentence(it.error.message) + next;
}

/** The text without characters that are invisible or change the direction of others: messages may quote a server. */
function visible(text) {
  return text.replace(/\p{C}|[\u2028\u2029]/gu, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
}

/** The text with a capital, a full stop, and "83.9 MB" for "83888348 bytes". */
export function sentence(text) {
  if (!text) return "";
  text = visible(text);
  if (text.includes(" bytes")) text = text.replace(/(?<![\w./-])\d{6,}( bytes)?(?![\w.:/-])/g, (number) => size(parseInt(number, 10)));
  // Names such as preLoad.do stay as they are.
  const begin = /^[a-z]+[\s,;]/.test(text) ? text[0].toUpperCase() : text[0];
  return begin + text.slice(1) + (/[.!?…]$/.test(text) ? "" : ".");
}
