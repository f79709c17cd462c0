// The difference of two versions of a plan, as displayed: in a line, and in the order of the current plan.

import type { Difference, Plan, Step, StepChange } from './types'

const order = ['changed', 'added', 'removed', 'moved'] as const

// altered: a step that only got another number counts as unchanged.
export const altered = (c: StepChange) => c.change !== 'changed' || !!c.fields?.length

// summary returns a text such as "2 steps changed, 1 added".
export function summary(d: Difference): string {
  const parts = order.map(kind => [kind, d.steps.filter(s => s.change === kind && altered(s)).length] as const).filter(([, n]) => n)
  if (!parts.length) return d.plan.length ? 'No step has changed' : 'Nothing has changed'
  return parts.map(([kind, n], i) => i ? `${n} ${kind}` : `${n} ${n === 1 ? 'step' : 'steps'} ${kind}`).join(', ')
}

// differing counts the steps with different content in two versions, ignoring their numbers.
export function differing(was: Plan, now: Plan): number {
  const left = was.steps.map(saying)
  const more = now.steps.filter(s => {
    const at = left.indexOf(saying(s))
    if (at >= 0) left.splice(at, 1)
    return at < 0
  }).length
  return Math.max(more, left.length)
}

function saying({ id, number, depends_on, waiting_on, ready, edited, ask, ...rest }: Step): string {
  return JSON.stringify(Object.entries(rest).sort(([a], [b]) => a < b ? -1 : 1))
}

// A Row is an unchanged step, or a change; a removed step is only a change.
export interface Row { step?: Step; change?: StepChange }

// rows returns the changed steps and those with comments, or the whole plan if wanted; a removed step keeps its place: after the last step
// with a lower number.
export function rows(d: Difference, steps: Step[], all: boolean, said: ReadonlySet<number> = new Set()): Row[] {
  const by = new Map(d.steps.filter(c => c.change !== 'removed').map(c => [numberOf(c.id), c]))
  const list = steps.map((step): Row => { const change = by.get(step.number); return change ? { step, change } : { step } })
  for (const change of d.steps.filter(c => c.change === 'removed')) {
    const at = list.findLastIndex(row => row.change?.change !== 'added' && formerly(row) < numberOf(change.id))
    list.splice(at + 1, 0, { change })
  }
  const shown = list.map(row => row.change && row.step && !altered(row.change) ? { step: row.step } : row)
  return all ? shown : shown.filter(row => row.change || said.has(row.step!.number))
}

function formerly({ step, change }: Row): number {
  if (change?.was) return numberOf(change.was)
  return step?.number ?? numberOf(change?.id ?? '')
}

export function numberOf(id: string): number { return Number(id.replace(/\D/g, '')) }

// counterpart returns the present form of an earlier step: the only one with its title, else its known successor, else the step in its
// place with a new title. Undefined: it is gone.
export function counterpart(step: Step, before: Step[], now: Step[], d?: Difference): Step | undefined {
  const titled = now.filter(s => s.title === step.title)
  if (titled.length === 1) return titled[0]
  const same = now.find(s => s.number === step.number)
  if (same?.title === step.title) return same
  const became = d?.steps.find(c => c.was === step.id && c.change !== 'removed')
  if (became) return now.find(s => s.id === became.id)
  const other = same && (before.some(s => s.title === same.title) || d?.steps.some(c => c.id === same.id && (c.change === 'added' || c.was)))
  return other ? undefined : same
}
