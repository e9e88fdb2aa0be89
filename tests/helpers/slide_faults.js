// Each slide is shown, and every element that can be seen on it is measured.
async (smallest) => {
  const faults = [], ROOM = 692; // below it are the origin of the figures and the slide's number
  const shows = (it) => it.checkVisibility({ visibilityProperty: true })
    && it.getClientRects().length;
  const name = (it) => it.dataset?.testid || it.className?.baseVal || it.className || it.tagName;
  const unseen = "[aria-hidden=true], .cm-cursorLayer, .cm-selectionLayer, .cm-announced, .mlc-hidden, defs";
  for (const [at, slide] of Reveal.getSlides().entries()) {
    Reveal.slide(at);
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const scale = Reveal.getScale(), frame = slide.getBoundingClientRect();
    const headline = slide.querySelector("h1, h2, h3")?.textContent ?? "";
    const blame = (what, it) => faults.push(`slide ${at + 1}, ${headline}: ${what}: ${name(it)}`);
    const inner = slide.firstElementChild;
    let bottom = 0;
    for (const it of slide.querySelectorAll("*")) {
      if (!shows(it) || it.closest(unseen)) continue;
      const box = it.getBoundingClientRect(), style = getComputedStyle(it);
      if (!it.closest(".origins") && it !== inner && !it.ownerSVGElement) bottom = Math.max(bottom, (box.bottom - frame.top) / scale);
      const edge = it.closest(".mlc-grid") ?? it; // it cuts its picture off
      if (Math.min(box.right, edge.getBoundingClientRect().right) > frame.right + 1 || box.left < frame.left - 1) blame("wider than the slide", it);
      for (const [axis, over] of [["overflowY", it.scrollHeight - it.clientHeight], ["overflowX", it.scrollWidth - it.clientWidth]]) {
        if (["auto", "scroll", "hidden"].includes(style[axis]) && over > 2 && it.clientWidth && it !== inner) blame("scrolls", it);
      }
      const text = [...it.childNodes].filter((kid) => kid.nodeType === 3).map((kid) => kid.data.trim()).join("");
      if (!text || ["STYLE", "SCRIPT", "OPTION"].includes(it.tagName)) continue;
      const zoom = it.ownerSVGElement ? Math.hypot(it.getScreenCTM().c, it.getScreenCTM().d) : scale * it.currentCSSZoom; // an SVG has a scale of its own
      const pixels = parseFloat(style.fontSize) * zoom * 1080 / innerHeight;
      if (pixels < smallest - 0.5) blame(`${pixels.toFixed(1)} px, "${text.slice(0, 24)}"`, it);
    }
    if (bottom > ROOM + 1) faults.push(`slide ${at + 1}, ${headline}: ends at ${Math.round(bottom)} of ${ROOM}`);
  }
  return faults;
}
