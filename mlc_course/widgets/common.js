// What the script of every widget begins with.

const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

// Call `update` now, and whenever one of the traits changes.
const follow = (model, traits, update) => {
  for (const trait of traits) model.on(`change:${trait}`, update);
  update();
};

const assign = (model, trait, value) => {
  model.set(trait, value);
  model.save_changes();
};

// Radio buttons for a trait; `options` is [[value, text], ...].
const radios = (model, trait, legend, options) => {
  const group = `${trait}-${Math.random().toString(36).slice(2)}`;
  const buttons = options.map(([value, text]) => {
    const button = element("input", { type: "radio", name: group, value });
    button.dataset.testid = `${trait}-${value}`;
    button.addEventListener("change", () => assign(model, trait, value));
    return [button, element("label", {}, button, ` ${text}`)];
  });
  const labels = buttons.map(([, label]) => label);
  const fieldset = element("fieldset", {}, element("legend", {}, legend), ...labels);
  follow(model, [trait], () => {
    for (const [button] of buttons) button.checked = button.value === model.get(trait);
  });
  return fieldset;
};

const tickbox = (model, trait, text) => {
  const box = element("input", { type: "checkbox", "data-testid": trait });
  box.addEventListener("change", () => assign(model, trait, box.checked));
  follow(model, [trait], () => { box.checked = model.get(trait); });
  return element("label", {}, box, ` ${text}`);
};

// A button that has Python do something, which takes a while.
const worker = (model, text, task) => {
  const button = element("button", { type: "button", class: "mlc-main", "data-testid": task }, text);
  button.addEventListener("click", () => model.send({ task }));
  return button;
};

// The line that says where the figures come from, or how far a measurement is.
const statusLine = (model) => {
  const line = element("p", { class: "mlc-status", role: "status", "data-testid": "status" });
  follow(model, ["status"], () => { line.textContent = model.get("status"); });
  return line;
};

// JupyterLab has shortcuts on plain keys and arrows, which must not act inside a widget.
const begin = (el) => {
  el.classList.add("mlc");
  el.dataset.lmSuppressShortcuts = "true";
  el.addEventListener("keydown", (event) => {
    if (event.key.startsWith("Arrow")) event.stopPropagation(); // sliders and radio buttons use them
  });
};
