/* What the page does beside links and forms: it shows new events, copies links, and moves the focus
   through lists with the arrow keys. Everything else works without it. */
"use strict";

const MOST_ROWS = 200;
const ANNOUNCE_MS = 5000;

function copyText(button, text) {
  const label = button.textContent;
  navigator.clipboard.writeText(text).then(
    () => { button.textContent = "Copied"; },
    () => { window.prompt("Copy it:", text); },
  );
  setTimeout(() => { button.textContent = label; }, 1500);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.copy !== undefined) copyText(button, button.dataset.copy);
  if (button.dataset.copyLink !== undefined) copyText(button, location.href);
});

/* -- keys */

document.addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && !isTyping) {
    event.preventDefault();
    (document.getElementById("words") || document.getElementById("find")).focus();
    return;
  }
  const row = event.target.closest && event.target.closest(".event");
  if (!row || isTyping || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) return;
  const next = event.key === "ArrowDown" ? row.nextElementSibling : row.previousElementSibling;
  const link = next && next.querySelector(".subject a");
  if (link) {
    event.preventDefault();
    link.focus();
  }
});

/* -- live */

function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;  // the server has escaped every value; scripts in it would not run
  return template.content.firstElementChild;
}

/* The events of all sessions, the newest first. */
class Feed {
  constructor(state) {
    this.state = state;
    this.list = document.getElementById("feed");
    this.announcer = document.getElementById("announce");
    this.pauseButton = document.getElementById("pause");
    this.source = null;
    this.isPaused = false;
    this.hasMissed = false;
    this.unannounced = { events: 0, denials: 0 };
    this.newest = Math.max(0, ...[...this.list.children].map((row) => Number(row.dataset.id)));
    this.state.hidden = false;
    this.pauseButton.hidden = false;
    this.pauseButton.addEventListener("click", () => this.togglePause());
    setInterval(() => this.announce(), ANNOUNCE_MS);
    // A browser has six connections to a server: pages that are not visible leave them to others.
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.close();
      else this.open();
    });
  }

  open() {
    this.close();
    const address = new URL(this.state.dataset.live, location.href);
    address.searchParams.set("after", this.newest);
    const source = new EventSource(address);
    this.source = source;
    source.onopen = () => this.show("open", "live");
    source.onmessage = (message) => this.take(JSON.parse(message.data));
    source.onerror = () => {
      this.show("lost", "connection lost; trying again");
      if (source.readyState === EventSource.CLOSED) {  // refused: the browser does not try again
        setTimeout(() => { if (this.source === source) this.open(); }, 2000);
      }
    };
  }

  close() {
    if (this.source) this.source.close();
    this.source = null;
  }

  show(name, text) {
    this.state.className = `live-state ${name}`;
    if (this.state.textContent !== text) this.state.textContent = text;
  }

  take(update) {
    this.describe(update);
    if (!this.isPaused) {
      this.add(update);
    } else if (update.rows.length) {
      this.hasMissed = true;
      this.pauseButton.textContent = "Continue (new events wait)";
    }
  }

  describe(update) {
    if (update.sessions !== undefined) document.getElementById("sessions").innerHTML = update.sessions;
  }

  add(update) {
    if (update.skipped) this.addGap(update);
    for (const entry of update.rows) this.addRow(entry);
    const nothing = document.getElementById("nothing");
    if (nothing && update.rows.length) nothing.remove();
    this.trim();
  }

  addRow(entry) {
    const { id, verdict, html } = entry;
    const row = parse(html);
    const known = document.getElementById(`event-${id}`);
    if (known) {
      if (known.dataset.verdict !== verdict) known.replaceWith(row);
      return;
    }
    this.place(row, entry);
    if (id > this.newest) {
      row.classList.add("new");
      this.newest = id;
      this.unannounced.events += 1;
      if (verdict === "deny" || verdict === "stop") this.unannounced.denials += 1;
    }
  }

  place(row, { id }) {
    let next = this.list.firstElementChild;
    while (next && Number(next.dataset.id) > id) next = next.nextElementSibling;
    this.list.insertBefore(row, next);
  }

  /* Events that arrived at once, of which the server sends the latest only. */
  addGap(update) {
    const first = Math.min(...update.rows.map((entry) => entry.id));
    const gap = document.createElement("li");
    gap.className = "gap";
    gap.dataset.id = first - 1;
    gap.dataset.count = update.skipped;
    const link = document.createElement("a");
    link.href = `/search?before=${first}`;
    link.textContent = `${update.skipped.toLocaleString("en")} more events`;
    gap.append(link);
    this.place(gap, { id: first - 1 });
    this.unannounced.events += update.skipped;
  }

  trim() {
    while (this.list.children.length > MOST_ROWS) this.list.lastElementChild.remove();
  }

  togglePause() {
    this.isPaused = !this.isPaused;
    this.pauseButton.setAttribute("aria-pressed", String(this.isPaused));
    this.pauseButton.textContent = this.isPaused ? "Continue" : "Pause";
    if (!this.isPaused && this.hasMissed) this.open();  // the server sends what was missed
    this.hasMissed = false;
  }

  announce() {
    const { events, denials } = this.unannounced;
    if (!events) return;
    const denied = denials ? `, ${denials} denied` : "";
    this.announcer.textContent = `${events} new event${events === 1 ? "" : "s"}${denied}`;
    this.unannounced = { events: 0, denials: 0 };
  }
}

/* The events of one session, the newest last. */
class SessionFeed extends Feed {
  constructor(state) {
    super(state);
    this.newest = Number(new URL(state.dataset.live, location.href).searchParams.get("after"));
    this.earlier = document.getElementById("skipped");
  }

  describe(update) {
    this.total = update.total;
    document.getElementById("facts").innerHTML = update.facts;
  }

  add(update) {
    if (update.clear) this.list.replaceChildren();
    super.add(update);
    const missing = this.total - this.list.children.length;
    this.earlier.hidden = missing <= 0;
    this.earlier.textContent = `${missing.toLocaleString("en")} earlier events, from the first one`;
  }

  place(row, { after }) {
    const previous = document.getElementById(`event-${after}`);
    if (previous) previous.after(row);
    else this.list.append(row);
  }

  trim() {
    while (this.list.children.length > MOST_ROWS) this.list.firstElementChild.remove();
  }
}

const state = document.getElementById("live-state");
if (state) {
  const isSession = state.dataset.live.includes("?");
  const feed = isSession ? new SessionFeed(state) : new Feed(state);
  if (!document.hidden) feed.open();
}
