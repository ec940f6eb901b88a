// The page of an annotator: shows a query and its documents, keeps judgments, and answers keys.

import * as api from "./api.js";
import { find, make, number, say, warn } from "./dom.js";
import { Undo } from "./undo.js";
import { texts } from "./texts.js";

let task = null;
let query = null; // { number, query, parts, documents: [{ document, grade, note, parts? }] }
let at = 0;
let list = false;
let busy = false;
let undo = null;

const documents = () => query.documents;
const current = () => documents()[at];
const open = (rows) => rows.findIndex((one) => one.grade === null);
const labelOf = (grade) => task.grades.find((one) => one.grade === grade)?.label ?? "";
const short = (label) => label.split(":")[0];

const post = (path, body) => api.call(path, {
  // A tab that is closed meanwhile still sends it.
  method: "POST", body: JSON.stringify(body), keepalive: true,
  headers: { "Content-Type": "application/json", "X-Session": task.key },
});

function explain(error) {
  warn(error.status === 401 ? "This server wants a token. Open the address that irtoolkit annotate printed." : error.message);
}

// -- showing ---------------------------------------------------------------------------------

function showProgress() {
  const done = task.queries.reduce((sum, one) => sum + one.judged, 0);
  find("#so-far-text").textContent = `${number(done)} of ${number(task.pairs)} judged`;
  find("#so-far").max = task.pairs;
  find("#so-far").value = done;
  const own = task.queries[query.number];
  find("#query-title").textContent = `Query ${number(query.number + 1)} of ${number(task.queries.length)}`;
  find("#query-count").textContent = `${number(own.judged)} of ${number(own.documents)} judged`;
  find("#query-back").disabled = query.number === 0;
  find("#query-on").disabled = query.number + 1 === task.queries.length;
  find("#undo").disabled = undo.empty();
}

const nameOf = (place) => `Document ${number(place + 1)}${documents()[place].grade === null ? "" : `, judged ${documents()[place].grade}`}`;

function chip(place) {
  const { grade } = documents()[place];
  const button = make("button", { type: "button", class: grade === null ? "" : "judged", tabindex: place === at ? "0" : "-1", "aria-current": place === at ? "true" : null, onclick: () => go(place) });
  button.append(make("span", { "aria-hidden": "true" }, String(place + 1), grade === null ? null : make("span", { class: "grade" }, `·${grade}`)), make("span", { class: "hidden-text" }, nameOf(place)));
  return button;
}

function showPool() {
  const pool = find("#pool");
  pool.replaceChildren(...documents().map((_, place) => chip(place)));
  // Not scrollIntoView, which would move the page, too.
  const now = pool.children[at];
  pool.scrollTo(now.offsetLeft - pool.offsetLeft - pool.clientWidth / 2, now.offsetTop - pool.offsetTop - pool.clientHeight / 2);
}

function showGrades() {
  for (const button of document.querySelectorAll("#grades button")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.grade) === current().grade));
  }
  find("#document-title").textContent = `Document ${number(at + 1)} of ${number(documents().length)}`;
  find("#back").disabled = at === 0;
  find("#on").disabled = at + 1 === documents().length;
  const note = find("#note");
  if (document.activeElement !== note || note.dataset.document !== current().document) note.value = current().note;
  note.dataset.document = current().document;
}

function card(place) {
  const one = documents()[place];
  const given = one.grade === null ? "" : `${one.grade}${labelOf(one.grade) ? ` ${short(labelOf(one.grade))}` : ""}`;
  const shown = make("article", { class: `document${place === at ? " now" : ""}`, "data-place": place, tabindex: "-1", "aria-label": nameOf(place), "aria-busy": one.parts ? null : "true" },
    make("p", { class: "about" }, make("span", { class: "place" }, `Document ${number(place + 1)}`), make("span", { class: "given" }, given)),
    make("div", { class: "text", lang: task.lang }, ...(one.parts ? texts(one.parts) : [make("p", { class: "field" }, "Loading …")])));
  if (list) shown.addEventListener("click", () => { if (place !== at) go(place, { scroll: false }); });
  return shown;
}

const cardAt = (place) => find(`.document[data-place="${place}"]`);

function showCard(place) {
  const focused = cardAt(place)?.contains(document.activeElement);
  const made = card(place);
  cardAt(place)?.replaceWith(made);
  if (focused) made.focus({ preventScroll: true });
  if (list && !documents()[place].parts) watching.observe(made);
}

async function load(place) {
  const { number: of } = query;
  const one = documents()[place];
  if (!one || one.parts) return;
  one.loading ??= api.get(`/queries/${of}/documents/${place}`);
  try {
    const found = await one.loading;
    if (found.document !== one.document) throw new Error("The server was started anew with another pool or annotator: load the page again.");
    one.parts = found.parts;
    if (query.number === of && documents()[place] === one) showCard(place);
  } catch (error) { one.loading = null; explain(error); }
}

// In the list, texts are fetched when they come near.
const watching = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting) { watching.unobserve(entry.target); load(Number(entry.target.dataset.place)); }
  }
}, { rootMargin: "600px" });

function showDocuments() {
  const place = find("#documents");
  place.classList.toggle("list", list);
  watching.disconnect();
  place.replaceChildren(...(list ? documents().map((_, i) => card(i)) : [card(at)]));
  if (list) for (const one of place.children) watching.observe(one);
  find("#view-one").setAttribute("aria-pressed", String(!list));
  find("#view-list").setAttribute("aria-pressed", String(list));
}

function showDone() {
  const done = find("#done");
  const left = open(documents()) >= 0;
  done.hidden = left;
  if (left) return;
  const more = task.queries.some((one) => one.judged < one.documents);
  find("#done-title").textContent = more ? "All documents of this query are judged" : "Everything is judged";
  find("#done-text").textContent = more ? "Judgments can still be changed." : `The judgments are in ${task.file}. They can still be changed; close the page when you are done.`;
  find("#done-on").hidden = !more;
}

// -- moving ----------------------------------------------------------------------------------

function go(place, { scroll = true, focus = true } = {}) {
  saveNote();
  const before = at;
  at = Math.max(0, Math.min(place, documents().length - 1));
  history.replaceState(null, "", `#${query.number + 1}/${at + 1}`);
  if (list) { for (const i of new Set([before, at])) showCard(i); } else showDocuments();
  showPool();
  showGrades();
  showProgress();
  showDone();
  load(at);
  load(at + 1);
  const shown = cardAt(at);
  if (focus) shown.focus({ preventScroll: true });
  if (!scroll) return;
  const top = shown.getBoundingClientRect().top;
  // On a small screen the documents have a part of the height, and scroll in it.
  const above = Math.max(parseFloat(getComputedStyle(shown).scrollMarginTop), find("#main").getBoundingClientRect().top);
  if (list || top < above || top > 0.7 * innerHeight) shown.scrollIntoView({ block: "start" });
}

async function openQuery(wanted, place = null) {
  saveNote();
  const found = await api.get(`/queries/${wanted}`);
  query = { ...found, number: wanted };
  at = 0;
  const asked = find("#query");
  asked.replaceChildren(...texts(query.parts));
  asked.classList.toggle("asked-in-part", find("strong", asked) !== null);
  asked.scrollTop = 0;
  showDocuments();
  go(place ?? Math.max(0, open(documents())));
}

const nextOpen = (from) => {
  const rows = documents();
  const after = open(rows.slice(from + 1));
  return after >= 0 ? from + 1 + after : open(rows);
};

function goOn(wasOpen) {
  const next = wasOpen ? nextOpen(at) : at + 1 < documents().length ? at + 1 : nextOpen(at);
  if (next >= 0) { go(next); return; }
  go(at, { scroll: false });
  const done = find("#done");
  done.scrollIntoView({ block: "nearest" });
  (find("#done-on").hidden ? find("#done-title") : find("#done-on")).focus?.();
}

async function nextQuery(by) {
  const wanted = query.number + by;
  if (wanted >= 0 && wanted < task.queries.length) await openQuery(wanted);
}

async function unfinished() {
  const count = task.queries.length;
  for (let i = 1; i <= count; i += 1) {
    const wanted = (query.number + i) % count;
    if (task.queries[wanted].judged < task.queries[wanted].documents) { await openQuery(wanted); return; }
  }
}

// -- judging ---------------------------------------------------------------------------------

async function keep(place, grade) {
  const one = documents()[place];
  const before = one.grade;
  await post("/judgments", { query: query.query, document: one.document, grade, before });
  one.grade = grade;
  task.queries[query.number].judged += (grade !== null) - (before !== null);
  return before;
}

// One at a time: a key that is pressed before the next document is shown judges nothing.
async function alone(action) {
  if (busy) return;
  busy = true;
  find("#grades").setAttribute("aria-busy", "true");
  try { warn(""); await action(); } catch (error) {
    say("");
    if (error.status === 409) await refresh().catch(() => {});
    explain(error.status === 0 ? { message: `Not kept. ${error.message}` } : error);
  } finally { busy = false; find("#grades").removeAttribute("aria-busy"); }
}

const judge = (grade) => alone(async () => {
  if (!current().parts) return;
  const place = at;
  if (current().grade === grade) { if (grade !== null) goOn(false); return; }
  await saveNote();
  const before = await keep(place, grade);
  undo.add({ number: query.number, document: current().document, before, after: grade });
  say(grade === null ? `Document ${place + 1}: withdrawn.` : `Document ${place + 1}: ${grade} is kept.`);
  if (grade === null) go(place, { scroll: false }); else goOn(before === null);
});

const takeBack = () => alone(async () => {
  const last = undo.last();
  if (!last) { say("There is nothing to undo."); return; }
  if (last.number !== query.number) await openQuery(last.number);
  const place = documents().findIndex((one) => one.document === last.document);
  if (documents()[place]?.grade !== last.after) {
    undo.drop();
    go(Math.max(0, place));
    say("This judgment has changed since, and stays.");
    return;
  }
  await keep(place, last.before);
  undo.drop();
  go(place);
  say(`Undone: document ${place + 1} is ${last.before === null ? "not judged" : last.before} again.`);
});

async function saveNote() {
  const input = find("#note");
  const one = query?.documents.find((row) => row.document === input.dataset.document);
  const written = input.value.trim().split(/\s+/).join(" ");
  if (!one || written === one.note) return;
  const before = one.note;
  one.note = written;
  try { await post("/notes", { query: query.query, document: one.document, note: written }); } catch (error) {
    one.note = before;
    explain({ message: `The note is not kept: ${error.message}` });
  }
}

// What another tab has judged meanwhile.
async function refresh() {
  const here = query.number;
  const [found, rows] = [await api.get("/task"), await api.get(`/queries/${here}`)];
  if (found.key !== task.key) { warn("The server was started anew with another pool or annotator: load the page again."); return; }
  task = found;
  if (query.number !== here) return;
  for (const [place, row] of rows.documents.entries()) {
    const own = documents()[place];
    const changed = own.grade !== row.grade;
    [own.grade, own.note] = [row.grade, find("#note").dataset.document === row.document && document.activeElement === find("#note") ? own.note : row.note];
    if (changed && cardAt(place)) showCard(place);
  }
  showPool();
  showGrades();
  showProgress();
  showDone();
}

// -- keys ------------------------------------------------------------------------------------

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !task) return;
  if (event.target === find("#note")) {
    if (event.key === "Enter" || event.key === "Escape") { event.preventDefault(); saveNote(); cardAt(at).focus({ preventScroll: true }); }
    return;
  }
  if (find("#help").open) return;
  const grade = /^[0-9]$/.test(event.key) && task.grades.find((one) => one.grade === Number(event.key));
  const actions = {
    j: () => go(at + 1), ArrowRight: () => go(at + 1), k: () => go(at - 1), ArrowLeft: () => go(at - 1),
    g: () => { const next = nextOpen(at); if (next >= 0) go(next); }, u: takeBack, x: () => judge(null),
    n: () => nextQuery(1).catch(explain), p: () => nextQuery(-1).catch(explain),
    e: () => find("#note").focus(), v: () => show(!list), "?": () => find("#help").showModal(),
  };
  const action = grade ? () => judge(grade.grade) : actions[event.key];
  if (!action) return;
  event.preventDefault();
  // A key that is held down judges one document.
  if (!event.repeat || /^[jk]|^Arrow/.test(event.key)) if (!busy) action();
}

function show(asList) {
  list = asList;
  sessionStorage.setItem("view", list ? "list" : "one");
  showDocuments();
  go(at);
}

function showTask() {
  document.title = `${task.title}: judge documents`;
  find("#title").textContent = task.title;
  find("#title").title = task.about;
  find("#annotator").textContent = task.annotator;
  find("#grades").replaceChildren(...task.grades.map(({ grade, label }) => make("button", { type: "button", "data-grade": grade, "aria-pressed": "false", "aria-label": label ? null : `Grade ${grade}`, title: label || null, onclick: () => judge(grade) }, make("kbd", {}, String(grade)), label ? " " : null, label ? make("span", { class: "what" }, short(label)) : null)));
  find("#help-grades").append(...task.grades.flatMap(({ grade }) => [make("kbd", {}, String(grade)), " "]));
  if (task.grades.some((one) => one.label)) {
    find("#meanings").replaceChildren(make("h2", {}, "Grades"), make("dl", {}, ...task.grades.flatMap(({ grade, label }) => [make("dt", {}, make("kbd", {}, String(grade))), make("dd", {}, label)])));
  }
}

async function start() {
  addEventListener("keydown", onKey);
  const clicks = {
    "#help-open": () => find("#help").showModal(), "#back": () => go(at - 1), "#on": () => go(at + 1), "#undo": takeBack,
    "#query-back": () => nextQuery(-1).catch(explain), "#query-on": () => nextQuery(1).catch(explain),
    "#view-one": () => show(false), "#view-list": () => show(true), "#done-on": () => unfinished().catch(explain),
  };
  for (const [selector, action] of Object.entries(clicks)) find(selector).addEventListener("click", () => { if (query) action(); });
  find("#note").addEventListener("change", () => saveNote());
  addEventListener("pagehide", () => { if (query) saveNote(); });
  document.addEventListener("visibilitychange", () => { if (!document.hidden && query && !busy) refresh().catch(explain); });
  try {
    task = await api.get("/task");
    undo = new Undo(task.key);
    list = sessionStorage.getItem("view") === "list";
    showTask();
    const [of, place] = location.hash.slice(1).split("/").map((part) => Number(part) - 1);
    const known = Number.isInteger(of) && task.queries[of] && place >= 0 && place < task.queries[of].documents;
    const first = task.queries.findIndex((one) => one.judged < one.documents);
    await (known ? openQuery(of, place) : openQuery(Math.max(0, first)));
  } catch (error) { explain(error); }
}

start();
