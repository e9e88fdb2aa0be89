// Widgets of a page without a kernel: each takes the place of its static form, which stays where a
// widget fails.
const held = JSON.parse(document.getElementById("widgets").textContent);
for (const place of document.querySelectorAll("[data-model]")) {
  const { module, state, ...recorded } = held.widgets[place.dataset.model];
  const fixed = [...place.childNodes];
  show(new Model(held.scripts[module], state, recorded), place).then(
    () => { place.dataset.alive = "true"; },
    (error) => { place.replaceChildren(...fixed); console.error(error); },
  );
}
