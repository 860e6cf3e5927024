// Keeps the page that is open up to date. Without it the page is whole, and stands still.
//
// The server sends, once a second, the markup of what is live, the same that it would put into the page. What differs is
// changed in place, so that focus, selections and opened details stay.
"use strict";

const SILENCE_MS = 5000; // Longer than this without a word, and what is shown is stale.
const AGAIN_MS = 1000;

const live = document.getElementById("live");
const state = document.getElementById("state");
let source = null;
let heard = Date.now(); // The markup of the page is as fresh as the first event.
let opened = 0;

function sameKind(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || "") === (b.id || "");
}

function morph(old, wanted) {
  if (old.isEqualNode(wanted)) return;
  if (!sameKind(old, wanted)) return old.replaceWith(wanted);
  if (old.nodeType !== Node.ELEMENT_NODE) return void (old.nodeValue = wanted.nodeValue);
  for (const { name } of [...old.attributes]) {
    // Whether details are open is the reader's affair.
    if (!wanted.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const kept = new Set([...wanted.children].map((child) => child.id).filter(Boolean));
  const byId = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
  let at = old.firstChild;
  for (const child of [...wanted.childNodes]) {
    // What is gone makes room first: the rest must not move, or it would lose the focus.
    while (at && at.id && at.id !== child.id && !kept.has(at.id)) at = drop(at);
    const known = child.id ? byId.get(child.id) : at;
    if (known && known !== at && sameKind(known, child)) {
      old.insertBefore(known, at);
      morph(known, child);
    } else if (at && sameKind(at, child)) {
      const next = at.nextSibling;
      morph(at, child);
      at = next;
    } else {
      old.insertBefore(child, at);
    }
  }
  while (at) at = drop(at);
}

function drop(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

function show(event) {
  heard = Date.now();
  say("");
  const page = live.cloneNode(false);
  page.innerHTML = event.data;
  morph(live, page);
}

function say(text) {
  // Written only when it changes: a screen reader says it aloud.
  if (state.textContent !== text) state.textContent = text;
  document.body.classList.toggle("stale", text !== "");
}

function connect() {
  if (source) source.close();
  opened = Date.now();
  source = new EventSource(location.pathname + location.search);
  source.addEventListener("page", show);
}

// A page that nobody sees asks for nothing. One that was asleep is stale at once, and connects anew.
function watch() {
  const now = Date.now();
  if (document.hidden) {
    if (source) source.close();
    source = null;
    return;
  }
  if (now - heard > SILENCE_MS) {
    say(`Stale since ${new Date(heard).toLocaleTimeString()}: the dashboard does not answer. Trying again.`);
  }
  const isClosed = !source || source.readyState === EventSource.CLOSED;
  const isDeaf = now - Math.max(heard, opened) > 2 * SILENCE_MS;
  if ((isClosed && now - opened > AGAIN_MS) || isDeaf) connect();
}

// A page that says one thing has no stream.
if ("stream" in live.dataset) {
  setInterval(watch, 500);
  document.addEventListener("visibilitychange", () => document.hidden || connect());
  connect();
}
