// The server's API. A token comes in the fragment of the address, which no server sees, or in its query;
// the browser keeps it for other tabs, and the address is left without it.

export function remember(token) { localStorage.setItem("token", token); }

function takeToken() {
  const address = new URL(location.href);
  const fragment = new URLSearchParams(address.hash.slice(1));
  const given = fragment.get("token") ?? address.searchParams.get("token");
  if (given === null) return false;
  remember(given);
  address.searchParams.delete("token");
  if (fragment.has("token")) address.hash = "";
  history.replaceState(null, "", address.pathname + address.search + address.hash);
  return true;
}

takeToken();
// A new fragment loads no page.
addEventListener("hashchange", () => { if (takeToken()) location.reload(); });

export class Refused extends Error {
  constructor(status, detail) { super(detail); this.status = status; }
}

const wait = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

export async function call(path, settings = {}, tries = 6) {
  const headers = { ...settings.headers };
  const token = localStorage.getItem("token");
  if (token) headers.Authorization = `Bearer ${token}`;
  let answer;
  try {
    answer = await fetch(path, { ...settings, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The server does not answer. Is it still running?");
  }
  if ((answer.status === 429 || (answer.status === 503 && answer.headers.has("Retry-After"))) && tries > 1) {
    await wait(Number(answer.headers.get("Retry-After") || 2));
    return call(path, settings, tries - 1);
  }
  if (!answer.ok) {
    let detail = answer.statusText;
    try { detail = (await answer.json()).detail; } catch { /* no JSON: the status says enough */ }
    throw new Refused(answer.status, detail || `The server answers ${answer.status}.`);
  }
  return answer;
}

export const get = async (path) => (await call(path)).json();

export const send = (path, body, signal) => call(path, {
  method: "POST", body: JSON.stringify(body), signal,
  headers: { "Content-Type": "application/json" },
});

export async function save(answer, name) {
  // Spreadsheets take a table for UTF-8 if it begins with this mark.
  const mark = name.endsWith(".csv") ? ["\ufeff"] : [];
  const url = URL.createObjectURL(new Blob([...mark, await answer.blob()]));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
