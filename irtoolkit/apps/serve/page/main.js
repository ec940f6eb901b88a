// The page: asks, shows what was found, and answers keys.

import * as api from "./api.js";
import { count, find, make, number, percent, say, warn } from "./dom.js";
import { markNear, nameOf, render, showGrade } from "./hits.js";
import * as shelf from "./shelf.js";
import * as state from "./state.js";
import { strips } from "./strip.js";

const TITLE = document.title;
const query = find("#query");
let last = null;
let underWay = null;
let readOnly = false;
let mostSystems = null;

const systems = () => [...document.querySelectorAll("[name=system]:checked")].map((box) => box.value);

function showCollection(one) {
  find("#go").disabled = !one?.systems.length;
  // The examples are in English.
  find("#examples").hidden = !one?.systems.length || !["en", null].includes(one.lang);
  for (const part of document.querySelectorAll(".compares-meaning")) part.hidden = !one?.model;
  for (const box of document.querySelectorAll("[name=system]")) {
    box.disabled = !one?.systems.includes(box.value);
    box.parentElement.title = box.disabled ? (one?.model ? "not prepared yet" : "needs a model that compares meaning") : "";
  }
  find("#no-model").hidden = !one || Boolean(one.model);
  const ready = one?.systems.length ?? 0;
  // What a reader has ticked stays, unless it cannot be asked.
  if (ready !== mostSystems && ready) {
    if (mostSystems === null || mostSystems === 1 || !systems().length || ready === 1) showBest(one);
    mostSystems = ready;
  }
  showAgain(one);
  // Passages of one book are not shown as if they were another's.
  if (last && last.collection !== one?.id) {
    clear();
    if (one && query.value.trim()) say(`Press Search to look in ${one.title}.`);
  }
}

function clear() {
  last = null;
  underWay?.abort();
  find("#results").hidden = true;
  find("#welcome").hidden = false;
  document.title = TITLE;
  say("");
  for (const id of ["save-csv", "save-run"]) find(`#${id}`).disabled = true;
}

// Passages that were found before meaning could be compared say so, and then offer another search.
function showAgain(one) {
  const early = Boolean(last?.early && last.collection === one?.id && one.model);
  const ready = early && one.best !== "words";
  find("#again").hidden = !early;
  find("#again-later").hidden = ready;
  find("#again-now").hidden = !ready;
}

function showBest(one) {
  for (const box of document.querySelectorAll("[name=system]")) box.checked = box.value === one?.best;
}

function quality(one, answer) {
  const shown = answer.answers.map((each) => each.system);
  const place = find("#quality");
  const lines = one.quality.map((measured) => {
    const shares = measured.systems.filter((row) => shown.includes(row.system)).flatMap((row, at) => [
      at ? "; " : "", `${nameOf(row.system).toLowerCase()} `, make("b", {}, percent(row.found / row.of)), ` (${number(row.found)} of ${number(row.of)})`]);
    const depth = measured.systems[0]?.depth;
    const books = count(measured.books, "book");
    const which = measured.here ? `these ${books}` : `${books} of ${measured.dataset}, not this one`;
    return make("p", {}, `How far to trust it: of the known quotations in ${which}, the first ${depth} passages hold: `, ...shares, `. Measured ${measured.measured}.`);
  });
  if (!lines.length) {
    for (const system of shown) if (answer.found[system]) lines.push(make("p", {}, make("b", {}, nameOf(system)), ` ${answer.found[system]}. A passage that is missing here may still be in the book.`));
  }
  place.replaceChildren(...lines);
}

async function near(collection, answers, signal) {
  for (const answer of answers) {
    if (answer.system === "words") continue;
    for (let start = 0; start < Math.min(20, answer.hits.length); start += 10) {
      const part = answer.hits.slice(start, start + 10);
      try {
        const found = await (await api.send("/near", { collection: collection.id, query: last.query, passages: part.map((hit) => hit.id) }, signal)).json();
        if (signal.aborted) return;
        for (const hit of part) markNear(find(`#${answer.system}-${hit.rank}`), found.passages[hit.id]);
      } catch { return; /* passages are read without it, too */ }
    }
  }
}

// Shows the grades that count after a judgment, unless another search has been made since.
function regrade(answer, grades) {
  if (answer !== last) return;
  for (const { system, hits } of answer.answers) {
    for (const hit of hits) {
      hit.grade = grades[hit.id];
      showGrade(hit, find(`#${system}-${hit.rank}`));
    }
  }
}

function show(collection, answer) {
  find("#welcome").hidden = true;
  find("#results").hidden = false;
  find("#asked").textContent = answer.query;
  // On paper nothing else names the book.
  find("#asked").dataset.book = [collection.books.length === 1 && collection.books[0].author, collection.title].filter(Boolean).join(", ");
  document.title = `${answer.query.slice(0, 80)} · ${collection.title}`;
  find("#strips").replaceChildren(...strips(collection, answer.answers));
  quality(collection, answer);
  const columns = find("#columns");
  columns.style.setProperty("--count", answer.answers.length);
  columns.classList.toggle("one", answer.answers.length === 1);
  const shown = [...new Set(answer.answers.flatMap((one) => one.hits.map((hit) => hit.id)))];
  columns.replaceChildren(...answer.answers.map((one) => {
    const state = (hit) => ({ system: one.system, query: answer.query, lang: collection.books.find((book) => book.name === hit.book)?.lang, several: collection.books.length > 1, around: 1, readOnly, shown, judged: (grades) => regrade(answer, grades) });
    return make("section", { class: `column ${one.system}`, "aria-labelledby": `${one.system}-title` },
      make("h3", { id: `${one.system}-title` }, nameOf(one.system)),
      one.note ? make("p", { class: "note" }, one.note) : null,
      one.hits.length ? null : instead(collection, one.system),
      make("ol", { class: "hits", role: "list" }, ...one.hits.map((hit) => render(hit, state(hit)))));
  }));
  for (const id of ["save-csv", "save-run"]) find(`#${id}`).disabled = !answer.answers.some((one) => one.hits.length);
}

// What is offered where a system finds nothing.
function instead(collection, system) {
  const other = system === "words" ? "meaning" : "words";
  if (!collection.systems.includes(other)) return null;
  const action = () => { for (const box of document.querySelectorAll("[name=system]")) box.checked = box.value === other; ask(); };
  return make("button", { type: "button", class: "instead", onclick: action }, `Search by ${other} instead`);
}

function request(format = "json") {
  return { collection: shelf.current().id, query: query.value.trim(), systems: systems(), length: find("#length").valueAsNumber || 8, depth: find("#depth").valueAsNumber || 20, context: 1, format };
}

async function ask(event) {
  event?.preventDefault();
  const collection = shelf.current();
  warn("");
  if (!collection) { warn("Add a book first."); return; }
  if (!query.value.trim()) { warn("Write what the passage should say."); query.focus(); return; }
  if (!systems().length) { warn("Tick words, meaning or both."); return; }
  underWay?.abort();
  underWay = new AbortController();
  const { signal } = underWay;
  const asked = request();
  say("Searching …");
  find("#results").setAttribute("aria-busy", "true");
  try {
    const answer = await (await api.send("/search", asked, signal)).json();
    if (signal.aborted) return;
    last = { ...answer, request: asked, early: !collection.systems.includes("meaning") };
    show(collection, last);
    showAgain(shelf.current());
    const counts = answer.answers.map((one) => `${count(one.hits.length, "passage")} by ${one.system === "both" ? "words and meaning" : one.system}`).join(", ");
    say(`${counts}, ${answer.seconds.toFixed(2)}\u00a0s`);
    find("#options").open = false;
    find("#results-title").focus({ preventScroll: true });
    scrollTo(0, 0);
    if (!event?.restored) state.push({ ...asked, best: collection.best });
    if (collection.systems.includes("meaning")) near(collection, answer.answers, signal);
  } catch (error) {
    if (error.name === "AbortError") return;
    say("");
    refused(error);
  } finally { find("#results").removeAttribute("aria-busy"); }
}

function refused(error) {
  if (error.status !== 401) { warn(error.message); return; }
  find("#token").showModal();
}

// The search that the address of the page names.
async function restore() {
  const wanted = state.read();
  clear();
  if (wanted.book && !shelf.pick(wanted.book)) warn("The book of this address is not on the shelf.");
  query.value = wanted.query;
  for (const name of ["length", "depth"]) find(`#${name}`).value = wanted[name];
  const ready = wanted.systems.filter((name) => shelf.current()?.systems.includes(name));
  if (ready.length) for (const box of document.querySelectorAll("[name=system]")) box.checked = ready.includes(box.value);
  else showBest(shelf.current());
  if (!wanted.query || !shelf.current() || (wanted.book && shelf.current().id !== wanted.book)) return;
  await ask({ preventDefault() {}, restored: true });
  if (ready.length < wanted.systems.length) warn("Meaning cannot be compared yet: these passages are found by words.");
}

function gap() {
  const { selectionStart: from, selectionEnd: to, value } = query;
  const before = from && !/\s$/.test(value.slice(0, from)) ? " " : "";
  const after = to < value.length && !/^[\s,.;:!?]/.test(value.slice(to)) ? " " : "";
  query.setRangeText(`${before}[quote]${after}`, from, to, "end");
  query.focus();
}

async function save(what) {
  try {
    if (what === "csv") await api.save(await api.send("/search", { ...last.request, format: "csv" }), "passages.csv");
    else if (what === "table") await api.save(await api.call(`/judgments/table?collection=${shelf.current().id}`), "judgments.csv");
    else if (what === "trec") {
      for (const system of last.request.systems) await api.save(await api.send("/search", { ...last.request, systems: [system], format: "trec" }), `${system}.run`);
    } else await api.save(await api.call(`/judgments/${what}?collection=${shelf.current().id}`), what === "qrels" ? "judgments.qrels" : "topics.tsv");
  } catch (error) { warn(error.message); }
}

function step(by, sideways) {
  const here = document.activeElement?.closest?.(".hit");
  const all = [...document.querySelectorAll(".hit")];
  if (!all.length) return;
  let next = here ? all[all.indexOf(here) + by] : all[0];
  if (here && sideways) {
    const columns = [...document.querySelectorAll(".column")];
    const column = columns[columns.indexOf(here.closest(".column")) + by];
    const hits = column ? [...column.querySelectorAll(".hit")] : [];
    const at = [...here.parentElement.children].indexOf(here);
    next = hits[Math.min(at, hits.length - 1)];
  }
  if (!next) return;
  find("article", next).focus();
  next.scrollIntoView({ block: "nearest" });
  for (const tick of document.querySelectorAll(".strip a")) tick.classList.toggle("now", tick.getAttribute("href") === `#${next.id}`);
}

// Enter searches, and with Shift begins a line; while a word is being composed it chooses one.
function searches(event) {
  const here = event.target === query && !event.shiftKey && !event.isComposing;
  return event.key === "Enter" && (here || event.ctrlKey || event.metaKey);
}

function fold() {
  const options = find("#options");
  if (options.contains(document.activeElement)) find("summary", options).focus();
  options.open = false;
}

function onKey(event) {
  if (searches(event)) { ask(event); return; }
  if (event.key === "Escape") fold();
  if (event.ctrlKey && event.key.toLowerCase() === "g" && event.target === query) { event.preventDefault(); gap(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || !find("#keys-on").checked) return;
  if (event.target.matches("input:not([type=checkbox]), textarea, dialog *")) return;
  const hit = document.activeElement?.closest?.(".hit");
  const press = (selector) => { if (hit) find(selector, hit)?.click(); };
  const actions = {
    "/": () => query.focus(), "?": () => find("#help").showModal(),
    j: () => step(1), k: () => step(-1), l: () => step(1, true), h: () => step(-1, true),
    y: () => press(".yes"), n: () => press(".no"), e: () => press(".more"), c: () => press(".copy"), w: () => press(".why summary"),
  };
  if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
}

function onDrop() {
  const shade = find("#drop");
  const has = (event) => event.dataTransfer?.types.includes("Files") && !readOnly;
  addEventListener("dragover", (event) => { if (has(event)) { event.preventDefault(); shade.hidden = false; } });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) shade.hidden = true; });
  addEventListener("drop", (event) => {
    shade.hidden = true;
    if (has(event)) { event.preventDefault(); shelf.add(event.dataTransfer.files); }
  });
}

async function start() {
  shelf.onChange(showCollection);
  find("#asking").addEventListener("submit", ask);
  find("#gap").addEventListener("click", gap);
  for (const one of document.querySelectorAll("#examples button")) {
    one.addEventListener("click", (event) => { query.value = one.textContent; ask(event); });
  }
  find("#book").addEventListener("change", (event) => shelf.pick(event.target.value));
  find("#again-now").addEventListener("click", () => { showBest(shelf.current()); ask(); });
  find("#giving").addEventListener("submit", () => { api.remember(find("#secret").value.trim()); location.reload(); });
  addEventListener("popstate", () => { if (!location.hash) restore(); });
  find("#help-open").addEventListener("click", () => find("#help").showModal());
  find("#file").addEventListener("change", async (event) => { await shelf.add([...event.target.files]); event.target.value = ""; });
  find("#adding").addEventListener("submit", (event) => event.preventDefault());
  for (const [id, what] of [["save-csv", "csv"], ["save-table", "table"], ["save-run", "trec"], ["save-qrels", "qrels"], ["save-topics", "topics"]]) find(`#${id}`).addEventListener("click", () => save(what));
  const keys = find("#keys-on");
  keys.checked = localStorage.getItem("keys") !== "off";
  keys.addEventListener("change", () => localStorage.setItem("keys", keys.checked ? "on" : "off"));
  addEventListener("keydown", onKey);
  addEventListener("pointerdown", (event) => { if (!event.target.closest("#options")) find("#options").open = false; });
  addEventListener("hashchange", () => { const hit = location.hash.length > 1 && document.getElementById(location.hash.slice(1)); if (hit) find("article", hit)?.focus({ preventScroll: true }); });
  onDrop();
  try {
    const health = await api.get("/health");
    find("#most").textContent = String(health.limits.upload / 1e6);
    readOnly = health.public;
    if (readOnly) { shelf.lock(); for (const id of ["save-table", "save-qrels", "save-topics"]) find(`#${id}`).hidden = true; }
    await shelf.load();
    await restore();
  } catch (error) { refused(error); }
}

start();
