// What the picture shows at a step of the chosen block; every tile was computed in Python.
const light = (map, chart, frames, step) => {
  const lit = chart.querySelector("#lit");
  if (lit) lit.innerHTML = frames.lit[step];
  const here = map.querySelector("#here");
  for (const [name, value] of Object.entries(frames.here)) here?.setAttribute(name, value);
};

function render({ model, el }) {
  begin(el);
  const names = model.get("kernels");
  const kernels = radios(model, "kernel", tr("block graph that makes"),
    names.map((name) => [name, name]));
  kernels.hidden = names.length < 2;
  const map = element("div", {
    class: "mlc-chart mlc-grid", role: "application", tabindex: "0", "data-testid": "map",
    "aria-label": tr(
      "Map of the grid. Arrow keys choose a block, a click keeps it; the line below says what it loads."),
  });
  const chart = element("div", {
    class: "mlc-chart", role: "img", "data-testid": "chart",
    "aria-label": tr(
      "Tensors with the tiles of the chosen block and iteration; the line above says which they are"),
  });
  const status = element("p", { class: "mlc-status", role: "status", "data-testid": "status" });
  const facts = element("div", { "data-testid": "facts" });
  const { controls, restart, stop } = player(model, tr("iterations"), status,
    (frames, step) => light(map, chart, frames, step));
  el.append(kernels, map, controls, status, chart, facts);

  const choose = (block) => {
    if (String(block) !== String(model.get("block"))) assign(model, "block", block);
  };
  // The pointer shows a block; a click or a key keeps it, so that the way to the buttons across
  // other blocks does not choose one of those.
  let kept = null;
  const pointed = (event) => {
    const cell = event.target.closest('[id^="block-"]');
    return cell && cell.id.split("-").slice(1).map(Number);
  };
  map.addEventListener("pointermove", (event) => {
    const block = pointed(event);
    if (block) choose(block);
  });
  map.addEventListener("pointerdown", (event) => {
    kept = pointed(event) ?? kept;
    if (kept) choose(kept);
  });
  map.addEventListener("pointerleave", () => { if (kept) choose(kept); });
  map.addEventListener("keydown", (event) => {
    const move = model.get("moves")[event.key];
    if (!move) return;
    event.preventDefault();
    const [axis, by] = move;
    const block = [...model.get("block")];
    const wanted = block[axis] + by;
    if (wanted < 0 || wanted >= model.get("extents")[axis]) return;
    block[axis] = wanted;
    kept = block;
    choose(block);
  });

  follow(model, ["map"], () => { kept = null; map.innerHTML = model.get("map"); });
  follow(model, ["stage"], () => { stop(); chart.innerHTML = model.get("stage"); });
  follow(model, ["facts"], () => { facts.innerHTML = model.get("facts"); });
  follow(model, ["frames", "stage", "map"], () => {
    controls.hidden = model.get("frames").said.length < 2;
    restart();
  });
  return stop;
}

export default { render };
