// The page's data, as signals. Only the functions in this file change it; the drawing reads it.

import { batch, computed, signal } from '@preact/signals'
import { asFault, type Connection, Fault, type Input, type Source } from './source'
import { shared } from './shared'
import { type Acts, type Done, type Draft, type Former, type Inbox, ofPlan, type Plan, type Step, type View } from './types'

export type Asked = '' | 'approve' | 'return' | 'reject'
export type Pane = 'plan' | 'graph' | 'difference' | 'run' | 'log'

export const source = signal<Source | null>(null)
export const inbox = signal<Inbox>({ workspaces: [], waiting: [] })
export const heard = signal(false) // the inbox has been read
export const workspace = signal('') // the id of the shown workspace
export const view = signal<View | null>(null)
export const pane = signal<Pane>('plan')
export const selected = signal(0) // the number of the selected step, 0 for none
export const current = signal(false) // the current plan is shown although a draft waits
export const editing = signal(false) // the selected step is being edited
export const skipping = signal(0) // the number of the step about to be skipped
export const helping = signal(false)
export const allOpen = signal(false) // every step in the list shows all its fields
export const asked = signal<Asked>('') // the decision that the bar asks a comment for
export const former = signal('') // the id of the shown earlier plan, '' for none
const read = signal<Former | undefined>(undefined)
export const formerPlan = computed(() => read.value?.id === former.value ? read.value : undefined)
export const comments = computed(() => (former.value ? formerPlan.value : view.value)?.comments ?? [])

export const connection = signal<Connection>('live')
export const fault = signal<Fault | null>(null)
export const told = signal('') // the text of the live region
export const busy = signal('') // the running act
export const narrow = signal(false) // there is no room next to the list
export const phone = signal(false) // nor for one line per step
export const roomy = signal(false) // for a column with the plan's situation
export const printing = signal(false)
const time = signal(Date.now())
export const clock = computed(() => printing.value ? NaN : time.value) // by the server's clock, every few seconds; nothing on paper

// shown is the plan on display: an earlier one, the waiting draft, else the current one.
export const shown = computed<Plan | undefined>(() => {
  const v = view.value
  if (former.value) return formerPlan.value?.plan
  return v?.draft && !current.value ? v.draft.plan : v?.plan ?? v?.draft?.plan
})
export const showsDraft = computed(() => !!view.value?.draft && shown.value === view.value.draft.plan)
export const step = computed<Step | undefined>(() => shown.value?.steps.find(s => s.number === selected.value))

// names are the names of everyone mentioned, which begin no sentence with a capital.
export const names = computed<ReadonlySet<string>>(() => {
  const v = view.value, plans = [formerPlan.value?.plan, v?.draft?.plan, v?.plan]
  return new Set([
    ...inbox.value.waiting.map(w => w.by), ...v?.agents.map(a => a.agent) ?? [], v?.draft?.by, v?.decision?.by, v?.run?.by,
    ...comments.value.flatMap(c => [c.by, c.reply?.by]) ?? [], ...v?.questions.map(q => q.by) ?? [], ...v?.signals.map(s => s.by) ?? [],
    ...plans.flatMap(p => p ? [p.created_by, p.approval?.by, ...p.steps.flatMap(s => [s.claimed_by, s.executed_by])] : []),
  ].filter(by => by !== undefined))
})
export const mayDecide = computed(() => !!view.value?.can.decide && !former.value)

// Observes the properties of the window.
export function watchWindow(w: Window): void {
  for (const [is, query] of [[narrow, '(max-width: 1099px)'], [phone, '(max-width: 819px)'], [roomy, '(min-width: 1280px)']] as const) {
    const match = w.matchMedia(query)
    is.value = match.matches
    match.addEventListener('change', () => { is.value = match.matches })
  }
  w.addEventListener('beforeprint', () => { printing.value = true })
  w.addEventListener('afterprint', () => { printing.value = false })
}

// A decision applies to the draft that was seen: the one shown first, or the one acknowledged since.
const looked = new Map<string, { draft: Draft; gone?: number }>() // by workspace
const edited = new Map<string, number>() // by workspace: the revision that this page's edit led to
export const seen = signal<Draft | undefined>(undefined) // of the shown workspace
export const settling = signal(false) // it has just changed, too recently to have been read

const said = (d: Draft) => [d.request, d.plan.digest, d.edited?.at].join()
const decides = new Set(['approve', 'return', 'reject', 'regenerate'])
const edits = new Set(['edit_step', 'add_step', 'move_step', 'remove_step', 'restore_edit', 'accept_edit'])

// swapped is the draft that was seen, if another one waits by now.
export const swapped = computed(() => {
  const d = view.value?.draft
  return d?.decidable && seen.value && said(d) !== said(seen.value) && !edits.has(busy.value) ? seen.value : undefined
})

// acknowledge makes the draft shown now the one to decide on.
export function acknowledge(): void {
  const v = view.value
  if (!v?.draft || settling.value) return
  looked.set(v.workspace.id, { draft: v.draft })
  seen.value = v.draft
}

const forgotten = 5000 // ms without buttons: a draft that comes later is a new plan
let settled: ReturnType<typeof setTimeout> | undefined

function lookAt({ workspace: { id }, draft, revision }: View, before: Draft | undefined): void {
  const had = looked.get(id), shown = view.value?.draft
  if (!draft?.decidable || !shown) {
    if (had) had.gone ??= Date.now()
  } else if (!had || (had.gone ?? Infinity) < Date.now() - forgotten || edited.get(id) === revision) looked.set(id, { draft: shown })
  else {
    delete had.gone
    if (before && said(before) !== said(draft)) {
      settling.value = true
      clearTimeout(settled)
      settled = setTimeout(() => { settling.value = false }, 1000)
    }
  }
  seen.value = looked.get(id)?.draft
}

let skew = 0

// begin shows a source's data and follows its changes.
export function begin(from: Source): () => void {
  watchWindow(window)
  source.value = from
  const tick = setInterval(() => { time.value = Date.now() + skew }, 5000)
  const stop = from.onChange(c => { changed(c.workspace) }, state => {
    connection.value = state
    if (state !== 'live') return
    if (fault.value?.kind === 'not_entered') fault.value = null
    if (document.hidden) missed = true
    else refresh() // earlier changes were missed
  })
  document.addEventListener('visibilitychange', catchUp)
  refresh()
  return () => { clearInterval(tick); document.removeEventListener('visibilitychange', catchUp); stop() }
}

// look reads the shown workspace again.
export function look(): void { if (workspace.value) void loadView(workspace.value) }

export function refresh(): void {
  void loadInbox()
  if (workspace.value) void loadView(workspace.value)
  if (former.value && !formerPlan.value) void loadFormer(former.value)
}

// Changes that arrive during a read lead to one more read, not to one each.
const reading = new Map<string, boolean>()

async function once(what: string, read: () => Promise<void>): Promise<void> {
  if (reading.has(what)) {
    reading.set(what, true)
    return
  }
  reading.set(what, false)
  try {
    await read()
    if (connection.value === 'lost') connection.value = 'live'
  } catch (e) {
    const f = asFault(e)
    if (f.kind === 'lost') {
      connection.value = 'lost'
      setTimeout(refresh, 2000)
    } else fault.value = f
  }
  const again = reading.get(what)
  reading.delete(what)
  if (again) await once(what, read)
}

// A hidden tab updates its title from time to time, and reads the rest when it becomes visible.
const leisure = 10_000
let missed = false, later: ReturnType<typeof setTimeout> | undefined

function changed(id: string): void {
  if (document.hidden) {
    missed = true
    later ??= setTimeout(() => { later = undefined; void loadInbox() }, leisure)
    return
  }
  void loadInbox()
  if (id === workspace.value) void loadView(id)
}

function catchUp(): void {
  if (!missed || document.hidden) return
  missed = false
  refresh()
}

function loadInbox(): Promise<void> {
  return once('inbox', async () => {
    const from = source.value
    if (!from) return
    const got = await from.inbox()
    inbox.value = shared(inbox.value, got)
    heard.value = true
    const first = got.waiting[0]?.workspace ?? got.workspaces[0]?.id
    if (first && !view.value && !got.workspaces.some(w => w.id === workspace.value)) open(first)
  })
}

function loadView(id: string): Promise<void> {
  return once('view ' + id, async () => {
    const from = source.value
    if (!from) return
    try {
      const known = view.value?.workspace.id === id ? view.value : undefined
      const got = await from.view(id, known)
      if (workspace.value === id) showView(got)
    } catch (e) {
      if (workspace.value === id) throw e // otherwise the user has moved on
    }
  })
}

function loadFormer(id: string): Promise<void> {
  return once('plan ' + id, async () => {
    const from = source.value, at = workspace.value
    if (!from?.former) return
    try {
      const got = await from.former(at, id)
      if (former.value === id && workspace.value === at) read.value = got
    } catch (e) {
      if (former.value !== id || workspace.value !== at) return
      if (asFault(e).kind !== 'lost') former.value = ''
      throw e
    }
  })
}

// openFormer shows an earlier plan, '' for the current form of the plan.
export function openFormer(id: string): void {
  if (former.value === id) return
  batch(() => {
    former.value = id
    selected.value = skipping.value = 0
    editing.value = false
    fault.value = null
    pane.value = 'plan'
  })
  if (id) void loadFormer(id)
}

// showView accepts a view from any source, keeping every unchanged part.
export function showView(got: View): void {
  const before = view.value
  if (before && before.workspace.id === got.workspace.id && got.revision < before.revision) return
  batch(() => {
    skew = got.now ? Date.parse(got.now) - Date.now() : 0
    time.value = Date.now() + skew
    workspace.value = got.workspace.id
    view.value = before?.workspace.id === got.workspace.id ? shared(before, got) : got
    if (before?.workspace.id === got.workspace.id && before.headline !== got.headline) told.value = got.headline
    if (got.draft && got.draft.request !== before?.draft?.request) current.value = false
    lookAt(got, before?.draft)
  })
}

export function open(id: string): void {
  if (workspace.value === id && view.value) return
  batch(() => {
    workspace.value = id
    view.value = null
    former.value = ''
    selected.value = 0
    current.value = false
    fault.value = null
    editing.value = false
    seen.value = looked.get(id)?.draft
    pane.value = 'plan'
  })
  void loadView(id)
}

type Sent<T> = { [F in keyof T]: F extends 'step' ? string | number : T[F] } // a step may be given by number

// aim identifies the target of a change: the shown plan, and its digest if it is a draft.
export function aim(): { plan: string; digest?: string } {
  const p = shown.value
  return { plan: p?.id ?? '', ...(showsDraft.value ? { digest: p?.digest ?? '' } : {}) }
}

// unlocking is set while the page asks for the terminal's code; call it with whether the code was accepted.
export const unlocking = signal<((ok: boolean) => void) | null>(null)

function unlock(): Promise<boolean> {
  return new Promise(done => {
    unlocking.value = ok => {
      unlocking.value = null
      done(ok)
    }
  })
}

// act performs an act in the shown workspace and returns its outcome; undefined: it was refused, and the fault is shown, or the person
// cancelled.
export function act<K extends keyof Acts>(name: K, input: Sent<Acts[K]>): Promise<Done | undefined> {
  return perform(name, input as Input)
}

// perform is act with an untyped name and input. For an act on the current plan it sends the id of the plan shown here.
export async function perform(name: string, input: Input): Promise<Done | undefined> {
  const from = source.value, id = workspace.value
  if (!from || busy.value) return undefined
  if (swapped.value && (decides.has(name) || input.digest === view.value?.draft?.plan.digest)) {
    fault.value = new Fault(409, 'conflict', 'the plan has changed since you opened it', 'review the changes and press “I have seen it”')
    return undefined
  }
  const own = edits.has(name) && !swapped.value
  busy.value = name
  fault.value = null
  try {
    if (view.value?.can.code && !from.unlocked() && !await unlock()) return undefined
    const of = view.value?.plan?.id, about = of && ofPlan.includes(name) ? { plan: of, ...input } : input
    const done = await unlocked(from, () => from.act(id, view.value?.log ?? '', name, about))
    if (done) told.value = done.message
    if (done && decides.has(name)) looked.delete(id)
    if (done && own) {
      edited.set(id, done.revision)
      if (view.value?.workspace.id === id && view.value.revision === done.revision) acknowledge()
    }
    await loadView(id)
    return done
  } catch (e) {
    fault.value = asFault(e)
    told.value = fault.value.message
    if (fault.value.status === 409) void loadView(id)
    return undefined
  } finally {
    busy.value = ''
  }
}

// unlocked asks for the code again if the proof has expired.
async function unlocked<T>(from: Source, call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call()
  } catch (e) {
    if (!(e instanceof Fault) || e.kind !== 'locked') throw e
    from.forgetUnlock()
    return await unlock() ? await call() : undefined
  }
}
