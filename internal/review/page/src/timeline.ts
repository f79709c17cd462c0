// The geometry of a timeline, and the same in words.

import type { TimelinePart, TimelineStep } from './types'
import { count, span } from './ui/format'

export interface Stretch { kind: 'waiting' | 'running' | 'failed'; at: number; long: number } // in thousandths of the time

const narrowest = 4 // thousandths: a short attempt stays visible

// extent returns the first and the last moment of all parts; work that continues lasts until now.
export function extent(steps: readonly TimelineStep[], now: number): [number, number] {
  let from = Infinity, to = -Infinity
  for (const { parts } of steps) for (const part of parts) {
    from = Math.min(from, Date.parse(part.from))
    to = Math.max(to, part.to ? Date.parse(part.to) : part.kind === 'running' && now > 0 ? now : Date.parse(part.from))
  }
  return [from, Math.max(to, from + 1)]
}

// stretches returns the parts as pieces of a bar, failed attempts last, so that they are drawn over the others.
export function stretches(parts: readonly TimelinePart[], from: number, to: number): Stretch[] {
  const place = (at: number) => Math.min(1000, Math.max(0, (at - from) / (to - from) * 1000))
  return (['waiting', 'running', 'failed'] as const).flatMap(kind => parts.filter(p => p.kind === kind).map(p => {
    const at = Math.min(place(Date.parse(p.from)), 1000 - narrowest), end = p.to ? place(Date.parse(p.to)) : 1000
    return { kind, at, long: Math.max(kind === 'waiting' ? 0 : narrowest, end - at) }
  }))
}

const took = (seconds: number) => seconds < 1 ? 'under 1 s' : span(seconds)

// inWords says how long a step was worked on, how often it failed, and how many tokens it took.
export function inWords({ parts, tokens }: TimelineStep, to: number): string {
  const lasts = (of: (p: TimelinePart) => boolean) => parts.filter(of).reduce((sum, p) => sum + (p.to ? Date.parse(p.to) : to) - Date.parse(p.from), 0) / 1000
  const failed = parts.filter(p => p.kind === 'failed').length, on = parts.some(p => p.kind === 'running' && !p.to)
  return [
    `${on ? 'running' : 'ran'} ${took(lasts(p => p.kind !== 'waiting'))}`,
    failed && count(failed, 'attempt') + ' failed',
    parts.some(p => p.kind === 'waiting') && `waited ${took(lasts(p => p.kind === 'waiting'))}`,
    tokens && count(tokens, 'token').replace(/\d+/, n => Number(n).toLocaleString('en')),
  ].filter(Boolean).join(', ')
}
