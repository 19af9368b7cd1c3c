// The knowledge graph: laid out by forces, always the same for the same facts; explored by pointer and by keys.
const SVG = "http://www.w3.org/2000/svg";
const frame = document.querySelector("[data-graph]");
if (frame) draw(frame);

function draw(frame) {
  const svg = frame.querySelector("svg");
  const panel = frame.querySelector(".panel");
  const nodes = new Map();
  const edges = new Map();
  const plane = element("g");
  const lines = element("g");
  const dots = element("g");
  plane.append(lines, dots);
  svg.append(plane);
  frame.hidden = false;
  const listing = document.querySelector("[data-listing]");
  if (listing) listing.open = false;
  let view = { x: 0, y: 0, scale: 1 };
  let chosen = null;

  function element(name, attributes = {}) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  async function load(around) {
    const query = new URLSearchParams();
    if (around) query.set("around", around);
    else if (frame.dataset.domain) query.set("domain", frame.dataset.domain);
    const answer = await fetch(`${frame.dataset.graph}?${query}`);
    const told = await answer.json();
    if (!answer.ok) {
      panel.textContent = told.error.message;
      return 0;
    }
    const before = nodes.size;
    const centre = nodes.get(around);
    for (const one of told.nodes) {
      if (nodes.has(one.id)) continue;
      const turn = nodes.size * 2.399963; // the golden angle: no two begin at one place
      const far = centre ? 40 : 18 * Math.sqrt(nodes.size + 1);
      nodes.set(one.id, {
        ...one,
        x: (centre ? centre.x : 0) + far * Math.cos(turn),
        y: (centre ? centre.y : 0) + far * Math.sin(turn),
      });
    }
    for (const one of told.edges) {
      if (nodes.has(one.source) && nodes.has(one.target)) edges.set(`${one.source} ${one.target} ${one.kind}`, one);
    }
    settle();
    paint();
    return nodes.size - before;
  }

  function settle() {
    const all = [...nodes.values()];
    const pairs = [...edges.values()].map((one) => [nodes.get(one.source), nodes.get(one.target), one.weight]);
    for (let step = 0; step < 260; step += 1) {
      const heat = 12 * (1 - step / 260) + 0.2;
      for (const one of all) one.dx = one.dy = 0;
      for (let i = 0; i < all.length; i += 1) {
        for (let j = i + 1; j < all.length; j += 1) {
          const [a, b] = [all[i], all[j]];
          const [x, y] = [a.x - b.x, a.y - b.y];
          const near = Math.max(x * x + y * y, 25);
          const push = 2600 / near;
          a.dx += x * push * 0.06; a.dy += y * push * 0.06;
          b.dx -= x * push * 0.06; b.dy -= y * push * 0.06;
        }
      }
      for (const [a, b, weight] of pairs) {
        const [x, y] = [b.x - a.x, b.y - a.y];
        const length = Math.hypot(x, y) || 1;
        const pull = (length - 75) * 0.04 * (0.5 + weight / 2);
        a.dx += (x / length) * pull; a.dy += (y / length) * pull;
        b.dx -= (x / length) * pull; b.dy -= (y / length) * pull;
      }
      for (const one of all) {
        one.dx -= one.x * 0.012; one.dy -= one.y * 0.012;
        const speed = Math.hypot(one.dx, one.dy) || 1;
        const most = Math.min(speed, heat) / speed;
        one.x += one.dx * most; one.y += one.dy * most;
      }
    }
  }

  function paint() {
    lines.replaceChildren();
    for (const one of edges.values()) {
      const [a, b] = [nodes.get(one.source), nodes.get(one.target)];
      lines.append(element("line", {
        class: `edge ${one.kind}`, x1: a.x, y1: a.y, x2: b.x, y2: b.y, "stroke-width": 0.75 + 2 * one.weight,
      }));
    }
    for (const one of nodes.values()) {
      if (!one.drawn) {
        one.drawn = element("g", { class: `node ${one.kind}`, tabindex: 0, role: "button" });
        one.drawn.setAttribute("aria-label", `${one.kind}: ${one.text}`);
        one.drawn.append(one.kind === "policy"
          ? element("rect", { x: -7, y: -7, width: 14, height: 14, rx: 3 })
          : element("circle", { r: 7 }));
        const label = element("text", { x: 11, y: 4 });
        label.textContent = one.text.length > 26 ? `${one.text.slice(0, 25)}…` : one.text;
        one.drawn.append(label);
        one.drawn.addEventListener("click", () => (chosen === one ? expand(one) : choose(one)));
        one.drawn.addEventListener("focus", () => choose(one));
        one.drawn.addEventListener("keydown", (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          expand(one);
        });
        dots.append(one.drawn);
      }
      one.drawn.setAttribute("transform", `translate(${one.x.toFixed(1)} ${one.y.toFixed(1)})`);
    }
  }

  function choose(one) {
    chosen?.drawn.classList.remove("chosen");
    chosen = one;
    one.drawn.classList.add("chosen");
    const words = document.createElement("p");
    const link = document.createElement("a");
    link.href = one.url;
    link.textContent = one.text;
    link.dir = "auto";
    words.append(link);
    const about = document.createElement("p");
    about.className = "faint";
    const count = [...edges.values()].filter((edge) => edge.source === one.id || edge.target === one.id).length;
    about.textContent = `${one.kind} in ${one.domain}${one.topic ? `, ${one.topic}` : ""}; ${count} links drawn`;
    panel.replaceChildren(words, about);
  }

  async function expand(one) {
    choose(one);
    if (one.kind !== "fact") return;
    const added = await load(one.id);
    const note = document.createElement("p");
    note.textContent = added ? `${added} more are drawn.` : "All that it is linked with is drawn already.";
    panel.append(note);
    one.drawn.focus({ preventScroll: true });
  }

  function move() {
    plane.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.scale})`);
    plane.setAttribute("font-size", (11.5 / view.scale).toFixed(2)); // words keep their size, whatever the drawing's
  }

  function zoom(factor, x = svg.clientWidth / 2, y = svg.clientHeight / 2) {
    const scale = Math.min(4, Math.max(0.2, view.scale * factor));
    view = { scale, x: x - (x - view.x) * (scale / view.scale), y: y - (y - view.y) * (scale / view.scale) };
    move();
  }

  function fit() {
    const all = [...nodes.values()];
    if (!all.length) return;
    const [left, right] = [Math.min(...all.map((one) => one.x)) - 20, Math.max(...all.map((one) => one.x)) + 150];
    const [top, bottom] = [Math.min(...all.map((one) => one.y)) - 20, Math.max(...all.map((one) => one.y)) + 20];
    const scale = Math.min(1.6, svg.clientWidth / (right - left), svg.clientHeight / (bottom - top));
    view = {
      scale,
      x: (svg.clientWidth - (left + right) * scale) / 2,
      y: (svg.clientHeight - (top + bottom) * scale) / 2,
    };
    move();
  }

  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.15 : 0.87, event.offsetX, event.offsetY);
  }, { passive: false });
  let held = null;
  svg.addEventListener("pointerdown", (event) => {
    if (event.target.closest(".node")) return;
    held = { x: event.clientX - view.x, y: event.clientY - view.y };
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!held) return;
    view = { ...view, x: event.clientX - held.x, y: event.clientY - held.y };
    move();
  });
  svg.addEventListener("pointerup", () => { held = null; });
  svg.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
    if (steps[event.key]) {
      event.preventDefault();
      view = { ...view, x: view.x + steps[event.key][0], y: view.y + steps[event.key][1] };
      move();
    } else if (event.key === "+" || event.key === "=") zoom(1.2);
    else if (event.key === "-") zoom(0.83);
    else if (event.key === "0") fit();
  });
  const tools = { in: () => zoom(1.2), out: () => zoom(0.83), fit };
  for (const button of frame.querySelectorAll("[data-do]")) button.addEventListener("click", tools[button.dataset.do]);
  load(frame.dataset.around || null).then(() => {
    fit();
    const around = nodes.get(frame.dataset.around);
    if (around) choose(around);
    frame.dataset.drawn = "yes";
  });
}
