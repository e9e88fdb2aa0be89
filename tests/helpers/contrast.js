// The contrast of every letter, of a page or of each slide, with what is painted behind it (WCAG 2.2).
async (least) => {
  const faults = new Set(), canvas = document.createElement("canvas").getContext("2d");
  const everything = document.createElement("style");
  everything.textContent = "* { pointer-events: all !important; }"; // so that all of it is found
  document.head.append(everything);
  const known = new Map();
  const colour = (text) => { // red, green, blue from 0 to 1, and how opaque it is
    if (!known.has(text)) known.set(text, drawn(text));
    return [...known.get(text)];
  };
  const drawn = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return [red / 255, green / 255, blue / 255, alpha / 255];
  };
  const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3]));
  const light = (rgb) => {
    const [red, green, blue] = rgb.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const painted = (it) => { // null where a pattern is
    const style = getComputedStyle(it), shape = it.ownerSVGElement;
    const paint = shape ? style.fill : style.backgroundColor;
    if (it.closest("text") || paint === "none") return [0, 0, 0, 0];
    if (paint.startsWith("url")) return null;
    const found = colour(paint);
    found[3] *= shape ? Number(style.fillOpacity) * Number(style.opacity) : 1;
    return found;
  };
  const deck = window.Reveal, parts = deck?.getSlides() ?? [document.querySelector("article")];
  for (const [at, part] of parts.entries()) {
    deck?.slide(at);
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    for (const it of part.querySelectorAll("*")) {
      const text = [...it.childNodes].filter((kid) => kid.nodeType === 3).map((kid) => kid.data.trim()).join("");
      if (!text || ["STYLE", "SCRIPT", "OPTION"].includes(it.tagName)) continue;
      if (!it.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
      if (it.closest("[aria-hidden=true], defs, :disabled, .mlc-hidden")) continue;
      if (!deck) it.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
      const box = it.getBoundingClientRect();
      const x = it.ownerSVGElement ? box.left + box.width / 2 : box.left + Math.min(box.width, 12) / 2;
      const layers = document.elementsFromPoint(x, box.top + box.height / 2).map(painted);
      const pattern = layers.indexOf(null), solid = layers.findIndex((layer) => layer?.[3] === 1);
      if (pattern >= 0 && pattern < solid || solid < 0) continue; // a pattern has no one colour
      const style = getComputedStyle(it), edge = parseFloat(style.strokeWidth) >= 3
        && style.paintOrder.startsWith("stroke") && it.ownerSVGElement;
      const behind = edge ? colour(style.stroke) : layers.slice(0, solid + 1).reverse().reduce((below, top) => over(top, below), [0, 0, 0]);
      const ink = colour(it.ownerSVGElement ? style.fill : style.color);
      ink[3] *= it.ownerSVGElement ? Number(style.fillOpacity) : 1;
      const found = ratio(over(ink, behind), behind);
      if (found < least) faults.add(`${deck ? `slide ${at + 1}: ` : ""}${found.toFixed(1)} to 1, "${text.slice(0, 24)}"`);
    }
  }
  everything.remove();
  return [...faults];
}
