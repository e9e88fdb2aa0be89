// Tries the controls of the widgets on slides, one after another, until a picture or a table moves;
// then answers an empty list, and otherwise what was tried. Neither the status line nor what is chosen
// in a control counts.
async () => {
  const soon = () => new Promise((done) => { setTimeout(done, 250); });
  const drawn = (widget) => {
    const copy = widget.cloneNode(true);
    copy.querySelectorAll('[data-testid="status"], input, select').forEach((each) => each.remove());
    return copy.innerHTML;
  };
  const press = (each, key) => each.dispatchEvent(new KeyboardEvent("keydown", { key }));
  const acts = {
    radio: (each) => each.click(),
    checkbox: (each) => each.click(),
    range: (each) => {
      each.value = Number(each.value) < Number(each.max) ? Number(each.value) + 1 : each.min;
      each.dispatchEvent(new Event("input"));
    },
    "select-one": (each) => {
      each.selectedIndex = (each.selectedIndex + 1) % each.options.length;
      each.dispatchEvent(new Event("change"));
    },
    listbox: (each) => press(each, "ArrowDown"),
    application: (each) => press(each, "ArrowRight"),
    button: (each) => each.click(),
  };
  const tried = [];
  for (const [at, slide] of Reveal.getSlides().entries()) {
    for (const widget of slide.querySelectorAll(".result .mlc:has(input, select, button)")) {
      Reveal.slide(at);
      await soon();
      const controls = widget.querySelectorAll("input, select, [role=listbox], [role=application], button");
      for (const each of controls) {
        const kind = each.getAttribute("role") ?? each.type;
        if (each.disabled || each.checked || !each.checkVisibility() || !acts[kind]) continue;
        const before = drawn(widget);
        acts[kind](each);
        await soon();
        if (drawn(widget) !== before) return [];
        tried.push(`${at + 1}: ${kind} ${each.dataset.testid ?? each.value}`);
      }
    }
  }
  return tried;
}
