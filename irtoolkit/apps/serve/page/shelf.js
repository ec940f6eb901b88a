// The shelf: collections, books that are added, and how far they are prepared.

import * as api from "./api.js";
import * as bookApi from "./books.js";
import { count, find, make, number, say, warn } from "./dom.js";

const known = new Map();
const followed = new Set();
let chosen = null;
let changed = () => {};

export const current = () => known.get(chosen) || null;
export function onChange(action) { changed = action; }

export async function load() {
  const listed = await api.get("/collections");
  known.clear();
  for (const one of listed) known.set(one.id, one);
  if (!known.has(chosen)) {
    const last = localStorage.getItem("collection");
    chosen = known.has(last) ? last : (listed[0]?.id ?? null);
  }
  show();
  for (const one of listed) watch(one.id);
}

// Books of one title are told apart by their files.
function nameOf(one) {
  const same = [...known.values()].filter((other) => other.title === one.title);
  return same.length > 1 && one.file ? `${one.title} (${one.file})` : one.title;
}

const LANGUAGES = new Intl.DisplayNames(["en"], { type: "language" });

function about(one) {
  const words = one.books.reduce((sum, book) => sum + book.words, 0);
  const unit = `${one.lang === "zh" || one.lang === "ja" ? "character" : "word"}${words === 1 ? "" : "s"}`;
  if (!one.books.length) return "cannot be read";
  const parts = one.books.length > 1 ? [`${one.books.length} books`] : one.books[0].author ? [one.books[0].author] : [];
  parts.push(`${number(words)} ${unit}`);
  if (one.lang && one.lang !== "en") parts.push(LANGUAGES.of(one.lang));
  const odd = one.books.find((book) => book.encoding !== "utf-8");
  if (odd) parts.push(`read as ${odd.encoding}`);
  return parts.join(" · ");
}

const STAGES = {
  waiting: "Waits to be prepared", words: "Indexing words", meaning: "Ready for words; meaning comes next",
  loading: "Ready for words; the model that compares meaning is being loaded",
};

function preparing(one) {
  const { stage, done, total, message } = one.progress;
  if (stage === "ready") return null;
  if (stage === "failed") return make("p", { class: "preparing" }, one.books.length ? `Could not be prepared: ${message}` : message);
  const label = stage === "meaning" && done ? `Ready for words; meaning: ${number(done)} of ${number(total)} sentences` : STAGES[stage];
  const bar = make("progress", { max: total || 1, "aria-label": `Preparing ${one.title}` });
  if (stage === "meaning") bar.value = done;
  return make("div", { class: "preparing" }, label, bar);
}

function item(one) {
  const pick = make("button", { type: "button", class: "pick", "aria-pressed": String(one.id === chosen), onclick: () => choose(one.id) },
    make("span", { class: "name", lang: one.lang }, nameOf(one)), make("span", { class: "about" }, about(one)));
  const parts = [pick];
  if (one.removable && !readOnly) {
    parts.push(make("button", { type: "button", class: "remove", "aria-label": `Remove ${nameOf(one)}`, title: "Remove", onclick: () => drop(one) }, "×"));
  }
  return make("li", { class: `book${one.removable ? " removable" : ""}`, "data-id": one.id }, ...parts, preparing(one));
}

let readOnly = false;
export function lock() { readOnly = true; find("#adding").hidden = true; }

// Chooses a collection; whether it is on the shelf.
export function pick(id) {
  if (known.has(id)) choose(id);
  return known.has(id);
}

function show() {
  const menu = find("#book");
  menu.replaceChildren(...[...known.values()].map((one) => make("option", { value: one.id, selected: one.id === chosen }, nameOf(one))));
  find("#in-book").hidden = !known.size;
  const list = find("#books");
  const focused = document.activeElement?.closest?.(".book")?.dataset.id;
  list.replaceChildren(...[...known.values()].map(item));
  if (focused) find(`.book[data-id="${focused}"] .pick`)?.focus();
  find("#no-books").hidden = known.size > 0;
  changed(current());
}

function choose(id) {
  chosen = id;
  localStorage.setItem("collection", id);
  show();
}

async function drop(one) {
  if (!confirm(`Remove “${nameOf(one)}” from the shelf? Judgments of it are kept.`)) return;
  try {
    await bookApi.remove(one.id);
    known.delete(one.id);
    if (chosen === one.id) chosen = [...known.keys()][0] ?? null;
    show();
    say(`${one.title} was removed.`);
    find("#file").focus();
  } catch (error) { warn(error.message); }
}

async function watch(id) {
  const one = known.get(id);
  if (!one || ["ready", "failed"].includes(one.progress.stage) || followed.has(id)) return;
  followed.add(id);
  try {
    let stage = one.progress.stage, newest = 0;
    await bookApi.follow(id, async (progress) => {
      const now = known.get(id);
      if (!now) return;
      now.progress = progress;
      const line = find(`.book[data-id="${id}"]`);
      line?.querySelector(".preparing")?.remove();
      const shown = preparing(now);
      if (shown) line?.append(shown);
      const begins = progress.done > 0 && progress.stage === "meaning" && !now.systems.includes("meaning");
      if (progress.stage !== stage || begins) {
        const isNew = progress.stage !== stage;
        stage = progress.stage;
        if (isNew && ["loading", "meaning"].includes(stage)) say(`${now.title} can be searched by words; meaning follows.`);
        if (stage === "ready") say(`${now.title} is ready.`);
        if (stage === "failed") warn(`${now.title} could not be prepared: ${progress.message}`);
        // Answers may come in another order than they were asked for.
        const own = ++newest;
        const fresh = await api.get(`/collections/${id}`);
        if (own !== newest || !known.has(id)) return;
        known.set(id, fresh);
        changed(current());
      }
    });
  } catch (error) {
    if (error.status !== 404) warn(error.message);
  } finally { followed.delete(id); }
}

export async function add(files) {
  warn("");
  for (const file of files) {
    const most = Number(find("#most").textContent);
    if (file.size > most * 1e6) {
      warn(`${file.name} has ${Math.ceil(file.size / 1e6)} MB; a book has at most ${most}.`);
      continue;
    }
    say(`Adding ${file.name} …`);
    try {
      const one = await bookApi.add(file);
      known.set(one.id, one);
      chosen = one.id;
      localStorage.setItem("collection", one.id);
      show();
      say(`${one.title} was added: ${count(one.books[0].sentences, "sentence")}, ${count(one.books[0].chapters.length, "chapter")}.`);
      watch(one.id);
    } catch (error) {
      say("");
      warn(`${file.name}: ${error.message}`);
    }
  }
}
