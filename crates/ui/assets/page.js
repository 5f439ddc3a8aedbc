// What the server cannot do: ages that move, views that change without a reload, a search while typing, and the keyboard.

const AGES = [[172800, 86400, "d"], [7200, 3600, "h"], [120, 60, "m"], [0, 1, "s"]];

function age(then) {
  const seconds = Math.max(0, Math.floor((Date.now() - then) / 1000));
  const [, length, unit] = AGES.find(([least]) => seconds >= least);
  return `${Math.floor(seconds / length)}${unit}`;
}

function showTimes() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const then = Date.parse(time.dateTime);
    if (Number.isNaN(then)) continue;
    const text = time.classList.contains("clock") ? new Date(then).toLocaleTimeString() : age(then);
    if (time.textContent !== text) time.textContent = text;
    if (!time.title) time.title = new Date(then).toLocaleString();
  }
}

const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.dataset.key : undefined);
// What readers do to an element, which an update leaves alone.
const KEPT = ["open", "tabindex"];

// Changes `old` into `next` and keeps every element that stays, so that focus, selection and open details survive.
function morph(old, next) {
  if (old.nodeType !== next.nodeType || old.nodeName !== next.nodeName || keyOf(old) !== keyOf(next)) {
    old.replaceWith(next);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!KEPT.includes(name) && !next.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (old.nodeName === "TIME") return;
  morphChildren(old, next);
}

function morphChildren(old, next) {
  const keyed = new Map([...old.children].map((child) => [keyOf(child), child]).filter(([key]) => key));
  let at = old.firstChild;
  for (const wanted of [...next.childNodes]) {
    const key = keyOf(wanted);
    const known = key && keyed.get(key);
    if (known) {
      keyed.delete(key);
      if (known !== at) old.insertBefore(known, at);
      else at = at.nextSibling;
      morph(known, wanted);
    } else if (!key && at && !keyOf(at) && at.nodeName === wanted.nodeName) {
      const here = at;
      at = at.nextSibling;
      morph(here, wanted);
    } else {
      if (key) wanted.classList.add("fresh");
      old.insertBefore(wanted, at);
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

let events;

// Shows the view of this address, and shows it again whenever it changes.
function follow(main, address) {
  events?.close();
  events = new EventSource(address);
  const stopped = document.getElementById("stopped");
  const pulse = document.getElementById("pulse");
  const heard = (isHeard) => {
    stopped.hidden = isHeard;
    pulse?.classList.toggle("lost", !isHeard);
    pulse?.setAttribute("aria-label", isHeard ? "live" : "not live");
  };
  events.onopen = () => heard(true);
  events.onerror = () => heard(false);
  events.onmessage = ({ data }) => {
    const next = document.createElement("main");
    next.innerHTML = data;
    morphChildren(main, next);
    showTimes();
  };
}

// Searches while the user types, without a reload.
function search(field) {
  let waiting;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const query = field.value ? `?q=${encodeURIComponent(field.value)}` : "";
      history.replaceState(null, "", `/${query}`);
      follow(document.querySelector("main"), `/live/${query}`);
    }, 200);
  });
}

const LINKS = ".tree .row a, .found .row a, .operations .line a, .timeline .when a, .planned h2 a";
const PLACES = { h: "/", o: "/operations", p: "/plan" };

function keyboard(event) {
  const typing = event.target.matches("input, textarea");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return event.target.form?.requestSubmit();
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && typing) return event.target.blur();
  if (typing && !(event.key === "ArrowDown" && event.target.matches(".find input"))) return;
  if (event.key === "/") {
    event.preventDefault();
    const field = document.querySelector(".find input");
    field?.focus();
    field?.select();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const links = [...document.querySelectorAll(LINKS)].filter((link) => link.offsetParent);
    if (!links.length || event.target.matches(".yaml")) return;
    event.preventDefault();
    const here = links.indexOf(document.activeElement);
    const step = event.key === "ArrowDown" ? 1 : -1;
    links[here < 0 ? 0 : Math.min(links.length - 1, Math.max(0, here + step))].focus();
  } else if ("123".includes(event.key)) {
    document.querySelectorAll(".tabs a")[Number(event.key) - 1]?.click();
  } else if (event.key === "u") {
    document.querySelector("[data-up]")?.click();
  } else if (event.key in PLACES) {
    location.assign(PLACES[event.key]);
  } else if (event.key === "?") {
    document.getElementById("keys")?.showModal();
  }
}

function dropFiles(field) {
  const over = (is) => (event) => {
    event.preventDefault();
    field.classList.toggle("over", is);
  };
  field.addEventListener("dragover", over(true));
  field.addEventListener("dragleave", over(false));
  field.addEventListener("drop", async (event) => {
    over(false)(event);
    const texts = await Promise.all([...event.dataTransfer.files].map((file) => file.text()));
    if (texts.length) field.value = texts.join("\n---\n");
  });
}

const main = document.querySelector("main");
showTimes();
setInterval(showTimes, 1000);
addEventListener("keydown", keyboard);
addEventListener("pagehide", () => events?.close());
// The page may come back as it was left.
addEventListener("pageshow", ({ persisted }) => persisted && main.dataset.live && follow(main, main.dataset.live));
if (main.dataset.live) follow(main, main.dataset.live);
const find = document.querySelector(".find input");
if (find && location.pathname === "/") search(find);
const field = document.getElementById("manifest");
if (field) dropFiles(field);
