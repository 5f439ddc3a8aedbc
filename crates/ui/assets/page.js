// What the server cannot do: ages that move, views that change without a reload, and the keyboard.

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
    if (name !== "open" && name !== "tabindex" && !next.hasAttribute(name)) old.removeAttribute(name);
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

function follow(main) {
  const events = new EventSource(main.dataset.live);
  const stopped = document.getElementById("stopped");
  events.onopen = () => (stopped.hidden = true);
  events.onerror = () => (stopped.hidden = false);
  events.onmessage = ({ data }) => {
    const next = document.createElement("main");
    next.innerHTML = data;
    morphChildren(main, next);
    showTimes();
    document.documentElement.dataset.updated = String(performance.now());
  };
  addEventListener("pagehide", () => events.close());
}

function keyboard(event) {
  const typing = event.target.matches("input, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && typing) return event.target.blur();
  if (typing) return;
  if (event.key === "/") {
    event.preventDefault();
    document.querySelector(".find input")?.focus();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const links = [...document.querySelectorAll(".tree .row a, .found .row a, .operations .line a, .timeline .when a")];
    if (!links.length) return;
    event.preventDefault();
    const here = links.indexOf(document.activeElement);
    const step = event.key === "ArrowDown" ? 1 : -1;
    links[here < 0 ? 0 : Math.min(links.length - 1, Math.max(0, here + step))].focus();
  } else if ("123".includes(event.key)) {
    document.querySelectorAll(".tabs a")[Number(event.key) - 1]?.click();
  }
}

function dropFiles(field) {
  field.addEventListener("dragover", (event) => event.preventDefault());
  field.addEventListener("drop", async (event) => {
    event.preventDefault();
    const texts = await Promise.all([...event.dataTransfer.files].map((file) => file.text()));
    if (texts.length) field.value = texts.join("\n---\n");
  });
}

const main = document.querySelector("main");
showTimes();
setInterval(showTimes, 1000);
addEventListener("keydown", keyboard);
if (main.dataset.live) follow(main);
const field = document.getElementById("manifest");
if (field) dropFiles(field);
