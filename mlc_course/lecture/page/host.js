// All that an anywidget asks of its host: a model, and a place to be drawn in.

// What was chosen without a kernel can be shown only if it was chosen when it was recorded.
export const NOT_RECORDED = "Python is not running: this choice was not recorded.";

const modules = new Map();
const load = (source) => {
  if (!modules.has(source)) {
    const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    modules.set(source, import(address).then((found) => found.default ?? found));
  }
  return modules.get(source);
};

// `source` is the widget's script. `recorded` has `asks`, `chosen` and `views`, as in widget_answers.py;
// `live(data)` sends to a kernel, and is null without one.
export class Model {
  constructor(source, state, recorded = {}) {
    Object.assign(this, { source, state: { ...state }, recorded, live: null });
    Object.assign(this, { first: { ...state }, changes: {}, listeners: new Map() });
  }

  get(name) { return this.state[name]; }

  set(name, value) {
    const changes = typeof name === "object" ? name : { [name]: value };
    for (const each of Object.keys(changes)) this.changes[each] ??= { from: this.state[each] };
    this.update(changes);
  }

  update(changes) {
    for (const [name, value] of Object.entries(changes)) {
      if (JSON.stringify(this.state[name]) === JSON.stringify(value)) continue;
      this.state[name] = value;
      this.tell(`change:${name}`);
    }
  }

  tell(event, ...about) {
    for (const act of [...(this.listeners.get(event) ?? [])]) act(...about);
  }

  on(event, act) { this.listeners.set(event, [...(this.listeners.get(event) ?? []), act]); }

  off(event, act) {
    const kept = (this.listeners.get(event) ?? []).filter((each) => act && each !== act);
    this.listeners.set(event, kept);
  }

  save_changes() {
    const changed = this.changes;
    this.changes = {};
    const names = Object.keys(changed);
    if (this.live) {
      const state = Object.fromEntries(names.map((name) => [name, this.state[name]]));
      this.live({ method: "update", state, buffer_paths: [] });
    } else if (names.some((name) => (this.recorded.asks ?? []).includes(name))) {
      this.answer(changed);
    }
  }

  // What Python answered to the choices that are made now; without an answer they are taken back.
  answer(changed) {
    const chosen = (this.recorded.chosen ?? []).map((name) => this.state[name]);
    const view = this.recorded.views?.[JSON.stringify(chosen)];
    const isKnown = view && Object.keys(changed).every((name) => (
      !this.recorded.asks.includes(name) || this.recorded.chosen.includes(name)));
    if (isKnown) {
      const named = new Set(Object.values(this.recorded.views).flatMap(Object.keys));
      if (this.state.status === NOT_RECORDED) this.update({ status: "" });
      this.update(Object.fromEntries([...named].map((name) => [name, name in view ? view[name] : this.first[name]])));
    } else {
      this.update(Object.fromEntries(Object.entries(changed).map(([name, { from }]) => [name, from])));
      this.say(NOT_RECORDED);
    }
  }

  send(content) {
    if (this.live) this.live({ method: "custom", content });
    else this.say("Python is not running: nothing is measured, and the figures are those of the recording.");
  }

  say(text) {
    this.update({ status: "" }); // so that the same words are read out again
    this.update({ status: text });
  }
}

export const show = async (model, place) => {
  const el = document.createElement("div");
  place.replaceChildren(el);
  const widget = await load(model.source);
  const made = typeof widget === "function" ? await widget() : widget;
  await made.initialize?.({ model });
  await made.render({ model, el });
};
