// Requests to the agent (docs/http.md).

/** A request that failed; `status` is 0 if there was no answer. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(path, method = "GET") {
  let reply;
  try {
    reply = await fetch(path, { method, cache: "no-store" });
  } catch {
    throw new Refusal(0, "the agent does not answer");
  }
  const body = await reply.json().catch(() => ({}));
  if (!reply.ok) throw refusal(reply.status, body);
  return body;
}

function refusal(status, body) {
  return new Refusal(status, body.error?.message ?? `the agent answered with status ${status}`);
}

const query = (parameters) => {
  const given = Object.entries(parameters).filter(([, value]) => value != null && value !== "");
  return given.length ? `?${new URLSearchParams(given)}` : "";
};

export const health = () => ask("/v1/health");
export const files = (parameters) => ask(`/v1/files${query(parameters)}`);
export const counts = async () => (await files({ limit: 0 })).counts;
export const sources = (parameters = {}) => ask(`/v1/sources${query(parameters)}`);
export const avatars = () => ask("/v1/avatars");
export const profile = () => ask("/v1/profile");
export const transfers = () => ask("/v1/transfers");
export const sums = () => ask("/v1/sums");
export const history = (parameters) => ask(`/v1/history${query(parameters)}`);
export const configuration = () => ask("/v1/configuration");

/** Acts on one of the `files` or `sources`. */
export const act = (kind, id, action) => ask(`/v1/${kind}/${encodeURIComponent(id)}/${action}`, "POST");
export const actOnAll = (action) => ask(`/v1/${action}`, "POST");

/** The thumbnail of what was uploaded for a file. */
export const thumbnail = (file) => `/v1/thumbnails/${file.product?.key ?? file.key}`;
export const avatar = (url) => `/v1/avatar?url=${encodeURIComponent(url)}`;

/** Puts a file into the outbox. `XMLHttpRequest`, since `fetch` does not report how much was sent. */
export function addFile(file, path, onProgress, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/v1/drop?name=${encodeURIComponent(path)}`);
    request.responseType = "json";
    request.upload.onprogress = (event) => onProgress(event.loaded / Math.max(1, event.total));
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) resolve(request.response ?? {});
      else reject(refusal(request.status, request.response ?? {}));
    };
    request.onerror = () => reject(new Refusal(0, "the connection to the agent broke"));
    signal.onabort = () => request.abort();
    request.send(file);
  });
}

/**
 * Listens to the agent's events. The browser reconnects by itself and names the last event it saw; the agent then sends
 * the missed ones, or `reset`.
 *
 * Browsers open six connections to a host. So a page in the background, or one kept for the Back button, gives its own back.
 *
 * @param listener an object with a function for each event, and `open` and `lost`
 */
export function listen(listener) {
  let stream = null;
  let leaving;
  const open = () => {
    if (stream || document.hidden) return;
    stream = new EventSource("/v1/events");
    for (const name of ["state", "progress", "gone", "source", "source_gone", "problem", "portrait", "avatar", "reset"]) {
      stream.addEventListener(name, (event) => listener[name]?.(JSON.parse(event.data)));
    }
    stream.onopen = () => listener.open();
    stream.onerror = () => {
      listener.lost();
      if (stream?.readyState !== EventSource.CLOSED) return;
      close();
      setTimeout(open, 3000);
    };
  };
  const close = () => {
    stream?.close();
    stream = null;
  };
  document.addEventListener("visibilitychange", () => {
    clearTimeout(leaving);
    if (document.hidden) leaving = setTimeout(close, 3000); else open();
  });
  addEventListener("pagehide", close);
  open();
}
