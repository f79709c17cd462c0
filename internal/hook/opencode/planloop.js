// planloop's plugin for opencode, written by `planloop init opencode`. It asks planloop before each
// tool, and tells the agent where the plan stands. `planloop init --remove opencode` takes it away.
import { spawn } from "node:child_process"
import { existsSync, readdirSync } from "node:fs"

const program = "PLANLOOP" // the path of planloop, put in by init
const marks = "MARKS" // the folder with a file for each workspace in planning mode, put in by init
const patience = 10_000 // milliseconds

// call runs a hook of planloop once: its answer, null where it was killed or did not answer in time,
// undefined where planloop is not there any more.
function call(event, payload) {
  return new Promise((resolve) => {
    const child = spawn(program, ["hook", "opencode", event], {
      cwd: payload.cwd || undefined,
      stdio: ["pipe", "pipe", "ignore"],
      windowsHide: true,
    })
    const end = (answer) => {
      clearTimeout(timer)
      resolve(answer)
    }
    const timer = setTimeout(() => {
      child.kill("SIGKILL")
      end(null)
    }, patience)
    let output = ""
    child.stdout.setEncoding("utf8").on("data", (text) => (output += text))
    child.on("error", () => end(existsSync(program) ? null : undefined))
    child.on("close", (code) => {
      try {
        end(code === 0 ? JSON.parse(output) : null)
      } catch {
        end(null)
      }
    })
    child.stdin.on("error", () => {}) // it may end before it has read everything
    child.stdin.end(payload.empty ? "" : JSON.stringify(payload))
  })
}

// before throws where a tool must not run. A hook that was killed is asked again without saying for
// what: then it refuses in planning mode, and lets everything go on elsewhere. Where planloop is not
// there any more, tools are refused while some workspace is in planning mode.
async function before(payload) {
  let answer = await call("tool-execute-before", payload)
  if (answer === null) answer = await call("tool-execute-before", { cwd: payload.cwd, empty: true })
  if (answer === null) throw new Error("planloop did not answer whether this tool may run now; try again, or tell the user")
  if (answer === undefined && existsSync(marks) && readdirSync(marks).length > 0)
    throw new Error(`planning mode is on, and planloop cannot run. Ask the user to repair planloop, or to delete ${marks}.`)
  if (answer?.refuse) throw new Error(answer.refuse)
}

// Sessions keeps what planloop has told each session, and which were started by another.
class Sessions {
  told = new Map() // session to the context it was told, or the promise of it
  parents = new Map() // session to the one that started it
  nudged = new Set() // sessions that go on because planloop told them what they left behind
  broken = new Set() // sessions whose turn was broken off, by a person or by a fault

  constructor(directory) {
    this.common = { cwd: directory }
  }

  payload(session, more) {
    const parent = this.parents.get(session)
    return { ...this.common, session_id: parent ?? session, ...(parent && { agent_id: session }), ...more }
  }

  tool(session, name, input, result) {
    return this.payload(session, { tool_name: name, tool_input: input ?? {}, ...(result && { tool_response: result }) })
  }

  // context is where the plan stood when the session started, or was compacted last.
  async context(session, source = "startup") {
    if (!session || this.parents.has(session)) return ""
    if (!this.told.has(session)) {
      this.told.set(session, call("session-start", this.payload(session, { source })).then((answer) => answer?.context ?? ""))
    }
    return this.told.get(session)
  }

  // left is what a session leaves behind at the end of its turn, once.
  async left(session) {
    if (this.broken.delete(session) || this.parents.has(session)) return ""
    const active = this.nudged.delete(session)
    const answer = await call("stop", this.payload(session, { stop_hook_active: active }))
    if (answer?.go_on) this.nudged.add(session)
    return answer?.go_on ?? ""
  }

  event({ type, properties }) {
    const info = properties?.info
    if (type === "session.created" && info?.parentID) this.parents.set(info.id, info.parentID)
    if (type === "session.error") this.broken.add(properties.sessionID)
    if (type === "session.compacted") {
      this.told.delete(properties.sessionID)
      this.context(properties.sessionID, "compact")
    }
    if (type === "session.deleted" && info) {
      for (const kept of [this.told, this.parents, this.nudged, this.broken]) kept.delete(info.id)
    }
  }
}

// server is what opencode 1 calls.
async function server({ client, directory }) {
  const sessions = new Sessions(directory)
  return {
    event: async ({ event }) => {
      sessions.event(event)
      if (event.type !== "session.idle") return
      const session = event.properties.sessionID
      const text = await sessions.left(session)
      if (text) await client.session.promptAsync({ path: { id: session }, body: { parts: [{ type: "text", text }] } })
    },
    "tool.execute.before": (input, output) => before(sessions.tool(input.sessionID, input.tool, output.args)),
    "tool.execute.after": async (input, output) => {
      if (input.tool !== "todowrite") return
      await call("tool-execute-after", sessions.tool(input.sessionID, input.tool, input.args, { output: output?.output }))
    },
    "experimental.chat.system.transform": async (input, output) => {
      const text = await sessions.context(input.sessionID)
      if (text) output.system.push(text)
    },
  }
}

// setup is what opencode 2 calls.
async function setup(context) {
  const sessions = new Sessions(context.app?.directory ?? process.cwd())
  await context.tool?.hook("execute.before", (event) => before(sessions.tool(event.sessionID, event.tool, event.input)))
  await context.session?.hook("context", async (event) => {
    const text = await sessions.context(event.sessionID)
    if (text) event.system.push({ type: "text", text })
  })
}

export default { id: "planloop", server, setup }
