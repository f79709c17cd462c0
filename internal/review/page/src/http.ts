// The source of the page: JSON over fetch, and one stream of changes for all tabs of a browser.

import { type Connection, Fault, type Input, type Source } from './source'
import { type StreamMessage, stream } from './stream'
import { whole } from './whole'
import type { Change, Done, Former, Inbox, Log, TimelineStep, UnsentText, View } from './types'

const keyName = 'planloop-key'
const memberName = 'planloop-member' // this and the next set by the sign-in of a team's server
const roleName = 'planloop-role'
const keepPath = '/api/keep'
const longestRead = 20_000 // ms

// launched returns the code in the address bar, if there is one.
export const launched = () => new URLSearchParams(location.hash.slice(1)).get('enter')

// placeOfLink returns the hash of a link without its launch code: the place that the link opens, if any.
export function placeOfLink(hash: string): string {
  const place = new URLSearchParams(hash.slice(1))
  place.delete('enter')
  return place.size ? '#' + place.toString() : ''
}

// enter takes a launch code out of the address bar, before other code can see it, and swaps it for a session. Without a code it opens the
// page view only, if that is public.
export async function enter(): Promise<void> {
  const code = launched()
  if (!code) {
    if (!localStorage.getItem(keyName)) await lookOnly()
    return
  }
  history.replaceState(null, '', location.pathname + placeOfLink(location.hash))
  await open({ code })
}

async function open(by: { code?: string; token?: string }, signal?: AbortSignal): Promise<void> {
  localStorage.setItem(keyName, (await call<{ key: string }>('/api/enter', by, signal)).key)
}

// lookOnly opens the page view only if that is public, and otherwise returns the requirement.
async function lookOnly(signal?: AbortSignal): Promise<Connection> {
  try {
    await open({}, signal)
    return 'live'
  } catch (e) {
    return e instanceof Fault && e.field === '/token' ? 'token' : e instanceof Fault && e.field === '/signin' ? 'signin' : 'refused'
  }
}

let unlockProof = '' // the proof that the code on the terminal was typed; never stored

// call limits the time of reads, but not of actions, since their outcome matters.
async function call<T>(path: string, body?: unknown, signal = body === undefined ? AbortSignal.timeout(longestRead) : undefined): Promise<T> {
  const answer = await ask(path, body, signal)
  if (answer.ok) return await answer.json() as T
  throw await refusal(answer)
}

async function ask(path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { 'Planloop-Key': localStorage.getItem(keyName) ?? '' }
  if (unlockProof) headers['Planloop-Unlock'] = unlockProof
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  try {
    return await fetch(path, {
      method: body === undefined ? 'GET' : 'POST', headers, body: body === undefined ? null : JSON.stringify(body),
      credentials: 'same-origin', cache: 'no-store', redirect: 'error', signal: signal ?? null,
      keepalive: path === keepPath && document.hidden, // when the page is closed
    })
  } catch {
    throw new Fault(0, 'lost', 'planloop does not respond.', 'Check that it is running. Your text is kept, and the page continues when planloop is back.')
  }
}

async function refusal(answer: Response): Promise<Fault> {
  try {
    const { error } = await answer.json() as { error: { kind: string; problem: string; fix?: string; field?: string } }
    return new Fault(answer.status, error.kind, error.problem, error.fix, error.field)
  } catch {
    return new Fault(answer.status, 'unknown', `planloop answered with ${answer.status} without a reason.`)
  }
}

// httpSource talks to the server that the page came from.
export function httpSource(): Source {
  const siblings = new BroadcastChannel('planloop')
  siblings.addEventListener('message', e => {
    const said = e.data as { want?: 'unlock'; unlock?: string }
    if (said.want === 'unlock' && unlockProof) siblings.postMessage({ unlock: unlockProof })
    if (said.unlock) unlockProof = said.unlock
  })
  siblings.postMessage({ want: 'unlock' })
  const in_ = (id: string) => 'workspace=' + encodeURIComponent(id), of = (plan?: string) => plan ? '&plan=' + encodeURIComponent(plan) : ''
  return {
    kind: 'page',
    member: localStorage.getItem(memberName) ?? undefined,
    isAdmin: localStorage.getItem(roleName) === 'admin',
    signOut: async () => {
      await call('/signin/out', {})
      localStorage.removeItem(keyName)
      localStorage.removeItem(memberName)
      localStorage.removeItem(roleName)
      location.replace('/signin')
    },
    inbox: () => call<Inbox>('/api/inbox'),
    view: async (id, known) => whole(await call<View>(`/api/view?${in_(id)}${known?.tag ? '&known=' + known.tag : ''}`), known),
    timeline: id => call<TimelineStep[]>('/api/timeline?' + in_(id)),
    former: (id, plan) => call<Former>(`/api/plan?${in_(id)}${of(plan)}`),
    log: (id, before, plan) => call<Log>(`/api/log?${in_(id)}${of(plan)}${before ? '&before=' + before : ''}`),
    tail: async (id, step) => (await call<{ text: string }>(`/api/tail?${in_(id)}&step=${step}`)).text,
    act: (id, log, act: string, input: Input) => call<Done>('/api/act', { workspace: id, log, act, input }),
    unsent: async id => (await call<{ texts: UnsentText[] }>('/api/unsent?' + in_(id))).texts,
    keep: async (id, texts) => { await call(keepPath, { workspace: id, texts }) },
    requestCode: async id => { await call('/api/code', { workspace: id }) },
    unlock: async code => {
      unlockProof = (await call<{ unlock: string }>('/api/unlock', { code })).unlock
      siblings.postMessage({ unlock: unlockProof })
    },
    unlocked: () => unlockProof !== '',
    forgetUnlock: () => { unlockProof = '' },
    look: async token => {
      await open({ token })
      location.reload()
    },
    onChange: (listener, connection) => follow(listener, connection ?? (() => {})),
  }
}

// follow reports changes. The tab that holds the lock reads the stream and informs the others: a browser allows six connections to a
// server, for all tabs together. A tab that becomes visible has the stream checked.
function follow(listener: (c: Change) => void, state: (s: Connection) => void): () => void {
  const ended = new AbortController()
  const others = new BroadcastChannel('planloop-changes')
  let reads: ReturnType<typeof stream> | undefined
  const hear = (said: StreamMessage) => {
    if (said.change) listener(said.change)
    if (said.state) state(said.state)
  }
  const tell = (said: StreamMessage) => {
    others.postMessage(said)
    hear(said)
  }
  const look = () => {
    if (reads) reads.look()
    else others.postMessage({ look: true })
  }
  others.onmessage = e => {
    const said = e.data as StreamMessage & { look?: true }
    if (said.look) reads?.look()
    hear(said)
  }
  const events = (signal: AbortSignal) => ask('/api/events', undefined, signal)
  navigator.locks.request('planloop-stream', { signal: ended.signal }, () => {
    reads = stream({ ask: events, enter: lookOnly, tell }, ended.signal)
    return reads.ended
  }).catch(() => {}) // happens only when the page is left
  document.addEventListener('visibilitychange', () => { if (!document.hidden) look() }, { signal: ended.signal })
  addEventListener('online', look, { signal: ended.signal })
  return () => { ended.abort(); others.close() }
}
