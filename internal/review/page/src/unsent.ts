// Texts that a person has typed and not sent: kept in the browser's storage, so that neither a reload nor an error loses them.

import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { former, shown, view, workspace } from './store'
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

function save(all: Signal<Pending[]>, now: Pending[]): void {
  all.value = now
  write(listName(workspace.value), now.length ? now : undefined)
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

export function typed(name: string): Signal<string> {
  const full = `planloop-typed:${workspace.value}:${name}`
  let found = fields.get(full)
  if (!found) {
    fields.set(full, found = signal(read<string>(full) ?? ''))
    found.subscribe(text => { write(full, text || undefined) })
  }
  return found
}

// Another tab of this browser may write too.
addEventListener('storage', e => {
  if (e.key?.startsWith('planloop-pending:')) list(e.key.slice('planloop-pending:'.length)).value = read<Pending[]>(e.key) ?? []
})

function read<T>(name: string): T | undefined {
  try {
    return JSON.parse(localStorage.getItem(name) ?? '') as T
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
