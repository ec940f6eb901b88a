// Passages that were found: their text, place and explanation, and what readers say of them.

import * as api from "./api.js";
import { find, make, number, percent, say, warn } from "./dom.js";

// Characters of a passage that a phone shows first; those of Chinese and Japanese are twice as wide.
const SMALL = 700;
const NAMES = { words: "By words", meaning: "By meaning", both: "Both together" };
export const nameOf = (system) => NAMES[system];

const lengthOf = (one) => one.pieces.reduce((sum, piece) => sum + piece.length, 0);

function sentence(one, kind) {
  const parts = one.pieces.map((piece, place) => (place % 2 ? make("mark", {}, piece) : piece));
  return make("span", { class: kind || null }, ...parts);
}

// Sentences as paragraphs; in Chinese and Japanese no space is between two.
function prose(sentences, kind, lang, kindOf = () => "") {
  const gap = lang === "zh" || lang === "ja" ? "" : " ";
  const paragraphs = [];
  for (const one of sentences) {
    if (!paragraphs.length || one.paragraph) paragraphs.push([]);
    const last = paragraphs.at(-1);
    if (last.length) last.push(gap);
    last.push(sentence(one, kindOf(one)));
  }
  return make("div", { class: kind }, ...paragraphs.map((parts) => make("p", {}, ...parts)));
}

// The sentences that a small screen shows first: those around the most telling one, as far as they fit.
function core(sentences, weight, most) {
  let first = sentences.indexOf(sentences.reduce((a, b) => (weight(b) > weight(a) ? b : a))), last = first;
  let room = most - lengthOf(sentences[first]);
  for (let grown = true; grown;) {
    grown = false;
    for (const next of [last + 1, first - 1]) {
      if (!sentences[next] || lengthOf(sentences[next]) > room) continue;
      room -= lengthOf(sentences[next]);
      first = Math.min(first, next);
      last = Math.max(last, next);
      grown = true;
    }
  }
  return sentences.slice(first, last + 1);
}

function text(hit, lang) {
  const compared = hit.sentences[0].similarity !== null;
  const weight = (one) => (compared ? one.similarity : one.pieces.length);
  const nearest = compared && hit.sentences.length > 1 ? hit.sentences.reduce((a, b) => (weight(b) > weight(a) ? b : a)) : null;
  const shown = core(hit.sentences, weight, lang === "zh" || lang === "ja" ? SMALL / 2 : SMALL);
  const kindOf = (one) => [one === nearest && "nearest", !shown.includes(one) && "spare", one === shown[0] && one !== hit.sentences[0] && "cut-before",
    one === shown.at(-1) && one !== hit.sentences.at(-1) && "cut-after"].filter(Boolean).join(" ");
  const parts = [];
  if (hit.before.length) parts.push(prose(hit.before, "around", lang));
  parts.push(prose(hit.sentences, "own", lang, kindOf));
  if (hit.after.length) parts.push(prose(hit.after, "around", lang));
  return parts;
}

export function where(hit, several) {
  const { chapter, sentence: place, share } = hit.place;
  const parts = several ? [hit.title] : [];
  if (chapter) parts.push(chapter);
  parts.push(`sentence ${number(chapter ? place : hit.sentences[0].number + 1)}`, `${percent(share)} into the book`);
  return parts.join(" · ");
}

export function citation(hit, lang) {
  const gap = lang === "zh" || lang === "ja" ? "" : " ";
  const words = hit.sentences.map((one) => one.pieces.join("")).join(gap);
  const source = [hit.author, hit.title, hit.place.chapter].filter(Boolean).join(", ");
  const last = hit.sentences.at(-1).number + 1;
  return `“${words}” (${source}, sentences ${number(hit.sentences[0].number + 1)}–${number(last)} of the book)`;
}

async function widen(hit, state, place, button) {
  state.around = Math.min(50, Math.max(5, state.around * 2));
  button.disabled = true;
  try {
    const path = `/passages/${hit.collection}/${encodeURIComponent(hit.id)}?before=${state.around}&after=${state.around}`;
    const more = await api.get(path);
    hit.before = more.before;
    hit.after = more.after;
    place.replaceChildren(...text(hit, state.lang));
    place.classList.add("wide");
    const edge = more.before.length + more.after.length;
    say(`${number(edge)} sentences around passage ${hit.rank}.`);
    button.disabled = state.around >= 50;
  } catch (error) { warn(error.message); button.disabled = false; }
}

async function judge(hit, state, grade, item) {
  const before = hit.grade, now = before === grade ? null : grade;
  hit.grade = now;
  showGrade(hit, item);
  try {
    const answer = await api.send("/judgments", { collection: hit.collection, query: state.query, passage: hit.id, grade: now, seen: before, system: state.system, rank: hit.rank, shown: state.shown });
    say({ 1: "Recorded: this is it.", 0: "Recorded: not this." }[now] ?? "Withdrawn.");
    // A judgment counts for passages that overlap, too: the server says for which.
    state.judged((await answer.json()).grades);
  } catch (error) {
    hit.grade = before;
    showGrade(hit, item);
    warn(`Not recorded: ${error.message}`);
  }
}

export function showGrade(hit, item) {
  find(".yes", item)?.setAttribute("aria-pressed", String(hit.grade === 1));
  find(".no", item)?.setAttribute("aria-pressed", String(hit.grade === 0));
  item.classList.toggle("judged-no", hit.grade === 0);
}

async function copy(hit, lang) {
  try {
    await navigator.clipboard.writeText(citation(hit, lang));
    say("Copied with its citation.");
  } catch { warn("The browser does not let the page copy. Select the text instead."); }
}

// Marks the words of a passage that are nearest in meaning.
export function markNear(item, words) {
  const listed = words.map((one) => `${one.word} (${one.similarity.toFixed(2)})`).join(", ");
  const why = find(".why", item);
  if (!listed || !why || find(".near-words", why)) return;
  why.append(make("p", { class: "near-words" }, `Nearest words, with their similarity: ${listed}.`));
  const wanted = words.slice(0, 3).map((one) => one.word);
  for (const span of item.querySelectorAll(".own span")) {
    for (const node of [...span.childNodes]) {
      if (node.nodeType !== Node.TEXT_NODE) continue;
      const pieces = split(node.data, wanted);
      if (pieces.length > 1) node.replaceWith(...pieces.map((piece, place) => (place % 2 ? make("span", { class: "near", title: "near in meaning" }, piece) : piece)));
    }
  }
}

function split(textOf, wanted) {
  const escaped = wanted.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const west = wanted.every((word) => /^[\p{Script=Latin}'’]+$/u.test(word));
  return textOf.split(new RegExp(west ? `(?<![\\p{L}])(${escaped.join("|")})(?![\\p{L}])` : `(${escaped.join("|")})`, "iu"));
}

export function render(hit, state) {
  const place = make("div", { class: "text", lang: state.lang }, ...text(hit, state.lang));
  const item = make("li", { class: "hit", id: `${state.system}-${hit.rank}` });
  const more = make("button", { type: "button", class: "quiet more", onclick: () => widen(hit, state, place, more) }, "More around");
  const actions = make("div", { class: "actions" });
  if (!state.readOnly) {
    actions.append(
      make("button", { type: "button", class: "yes", "aria-pressed": "false", onclick: () => judge(hit, state, 1, item) }, "This is it"),
      make("button", { type: "button", class: "no", "aria-pressed": "false", onclick: () => judge(hit, state, 0, item) }, "Not this"));
  }
  actions.append(more, make("button", { type: "button", class: "quiet copy", title: "Copy with its citation", onclick: () => copy(hit, state.lang) }, "Cite"));
  const badge = hit.shared.length ? null : make("span", { class: "badge" }, "shares no word");
  const head = make("div", { class: "hit-head" }, make("span", { class: "rank" }, String(hit.rank)),
    make("span", { class: "where" }, where(hit, state.several), badge ? " " : null, badge));
  const why = make("details", { class: "why", open: state.why }, make("summary", {}, "Why this passage"), make("p", {}, hit.explanation));
  item.append(make("article", { tabindex: "-1", "aria-label": `${nameOf(state.system)}, passage ${hit.rank}, ${where(hit, state.several)}` }, head, place, why, actions));
  showGrade(hit, item);
  return item;
}
