// What this tab has judged, so that it can be undone after the page was loaded anew, too.

const MOST = 500;

export class Undo {
  constructor(key) {
    this.name = `undo-${key}`;
    try { this.done = JSON.parse(sessionStorage.getItem(this.name)) || []; } catch { this.done = []; }
  }

  empty() { return !this.done.length; }

  last() { return this.done[this.done.length - 1]; }

  add(one) { this.done = [...this.done, one].slice(-MOST); this.keep(); }

  drop() { this.done.pop(); this.keep(); }

  keep() { sessionStorage.setItem(this.name, JSON.stringify(this.done)); }
}
