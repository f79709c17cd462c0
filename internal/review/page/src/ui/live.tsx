// Work in progress: its actor, its duration, its command or note, and the last line of its output.

import { clock, former, view } from '../store'
import type { Run, Step } from '../types'
import { ago, hostName, span } from './format'

type Running = Run['steps'][number]

// doing returns a text such as "Claude Code · 2 min · running go test".
export function doing(s: Step | undefined, r: Partial<Running> | undefined, now: number, broken = false): string {
  const since = s?.started_at ? (broken ? `started ${ago(s.started_at, now)}` : span(Math.max(1, (now - Date.parse(s.started_at)) / 1000))) : ''
  return [hostName(s?.agent ?? s?.claimed_by), since, r?.percent ? `${r.percent} %` : '', r?.what || action(s), s?.lapsed ? 'its claim has lapsed' : ''].filter(Boolean).join(' · ')
}

// action returns the command that a tool runs, or the last note of an agent.
function action(s: Step | undefined): string {
  if (!s?.tool) return s?.notes?.at(-1)?.split('\n')[0] ?? ''
  try {
    const { command } = JSON.parse(s.args ?? '{}') as { command?: unknown }
    if (typeof command === 'string') return 'running ' + command.trim().split('\n')[0]
  } catch { /* not an object: only the tool's name is known */ }
  return 'running ' + s.tool
}

export const lastLine = (text: string | undefined) => text?.trimEnd().split('\n').at(-1)?.trim() ?? ''

// isLive: the step is at work or has failed, and no question of its own waits for an answer.
export const isLive = (s: Step) => !s.ask && !former.value && (s.status === 'in_progress' || s.status === 'failed' && !!s.error?.trim())

// Live is the line below such a step: the work, or the end of the error.
export function Live({ step: s }: { step: Step }) {
  if (s.status === 'failed') return <p class="said-line live"><b class="mono" title={s.error}>{lastLine(s.error)}</b></p>
  const run = view.value?.run, at = run?.steps.find(r => r.step === s.number), line = lastLine(at?.tail)
  const text = doing(s, at, clock.value, run?.state === 'interrupted')
  return <p class="said-line live"><b>{text}</b>{line && !text.includes(line) && <span class="mono"> {line}</span>}</p>
}
