// The source of the MCP App: JSON-RPC over the messages of the host that frames it, which passes calls on to planloop's server. It
// implements the needed part of the protocol, and accepts each message in one shape only.

import { Fault, type Input, type Source } from './source'
import type { Change, Done, Former, Log, TimelineStep, View } from './types'

const protocol = '2026-01-26'
const answering = 60_000 // ms to wait for an answer
const fresh = 1_000 // ms in which a view just received is not requested again
const often = 3_000, seldom = 20_000 // ms between reads: the first while an item waits or a step runs, otherwise the second

type Fields = Record<string, unknown>

// Context is the host's description of itself: its look, and its way of showing the App.
export interface Context { theme?: 'light' | 'dark'; variables: Record<string, string>; mode: string; modes: string[]; most?: number }

// Host is the App's connection to its host, except for the drawing.
export interface Host {
  source: Source
  shown: Promise<View> // the first view
  says: (listener: (about: Context) => void) => void
  instead: (listener: (text: string) => void) => void // the reason for a missing view
  fill: (mode: 'inline' | 'fullscreen') => void
  size: (width: number, height: number) => void
  tell: (text: string) => Promise<boolean> // sends the agent a message from the user
  tells: () => boolean // whether the host accepts such a message
  end: () => void
}

// connect talks to the window that frames this one.
export function connect(own: Window, parent: Window): Host {
  const messages = new Messages(own, parent)
  const about: Context = { variables: {}, mode: 'inline', modes: [] }
  const changed = new Set<(c: Change) => void>()
  let can: Fields | undefined // the host's capabilities, once reported
  let view: View | undefined, nonce = '', taken = 0, timer = 0, ended = false
  let heard: (about: Context) => void = () => {}, explain: (text: string) => void = () => {}
  let show: (view: View) => void = () => {}
  const shown = new Promise<View>(done => { show = done })

  const take = (result: Fields): boolean => {
    const handed = handedWith(result)
    if (!isView(handed['view'])) return false
    const before = view
    nonce = text(handed['nonce'])
    view = handed['view']
    taken = Date.now()
    if (view.can.decide && !nonce) view.can = { decide: false, why: 'planloop was restarted after this was shown: ask the agent to show the plan again' }
    show(view)
    if (before && before.revision !== view.revision) for (const told of changed) told({ workspace: view.workspace.id, revision: view.revision })
    return true
  }
  const call = async (name: string, input: Fields): Promise<Fields> => {
    if (can && !can['serverTools']) throw new Fault(403, 'forbidden', 'This program does not allow actions from here.', 'Decide on the review page or in a terminal.')
    const result = await messages.request('tools/call', { name, arguments: input })
    if (result['isError'] === true) {
      taken = 0
      throw refusal(result)
    }
    take(result)
    return result
  }
  const look = (more: Fields = {}) => call('review_look', { ...(nonce && { nonce }), ...more })
  const again = () => {
    clearTimeout(timer)
    if (ended) return
    const busy = !!view?.waiting.length || view?.run?.state === 'running'
    timer = own.setTimeout(() => {
      if (own.document.visibilityState === 'hidden' || !view) again()
      else look().catch(() => {}).finally(again) // a failed read is repeated the next time
    }, busy ? often : seldom)
  }
  const seen = () => { if (own.document.visibilityState === 'visible' && view) void look().catch(() => {}) }
  const hear = (said: Fields) => {
    takeContext(about, said)
    heard(about)
  }
  const end = () => {
    ended = true
    clearTimeout(timer)
    own.document.removeEventListener('visibilitychange', seen)
    messages.close()
  }

  messages.on('ui/notifications/tool-result', result => {
    const had = view
    if (take(result)) void look().catch(() => {}) // the result may be an old one
    else if (result['isError'] === true) explain(contentOf(result) || 'The call was refused.')
    else if (!had) void look().catch(() => explain('This call has nothing to show.'))
  })
  messages.on('ui/notifications/tool-cancelled', () => { if (!view) explain('The call was cancelled.') })
  messages.on('ui/notifications/host-context-changed', hear)
  messages.answer('ping', () => ({}))
  messages.answer('ui/resource-teardown', () => {
    setTimeout(end) // after the answer
    return {}
  })
  own.document.addEventListener('visibilitychange', seen)
  messages.request('ui/initialize', {
    protocolVersion: protocol, appInfo: { name: 'planloop', version: '1' }, appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
  }).then(result => {
    can = fields(result['hostCapabilities'])
    messages.notify('ui/notifications/initialized', {})
    hear(fields(result['hostContext']))
    again()
  }, again)

  const source: Source = {
    kind: 'app',
    view: async () => {
      if (Date.now() - taken > fresh) await look().catch((e: unknown) => { if (!view) throw e })
      return view!
    },
    inbox: async () => {
      const v = view ?? await shown
      return { workspaces: [{ ...v.workspace, waiting: v.waiting.length, phase: v.phase, headline: v.headline }], waiting: v.waiting }
    },
    former: async (_, plan) => {
      const read = handedWith(await look({ plan }))['former']
      if (!isFormer(read)) throw new Fault(502, 'refused', 'This earlier plan could not be loaded.', 'Open it on the review page.')
      return read
    },
    log: async (_, before, plan) => {
      const log = handedWith(await look({ log: before ?? 0, ...(plan && { plan }) }))['log']
      return Array.isArray(fields(log)['lines']) ? log as Log : { lines: [] }
    },
    timeline: async () => {
      const steps = handedWith(await look({ timeline: true }))['timeline']
      return Array.isArray(steps) ? steps as TimelineStep[] : []
    },
    tail: async (_, step) => view?.run?.steps.find(s => s.step === step)?.tail ?? '',
    act: async (_, _log, act: string, input: Input): Promise<Done> => {
      if (!nonce) throw new Fault(403, 'forbidden', view?.can.why ?? 'You cannot decide here.')
      const result = await call('review_act', { nonce, act, input })
      return { message: contentOf(result), revision: view?.revision ?? 0 }
    },
    requestCode: noCode,
    unlock: noCode,
    unlocked: () => false,
    forgetUnlock: () => {},
    onChange: told => {
      changed.add(told)
      return () => { changed.delete(told) }
    },
  }
  return {
    source, shown, end,
    says: listener => {
      heard = listener
      heard(about)
    },
    instead: listener => { explain = listener },
    fill: mode => { messages.request('ui/request-display-mode', { mode }).then(got => { hear({ displayMode: got['mode'] }) }, () => {}) },
    size: (width, height) => { messages.notify('ui/notifications/size-changed', { width, height }) },
    tells: () => !!can?.['message'],
    tell: said => messages.request('ui/message', { role: 'user', content: [{ type: 'text', text: said }] }).then(got => got['isError'] !== true, () => false),
  }
}

function noCode(): Promise<never> {
  return Promise.reject(new Fault(403, 'forbidden', 'No code is needed here.'))
}

// takeContext stores a host's description of itself: missing values stay unchanged.
function takeContext(about: Context, said: Fields): void {
  if (said['theme'] === 'light' || said['theme'] === 'dark') about.theme = said['theme']
  const variables = fields(fields(said['styles'])['variables'])
  for (const [name, value] of Object.entries(variables)) if (typeof value === 'string') about.variables[name] = value
  about.mode = text(said['displayMode']) || about.mode
  if (Array.isArray(said['availableDisplayModes'])) about.modes = said['availableDisplayModes'].filter(mode => typeof mode === 'string')
  const room = fields(said['containerDimensions']), most = room['height'] ?? room['maxHeight']
  if (typeof most === 'number' && most > 0) about.most = most
}

const statuses: Record<string, number> = { invalid_input: 422, not_found: 404, conflict: 409 }

function refusal(result: Fields): Fault {
  const why = fields(handedWith(result)['error']), kind = text(why['kind'])
  if (!kind) return new Fault(500, 'fault', contentOf(result) || 'The action failed.')
  return new Fault(statuses[kind] ?? 500, kind, text(why['problem']), text(why['fix']), text(why['field']))
}

// handedWith returns the part of a result for the App only.
function handedWith(result: Fields): Fields { return fields(fields(result['_meta'])['planloop/review']) }

function contentOf(result: Fields): string {
  const all = Array.isArray(result['content']) ? result['content'] : []
  return all.map(part => text(fields(part)['text'])).filter(Boolean).join('\n')
}

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value as Fields : {}
}

function text(value: unknown): string { return typeof value === 'string' ? value : '' }

// isView checks the parts of a view that are drawn without further checks.
function isView(value: unknown): value is View {
  const v = fields(value), plans = [v['plan'], fields(v['draft'])['plan']].filter(p => p !== undefined)
  return typeof fields(v['workspace'])['id'] === 'string' && typeof v['revision'] === 'number' && typeof fields(v['can'])['decide'] === 'boolean' &&
    ['waiting', 'questions', 'comments', 'signals', 'agents', 'plans'].every(list => Array.isArray(v[list])) &&
    plans.every(p => Array.isArray(fields(p)['steps'])) && (v['draft'] === undefined || plans.length > 0)
}

// isFormer does the same for an earlier plan.
function isFormer(value: unknown): value is Former {
  const f = fields(value)
  return typeof f['id'] === 'string' && Array.isArray(fields(f['plan'])['steps']) && Array.isArray(f['comments'])
}

// Messages are the requests, answers and notifications between this window and the one that frames it. Messages of other windows are
// ignored, and so are other origins than the first one of the framing window.
class Messages {
  private next = 1
  private readonly open = new Map<number, { done: (result: Fields) => void; failed: (why: Fault) => void; timer: number }>()
  private readonly notified = new Map<string, (params: Fields) => void>()
  private readonly asked = new Map<string, (params: Fields) => Fields>()
  private origin = ''

  constructor(private readonly own: Window, private readonly parent: Window) {
    own.addEventListener('message', this.heard)
  }

  on(method: string, listener: (params: Fields) => void): void { this.notified.set(method, listener) }
  answer(method: string, listener: (params: Fields) => Fields): void { this.asked.set(method, listener) }

  request(method: string, params: Fields): Promise<Fields> {
    const id = this.next++
    return new Promise((done, failed) => {
      const timer = this.own.setTimeout(() => {
        this.open.delete(id)
        failed(new Fault(0, 'lost', 'The program that shows this page does not respond.', 'Your text is kept. Try again.'))
      }, answering)
      this.open.set(id, { done, failed, timer })
      this.post({ id, method, params })
    })
  }

  notify(method: string, params: Fields): void { this.post({ method, params }) }

  close(): void {
    this.own.removeEventListener('message', this.heard)
    for (const { timer } of this.open.values()) clearTimeout(timer)
    this.open.clear()
  }

  private post(message: Fields): void {
    this.parent.postMessage({ jsonrpc: '2.0', ...message }, this.origin && this.origin !== 'null' ? this.origin : '*')
  }

  private readonly heard = (event: MessageEvent<unknown>) => {
    const message = fields(event.data)
    if (event.source !== this.parent || message['jsonrpc'] !== '2.0' || this.origin && event.origin !== this.origin) return
    this.origin = event.origin
    const { id, method } = message
    if (typeof method === 'string') {
      if (id === undefined) this.notified.get(method)?.(fields(message['params']))
      else if (typeof id === 'string' || typeof id === 'number') this.reply(id, method, fields(message['params']))
    } else if (typeof id === 'number') this.answered(id, message)
  }

  private reply(id: string | number, method: string, params: Fields): void {
    const answer = this.asked.get(method)
    this.post(answer ? { id, result: answer(params) } : { id, error: { code: -32601, message: 'unknown method' } })
  }

  private answered(id: number, message: Fields): void {
    const waiting = this.open.get(id)
    if (!waiting) return
    this.open.delete(id)
    clearTimeout(waiting.timer)
    if (typeof message['result'] === 'object') waiting.done(fields(message['result']))
    else waiting.failed(new Fault(502, 'refused', 'The program that shows this page refused the request.', text(fields(message['error'])['message'])))
  }
}
