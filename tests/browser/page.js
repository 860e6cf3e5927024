// Functions about the page that is open. The tests inject them, which no policy of the page forbids.

// tag#id.class "text"
function describe(element) {
  const text = (element.textContent ?? "").trim().replace(/\s+/g, " ");
  const id = element.id ? "#" + element.id : "";
  const classes = [...(element.classList ?? [])].map((name) => "." + name).join("");
  const short = text.length > 40 ? text.slice(0, 40) + "…" : text;
  return (element.localName ?? element.nodeName) + id + classes + (short && element !== document.body ? ` "${short}"` : "");
}

const isVisible = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
const visible = (css) => [...document.querySelectorAll(css)].filter(isVisible);

function* upwards(element) {
  for (; element; element = element.parentElement) yield element;
}

function structure() {
  const problems = [];
  const expect = (holds, problem) => holds || problems.push(problem);
  expect(document.title.trim(), "the document has no title");
  expect(document.documentElement.lang.trim(), "html has no lang");
  expect(document.querySelector("meta[name=viewport]"), "no meta viewport, so phones show a shrunken page");
  const headings = visible("h1,h2,h3,h4,h5,h6,[role=heading]");
  const level = (heading) => Number(heading.ariaLevel ?? heading.localName.slice(1));
  const tops = headings.filter((heading) => level(heading) === 1).length;
  expect(tops === 1, `${tops} headings of level 1 instead of one`);
  let before = 0;
  for (const heading of headings) {
    expect(level(heading) <= before + 1, `${describe(heading)}: level ${level(heading)} follows level ${before}`);
    before = level(heading);
  }
  const mains = visible("main,[role=main]").length;
  expect(mains === 1, `${mains} main landmarks instead of one`);
  expect(visible("nav,[role=navigation]").length, "no navigation landmark");
  for (const table of visible("table:not([role=presentation],[role=none])")) {
    const headers = [...table.querySelectorAll("th")];
    expect(headers.length, `${describe(table)}: a table without th`);
    for (const header of headers) expect(header.scope, `${describe(header)}: th without scope`);
  }
  return problems;
}

function width() {
  const room = document.scrollingElement.clientWidth, needed = document.scrollingElement.scrollWidth;
  if (needed <= room) return [];
  const scrolls = (element) => getComputedStyle(element).overflowX !== "visible";
  const within = (element) => [...upwards(element.parentElement)].some((e) => e !== document.body && e !== document.documentElement && scrolls(e));
  const wide = visible("body *").filter((e) => e.getBoundingClientRect().right + scrollX > room + 0.5 && !within(e));
  const innermost = wide.filter((e) => !wide.some((other) => other !== e && e.contains(other)));
  return [`the page is ${needed} px wide in a viewport of ${room}: ${innermost.slice(0, 3).map(describe).join(", ")}`];
}

// Colours are [red, green, blue, alpha], each of 0..1.
const colours = new Map();
function colour(text) {
  if (!colours.has(text)) {
    const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    colours.set(text, [...canvas.getImageData(0, 0, 1, 1).data].map((part) => part / 255));
  }
  return colours.get(text);
}
const mix = (top, under, share) => [0, 1, 2].map((i) => top[i] * share + under[i] * (1 - share));
const over = (top, under, opacity = 1) => mix(top, under, top[3] * opacity);
const show = (parts) => "#" + parts.slice(0, 3).map((part) => Math.round(part * 255).toString(16).padStart(2, "0")).join("");
function luminance(parts) {
  const [red, green, blue] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
function ratio(one, other) {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

// What lies under a page without a background: white, or what the browser has for dark pages.
function canvasColour() {
  const probe = document.documentElement.appendChild(document.createElement("i"));
  probe.style.color = "Canvas";
  const found = colour(getComputedStyle(probe).color);
  probe.remove();
  return found;
}

// [background, text] as painted; `chain` goes from html to the element, each with opacity for all that is in it.
function painted(chain, ink, under) {
  const [style, ...rest] = chain;
  if (!style) return [under, over(ink, under)];
  const parts = painted(rest, ink, over(colour(style.backgroundColor), under));
  return parts.map((part) => mix(part, under, Number(style.opacity)));
}

// Taken out of sight for screen readers' sake, or out of reach above or left of the page.
function isTuckedAway(element) {
  const box = element.getBoundingClientRect();
  if (box.right + scrollX <= 0 || box.bottom + scrollY <= 0) return true;
  return [...upwards(element)].some((e) => {
    const style = getComputedStyle(e), { width, height } = e.getBoundingClientRect();
    const clipped = style.overflow !== "visible" || style.clip !== "auto";
    return (clipped && (width <= 1 || height <= 1)) || /inset\((50|100)%/.test(style.clipPath);
  });
}

function contrast() {
  const inks = new Map(); // element -> the styles its texts have
  const note = (element, style) => inks.set(element, [...(inks.get(element) ?? []), style]);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { parentElement, data } = walker.currentNode;
    if (data.trim() && !inks.has(parentElement)) note(parentElement, getComputedStyle(parentElement));
  }
  for (const field of document.querySelectorAll("input:not([type=checkbox],[type=radio],[type=range],[type=color],[type=hidden]),textarea,select")) {
    note(field, getComputedStyle(field));
    if (field.placeholder) note(field, getComputedStyle(field, "::placeholder"));
  }
  const problems = [], canvas = canvasColour();
  for (const [element, styles] of inks) {
    if (!isVisible(element) || element.closest(":disabled,[aria-disabled=true]") || isTuckedAway(element)) continue;
    const chain = [...upwards(element)].map((e) => getComputedStyle(e));
    const opaque = chain.findIndex((style) => colour(style.backgroundColor)[3] === 1);
    const seen = chain.slice(0, opaque < 0 ? chain.length : opaque + 1);
    if (seen.some((style) => style.backgroundImage !== "none")) {
      problems.push(`${describe(element)}: a background image, so its contrast cannot be told`);
      continue;
    }
    const isDrawn = element instanceof SVGElement;
    const scale = isDrawn ? element.getScreenCTM?.()?.d ?? 1 : 1;
    for (const style of styles) {
      const opacity = isDrawn ? Number(style.fillOpacity) : 1;
      if (isDrawn && style.fill === "none") continue;
      const [red, green, blue, alpha] = colour(isDrawn ? style.fill : style.color);
      const [background, text] = painted(chain.toReversed(), [red, green, blue, alpha * opacity], canvas);
      const size = parseFloat(style.fontSize) * scale;
      const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
      const found = ratio(text, background);
      // Half a step of a colour's 8 bits is not held against it.
      if (found < needed - 0.01) {
        problems.push(`${describe(element)}: contrast ${found.toFixed(2)} of ${show(text)} on ${show(background)}, not ${needed}`);
      }
    }
  }
  return problems;
}

// What shows that an element has the focus.
function indicator(element) {
  const { outlineStyle, outlineWidth, outlineColor, boxShadow } = getComputedStyle(element);
  const isDrawn = outlineStyle !== "none" && parseFloat(outlineWidth) > 0 && colour(outlineColor)[3] > 0;
  return `${isDrawn ? [outlineStyle, outlineWidth, outlineColor] : "none"} ${boxShadow}`;
}

// Of a group of radio buttons, Tab visits the chosen one, or the first.
function isTabStop(element) {
  if (element.tabIndex < 0 || !isVisible(element) || element.matches(":disabled") || element.closest("[inert]")) return false;
  if (element.type !== "radio" || !element.name) return true;
  const group = [...document.getElementsByName(element.name)].filter((other) => other.form === element.form);
  return element === (group.find((other) => other.checked) ?? group[0]);
}

// Tab goes on from what had the focus last.
function focusTop() {
  document.body.tabIndex = -1;
  document.body.focus();
  document.body.blur();
  document.body.removeAttribute("tabindex");
  scrollTo(0, 0);
}

function focusStart() {
  const stops = document.querySelectorAll("a[href],area[href],button,input,select,textarea,summary,iframe,[tabindex],[contenteditable]");
  focusTop();
  const before = new Map([...stops].filter(isTabStop).map((stop) => [stop, indicator(stop)]));
  window.auditFocus = { before, visited: [] };
  return before.size;
}

// May be asked again, as long as the focus stays.
function focusStep() {
  const { before, visited } = window.auditFocus, element = document.activeElement;
  const isNew = element && element !== document.body && element !== document.documentElement && !visited.includes(element);
  if (!isNew && element !== visited.at(-1)) return { done: true, problems: [] };
  if (isNew) visited.push(element);
  const problems = [], box = element.getBoundingClientRect();
  const isInside = box.width > 0 && box.height > 0 && box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;
  if (!isInside || !isVisible(element)) problems.push(`${describe(element)}: has the focus out of sight`);
  if (indicator(element) === (before.get(element) ?? "none none")) problems.push(`${describe(element)}: nothing shows that it has the focus`);
  return { done: false, problems };
}

function focusEnd() {
  const { before, visited } = window.auditFocus;
  const missed = [...before.keys()].filter((stop) => stop.isConnected && !visited.includes(stop));
  const late = visited.filter((e, i) => i && visited[i - 1].compareDocumentPosition(e) & Node.DOCUMENT_POSITION_PRECEDING);
  focusTop();
  return [
    ...missed.map((stop) => `${describe(stop)}: Tab never gets there`),
    ...late.map((stop) => `${describe(stop)}: has the focus after what stands below it`),
  ];
}

function listen() {
  const live = "[aria-live]:not([aria-live=off]),[role=status],[role=alert],[role=log],output";
  const words = (region) => region.textContent.trim().replace(/\s+/g, " ");
  const said = new Map([...document.querySelectorAll(live)].map((region) => [region, words(region)]));
  window.auditChatter = 0;
  new MutationObserver((records) => {
    const touched = records.map(({ target }) => (target.nodeType === 1 ? target : target.parentElement)?.closest(live));
    for (const region of new Set(touched)) {
      if (!region || said.get(region) === words(region)) continue;
      window.auditChatter += 1;
      said.set(region, words(region));
    }
  }).observe(document.documentElement, { subtree: true, childList: true, characterData: true });
}
