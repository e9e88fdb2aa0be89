// Jupyter's kernel protocol, as JSON text over the server's websocket.

const GONE = ["restarting", "dead"]; // states of a kernel
// A kernel that is interrupted just before it runs its code drops both, and does not say so.
const STOPPED = [{
  output_type: "error", ename: "KeyboardInterrupt", evalue: "stopped, or without a result",
}];
const RESULTS = ["stream", "display_data", "execute_result", "error"];

// `live` has the server's base address, its token and the kernel's folder; `heard` has what happens:
// opened(id, state), updated(id, state), told(id, content), lost(why).
export const ask = (live, path, how) => {
  const headers = { Authorization: `token ${live.token}` };
  return fetch(`${live.base}${path}`, { ...how, headers });
};

export class Kernel {
  constructor(live, heard) {
    Object.assign(this, { live, heard, jobs: new Map(), subshell: null, isLost: false });
  }

  get isOpen() { return this.socket?.readyState === WebSocket.OPEN; }

  async start() {
    const body = JSON.stringify({ path: this.live.folder });
    const made = await ask(this.live, "api/kernels", { method: "POST", body });
    if (!made.ok) throw new Error(`the server answered ${made.status}`);
    this.id = (await made.json()).id;
    const from = location.origin.replace("http", "ws");
    const address = `${from}${this.live.base}api/kernels/${this.id}/channels?token=${this.live.token}`;
    this.socket = new WebSocket(address);
    this.socket.onmessage = ({ data }) => typeof data === "string" && this.hear(JSON.parse(data));
    this.socket.onclose = () => this.lose("The connection to the kernel is gone");
    await new Promise((done, fail) => Object.assign(this.socket, { onopen: done, onerror: fail }));
    this.send("create_subshell_request", {}, "control"); // widgets answer while a cell runs
  }

  send(type, content, channel = "shell") {
    const id = crypto.randomUUID(), subshell_id = type === "comm_msg" ? this.subshell : null;
    const header = {
      msg_id: id, msg_type: type, session: "lecture", username: "", version: "5.4", subshell_id,
      date: new Date().toISOString(),
    };
    const message = { channel, buffers: [], parent_header: {}, metadata: {}, content, header };
    this.socket.send(JSON.stringify(message));
    return id;
  }

  comm(comm_id, data) { this.send("comm_msg", { comm_id, data }); }

  // Ends with the outputs, or with null when the kernel is lost; `starts` is called as it begins.
  execute(code, isAsked, starts) {
    return new Promise((done) => {
      const content = {
        code, silent: false, store_history: true, user_expressions: {}, allow_stdin: false,
        stop_on_error: false,
      };
      this.jobs.set(this.send("execute_request", content), { outputs: [], isAsked, starts, done });
    });
  }

  // Stops what runs, and what the lecturer has asked for since. A kernel that runs nothing ignores
  // an interrupt, so a job that has not begun is stopped as it begins.
  interrupt() {
    const [first, ...later] = this.jobs.values(); // the kernel runs them in this order
    for (const job of later) job.isUnwanted ||= job.isAsked;
    if (first) first.isUnwanted = true;
    if (!first || first.hasBegun) this.signal();
  }

  signal() { this.manage("/interrupt", { method: "POST" }); }

  begin(job) {
    if (!job) return; // another page's
    job.hasBegun = true;
    job.starts();
    if (job.isUnwanted) this.signal();
  }

  manage(what, how) {
    return ask(this.live, `api/kernels/${this.id}${what}`, how).catch(() => {}); // nothing to be done
  }

  hear({ msg_type, content, parent_header }) {
    const job = this.jobs.get(parent_header?.msg_id);
    if (msg_type === "comm_open") this.heard.opened(content.comm_id, content.data?.state ?? {});
    else if (msg_type === "comm_msg" && content.data.method === "update") {
      this.heard.updated(content.comm_id, content.data.state);
    } else if (msg_type === "comm_msg" && content.data.method === "custom") {
      this.heard.told(content.comm_id, content.data.content);
    } else if (msg_type === "execute_input") this.begin(job);
    else if (RESULTS.includes(msg_type)) job?.outputs.push({ ...content, output_type: msg_type });
    else if (msg_type === "create_subshell_reply") this.subshell = content.subshell_id ?? null;
    else if (msg_type === "status" && GONE.includes(content.execution_state)) {
      this.lose("The kernel has died");
    } else if (msg_type === "status" && content.execution_state === "idle" && job) {
      this.jobs.delete(parent_header.msg_id);
      job.done(job.isUnwanted && !job.outputs.length ? STOPPED : job.outputs);
    }
  }

  lose(why) {
    if (this.isLost) return;
    this.isLost = true;
    for (const { done } of this.jobs.values()) done(null);
    this.jobs.clear();
    this.heard.lost(why);
  }

  async stop() {
    this.isLost = true; // on purpose: nobody need hear of it
    for (const { done } of this.jobs.values()) done(null);
    this.jobs.clear();
    this.socket?.close();
    if (this.id) await this.manage("", { method: "DELETE", keepalive: true }); // the page may close
  }
}
