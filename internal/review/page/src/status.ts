// The looks and words for a step's status, for all views.

import type { Run, Step } from './types'

export type Look = 'open' | 'ready' | 'running' | 'waiting' | 'done' | 'wrong' | 'gone'

// lookOf returns one of the few looks of steps: those waiting for a person differ from those waiting for steps.
export function lookOf(step: Step): Look {
  if (step.ask && !step.ask.early) return 'waiting'
  switch (step.status) {
    case 'done': return 'done'
    case 'in_progress': return 'running'
    case 'failed': return 'wrong'
    case 'blocked': return 'waiting'
    case 'skipped': case 'cancelled': return 'gone'
    default: return step.ready ? 'ready' : 'open'
  }
}

// wordOf returns the word for a step's status.
export function wordOf(step: Step): string {
  if (step.ask && !step.ask.early && step.ask.kind !== 'blocked') return step.ask.kind === 'approval' ? 'needs approval' : 'asks'
  if (step.status !== 'pending') return step.status.replace('_', ' ')
  return step.ready ? 'ready' : step.waiting_on?.length ? 'waiting' : 'to do'
}

// standing describes the state of a run in a line.
export function standing(run: Run, steps: readonly Step[]): string {
  const failed = steps.filter(s => s.status === 'failed' && !s.ask).map(s => s.number), halted = run.state === 'paused' || run.state === 'interrupted'
  const how = halted && failed.length ? `is stuck: ${failed.length > 1 ? 'steps' : 'step'} ${listed(failed)} failed`
    : run.state === 'running' ? (steps.some(s => s.status === 'in_progress' && !s.ask) || !steps.some(asksNow) ? 'continues' : 'is waiting for you')
      : run.state === 'interrupted' ? 'was interrupted: its engine has ended'
        : run.state === 'over' ? (run.reason === 'completed' ? 'is complete' : 'has ended')
          : (run.reason && reasons[run.reason]) ?? 'is paused'
  const of = (status: Step['status']) => steps.filter(s => s.status === status).length
  return run.state === 'none' ? 'No run yet' : `The run ${how}. ${of('done')} of ${steps.length} steps ${of('done') === 1 ? 'is' : 'are'} done` + (of('failed') && !(halted && failed.length) ? `, ${of('failed')} failed` : '')
}

const asksNow = (s: Step) => !!s.ask && !s.ask.early

const reasons: Partial<Record<NonNullable<Run['reason']>, string>> = {
  deadlocked: 'is stuck: no step can start', waiting_for_person: 'is waiting for you', waiting_for_agent: 'is waiting for an agent',
  agent_unavailable: 'is stuck: no agent can be started',
}

// listed returns a text such as "1, 2 and 3".
export function listed(numbers: readonly number[]): string {
  return numbers.length < 2 ? numbers.join('') : numbers.slice(0, -1).join(', ') + ' and ' + numbers.at(-1)
}
