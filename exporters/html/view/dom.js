// Elements. A text from a recording becomes a text node or the value of an attribute, never markup.
const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

const MOST_SHOWN = 2000;

/** A text as long as the page shows it: names may have megabytes. The JSON report has all of it. */
function clip(text) {
  return text.length <= MOST_SHOWN ? text : `${text.slice(0, MOST_SHOWN)}\u2026 (${text.length - MOST_SHOWN} more)`;
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on"))
      element.addEventListener(name.slice(2), value);
    else if (name === "style")
      for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else
      element.setAttribute(name, value === true ? "" : name === "href" ? value : clip(String(value)));
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : clip(String(child)));
  }
  return element;
}

/** h("p", {class: "note"}, "text", element, ...) */
function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same in SVG. */
function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

/** A text for readers of the screen that the page does not show. */
function hidden(text) {
  return h("span", {class: "hidden"}, text);
}

function button(text, onclick, attributes) {
  return h("button", {type: "button", onclick, ...attributes}, text);
}

let lastId = 0;
function newId(prefix) {
  lastId += 1;
  return `${prefix}-${lastId}`;
}

// One tip for all charts: what a pointer is over. What it says is also in a table near the chart.
const tip = h("div", {class: "tip", hidden: true, "aria-hidden": "true"});

/** Shows rows of [label, value] while the pointer is over `element`. `rows` is called when it is needed. */
function withTip(element, title, rows) {
  element.addEventListener("pointerenter", () => {
    tip.replaceChildren(
      h("strong", {}, title),
      ...(rows ? rows() : [])
        .map(([label, value]) => h("div", {class: "tip-row"}, h("span", {}, label), h("span", {class: "num"}, value))));
    tip.hidden = false;
  });
  element.addEventListener("pointermove", (event) => {
    const right = event.clientX + 16 + tip.offsetWidth > window.innerWidth;
    const below = event.clientY + 16 + tip.offsetHeight > window.innerHeight;
    tip.style.left = `${right ? Math.max(4, event.clientX - tip.offsetWidth - 12) : event.clientX + 16}px`;
    tip.style.top = `${below ? Math.max(4, event.clientY - tip.offsetHeight - 12) : event.clientY + 16}px`;
  });
  element.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
  return element;
}

/** What `draw` returns. Where it fails, an error message: the rest of the page is still there. */
function attempt(what, draw) {
  try {
    return draw();
  } catch (error) {
    console.error(error);
    return h(
      "p", {class: "warning"}, `${what} could not be drawn: ${printable(String(error))}. `,
      "Please report it, with the recording; fa-profile report --format json has all values.");
  }
}

/** A section with a heading. */
function section(title, attributes, ...children) {
  const id = newId("section");
  return h("section", {"aria-labelledby": id, ...attributes}, h("h2", {id}, title), ...children);
}
