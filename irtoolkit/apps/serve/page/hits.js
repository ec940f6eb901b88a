// Passages that were found: their text, place and explanation, and what readers say of them.

import * as api from "./api.js";
import { find, make, number, percent, say, warn } from "./dom.js";

const NAMES = { words: "By words", meaning: "By meaning", both: "Both together" };
export const nameOf = (system) => NAMES[system];

function sentence(one, nearest) {
  const parts = one.pieces.map((piece, place) => (place % 2 ? make("mark", {}, piece) : piece));
  return make("span", { class: nearest ? "nearest" : null }, ...parts);
}

// Sentences as paragraphs; in Chinese and Japanese no space is between two.
function prose(sentences, kind, lang, best = null) {
  const gap = lang === "zh" || lang === "ja" ? "" : " ";
  const paragraphs = [];
  for (const one of sentences) {
    if (!paragraphs.length || one.paragraph) paragraphs.push([]);
    const last = paragraphs.at(-1);
    if (last.length) last.push(gap);
    last.push(sentence(one, one.number === best));
  }
  return make("div", { class: kind }, ...paragraphs.map((parts) => make("p", {}, ...parts)));
}

function text(hit, lang) {
  let best = null;
  if (hit.sentences.length > 1 && hit.sentences[0].similarity !== null) {
    best = hit.sentences.reduce((a, b) => (b.similarity > a.similarity ? b : a)).number;
  }
  const parts = [];
  if (hit.before.length) parts.push(prose(hit.before, "around", lang));
  parts.push(prose(hit.sentences, "own", lang, best));
  if (hit.after.length) parts.push(prose(hit.after, "around", lang));
  return parts;
}

export function where(hit, several) {
  const { chapter, sentence: place, share } = hit.place;
  const parts = several ? [hit.title] : [];
  if (chapter) parts.push(chapter);
  parts.push(`sentence ${number(chapter ? place : hit.sentences[0].number + 1)}`, percent(share));
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
  const { grade: before, judged } = hit;
  hit.grade = before === grade ? null : grade;
  // What is withdrawn is the judgment that counts, which may be of a passage that overlaps this one.
  const passage = hit.grade === null ? judged : hit.id;
  hit.judged = hit.grade === null ? null : hit.id;
  showGrade(hit, item);
  try {
    await api.send("/judgments", { collection: hit.collection, query: state.query, passage, grade: hit.grade, system: state.system, rank: hit.rank });
    say({ 1: "Recorded: this is it.", 0: "Recorded: not this." }[hit.grade] ?? "Withdrawn.");
    state.judged(hit, passage);
  } catch (error) {
    Object.assign(hit, { grade: before, judged });
    showGrade(hit, item);
    warn(`Not recorded: ${error.message}`);
  }
}

// Whether two passages share half of the sentences of the shorter one.
export function overlap(one, other) {
  const [a, b] = [one, other].map(({ sentences }) => [sentences[0].number, sentences.length]);
  const shared = Math.min(a[0] + a[1], b[0] + b[1]) - Math.max(a[0], b[0]);
  return one.book === other.book && 2 * shared >= Math.min(a[1], b[1]);
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
