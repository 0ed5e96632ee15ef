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

class Feed {
  constructor(state) {
    this.state = state;
    this.list = document.getElementById("feed");
    this.sessions = document.getElementById("sessions");
    this.skipped = document.getElementById("skipped");
    this.announcer = document.getElementById("announce");
    this.pauseButton = document.getElementById("pause");
    this.isPaused = false;
    this.waiting = [];
    this.unannounced = { events: 0, denials: 0 };
    this.newest = Math.max(0, ...[...this.list.children].map((row) => Number(row.dataset.id)));
    this.pauseButton.hidden = false;
    this.pauseButton.addEventListener("click", () => this.togglePause());
    setInterval(() => this.announce(), ANNOUNCE_MS);
  }

  open() {
    const source = new EventSource(`${this.state.dataset.live}?after=${this.newest}`);
    source.onopen = () => this.show("open", "live");
    source.onmessage = (message) => this.take(JSON.parse(message.data));
    source.onerror = () => {
      this.show("lost", "connection lost; trying again");
      if (source.readyState === EventSource.CLOSED) {  // refused: the browser does not try again
        source.close();
        setTimeout(() => this.open(), 2000);
      }
    };
  }

  show(name, text) {
    this.state.className = `live-state ${name}`;
    if (this.state.textContent !== text) this.state.textContent = text;
  }

  take(update) {
    if (update.running !== undefined) this.sessions.innerHTML = update.running;
    if (this.isPaused) {
      this.waiting.push(update);
      if (this.waiting.length > 100) this.waiting.shift();
      this.pauseButton.textContent = "Continue (new events wait)";
      return;
    }
    this.add(update);
  }

  add(update) {
    for (const { id, verdict, html } of update.rows) {
      const row = parse(html);
      const known = document.getElementById(`event-${id}`);
      if (known) {
        if (known.dataset.verdict !== verdict) known.replaceWith(row);
        continue;
      }
      this.place(row, id);
      if (id > this.newest) {
        row.classList.add("new");
        this.newest = id;
        this.unannounced.events += 1;
        if (verdict === "deny" || verdict === "stop") this.unannounced.denials += 1;
      }
    }
    if (update.skipped) {
      this.unannounced.events += update.skipped;
      this.skipped.hidden = false;
      this.skipped.textContent = `${update.skipped} earlier events arrived at once; they are in their sessions.`;
    }
    if (update.rows.length) {
      const nothing = document.getElementById("nothing");
      if (nothing) nothing.remove();
    }
    while (this.list.children.length > MOST_ROWS) this.list.lastElementChild.remove();
  }

  place(row, id) {
    let next = this.list.firstElementChild;
    while (next && Number(next.dataset.id) > id) next = next.nextElementSibling;
    this.list.insertBefore(row, next);
  }

  togglePause() {
    this.isPaused = !this.isPaused;
    this.pauseButton.setAttribute("aria-pressed", String(this.isPaused));
    this.pauseButton.textContent = this.isPaused ? "Continue" : "Pause";
    if (!this.isPaused) this.waiting.splice(0).forEach((update) => this.add(update));
  }

  announce() {
    const { events, denials } = this.unannounced;
    if (!events) return;
    const denied = denials ? `, ${denials} denied` : "";
    this.announcer.textContent = `${events} new event${events === 1 ? "" : "s"}${denied}`;
    this.unannounced = { events: 0, denials: 0 };
  }
}

const state = document.getElementById("live-state");
if (state) new Feed(state).open();
