// Texts that a person has typed and not sent: kept in the browser's storage, so that neither a reload nor an error loses them, and by
// planloop, so that another browser has them.

import { computed, effect, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { connection, former, shown, source, view, workspace } from './store'
import type { Step } from './types'

// Pending is a comment to send with the decision.
export interface Pending { key: string; step: number; title: string; text: string; request: string; gone?: boolean }

const listName = (id: string) => 'planloop-pending:' + id
const lists = new Map<string, Signal<Pending[]>>()

function list(id: string): Signal<Pending[]> {
  let found = lists.get(id)
  if (!found) lists.set(id, found = signal(read<Pending[]>(listName(id)) ?? []))
  return found
}

// pending are the comments of the shown workspace, by step, those on the whole plan first. A comment on another version goes with the step
// of the same title, else with the whole plan. gone: its step was removed.
export const pending = computed(() => former.value ? [] : list(workspace.value).value.map(now).toSorted((a, b) => a.step - b.step))

function now(p: Pending): Pending {
  if (!p.step || !shown.value) return p
  const title = p.title.replace(/^\d+\. /, ''), titled = shown.value.steps.filter(s => s.title === title)
  if (titled.length === 1) return { ...p, step: titled[0]!.number }
  return p.request === request.value ? p : { ...p, step: 0, gone: true }
}

// request identifies the plan that comments are about.
export const request: ReadonlySignal<string> = computed(() => view.value?.draft?.request ?? shown.value?.digest ?? '')

export function keepComment(step: number, title: string, text: string): void {
  const all = list(workspace.value)
  save(all, [...all.value, { key: crypto.randomUUID(), step, title, text, request: request.value }])
}

export function dropComments(...keys: string[]): void {
  const all = list(workspace.value)
  save(all, all.value.filter(p => !keys.includes(p.key)))
}

function save(all: Signal<Pending[]>, now: Pending[], id = workspace.value): void {
  const differing = [...all.value, ...now].filter(p => !all.value.includes(p) || !now.includes(p))
  all.value = now
  write(listName(id), now.length ? now : undefined)
  for (const p of differing) changed(id, commentName + p.key)
}

// commentOn returns the unsent comment on a step, or without a step on the whole plan, and editOf its unsaved edit. They are stored by the
// step's title, which stays the same when steps are renumbered.
export const commentOn = (step: Step | undefined, steps: Step[]) => typed(step ? 'comment-' + called(step, steps) : 'comment-0')
export const editOf = (step: Step, steps: Step[]) => typed('edit-' + called(step, steps))

function called(step: Step, steps: Step[]): string {
  return steps.some(s => s.title === step.title && s.number !== step.number) ? `${step.number}. ${step.title}` : ' ' + step.title
}

// typed returns the text in a field, by the field's name: always the same signal while the page is open.
const fields = new Map<string, Signal<string>>()

export const typed = (name: string) => field(workspace.value, name)

function field(id: string, name: string): Signal<string> {
  const full = fieldName(id) + name
  let found = fields.get(full), isNew = true
  if (!found) {
    fields.set(full, found = signal(read<string>(full) ?? ''))
    found.subscribe(text => {
      if (!isNew) {
        write(full, text || undefined)
        changed(id, name)
      }
      isNew = false
    })
  }
  return found
}

// Another tab of this browser may write too.
addEventListener('storage', e => {
  if (e.key?.startsWith('planloop-pending:')) list(e.key.slice('planloop-pending:'.length)).value = read<Pending[]>(e.key) ?? []
})

function read<T>(name: string): T | undefined {
  try {
    return parsed<T>(localStorage.getItem(name) ?? '')
  } catch {
    return undefined
  }
}

function parsed<T>(text: string): T | undefined {
  try {
    return JSON.parse(text) as T
  } catch {
    return undefined
  }
}

// A browser may refuse to store: then the text is kept only while the page is open.
function write(name: string, value: unknown): void {
  try {
    if (value === undefined) localStorage.removeItem(name)
    else localStorage.setItem(name, JSON.stringify(value))
  } catch { /* full, or forbidden in this frame */ }
}

// planloop has a copy of each field and comment, by these names. A change is sent after a pause; until then its name is in the list of
// unsaved ones, which count when a page starts. All others are then as planloop has them: sent or changed in another browser since.
const pause = 1000, commentName = 'comment:'
const fieldName = (id: string) => `planloop-typed:${id}:`, unsavedName = (id: string) => 'planloop-unsaved:' + id
const due = new Map<string, ReturnType<typeof setTimeout>>() // by workspace
let loading = false

// restored is how many texts of another browser this page shows.
export const restored = signal(0)

// textOf reads the storage, which another tab may have changed.
function textOf(id: string, name: string): string {
  if (!name.startsWith(commentName)) return read<string>(fieldName(id) + name) ?? ''
  const found = list(id).peek().find(p => commentName + p.key === name)
  return found ? JSON.stringify(found) : ''
}

function changed(id: string, name: string): void {
  if (loading || !source.peek()?.keep) return
  write(unsavedName(id), [...new Set([...read<string[]>(unsavedName(id)) ?? [], name])])
  clearTimeout(due.get(id))
  due.set(id, setTimeout(() => { void keep(id) }, pause))
}

// keep sends the unsaved texts. Those that planloop refuses stay in the browser.
async function keep(id: string): Promise<void> {
  const names = read<string[]>(unsavedName(id)) ?? []
  if (!names.length) return
  const texts = names.map(name => ({ field: name, text: textOf(id, name) }))
  try {
    await source.peek()?.keep?.(id, texts)
  } catch {
    return
  }
  const isSaved = (name: string) => texts.some(t => t.field === name && t.text === textOf(id, name))
  write(unsavedName(id), (read<string[]>(unsavedName(id)) ?? []).filter(name => !isSaved(name)))
}

async function load(id: string): Promise<void> {
  const got = await source.peek()?.unsent?.(id).catch(() => undefined)
  if (!got) return
  const theirs = new Map(got.map(t => [t.field, t.text])), own = ownNames(id)
  const unsaved = read<string[]>(unsavedName(id)) ?? own
  write(unsavedName(id), unsaved)
  loading = true
  for (const name of new Set([...own, ...theirs.keys()])) {
    const text = theirs.get(name) ?? ''
    if (unsaved.includes(name) || textOf(id, name) === text) continue
    if (text) restored.value++
    if (name.startsWith(commentName)) {
      const others = list(id).value.filter(p => commentName + p.key !== name), p = parsed<Pending>(text)
      save(list(id), typeof p?.text === 'string' && typeof p.title === 'string' && commentName + p.key === name ? [...others, p] : others, id)
    } else {
      field(id, name).value = text
      write(fieldName(id) + name, text || undefined)
    }
  }
  loading = false
  void keep(id)
}

// ownNames are the fields and comments with a text in this browser.
function ownNames(id: string): string[] {
  const names = list(id).peek().map(p => commentName + p.key)
  try {
    for (const full of Object.keys(localStorage)) if (full.startsWith(fieldName(id))) names.push(full.slice(fieldName(id).length))
  } catch { /* forbidden in this frame */ }
  return names
}

// keepUnsent loads the texts of each workspace that a person who may decide opens or comes back to, and sends the last ones when they leave.
export function keepUnsent(): void {
  let loaded = ''
  effect(() => {
    const v = view.value
    if (!v?.can.decide || loaded === v.workspace.id) return
    loaded = v.workspace.id
    void load(loaded)
  })
  effect(() => { if (connection.value === 'live') void keep(workspace.peek()) })
  document.addEventListener('visibilitychange', () => { if (document.hidden) void keep(workspace.peek()); else if (view.peek()?.can.decide) void load(workspace.peek()) })
}
